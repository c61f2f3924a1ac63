"""Dreamer v1, scaled down for the 24 numbers of the walker, in JAX: the peer of `ive bench agents`, and the source of golden numbers.

usage: dreamer.py REPEATS    one JSON line per measurement: CPU and wall seconds per unit, best of many, one thread
"""
import argparse
import json
import os
import sys
import time
from functools import partial

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

OBS, ACT = 24, 6
GAMMA, LAM = 0.99, 0.95

# ------------------------------------------------------------------ parameters
def dense(key, i, o):
    lim = np.sqrt(6.0 / (i + o))
    return {"w": jax.random.uniform(key, (i, o), jnp.float32, -lim, lim), "b": jnp.zeros(o)}

def mlp_init(key, sizes):
    return [dense(k, a, b) for k, a, b in zip(jax.random.split(key, len(sizes)), sizes[:-1], sizes[1:])]

def lin(p, x): return x @ p["w"] + p["b"]

def mlp(p, x):                                    # ELU between layers, linear last
    for l in p[:-1]: x = jax.nn.elu(lin(l, x))
    return lin(p[-1], x)

def init(key, c):
    k = jax.random.split(key, 12); Z, D, H = c.z, c.d, c.width
    gru = {"wx": dense(k[0], D, 3 * D)["w"], "bx": jnp.zeros(3 * D), "bh": jnp.zeros(3 * D),
           "wh": jnp.concatenate([jax.nn.initializers.orthogonal()(q, (D, D)) for q in jax.random.split(k[1], 3)], 1)}
    model = {"enc": mlp_init(k[2], [OBS, H, H]), "w1": dense(k[3], Z + ACT, D), "gru": gru,
             "prior": mlp_init(k[4], [D, D, 2 * Z]), "post": mlp_init(k[5], [D + H, D, 2 * Z]),
             "dec": mlp_init(k[6], [Z + D, H, H, OBS]), "rew": mlp_init(k[7], [Z + D, H, H, 1])}
    return {"model": model, "value": mlp_init(k[8], [Z + D, H, H, 1]), "actor": mlp_init(k[9], [Z + D, H, H, 2 * ACT])}

# ------------------------------------------------------------------ RSSM
def gru(p, x, h):                                 # Keras form, reset after the recurrent product
    xz, xr, xc = jnp.split(x @ p["wx"] + p["bx"], 3, -1)
    hz, hr, hc = jnp.split(h @ p["wh"] + p["bh"], 3, -1)
    u, r = jax.nn.sigmoid(xz + hz), jax.nn.sigmoid(xr + hr)
    return u * h + (1 - u) * jnp.tanh(xc + r * hc)

def gauss(y):
    m, s = jnp.split(y, 2, -1)
    return m, jax.nn.softplus(s) + 0.1

def deter(p, z, a, d): return gru(p["gru"], jax.nn.elu(lin(p["w1"], jnp.concatenate([z, a], -1))), d)
def prior(p, d): return gauss(mlp(p["prior"], d))
def post(p, d, e): return gauss(mlp(p["post"], jnp.concatenate([d, e], -1)))
def encode(p, o): return jax.nn.elu(mlp(p["enc"], o))
def img_step(p, z, d, a, eps):
    d = deter(p, z, a, d); m, s = prior(p, d)
    return m + s * eps, d
def scalar(p, f): return mlp(p, f)[..., 0]

def actor_dist(p, f):
    m, s = jnp.split(mlp(p, f), 2, -1)
    return 5 * jnp.tanh(m / 5), jax.nn.softplus(s + np.log(np.e ** 5 - 1)) + 1e-4
def actor_sample(p, f, eps):
    m, s = actor_dist(p, f)
    return jnp.tanh(m + s * eps)

# ------------------------------------------------------------------ losses
def model_loss(mp, obs, act, rew, key, c):        # time-major [L,B,.]; act[t] led to obs[t], rew[t] arrives with obs[t]
    L, B = rew.shape; emb = encode(mp, obs); eps = jax.random.normal(key, (L, B, c.z))
    def step(s, x):
        z, d = s; a, e, n = x
        d = deter(mp, z, a, d); m, sd = post(mp, d, e); z = m + sd * n
        return (z, d), (z, d, m, sd)
    _, (z, d, m, s) = jax.lax.scan(step, (jnp.zeros((B, c.z)), jnp.zeros((B, c.d))), (act, emb, eps))
    pm, ps = prior(mp, d); f = jnp.concatenate([z, d], -1)
    kl = (jnp.log(ps / s) + (s ** 2 + (m - pm) ** 2) / (2 * ps ** 2) - 0.5).sum(-1).mean()
    lo = 0.5 * ((mlp(mp["dec"], f) - obs) ** 2).sum(-1).mean()
    lr = 0.5 * ((scalar(mp["rew"], f) - rew) ** 2).mean()
    return c.kl * jnp.maximum(kl, c.free) + c.obs_w * lo + c.rew_w * lr, (z, d, dict(kl=kl, obs=lo, rew=lr))

