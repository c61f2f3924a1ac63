"""MinAtar, Procgen and the walker as Gymnasium environments, single and vectorised, and a guard around any environment.

`import ive` registers all of them, so `gymnasium.make("ive/minatar-breakout-v0")` works after it; `ive.make("minatar:breakout")` is
the same environment without Gymnasium's wrappers. Names and options: `ive.environments()`, `ive.describe(name)`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _ive
from ._arrays import whole
from ._guard import Guard

Array = NDArray[Any]
Space = gymnasium.Space[Any]

_MODES = {
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.DISABLED: "disabled",
}


def _written(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Options as the environments read them: True is "on"."""

    def text(value: Any) -> str:
        return ("off", "on")[bool(value)] if isinstance(value, (bool, np.bool_)) else str(value)

    return [(key, text(value)) for key, value in options.items()]


def _seed(seed: object) -> int:
    number = whole("seed", seed)
    if number >= 2**64:
        raise ValueError(f"seed: expected less than 2**64, got {number}")
    return number


class _Spaces:
    """What an environment shows and accepts."""

    def __init__(self, name: str, worlds: _ive.Worlds) -> None:
        self.shape = tuple(worlds.shape)
        self.discrete = _ive.describe(name)["discrete"]
        self.bits = name.startswith("minatar:")
        self.dtype: type[np.generic] = np.uint8 if len(self.shape) == 3 else np.float64
        self.observations: Space
        self.actions: Space
        if self.bits:
            self.observations = gymnasium.spaces.Box(0, 1, self.shape, np.bool_)
        elif self.dtype is np.uint8:
            self.observations = gymnasium.spaces.Box(0, 255, self.shape, np.uint8)
        else:
            self.observations = gymnasium.spaces.Box(-math.inf, math.inf, self.shape, np.float64)
        if self.discrete:
            self.actions = gymnasium.spaces.Discrete(len(worlds.actions))
        else:
            self.actions = gymnasium.spaces.Box(-1.0, 1.0, (len(worlds.actions),), np.float64)

    def shown(self, observation: Array) -> Array:
        """Bytes as the space has them: those of MinAtar are bits."""
        return observation.view(np.bool_) if self.bits else observation


