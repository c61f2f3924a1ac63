"""Arrays of JAX, its keys, and models in the form of mctx."""

from __future__ import annotations

from typing import Any, NamedTuple

from conftest import needed

jax = needed("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import ive  # noqa: E402


class Output(NamedTuple):
    """The fields of mctx.RecurrentFnOutput."""

    reward: Any
    discount: Any
    prior_logits: Any
    value: Any


class Root(NamedTuple):
    """The fields of mctx.RootFnOutput."""

    prior_logits: Any
    value: Any
    embedding: Any


def test_arrays_are_arrays() -> None:
    rewards, values = jax.random.normal(jax.random.key(0), (5, 7)), jax.random.normal(jax.random.key(1), (6, 7))
    expected = ive.ensemble(np.asarray(rewards), np.asarray(values), 0.9).std()
    assert np.array_equal(ive.ensemble(rewards, values, 0.9).std(), expected)
    assert np.array_equal(ive.ensemble(list(rewards), values, jnp.full((5, 7), 0.9)).std(), ive.ensemble(rewards, values, np.float32(0.9)).std())
    half = ive.ensemble(rewards.astype(jnp.bfloat16), values.astype(jnp.bfloat16), 0.9)
    assert np.abs(half.std() - expected).max() < 0.1


def test_keys_are_split_and_never_used_twice() -> None:
    seen: list[bytes] = []

    def draw(key: Any) -> Any:
        seen.append(np.asarray(jax.random.key_data(key)).tobytes())
        return jax.random.normal(key, (3,))

    def run() -> ive.Rollout:
        step = lambda s, a, key: (s + a, draw(key))  # noqa: E731
        return ive.unroll(step, lambda s: s, lambda s, key: draw(key), jnp.zeros(3), 4, jax.random.key(0), discount=0.9)

    a, b = run(), run()
    assert len(set(seen[:8])) == 8 and np.array_equal(a.rewards, b.rewards)
    old_style = jax.random.PRNGKey(0)
    path = ive.unroll(lambda s, a, key: (s, draw(key)), lambda s: s, lambda s, key: s, jnp.zeros(3), 2, old_style, discount=0.9)
    assert path.horizon == 2


def test_a_jitted_model_in_the_form_of_mctx() -> None:
    def recurrent_fn(params: Any, key: Any, action: Any, embedding: Any) -> Any:
        after = embedding + jnp.where(action == 1, 1.0, -1.0)
        logits = jnp.stack([after * 0, after * 0], -1)
        return Output(jnp.ones_like(after), jnp.full_like(after, params), logits, 10.0 + 0 * after), after

    start = jnp.zeros(64)
    root = Root(jnp.zeros((64, 2)), jnp.full(64, 10.0), start)
    path = ive.unroll_recurrent_fn(jax.jit(recurrent_fn), 0.9, jax.random.key(0), root, 5)
    # Every step pays 1, γ is 0.9 and the value 10: nothing to disagree on, up to the rounding of 0.9 in single precision.
    assert path.shape == (64,) and path.ensemble().std().max() < 1e-6
    greedy = ive.unroll_recurrent_fn(recurrent_fn, 0.9, None, root, 5)
    assert greedy.horizon == 5
