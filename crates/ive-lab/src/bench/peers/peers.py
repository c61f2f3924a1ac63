"""The peers of `ive bench tabular`: NumPy, SciPy and JAX on the same work, one JSON line per measurement.

usage: peers.py EPOCHS REPEATS    (CPU time of all threads and wall time, best of REPEATS by CPU)
"""
import json
import sys
import time

import numpy as np

from tabular import (A, S, collect, counts, emve_q, expected_sarsa_limit, ive_q, mle_limit, prob_being, true_model)

EPOCHS, REPEATS = int(sys.argv[1]), int(sys.argv[2])


def say(case, peer, work, repeats=REPEATS):
    """Measures `work`, repeated inside to at least 0.05 s, and prints the best run; the first call is a warm-up."""
    work()
    start = time.perf_counter()
    work()
    inner = max(1, int(np.ceil(0.05 / (time.perf_counter() - start))))
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(inner):
            work()
        runs.append(((time.process_time() - cpu) / inner, (time.perf_counter() - wall) / inner))
    cpu, wall = min(runs)
    print(json.dumps({"case": case, "peer": peer, "cpu": cpu, "wall": wall}), flush=True)


def limit_figure(seeds=100, gamma=0.99, members=5):
    """The reaching figure with the limits of the learners: data, linear systems, ensembles, chains."""
    sigmas = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        data = collect(rng, 0.1)
        q0, r0, l0 = (rng.normal(size=(members, S, A) + tail) for tail in ((), (), (S,)))
        n = counts(*data[:3])
        q = np.stack([expected_sarsa_limit(n, x, gamma) for x in q0])
        models = [mle_limit(n, r, l) for r, l in zip(r0, l0)]
        r, p = (np.stack([m[i] for m in models]) for i in (0, 1))
        sigmas.append([ive_q(q[0], r[0], p[0], gamma, 5).std(0), q.std(0), emve_q(q[0], r, p, gamma).std(0)])
    sigmas, eye = np.stack(sigmas), np.eye(A)
    return (prob_being(eye[sigmas.argmax(-1)], true_model(0.1), 150).mean(0),
            prob_being(eye[sigmas.argmin(-1)], true_model(0.5), 150).mean(0))


def random_table(rng, states, successors=None):
    r, q = rng.normal(size=(states, A)), rng.normal(size=(states, A))
    if successors is None:
        p = rng.random((states, A, states))
        return r, q, p / p.sum(-1, keepdims=True), None
    index = rng.integers(states, size=(states, A, successors))
    w = rng.random((states, A, successors))
    return r, q, w / w.sum(-1, keepdims=True), index


def sparse_scipy():
    import scipy.sparse as sp
    states = 100_000
    r, q, p, index = random_table(np.random.default_rng(0), states, 8)
    csr = sp.csr_matrix((p.ravel(), index.ravel(), np.arange(0, states * A * 8 + 1, 8)), shape=(states * A, states))

    def work():
        out = np.empty((21, states, A))
        out[0] = q
        for k in range(20):
            out[k + 1] = r + 0.99 * (csr @ out[k].mean(1)).reshape(states, A)
        return out.mean(2).std(0), out.std(0)
    say("sparse", "SciPy CSR, f64", work, 2 * REPEATS)


def with_jax():
    import tabular_jax as T                      # first: it sets the number of host devices
    import jax
    import jax.numpy as jnp
    ready = jax.block_until_ready
    f32 = lambda *arrays: [jnp.asarray(x, jnp.float32) for x in arrays]

    def scan(r, q, p):
        step = lambda qk, _: (r + 0.99 * p @ qk.mean(-1), qk)
        _, all_q = jax.lax.scan(step, q, None, length=21)
        return all_q.mean(-1).std(0), all_q.std(0)

    def product(r, q, p):
        ppi, rpi = p.mean(1), r.mean(1)
        _, v = jax.lax.scan(lambda v, _: (rpi + 0.99 * ppi @ v, v), q.mean(1), None, length=21)
        all_q = jnp.concatenate([q[None], r + 0.99 * jnp.einsum("sat,kt->ksa", p, v[:20])])
        return v.std(0), all_q.std(0)

    rng = np.random.default_rng(0)
    tables = [random_table(rng, S)[:3] for _ in range(100)]
    batch, small = f32(*(np.stack(x) for x in zip(*tables))), jax.jit(jax.vmap(scan))
    say("small", "JAX vmap, f32", lambda: ready(small(*batch)), 10 * REPEATS)
    one = f32(*random_table(rng, 1000)[:3])
    for name, f in (("scan", jax.jit(scan)), ("P_pi and product", jax.jit(product))):
        say("dense", f"JAX {name}, f32", lambda: ready(f(*one)), 10 * REPEATS)
    for name, share in (("independent shuffles", False), ("shared shuffles", True)):
        f = T.reaching_experiment.lower(jax.random.key(0), epochs=EPOCHS, share=share, chunk=25).compile()
        say("reaching", f"JAX {name}, f32", lambda: ready(f(jax.random.key(0))), 1 if EPOCHS > 2000 else REPEATS)


say("limit", "NumPy, f64", limit_figure)
for name, measure in (("SciPy", sparse_scipy), ("JAX", with_jax)):
    try:
        measure()
    except ImportError as missing:
        print(json.dumps({"missing": name, "why": str(missing)}), flush=True)
