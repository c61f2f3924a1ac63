"""Imagined paths through other people's models: plain functions on whatever tensors they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import Floats, floats, whole
from ._ensemble import Ensemble, ensemble
from ._random import Source, copies, is_jax_key


@dataclass(frozen=True)
class Rollout:
    """What a model predicted along imagined paths from a batch of states.

    rewards [n, *batch] and discounts [n, *batch] belong to the steps; values [n + 1, *batch] to the states on the way.
    """

    rewards: Floats
    discounts: Floats
    values: Floats

    @property
    def horizon(self) -> int:
        """How many steps there are."""
        return len(self.rewards)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch of states."""
        return self.values.shape[1:]

    def ensemble(self, members: Iterable[int] | None = None) -> Ensemble:
        """The implicit value ensemble of the paths; `members` as in `ive.ensemble`."""
        return ensemble(self.rewards, self.values, self.discounts, members)

    def __repr__(self) -> str:
        return f"Rollout(horizon={self.horizon}, shape={self.shape})"


def unroll(
    dynamics: Callable[..., Any],
    value: Callable[[Any], Any],
    policy: Callable[..., Any],
    state: Any,
    horizon: int,
    rng: Any = None,
    *,
    discount: float | None = None,
) -> Rollout:
    """Unrolls a model from a batch of states, with actions of a policy.

    Args:
        dynamics: `dynamics(state, action) -> (next_state, reward, discount)`, with γ times the predicted probability of going on as
            the discount; or `(next_state, reward)` together with the argument `discount`. The reward is the one between
            value(state) and value(next_state): value(state) ≈ reward + discount · value(next_state).
        value: `value(state) -> values`, [*batch].
        policy: `policy(state) -> action`.
        state: a batch of states, of any type: tensors, arrays, dictionaries of them. It is only passed on.
        horizon: how many steps.
        rng: passed to `dynamics` and `policy` as one more argument if it is given: a generator with a state (NumPy's or PyTorch's),
            or a key of JAX, which is split for each call.
        discount: γ, for models without an output for it.

    If `dynamics` or `policy` is stochastic, one rollout is one *sample*: take several and `ive.average` their ensembles.

    >>> step = lambda x, a: (x + a, np.ones_like(x))             # every step pays 1
    >>> v = lambda x: 10.0 + np.where(x > 1, 3 * np.sin(x), 0)   # 1 / (1 − 0.9) is right; nonsense beyond 1
    >>> path = ive.unroll(step, v, lambda x: np.sign(x), np.array([-2.0, 2.0]), 5, discount=0.9)
    >>> path.ensemble().std().round(2)
    array([0.  , 1.68])
    """
    steps, source = whole("horizon", horizon), Source(rng)
    values, rewards, discounts = [value(state)], [], []
    for _ in range(steps):
        action = policy(state, *source.arguments())
        state, reward, going_on = _step(dynamics(state, action, *source.arguments()), discount)
        values.append(value(state))
        rewards.append(reward)
        discounts.append(going_on)
    return _rollout(rewards, discounts, values, "dynamics", "value")


def branch(
    dynamics: Callable[..., Any],
    value: Callable[[Any], Any],
    policy: Callable[..., Any],
    state: Any,
    actions: Sequence[Any],
    horizon: int,
    rng: Any = None,
    *,
    discount: float | None = None,
    q: object = None,
    members: Iterable[int] | None = None,
) -> Ensemble:
    """Action values: as `unroll`, once for each first action; later actions come from the policy.

    Args:
        actions: the first actions, each of them what `dynamics` takes for the whole batch.
        q: learned action values, [*batch, action], as the member k = 0. Without them the members are k = 1..n, since the value of
            the state says nothing about actions.
        members: which k take part.

    All branches see the same random numbers. The others are the arguments of `unroll`. The ensemble has the shape [*batch, action].

    >>> step = lambda x, a: (x + a, np.zeros_like(x))
    >>> v = lambda x: np.where(x > 1, x, 0.0)
    >>> stay = lambda x: np.zeros_like(x)
    >>> ive.branch(step, v, stay, np.array([0.0, 1.0]), [-1.0, 1.0], 3, discount=0.9).std().round(2)
    array([[0.  , 0.  ],
           [0.  , 0.14]])
    """
    if len(actions) == 0:
        raise ValueError("actions: must not be empty")
    paths = []
    for action, source in zip(actions, copies(rng, len(actions)), strict=True):
        paths.append(_first(action, dynamics, value, policy, state, horizon, source, discount))
    rewards, discounts, values = (
        np.stack([getattr(path, name) for path in paths], axis=-1) for name in ("rewards", "discounts", "values")
    )
    if q is not None:
        known = floats("q", q)
        if known.shape != values.shape[1:]:
            raise ValueError(f"q: expected the shape {values.shape[1:]}, [*batch, action], got {known.shape}")
        values = np.concatenate([known[None], values[1:]])
    if members is None:
        members = range(0 if q is not None else 1, rewards.shape[0] + 1)
    elif q is None and 0 in (members := list(members)):
        raise ValueError("members: k = 0 needs the argument q, because value(state) does not depend on the action")
    return ensemble(rewards, values, discounts, members)