def lam_return(r, v):                             # r, v of states 1..H; the value contains the reward of its own state
    def back(R, x):
        rt, vn = x; R = rt + GAMMA * ((1 - LAM) * vn + LAM * R)
        return R, R
    return jax.lax.scan(back, v[-1], (r[:-1], v[1:]), reverse=True)[1]

def imagine(mp, ap, z, d, key, H):
    ka, kz = jax.random.split(key)
    ea, ez = jax.random.normal(ka, (H, len(z), ACT)), jax.random.normal(kz, (H,) + z.shape)
    def step(s, x):
        z, d = s
        a = actor_sample(ap, jax.lax.stop_gradient(jnp.concatenate([z, d], -1)), x[0])
        z, d = img_step(mp, z, d, a, x[1])
        return (z, d), (z, d)
    _, (z, d) = jax.lax.scan(step, (z, d), (ea, ez))
    return jnp.concatenate([z, d], -1)

def actor_loss(ap, mp, vp, z, d, key, c):
    f = imagine(mp, ap, z, d, key, c.horizon)
    R = lam_return(scalar(mp["rew"], f), scalar(vp, f)); w = GAMMA ** jnp.arange(len(R))[:, None]
    return -(w * R).mean(), (f, R, w)

def value_loss(vp, f, R, w): return (w * 0.5 * (scalar(vp, f[:-1]) - R) ** 2).mean()

def adam(p, g, st, lr, t, clip=100.0, eps=1e-7):
    n = jnp.sqrt(sum((x ** 2).sum() for x in jax.tree.leaves(g))); k = jnp.minimum(1.0, clip / (n + 1e-9))
    g = jax.tree.map(lambda x: x * k, g)
    m = jax.tree.map(lambda a, b: .9 * a + .1 * b, st[0], g)
    v = jax.tree.map(lambda a, b: .999 * a + .001 * b * b, st[1], g)
    sc = lr * jnp.sqrt(1 - .999 ** t) / (1 - .9 ** t)
    return jax.tree.map(lambda a, b, q: a - sc * b / (jnp.sqrt(q) + eps), p, m, v), (m, v), n

def make_update(c):
    @partial(jax.jit, donate_argnums=(0, 1))
    def update(P, S, t, obs, act, rew, key):
        k1, k2, k3 = jax.random.split(key, 3)
        (lm, (z, d, aux)), gm = jax.value_and_grad(model_loss, has_aux=True)(P["model"], obs, act, rew, k1, c)
        z, d = (jax.lax.stop_gradient(x).reshape(-1, x.shape[-1]) for x in (z, d))
        if c.starts and c.starts < len(z):
            i = jax.random.permutation(k3, len(z))[:c.starts]; z, d = z[i], d[i]
        (la, (f, R, w)), ga = jax.value_and_grad(actor_loss, has_aux=True)(P["actor"], P["model"], P["value"], z, d, k2, c)
        f, R = jax.lax.stop_gradient((f, R))
        lv, gv = jax.value_and_grad(value_loss)(P["value"], f, R, w)
        out, st, nrm = {}, {}, {}
        for n, g, lr in (("model", gm, c.lr_model), ("value", gv, c.lr_value), ("actor", ga, c.lr_actor)):
            out[n], st[n], nrm[n] = adam(P[n], g, S[n], lr, t)
        std = actor_dist(P["actor"], f[0])[1].mean()
        return out, st, dict(aux, value=lv, imag=R.mean(), astd=std, gm=nrm["model"], ga=nrm["actor"], gv=nrm["value"])
    return update

# ------------------------------------------------------------------ acting and planning
def ive(mp, vp, f):                               # f: states 0..K, members k=1..K (Dreamer reward convention, spec 0.3)
    K = len(f) - 1; g = GAMMA ** jnp.arange(K + 1).reshape((-1,) + (1,) * (f.ndim - 2))
    q = jnp.cumsum(g[:K] * scalar(mp["rew"], f[:K]), 0) + g[1:] * scalar(vp, f[1:])
    return q.mean(0), q.std(0)

