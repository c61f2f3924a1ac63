"""A tiny world model in JAX, in the form that mctx takes: `recurrent_fn(params, key, action, embedding)`.

The agent lives on a circle of 24 cells and learned from the half of it where it has been: rewards, next cells and values are tables
fitted there by gradient descent, from random starts, so elsewhere they still are what they were at the beginning. Whoever has a
recurrent_fn for MuZero has σ-IVE: reward, discount, prior logits and value are exactly what it needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import ive

CELLS, GAMMA, HORIZON = 24, 0.9, 5
VISITED = jnp.arange(CELLS) < CELLS // 2


class RecurrentFnOutput(NamedTuple):
    """As mctx has it; with mctx installed, use its own."""

    reward: Any
    discount: Any
    prior_logits: Any
    value: Any


class RootFnOutput(NamedTuple):
    """As mctx has it."""

    prior_logits: Any
    value: Any
    embedding: Any


def truth(cell: Any, action: Any) -> tuple[Any, Any]:
    """Action 0 stays, action 1 goes to the right, but never leaves the half it is in; each step pays 1 / (1 + cell)."""
    half = CELLS // 2
    after = jnp.where((action == 1) & ((cell + 1) % half != 0), cell + 1, cell)
    return after, 1.0 / (1.0 + after)


def losses(params: Any) -> Any:
    """Model and value on all visited cells and both actions, in expectation over the uniform policy."""
    cells = jnp.arange(CELLS)
    total = 0.0
    targets = 0.0
    for action in (0, 1):
        after, reward = truth(cells, jnp.full(CELLS, action))
        logits = jax.nn.log_softmax(params["next"][:, action])
        missed = -logits[cells, after] + (params["reward"][:, action] - reward) ** 2
        total += jnp.where(VISITED, missed, 0.0).sum()
        targets += 0.5 * (reward + GAMMA * jax.lax.stop_gradient(params["value"])[after])
    return total + jnp.where(VISITED, (params["value"] - targets) ** 2, 0.0).sum()


def train(steps: int = 800) -> Any:
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "next": jax.random.normal(keys[0], (CELLS, 2, CELLS)),
        "reward": jax.random.normal(keys[1], (CELLS, 2)),
        "value": jax.random.normal(keys[2], (CELLS,)),
    }
    step = jax.jit(lambda p: jax.tree.map(lambda x, g: x - 0.3 * g, p, jax.grad(losses)(p)))
    for _ in range(steps):
        params = step(params)
    return params


@jax.jit
def recurrent_fn(params: Any, key: Any, action: Any, cell: Any) -> tuple[RecurrentFnOutput, Any]:
    after = jax.random.categorical(key, params["next"][cell, action])
    shape = after.shape
    output = RecurrentFnOutput(
        reward=params["reward"][cell, action],
        discount=jnp.full(shape, GAMMA),
        prior_logits=jnp.zeros((*shape, 2)),
        value=params["value"][after],
    )
    return output, after


def main() -> dict[str, bool]:
    params = train()
    cells = jnp.arange(CELLS)
    root = RootFnOutput(prior_logits=jnp.zeros((CELLS, 2)), value=params["value"], embedding=cells)
    # Model and policy are stochastic: average many rollouts before σ is taken, and see how well σ is known.
    samples = ive.SampledEnsemble(groups=20)
    for key in jax.random.split(jax.random.key(1), 200):
        samples.push(ive.unroll_recurrent_fn(recurrent_fn, params, key, root, HORIZON).ensemble())
    sigma, error = samples.std()
    visited = np.asarray(VISITED)
    print(f"mean σ-IVE(5): {sigma[visited].mean():.3f} on visited cells, {sigma[~visited].mean():.3f} elsewhere")
    print(f"largest standard error of a σ: {error.max():.3f}")
    auroc = ive.auroc(sigma[visited], sigma[~visited])
    print(f"AUROC of σ-IVE(5) for cells never visited: {auroc:.2f}")
    one = ive.unroll_recurrent_fn(recurrent_fn, params, jax.random.key(2), root, HORIZON).ensemble().std()
    print(f"one rollout alone would say {one[visited].mean():.3f} on visited cells: sampling noise, not disagreement")
    return {"detects": auroc > 0.9, "averaging matters": one[visited].mean() > 2 * sigma[visited].mean()}


if __name__ == "__main__":
    main()
