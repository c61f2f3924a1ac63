"""Unrolling models that are plain functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ive

Array = NDArray[Any]


def test_a_deterministic_model_by_hand() -> None:
    # s' = s + a, reward s·a, value s², policy a = 1, γ = ½, from s = 2: values 4, 9, 16; rewards 2, 3.
    path = ive.unroll(lambda s, a: (s + a, s * a), lambda s: s**2, lambda s: np.ones_like(s), np.array([2.0]), 2, discount=0.5)
    assert path.horizon == 2 and path.shape == (1,) and repr(path) == "Rollout(horizon=2, shape=(1,))"
    assert path.values.tolist() == [[4], [9], [16]] and path.rewards.tolist() == [[2], [3]]
    assert path.ensemble().members[:, 0].tolist() == [4, 2 + 0.5 * 9, 2 + 0.5 * 3 + 0.25 * 16]
    assert path.ensemble(members=[1, 2]).k == (1, 2)


def test_discounts_of_the_model_end_episodes() -> None:
    def dynamics(s: Array, a: Array) -> tuple[Array, Array, Array]:
        return s + 1, np.ones_like(s), np.where(s + 1 >= 2, 0.0, 0.9)

    path = ive.unroll(dynamics, lambda s: 10 - s, lambda s: s, np.array([0.0, 5.0]), 3)
    assert path.discounts.tolist() == [[0.9, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert path.ensemble().members[:, 1].tolist() == [5.0, 1.0, 1.0, 1.0]


def test_states_may_be_anything_and_rewards_plain_numbers() -> None:
    def dynamics(state: dict[str, Any], action: str) -> tuple[dict[str, Any], float]:
        assert action == "go"
        return {"x": state["x"] + 1}, 1.0

    path = ive.unroll(dynamics, lambda s: s["x"], lambda s: "go", {"x": np.zeros((2, 3))}, 4, discount=1.0)
    assert path.shape == (2, 3) and path.rewards.shape == (4, 2, 3)
    alone = ive.unroll(lambda s, a: (s, 1.0), lambda s: 5.0, lambda s: None, None, 2, discount=0.8)
    assert alone.shape == () and float(alone.ensemble().std()) < 1e-15  # 1 / (1 − 0.8) = 5
    still = ive.unroll(lambda s, a: (s, 1.0), lambda s: np.ones(3), lambda s: None, None, 0, discount=0.8)
    assert still.ensemble().k == (0,)


def test_generators_are_passed_on() -> None:
    def dynamics(s: Array, a: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        return s + a, rng.normal(size=s.shape)

    def policy(s: Array, rng: np.random.Generator) -> Array:
        return rng.normal(size=s.shape)

    def path(seed: int) -> ive.Rollout:
        return ive.unroll(dynamics, lambda s: s, policy, np.zeros(3), 4, np.random.default_rng(seed), discount=0.9)

    assert np.array_equal(path(0).rewards, path(0).rewards) and not np.array_equal(path(0).rewards, path(1).rewards)
    assert len({float(x) for x in path(0).rewards.ravel()}) == 12


def test_action_values_by_hand_and_with_q() -> None:
    step, value, policy = (lambda s, a: (s + a, s)), (lambda s: 10 * s), (lambda s: np.zeros_like(s))
    state, actions = np.array([1.0, 2.0, 3.0]), [-1.0, 4.0]
    e = ive.branch(step, value, policy, state, actions, 2, discount=0.5)
    # k = 1: s + ½·10 (s + a); k = 2: s + ½ (s + a) + ¼·10 (s + a).
    moved = state[:, None] + np.array(actions)
    assert e.shape == (3, 2) and e.k == (1, 2)
    assert np.abs(e.members[0] - (state[:, None] + 5 * moved)).max() < 1e-12
    assert np.abs(e.members[1] - (state[:, None] + 3 * moved)).max() < 1e-12
    q = np.arange(6.0).reshape(3, 2)
    with_q = ive.branch(step, value, policy, state, actions, 2, discount=0.5, q=q)
    assert with_q.k == (0, 1, 2) and np.array_equal(with_q.members[0], q)
    assert np.array_equal(with_q.members[1:], e.members)
    with pytest.raises(ValueError, match=r"q: expected the shape \(3, 2\), \[\*batch, action\], got \(2, 3\)"):
        ive.branch(step, value, policy, state, actions, 2, discount=0.5, q=q.T)
    with pytest.raises(ValueError, match="members: k = 0 needs the argument q"):
        ive.branch(step, value, policy, state, actions, 2, discount=0.5, members=range(3))
    with pytest.raises(ValueError, match="actions: must not be empty"):
        ive.branch(step, value, policy, state, [], 2, discount=0.5)
    with pytest.raises(ValueError, match="horizon: expected at least 1, got 0"):
        ive.branch(step, value, policy, state, actions, 0, discount=0.5)


def test_branches_see_the_same_random_numbers_and_the_generator_moves_on() -> None:
    def dynamics(s: Array, a: float, rng: np.random.Generator) -> tuple[Array, Array]:
        return s, rng.normal(size=s.shape)

    rng = np.random.default_rng(0)

    def run() -> ive.Ensemble:
        return ive.branch(dynamics, lambda s: s, lambda s, rng: 0.0, np.zeros(4), [0.0, 1.0, 2.0], 3, rng, discount=0.9)

    first, second = run(), run()
    assert np.array_equal(first.members[..., 0], first.members[..., 2])
    assert not np.array_equal(first.members, second.members)


def logits_of(state: Array) -> Array:
    return np.stack([np.zeros_like(state), np.full_like(state, 50.0)], axis=-1)


def recurrent_fn(params: float, rng: Any, action: Array, embedding: Array) -> tuple[Any, Array]:
    """A walk: action 1 goes to the right. Rewards 1; beyond 3 the episode is over."""
    after = embedding + np.where(action == 1, 1.0, -1.0)
    discount = np.where(after > 3, 0.0, params)
    output = SimpleNamespace(reward=np.ones_like(after), discount=discount, prior_logits=logits_of(after), value=2 * after)
    return output, after


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)])
def test_models_in_the_form_of_mctx(rng: Any) -> None:
    start = np.array([0.0, 2.0])
    root = SimpleNamespace(prior_logits=logits_of(start), value=2 * start, embedding=start)
    path = ive.unroll_recurrent_fn(recurrent_fn, 0.9, rng, root, 3)
    # The logits leave no doubt: always to the right.
    assert path.values.T.tolist() == [[0, 2, 4, 6], [4, 6, 8, 10]]
    assert path.discounts.T.tolist() == [[0.9, 0.9, 0.9], [0.9, 0.0, 0.0]]
    assert path.ensemble().members[2, 1] == 1 + 0.9 * 1
    left = ive.unroll_recurrent_fn(recurrent_fn, 0.9, rng, root, 3, select=lambda rng, logits: np.zeros(2, int))
    assert left.values.T.tolist() == [[0, -2, -4, -6], [4, 2, 0, -2]]
    two_players = ive.unroll_recurrent_fn(recurrent_fn, -1.0, rng, root, 1)
    with pytest.raises(ValueError, match="discount: -1 is outside the range 0 to 1"):
        two_players.ensemble()


def go(s: Array, a: Array) -> tuple[Array, Array]:
    return s + a, np.ones_like(s)


def value(s: Array) -> Array:
    return s


@pytest.mark.parametrize(
    ("arguments", "keywords", "kind", "message"),
    [
        ((go, value, value, np.ones(2), 2), {}, TypeError, "discount: dynamics returns no discount, so the argument is needed"),
        ((go, value, value, np.ones(2), 2.5), {"discount": 0.9}, TypeError, "horizon: expected a whole number, got 2.5"),
        ((go, value, value, np.ones(2), -1), {"discount": 0.9}, ValueError, "horizon: expected at least 0, got -1"),
        ((lambda s, a: s, value, value, np.ones(2), 2), {"discount": 0.9}, TypeError, "dynamics: must return"),
        ((lambda s, a: (s, s, s), value, value, np.ones(2), 2), {"discount": 0.9}, TypeError, "dynamics returns a discount"),
        (
            (lambda s, a: (s, np.ones((2, 1))), value, value, np.ones(2), 2),
            {"discount": 0.9},
            ValueError,
            "dynamics: rewards of step 1 have the shape (2, 1), values (2,)",
        ),
        (
            (lambda s, a: (s[:1], s), value, value, np.ones(2), 2),
            {"discount": 0.9},
            ValueError,
            "value: values after 1 steps have the shape (1,), those at the start (2,)",
        ),
        ((go, lambda s: "x", value, np.ones(2), 2), {"discount": 0.9}, TypeError, "value: values after 0 steps: expected real"),
    ],
)
def test_functions_that_answer_nonsense_are_named(
    arguments: tuple[Any, ...], keywords: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        ive.unroll(*arguments, **keywords)
    assert message in str(caught.value)


def test_errors_of_the_users_own_functions_pass_unchanged() -> None:
    def broken(s: Array) -> Array:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        ive.unroll(go, broken, value, np.ones(2), 2, discount=0.9)


RHO, GAMMA = 0.8, 0.9


def test_the_reward_convention_decides() -> None:
    """With s' = ρ s and a reward head r(s) = s, the values have closed forms.

    TD-MPC2, MuZero and DreamerV3 do not count the reward of arriving in s: v(s) = Σ γⁱ r(sⁱ⁺¹) = ρ s / (1 − γρ). DreamerV1 and V2 do:
    v(s) = Σ γⁱ r(sⁱ) = s / (1 − γρ). Each needs its own reward; the other one reads as disagreement where there is none.
    """
    arriving = lambda s, a: (RHO * s, RHO * s)  # noqa: E731  the reward of the next state
    departing = lambda s, a: (RHO * s, s)  # noqa: E731  the reward of the state itself
    without, with_own = (lambda s: RHO * s / (1 - GAMMA * RHO)), (lambda s: s / (1 - GAMMA * RHO))

    def sigma(dynamics: Any, v: Any) -> float:
        path = ive.unroll(dynamics, v, lambda s: None, np.array([3.0]), 5, discount=GAMMA)
        return float(path.ensemble().std()[0])

    assert sigma(arriving, without) < 1e-12 and sigma(departing, with_own) < 1e-12
    assert sigma(departing, without) > 0.1 and sigma(arriving, with_own) > 0.1