def rollout(P, z, d, key, n, K=5, common=0):      # n policy-sampled sequences from one latent; common: shared latent noise
    ka, kz = jax.random.split(key)
    def step(s, x):
        z, d = s; a = actor_sample(P["actor"], jnp.concatenate([z, d], -1), x[0])
        z2, d2 = img_step(P["model"], z, d, a, x[1])
        return (z2, d2), (jnp.concatenate([z2, d2], -1), a)
    z, d = jnp.tile(z, (n, 1)), jnp.tile(d, (n, 1))
    _, (f, a) = jax.lax.scan(step, (z, d), (jax.random.normal(ka, (K, n, ACT)), jax.random.normal(kz, (K, 1 if common else n, z.shape[1]))))
    return jnp.concatenate([jnp.concatenate([z, d], -1)[None], f]), a

def make_policy(c):
    @partial(jax.jit, static_argnames=("mode",))
    def policy(P, z, d, a, o, key, beta, mode):   # mode: eval | actor | sample | grad
        k1, k2, k3, k4 = jax.random.split(key, 4); mp = P["model"]
        d = deter(mp, z, a, d); m, s = post(mp, d, encode(mp, o)); z = m + s * jax.random.normal(k1, m.shape)
        f = jnp.concatenate([z, d], -1); sig = jnp.zeros(2)
        if mode == "eval": a = jnp.tanh(actor_dist(P["actor"], f)[0])
        if mode == "actor": a = actor_sample(P["actor"], f, jax.random.normal(k2, (ACT,)))
        if mode == "sample":
            F, A = rollout(P, z, d, k2, c.nseq, common=c.common); mu, sd = ive(mp, P["value"], F)
            i = jnp.argmax(mu + beta * sd); a = A[0, i]; sig = jnp.stack([mu.mean(), sd.mean()])
        if mode == "grad":
            F, A = rollout(P, z, d, k2, 1); eps = jax.random.normal(k4, (5, c.z))
            def util(A):
                def st(s, x):
                    s = img_step(mp, s[0], s[1], x[0], x[1]); return s, jnp.concatenate(s, -1)
                _, F = jax.lax.scan(st, (z, d), (A, eps)); mu, sd = ive(mp, P["value"], jnp.concatenate([f[None], F]))
                return mu + beta * sd, (mu, sd)
            A = jax.lax.fori_loop(0, 10, lambda i, A: jnp.clip(A + c.plan_lr * jax.grad(util, has_aux=True)(A)[0], -1, 1), A[:, 0])
            a = A[0]; sig = jnp.stack(util(A)[1])
        if mode != "eval": a = jnp.clip(a + c.noise * jax.random.normal(k3, (ACT,)), -1, 1)
        return z, d, a, sig
    return policy

SETTINGS = dict(z=16, d=128, width=128, batch=25, length=25, horizon=12, starts=125, nseq=10, common=0, plan_lr=.1, noise=.3, kl=.1, free=1.,
                obs_w=1., rew_w=10., lr_model=6e-4, lr_value=2e-4, lr_actor=1e-4)


def settings(**changes): return argparse.Namespace(**{**SETTINGS, **changes})


def say(case, work, repeats):
    """The best of `repeats` calls, after one that compiles."""
    work()
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = min(runs)
    print(json.dumps({"case": case, "peer": "JAX, f32", "cpu": cpu, "wall": wall}), flush=True)


def bench(repeats):
    key, r = jax.random.PRNGKey(0), np.random.default_rng(0)
    for starts in (125, 0):
        c = settings(starts=starts)
        P = init(key, c)
        state = [P, {n: jax.tree.map(lambda x: (jnp.zeros_like(x)), (p, p)) for n, p in P.items()}]
        update, L, B = make_update(c), c.length, c.batch
        b = [r.standard_normal(s).astype(np.float32) for s in ((L, B, OBS), (L, B, ACT), (L, B))]

        def work():
            state[0], state[1], m = update(state[0], state[1], 2.0, *b, key)
            jax.block_until_ready((state[0], m))
        say("dreamer update %d" % (starts or L * B), work, 10 * repeats)
    c = settings()
    P, policy = init(key, c), make_policy(c)
    z, d, a, o = np.zeros(c.z, np.float32), np.zeros(c.d, np.float32), np.zeros(ACT, np.float32), b[0][0, 0]
    for mode in ("actor", "sample", "grad"):
        say("dreamer decision " + mode, lambda: np.asarray(policy(P, z, d, a, o, key, .1, mode)[2]), 100 * repeats)


if __name__ == "__main__":
    bench(int(sys.argv[1]))
