"""The peers of `ive bench score`: NumPy and JAX on the same work, one JSON line per measurement.

usage: score.py STATES REPEATS    (CPU time of all threads and wall time, best of REPEATS by CPU)
"""
import json
import sys
import time

import numpy as np

STATES, REPEATS = int(sys.argv[1]), int(sys.argv[2])
STEPS, GAMMA, BLOCK = 5, 0.99, 8192


def say(case, peer, work):
    """Measures `work`, repeated inside to at least 0.05 s, and prints the best run; the first call is a warm-up."""
    work()
    start = time.perf_counter()
    work()
    inner = max(1, int(np.ceil(0.05 / (time.perf_counter() - start))))
    runs = []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(inner):
            work()
        runs.append(((time.process_time() - cpu) / inner, (time.perf_counter() - wall) / inner))
    cpu, wall = min(runs)
    print(json.dumps({"case": case, "peer": peer, "cpu": cpu, "wall": wall}), flush=True)


def members_into(rewards, values, members, reward_sum, scratch):
    """The k-step values, without a temporary array."""
    members[0] = values[0]
    reward_sum[:] = 0
    discount = 1.0
    for k in range(1, STEPS + 1):
        np.multiply(rewards[k - 1], discount, out=scratch)
        reward_sum += scratch
        discount *= GAMMA
        np.multiply(values[k], discount, out=members[k])
        members[k] += reward_sum


def numpy_plain(rewards, values):
    """Whole arrays, as most people write it well: few temporaries, means once."""
    members = np.empty_like(values)
    members_into(rewards, values, members, np.empty_like(values[0]), np.empty_like(values[0]))
    mean = members.mean(0)
    deviations = members - mean
    np.square(deviations, out=deviations)
    return members, mean, np.sqrt(deviations.mean(0))


def numpy_reused(rewards, values, members, deviations, mean, std, scratch):
    """The same, into arrays that are there already."""
    members_into(rewards, values, members, mean, scratch)
    np.mean(members, axis=0, out=mean)
    np.subtract(members, mean, out=deviations)
    np.square(deviations, out=deviations)
    np.mean(deviations, axis=0, out=std)
    np.sqrt(std, out=std)


def numpy_blocks(rewards, values, keep):
    """A part of the states at a time, so that what is written is read from the cache."""
    states = values.shape[1]
    mean, std = np.empty_like(values[0]), np.empty_like(values[0])
    members = np.empty_like(values) if keep else None
    own = np.empty((STEPS + 1, BLOCK), values.dtype)
    reward_sum, scratch = np.empty(BLOCK, values.dtype), np.empty(BLOCK, values.dtype)
    for start in range(0, states, BLOCK):
        part = slice(start, min(start + BLOCK, states))
        width = part.stop - start
        m = own[:, :width]
        members_into(rewards[:, part], values[:, part], m, reward_sum[:width], scratch[:width])
        if keep:
            members[:, part] = m
        np.mean(m, axis=0, out=mean[part])
        m -= mean[part]
        np.square(m, out=m)
        np.mean(m, axis=0, out=std[part])
        np.sqrt(std[part], out=std[part])
    return members, mean, std


def jax_cases(arrays):
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    def members(rewards, values):
        reward_sum, discount, all_members = jnp.zeros_like(values[0]), 1.0, [values[0]]
        for k in range(1, STEPS + 1):
            reward_sum = reward_sum + discount * rewards[k - 1]
            discount *= GAMMA
            all_members.append(reward_sum + discount * values[k])
        return all_members

    def plain(rewards, values):
        m = jnp.stack(members(rewards, values))
        return m, m.mean(0), m.std(0)

    def written_out(rewards, values):
        # Sums in place of a reduction: the compiler makes one loop of everything.
        m = members(rewards, values)
        mean = sum(m) / len(m)
        return m, mean, jnp.sqrt(sum((x - mean) ** 2 for x in m) / len(m))

    for way, name in ((plain, "jit"), (written_out, "jit, sums written out")):
        statistics = jax.jit(lambda rewards, values, way=way: way(rewards, values)[1:])
        scores = jax.jit(way)
        for kind, (rewards, values) in arrays.items():
            rewards, values = jnp.asarray(rewards), jnp.asarray(values)
            for case, work in (("statistics", statistics), ("scores", scores)):
                say(f"{case}-{kind}", f"JAX {kind}, {name}", lambda: jax.block_until_ready(work(rewards, values)))


rng = np.random.default_rng(0)
ARRAYS = {}
for kind, dtype in (("f64", np.float64), ("f32", np.float32)):
    ARRAYS[kind] = (rng.normal(size=(STEPS, STATES)).astype(dtype), rng.normal(size=(STEPS + 1, STATES)).astype(dtype))
for name, (r, v) in ARRAYS.items():
    say(f"statistics-{name}", f"NumPy {name}", lambda: numpy_plain(r, v)[1:])
    there = [np.empty_like(v), np.empty_like(v), *np.empty_like(v[:3])]
    for case in ("statistics", "scores"):
        say(f"{case}-{name}", f"NumPy {name}, arrays reused", lambda: numpy_reused(r, v, *there))
    say(f"statistics-{name}", f"NumPy {name}, in blocks", lambda: numpy_blocks(r, v, False)[1:])
    say(f"scores-{name}", f"NumPy {name}", lambda: numpy_plain(r, v))
    say(f"scores-{name}", f"NumPy {name}, in blocks", lambda: numpy_blocks(r, v, True))
try:
    jax_cases(ARRAYS)
except ImportError as missing:
    print(f"JAX: {missing}", flush=True)
