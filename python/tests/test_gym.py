"""The environments, one at a time: Gymnasium's own checker, seeds, options, states, and parity with the original where it is installed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from conftest import needed

gymnasium = needed("gymnasium")

import numpy as np  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

import ive  # noqa: E402

MINATAR = [name for name in ive.environments() if name.startswith("minatar:")]
NATIVE = ["procgen:coinrun", "procgen:maze", "walker:walk", "walker:stand"]


def checked(name: str) -> None:
    with warnings.catch_warnings():
        # Velocities of a walker have no bounds, and the checker would rather have some.
        warnings.filterwarnings("ignore", message=".*Box observation space (min|max)imum value is -?infinity.*")
        check_env(gymnasium.make(ive.gym.identifier(name), render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", MINATAR)
def test_gymnasiums_checker_finds_nothing(name: str) -> None:
    checked(name)


@pytest.mark.parametrize("name", NATIVE)
def test_gymnasiums_checker_finds_nothing_in_native_environments(name: str, native: None) -> None:
    checked(name)


def test_all_environments_are_registered() -> None:
    names = ive.environments()
    assert len(names) == 24 and all(ive.gym.identifier(name) in gymnasium.registry for name in names)
    assert ive.gym.identifier("minatar:space_invaders") == "ive/minatar-space-invaders-v0"
    env = gymnasium.make("ive/minatar-breakout-v0", sticky=0.0, max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


def episode(name: str, seed: int, steps: int = 300, **options: Any) -> list[Any]:
    env = ive.make(name, **options)
    rng = np.random.default_rng(7)
    seen: list[Any] = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        action = rng.integers(6) if env.action_space.shape == () else rng.uniform(-1, 1, 6)
        observation, reward, terminated, truncated, _ = env.step(action)
        seen += [observation, reward, terminated]
        if terminated or truncated:
            seen.append(env.reset()[0])
    return seen


@pytest.mark.parametrize("name", [*MINATAR, *NATIVE])
def test_a_seed_and_actions_determine_everything(name: str, request: pytest.FixtureRequest) -> None:
    if name in NATIVE:
        request.getfixturevalue("native")
    a, b, c = episode(name, 5), episode(name, 5), episode(name, 6)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert len(a) != len(c) or not all(np.array_equal(x, y) for x, y in zip(a, c, strict=True))


@pytest.mark.parametrize("name", MINATAR)
def test_minatar_equals_the_original_step_by_step(name: str) -> None:
    minatar = needed("minatar")
    game = name.removeprefix("minatar:")
    theirs = minatar.Environment(game)
    theirs.seed(3)
    theirs.reset()
    ours = ive.make(name, rng="numpy")
    observation, _ = ours.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        assert np.array_equal(observation, theirs.state())
        action = int(rng.integers(6))
        observation, reward, terminated, _, _ = ours.step(action)
        their_reward, their_end = theirs.act(action)
        assert (reward, terminated) == (their_reward, their_end)
        if terminated:
            assert np.array_equal(observation, theirs.state())
            theirs.reset()
            observation, _ = ours.reset()


def test_options_are_python_values_and_checked() -> None:
    env = ive.make("minatar:breakout", sticky=0.0, actions="minimal", ramping=False)
    assert env.action_space == gymnasium.spaces.Discrete(3) and env.action_names() == ["noop", "left", "right"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"stikcy": 0.0}, "no option is called `stikcy`; there is sticky"),
        ({"sticky": 2}, "sticky cannot be `2`: it must be a probability, 0 to 1"),
        ({"render_mode": "human"}, 'render_mode: expected None or "rgb_array", got \'human\''),
    ]
    for keywords, message in wrong:
        with pytest.raises(ValueError) as caught:
            ive.make("minatar:breakout", **keywords)
        assert message in str(caught.value)
    with pytest.raises(ValueError, match="did you mean minatar:breakout"):
        ive.make("minatar:braekout")
    assert ive.describe("procgen:coinrun")["shape"] == [64, 64, 3]
    with pytest.raises(ValueError, match="no environment is called `pong`"):
        ive.describe("pong")


def test_actions_that_make_no_sense_are_refused() -> None:
    env = ive.make("minatar:breakout")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action 6 does not exist: this environment has the actions 0 to 5"):
        env.step(6)
    with pytest.raises(ValueError, match="actions: -1 is negative"):
        env.step(-1)
    for action in (0.5, "left", None, np.array([0, 1])):
        with pytest.raises(TypeError, match="action: expected a whole number"):
            env.step(action)
    env.step(np.int64(1)), env.step(np.array(2))
    for seed in (-1, 2**64):
        with pytest.raises((ValueError, gymnasium.error.Error)):
            env.reset(seed=seed)


def test_continuous_actions_that_make_no_sense_are_refused(native: None) -> None:
    env = ive.make("walker:walk")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions: expected the shape \(6,\), got \(5,\)"):
        env.step(np.zeros(5))
    with pytest.raises(ValueError, match="must be a finite number"):
        env.step(np.full(6, np.nan))
    with pytest.raises(TypeError, match="actions: expected real numbers"):
        env.step("jump")
    env.step(np.zeros(6, np.float32)), env.step([0] * 6)


@pytest.mark.parametrize("name", ["minatar:seaquest", *NATIVE[1:3]])
def test_a_saved_state_has_the_same_future(name: str, request: pytest.FixtureRequest) -> None:
    if name in NATIVE:
        request.getfixturevalue("native")
    env, other = ive.make(name), ive.make(name)
    env.reset(seed=1), other.reset(seed=2)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(60)]
    for action in actions[:30]:
        env.step(action)
    saved = env.save()
    now, _ = other.reset(options={"state": saved})
    assert other.save() == saved
    for action in actions[30:]:
        pairs: Any = zip(env.step(action)[:4], other.step(action)[:4], strict=True)
        assert all(np.array_equal(x, y) for x, y in pairs)
    for state in (b"", b"garbage", saved[:-3], saved[:10] + b"x" + saved[11:]):
        with pytest.raises(ValueError):
            other.reset(options={"state": state})
    with pytest.raises(TypeError, match="state: expected bytes, got str"):
        other.reset(options={"state": "text"})
    with pytest.raises(ValueError, match="options: expected nothing but state"):
        other.reset(options={"sticky": 0})


def test_pictures(native: None) -> None:
    for name, side in [("minatar:freeway", 160), ("procgen:coinrun", 64), ("walker:walk", 256)]:
        env = ive.make(name, render_mode="rgb_array")
        env.reset(seed=0)
        picture = env.render()
        assert picture.shape == (side, side, 3) and picture.dtype == np.uint8 and picture.std() > 5
    assert ive.make("minatar:freeway").render() is None
    pixels = ive.make("walker:walk", observation="pixels")
    assert pixels.reset(seed=0)[0].shape == (64, 64, 3)
