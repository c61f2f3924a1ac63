"""The peers of `ive bench agents`: the same work in JAX, jit-compiled, single precision, one thread.

usage: agents.py REPEATS    one JSON line per measurement: CPU and wall seconds per unit, best of many blocks
"""
import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax

REPEATS = int(sys.argv[1])
ACTIONS, UNITS, HEAD, GAMMA, BRANCHING = 6, 128, 64, 0.99, (4, 4, 4, 1, 1)
rng = np.random.default_rng(0)
sigmoid, elu, relu = jax.nn.sigmoid, jax.nn.elu, jax.nn.relu


def say(case, peer, work, per=1):
    """Blocks of about 20 ms, the best of 20 times REPEATS of them."""
    work()
    start = time.perf_counter()
    work()
    inner = max(1, int(0.02 / (time.perf_counter() - start)))
    runs = []
    for _ in range(20 * REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(inner):
            work()
        runs.append(((time.process_time() - cpu) / inner / per, (time.perf_counter() - wall) / inner / per))
    cpu, wall = min(runs)
    print(json.dumps({"case": case, "peer": peer, "cpu": cpu, "wall": wall}), flush=True)


def matrix(rows, columns):
    return jnp.asarray(rng.normal(0, 1 / np.sqrt(rows), (rows, columns)), jnp.float32)


# A decision: plan of depth 5, from latent states; encoding the board is not included.
plan_weights = dict(
    wh=matrix(UNITS, 4 * UNITS), wa=matrix(ACTIONS, 4 * UNITS), b=jnp.zeros(4 * UNITS), rh=matrix(UNITS, HEAD),
    ra=matrix(ACTIONS, HEAD), rb=jnp.zeros(HEAD), ro=matrix(HEAD, 1), v1=matrix(UNITS, HEAD), vb=jnp.zeros(HEAD),
    vo=matrix(HEAD, 1))


def children(p, h, c, factored):
    n = h.shape[0]
    if factored:                # the action enters through one row: one product per node
        gates = (h @ p["wh"] + p["b"])[:, None] + p["wa"]
        r = elu((h @ p["rh"] + p["rb"])[:, None] + p["ra"]) @ p["ro"]
    else:                       # one product per child
        x = jnp.concatenate([jnp.repeat(h, ACTIONS, 0), jnp.tile(jnp.eye(ACTIONS), (n, 1))], 1)
        gates = (x @ jnp.concatenate([p["wh"], p["wa"]]) + p["b"]).reshape(n, ACTIONS, -1)
        r = (elu(x @ jnp.concatenate([p["rh"], p["ra"]]) + p["rb"]) @ p["ro"]).reshape(n, ACTIONS, 1)
    i, g, f, o = jnp.split(gates, 4, -1)
    c = sigmoid(f + 1) * c[:, None] + sigmoid(i) * jnp.tanh(g)
    h = sigmoid(o) * jnp.tanh(c)
    return h, c, r[..., 0], (elu(h @ p["v1"] + p["vb"]) @ p["vo"])[..., 0]


def plan(p, h, c, depth, factored):
    h, c, r, v = children(p, h, c, factored)
    top = lax.top_k(r + GAMMA * v, BRANCHING[-depth])[1]
    take = lambda x: jnp.take_along_axis(x, top if x.ndim == 2 else top[..., None], 1)
    r, v = take(r), take(v)
    if depth > 1:
        q = plan(p, take(h).reshape(-1, UNITS), take(c).reshape(-1, UNITS), depth - 1, factored)[0]
        v = v / depth + (depth - 1) / depth * q.max(-1).reshape(v.shape)
    return r + GAMMA * v, top


@partial(jax.jit, static_argnames="factored")
def decide(p, h, c, factored):
    q, top = plan(p, h, c, len(BRANCHING), factored)
    return jnp.take_along_axis(top, q.argmax(-1, keepdims=True), 1)[:, 0]


for batch in (1, 16):
    h = jnp.asarray(np.tanh(rng.normal(size=(batch, UNITS))), jnp.float32)
    for factored in (False, True):
        name = f"JAX {'factored' if factored else 'naive'}, batch {batch}"
        say("decision", name, lambda: decide(plan_weights, h, jnp.zeros_like(h), factored).block_until_ready(), batch)


# Updates: loss, gradient, Adam.
def layer(inputs, outputs):
    return dict(w=matrix(inputs, outputs), b=jnp.zeros(outputs))


def dense(p, x):
    return x @ p["w"] + p["b"]


def torso(p, x):
    y = lax.conv_general_dilated(x, p["conv"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return relu(dense(p["torso"], relu(y + p["conv_b"]).reshape(x.shape[0], -1)))


def torso_weights(channels):
    conv = jnp.asarray(rng.normal(0, 0.2, (3, 3, channels, 16)), jnp.float32)
    return dict(conv=conv, conv_b=jnp.zeros(16), torso=layer(1024, UNITS))


def adam(loss):
    @partial(jax.jit, donate_argnums=(0, 1, 2, 3))
    def step(p, m, u, t, *data):
        value, g = jax.value_and_grad(loss)(p, *data)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        u = jax.tree.map(lambda u, g: 0.999 * u + 0.001 * g * g, u, g)
        move = lambda p, m, u: p - 1e-4 * (m / (1 - 0.9**t)) / (jnp.sqrt(u / (1 - 0.999**t)) + 1e-8)
        return jax.tree.map(move, p, m, u), m, u, t, value
    return step


def trainer(p, loss):
    zeros = jax.tree.map(jnp.zeros_like, p)
    state, step = [p, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0)], adam(loss)

    def work(*data):
        *state[:], value = step(*state, *data)
        return float(value)
    return work


def boards(n, channels):
    return (rng.random((n, 10, 10, channels)) < 0.1).astype(np.float32)


def q_values(p, x):
    return dense(p["out"], torso(p, x))


def q_loss(p, target, s, s2, a, r):
    y = lax.stop_gradient(r + GAMMA * q_values(target, s2).max(1))
    return jnp.mean((jnp.take_along_axis(q_values(p, s), a[:, None], 1)[:, 0] - y) ** 2)


weights = dict(**torso_weights(7), out=layer(UNITS, ACTIONS))
target = jax.tree.map(jnp.copy, weights)
work = trainer(weights, q_loss)
data = boards(32, 7), boards(32, 7), rng.integers(0, ACTIONS, 32).astype(np.int32), rng.random(32, np.float32)
say("dqn update", "JAX, batch 32", lambda: work(target, *data))


def vpn_loss(p, s, actions, values, rewards):
    h = torso(p, s)
    c, loss = jnp.zeros_like(h), 0.0
    for k in range(5):
        i, g, f, o = jnp.split(dense(p["gates"], jnp.concatenate([h, actions[k]], 1)), 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        loss += jnp.mean((dense(p["value"], h) - values[k]) ** 2) + jnp.mean((dense(p["reward"], h) - rewards[k]) ** 2)
    return loss


weights = dict(**torso_weights(7), gates=layer(UNITS + ACTIONS, 4 * UNITS), value=layer(UNITS, 1),
               reward=layer(UNITS, 1))
work = trainer(weights, vpn_loss)
one_hot = np.eye(ACTIONS, dtype=np.float32)[rng.integers(0, ACTIONS, (5, 32))]
data = boards(32, 7), one_hot, rng.random((5, 32, 1), np.float32), rng.random((5, 32, 1), np.float32)
say("vpn update", "JAX, 32 starts × 5 steps, linear heads", lambda: work(*data))