class Env(gymnasium.Env[Array, Any]):
    """One environment by name, with options as keywords: `Env("minatar:breakout", sticky=0.0, actions="minimal")`.

    `reset(seed=...)` makes it anew from the seed; later resets go on drawing from it. `reset(options={"state": env.save()})`
    continues from a saved state.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}

    def __init__(self, name: str, *, render_mode: str | None = None, **options: Any) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f'render_mode: expected None or "rgb_array", got {render_mode!r}')
        self.name, self.render_mode = name, render_mode
        self._worlds = _ive.Worlds(name, _written(options), [0], autoreset="disabled", limit=None, threads=1)
        self._spaces = _Spaces(name, self._worlds)
        self.observation_space, self.action_space = self._spaces.observations, self._spaces.actions
        self._seeded = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._worlds.reseed([_seed(seed) if seed is not None else int(self.np_random.integers(2**31))])
            self._seeded = True
        state = _state(options)
        observation = np.empty(self._spaces.shape, self._spaces.dtype)
        if state is None:
            self._worlds.reset(observation)
        else:
            self._worlds.restore([state], observation)
        return self._spaces.shown(observation), {}

    def step(self, action: Any) -> tuple[Array, SupportsFloat, bool, bool, dict[str, Any]]:
        """Takes a step."""
        spaces = self._spaces
        observation = np.empty(spaces.shape, spaces.dtype)
        if spaces.discrete:
            action = _number(action)
        else:
            action = _reals(action, self.action_space.shape or ())
        reward, terminated, truncated = self._worlds.step_one(action, observation)
        return spaces.shown(observation), reward, terminated, truncated, {}

    def render(self) -> Any:
        """A picture [height, width, colour], if the render mode is "rgb_array"."""
        return _picture(self._worlds, 0) if self.render_mode == "rgb_array" else None

    def save(self) -> bytes:
        """The complete state, random generator included: what is restored has the same future."""
        return self._worlds.save()[0]

    def action_names(self) -> list[str]:
        """The names of the actions, in the order of their numbers."""
        return self._worlds.actions


class VectorEnv(gymnasium.vector.VectorEnv[Array, Any, Array]):
    """Many environments of one name, stepped by one call into native code, without Python's lock.

    Args:
        name: such as "minatar:breakout".
        num_envs: how many.
        autoreset_mode: SAME_STEP by default: where an episode ends, `obs` is already the next beginning and the last observation is in
            `info["final_obs"]`. NEXT_STEP and DISABLED are Gymnasium's other two modes; Procgen's library knows SAME_STEP only, and
            its final observation is the one *before* the end, which it never paints.
        max_episode_steps: episodes are truncated after so many steps; not for Procgen, which has limits of its own.
        threads: on how many threads; useful for Procgen and the walker, where a step takes long.
        **options: of the environment.

    `reset(seed=s)` gives environment i the seed s + i; Procgen numbers its environments itself, from the one seed. Every call returns
    new arrays.
    """

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        threads: int = 1,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f'render_mode: expected None or "rgb_array", got {render_mode!r}')
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._procgen = name.startswith("procgen:")
        if self._procgen and self.autoreset_mode != AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode: Procgen has SAME_STEP only, got {self.autoreset_mode.name}")
        if self._procgen and max_episode_steps is not None:
            raise ValueError("max_episode_steps: the games of Procgen have limits of their own")
        limit = None if max_episode_steps is None else whole("max_episode_steps", max_episode_steps, 1)
        self.name, self.num_envs, self.render_mode = name, whole("num_envs", num_envs, 1), render_mode
        self.metadata = {**Env.metadata, "autoreset_mode": self.autoreset_mode}
        self._worlds = _ive.Worlds(
            name,
            _written(options),
            list(range(self.num_envs)),
            autoreset=_MODES[self.autoreset_mode],
            limit=limit,
            threads=whole("threads", threads, 1),
        )
        self._spaces = _Spaces(name, self._worlds)
        self.single_observation_space, self.single_action_space = self._spaces.observations, self._spaces.actions
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._seeded = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Starts an episode in all environments, or in those of `options["reset_mask"]`."""
        seeds, mask = self._seeds(seed), self._mask(options)
        if seeds is not None:
            if mask is not None:  # the others go on with their episodes
                seeds = [s if chosen else None for s, chosen in zip(seeds, mask, strict=True)]
            self._worlds.reseed(seeds)
            self._seeded = True
        observations = self._empty()
        self._worlds.reset(observations, mask)
        return self._spaces.shown(observations), self._info()

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """A step in every environment."""
        if self._spaces.discrete:
            actions = _numbers(actions, self.num_envs)
        else:
            actions = _reals(actions, self.action_space.shape or ())
        observations, rewards = self._empty(), np.empty(self.num_envs)
        terminated, truncated = np.empty(self.num_envs, np.bool_), np.empty(self.num_envs, np.bool_)
        started_over = self._worlds.step(actions, observations, rewards, terminated, truncated)
        info = self._info()
        if started_over:
            self._add_last(info, terminated | truncated)
        return self._spaces.shown(observations), rewards, terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """A picture of every environment, if the render mode is "rgb_array"."""
        if self.render_mode != "rgb_array":
            return None
        return tuple(_picture(self._worlds, i) for i in range(self.num_envs))

    def save(self) -> list[bytes]:
        """The complete states, for `restore`."""
        return self._worlds.save()

    def restore(self, states: list[bytes]) -> Array:
        """Takes over saved states, and returns what is seen then."""
        observations = self._empty()
        self._worlds.restore(list(states), observations)
        self._seeded = True
        return self._spaces.shown(observations)

    def _empty(self) -> Array:
        return np.empty((self.num_envs, *self._spaces.shape), self._spaces.dtype)

    def _info(self) -> dict[str, Any]:
        levels = self._worlds.levels() if self._procgen else None
        if levels is None:
            return {}
        shown, played, complete = levels
        return {
            "level_seed": np.array(shown),
            "prev_level_seed": np.array(played),
            "prev_level_complete": np.array(complete),
        }

    def _add_last(self, info: dict[str, Any], ended: Array) -> None:
        """The last observations of the episodes that ended, in the form of Gymnasium's own vector environments."""
        indices: list[int] = np.flatnonzero(ended).tolist()
        last = np.empty((len(indices), *self._spaces.shape), self._spaces.dtype)
        self._worlds.final_observations(indices, last)
        each = np.empty(self.num_envs, dtype=object)  # of None
        for index, observation in zip(indices, self._spaces.shown(last), strict=True):
            each[index] = observation
        info.update(final_obs=each, _final_obs=ended, final_info={}, _final_info=ended)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None] | None:
        """A seed for each environment; None where nothing is to be made anew."""
        n = self.num_envs
        if seed is None:
            if self._seeded:
                return None
            seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
        if isinstance(seed, (int, np.integer)):
            first = _seed(seed)
            return [_seed(first + i) for i in range(n)]
        seeds = [None if each is None else _seed(each) for each in seed]
        if len(seeds) != n:
            raise ValueError(f"seed: expected one seed or {n} of them, got {len(seeds)}")
        if self._procgen:
            raise ValueError("seed: Procgen numbers its environments itself; give one seed")
        if not self._seeded and None in seeds:
            raise ValueError("seed: the first reset needs a seed for every environment")
        return seeds

    def _mask(self, options: dict[str, Any] | None) -> list[bool] | None:
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        if options:
            raise ValueError(f"options: expected nothing but reset_mask, got {sorted(options)}")
        if mask is None:
            return None
        array = np.asarray(mask)
        if array.dtype != np.bool_ or array.shape != (self.num_envs,):
            found = f"{array.dtype} of the shape {array.shape}"
            raise ValueError(f"reset_mask: expected bool of the shape ({self.num_envs},), got {found}")
        if self._procgen and not array.all():
            raise ValueError("reset_mask: Procgen resets all environments at once")
        listed: list[bool] = array.tolist()
        return listed


class GuardWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in which an agent is not trusted where its score raises an alarm.

    Args:
        env: any Gymnasium environment.
        guard: calibrated on scores of the same agent, `ive.Guard.calibrate`.
        score: `score(observation) -> float`, such as σ-IVE of the agent there.
        fallback: `fallback(observation) -> action`, taken in place of the agent's action while there is an alarm.
        latch: an alarm holds until the end of the episode.
        stop: the episode is truncated at an alarm, before the next action.
        on_alarm: `on_alarm(observation, score)`, called at each alarm: ask for help, log, brake.

    `info["guard"]` holds the score of the observation, whether it is an alarm, and whether the action was replaced.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        guard: Guard,
        score: Callable[[Any], Any],
        fallback: Callable[[Any], Any] | None = None,
        *,
        latch: bool = False,
        stop: bool = False,
        on_alarm: Callable[[Any, float], None] | None = None,
    ) -> None:
        super().__init__(env)
        self.guard, self.score, self.fallback = guard, score, fallback
        self.latch, self.stop, self.on_alarm = latch, stop, on_alarm
        self.alarm = False
        self._observation: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode, with a look at where it starts."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.alarm = False
        return observation, {**info, "guard": self._look(observation, False)}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Takes the agent's action, or the fallback's while there is an alarm."""
        before = self.alarm
        replaced = before and self.fallback is not None
        if replaced:
            assert self.fallback is not None
            action = self.fallback(self._observation)
        observation, reward, terminated, truncated, info = self.env.step(action)
        seen = self._look(observation, replaced)
        if self.stop and (before or self.alarm) and not terminated:
            truncated = True
        return observation, reward, terminated, truncated, {**info, "guard": seen}

    def _look(self, observation: Any, replaced: bool) -> dict[str, Any]:
        score = float(self.score(observation))
        raised = bool(self.guard.is_alarm(score))
        self.alarm = raised or (self.latch and self.alarm)
        self._observation = observation
        if raised and self.on_alarm is not None:
            self.on_alarm(observation, score)
        return {"score": score, "alarm": self.alarm, "replaced": replaced}


def _state(options: dict[str, Any] | None) -> bytes | None:
    options = dict(options or {})
    state = options.pop("state", None)
    if options:
        raise ValueError(f"options: expected nothing but state, got {sorted(options)}; options of the world belong to make")
    if state is not None and not isinstance(state, bytes):
        raise TypeError(f"state: expected bytes, got {type(state).__name__}")
    return state


def _number(action: Any) -> int:
    try:
        return operator.index(action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action)
    except TypeError:
        raise TypeError(f"action: expected a whole number, got {action!r}") from None


def _numbers(actions: Any, count: int) -> Array:
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise TypeError(f"actions: expected whole numbers, got an array of dtype {array.dtype}")
    if array.shape != (count,):
        raise ValueError(f"actions: expected the shape ({count},), got {array.shape}")
    return np.ascontiguousarray(array, np.int64)


def _reals(actions: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(actions)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"actions: expected real numbers, got an array of dtype {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"actions: expected the shape {shape}, got {array.shape}")
    return np.ascontiguousarray(array, np.float64)


def _picture(worlds: _ive.Worlds, index: int) -> Array:
    height, width, pixels = worlds.picture(index)
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


def make(name: str, **options: Any) -> Env:
    """One environment by name: `ive.make("minatar:breakout", sticky=0.0)`."""
    return Env(name, **options)


def make_vec(name: str, num_envs: int, **options: Any) -> VectorEnv:
    """Many environments by name: `ive.make_vec("minatar:breakout", 64)`. See `VectorEnv` for the options."""
    return VectorEnv(name, num_envs, **options)


def identifier(name: str) -> str:
    """The name under which Gymnasium knows an environment: "ive/minatar-breakout-v0" for "minatar:breakout"."""
    return f"ive/{name.replace(':', '-').replace('_', '-')}-v0"


def register() -> None:
    """Tells Gymnasium about all environments; `import ive` does it."""
    for name in _ive.names():
        if identifier(name) not in gymnasium.registry:
            gymnasium.register(
                id=identifier(name),
                entry_point="ive.gym:Env",
                vector_entry_point="ive.gym:VectorEnv",
                kwargs={"name": name},
            )


register()