def _first(
    action: Any,
    dynamics: Callable[..., Any],
    value: Callable[[Any], Any],
    policy: Callable[..., Any],
    state: Any,
    horizon: int,
    rng: Any,
    discount: float | None,
) -> Rollout:
    """A rollout whose first action is given."""
    taken = False

    def act(state: Any, *rest: Any) -> Any:
        nonlocal taken
        if taken:
            return policy(state, *rest)
        taken = True
        return action

    return unroll(dynamics, value, act, state, whole("horizon", horizon, 1), rng, discount=discount)


def unroll_recurrent_fn(
    recurrent_fn: Callable[[Any, Any, Any, Any], tuple[Any, Any]],
    params: Any,
    rng: Any,
    root: Any,
    horizon: int,
    *,
    select: Callable[[Any, Any], Any] | None = None,
) -> Rollout:
    """Unrolls a model of the form that mctx (MuZero, Gumbel MuZero) uses.

    Args:
        recurrent_fn: `recurrent_fn(params, rng, action, embedding) -> (output, embedding)`, where `output` has the attributes reward,
            discount, prior_logits and value, [B] or [B, actions], as `mctx.RecurrentFnOutput` has them.
        params: passed on.
        rng: a key of JAX, split for each call; or a NumPy generator; or None.
        root: has the attributes prior_logits, value and embedding, as `mctx.RootFnOutput`.
        horizon: how many steps.
        select: `select(rng, logits) -> actions`. By default actions are drawn from the logits, or are the likeliest ones if `rng` is
            None.

    Discounts must lie in [0, 1]; the −1 of two-player games has no place in this formula.
    """
    steps, source, choose = whole("horizon", horizon), Source(rng), select or _sample
    logits, embedding = root.prior_logits, root.embedding
    values, rewards, discounts = [root.value], [], []
    for _ in range(steps):
        action = choose(source.next(), logits)
        output, embedding = recurrent_fn(params, source.next(), action, embedding)
        values.append(output.value)
        rewards.append(output.reward)
        discounts.append(output.discount)
        logits = output.prior_logits
    return _rollout(rewards, discounts, values, "recurrent_fn", "recurrent_fn")


def _sample(rng: Any, logits: Any) -> Any:
    """An action for each row of logits: drawn, or the likeliest without a generator."""
    if rng is None:
        return logits.argmax(-1)
    if is_jax_key(rng):
        import jax

        return jax.random.categorical(rng, logits)
    if isinstance(rng, np.random.Generator):
        known = floats("prior_logits", logits)
        return (known + rng.gumbel(size=known.shape)).argmax(-1)
    raise TypeError(f"rng: expected a key of JAX, a NumPy generator or None, got {type(rng).__name__}; or pass `select`")


def _step(step: Any, discount: float | None) -> tuple[Any, Any, Any]:
    """Next state, reward and discount."""
    if not isinstance(step, tuple) or len(step) not in (2, 3):
        raise TypeError("dynamics: must return (next_state, reward, discount), or (next_state, reward) with the argument discount")
    if len(step) == 3 and discount is not None:
        raise TypeError("discount: dynamics returns a discount of its own; leave the argument out")
    if len(step) == 3:
        return step
    if discount is None:
        raise TypeError("discount: dynamics returns no discount, so the argument is needed")
    return (*step, discount)


def _rollout(rewards: list[Any], discounts: list[Any], values: list[Any], step: str, state: str) -> Rollout:
    """Predictions put together, step by step, all of one shape."""
    v = [floats(f"{state}: values after {i} steps", x) for i, x in enumerate(values)]
    batch = v[0].shape
    for i, x in enumerate(v):
        if x.shape != batch:
            raise ValueError(f"{state}: values after {i} steps have the shape {x.shape}, those at the start {batch}")
    r = [_fitting(f"{step}: rewards of step {i + 1}", x, batch) for i, x in enumerate(rewards)]
    d = [_fitting(f"{step}: discounts of step {i + 1}", x, batch) for i, x in enumerate(discounts)]
    return Rollout(_stacked(r, batch), _stacked(d, batch), _stacked(v, batch))


def _stacked(parts: list[Floats], batch: tuple[int, ...]) -> Floats:
    if not parts:
        return np.empty((0, *batch))
    together: Floats = np.stack(parts)  # type: ignore[assignment]
    return together


def _fitting(name: str, x: object, batch: tuple[int, ...]) -> Floats:
    array = floats(name, x)
    if array.ndim == 0:
        return np.full(batch, array)
    if array.shape != batch:
        raise ValueError(f"{name} have the shape {array.shape}, values {batch}")
    return array
