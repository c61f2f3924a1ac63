"""Muesli, scaled down, in JAX: the peer of `ive bench agents`, and the source of golden numbers.

usage: muesli.py REPEATS    one JSON line per measurement: CPU and wall seconds per unit, best of many, one thread
"""
import argparse
import json
import os
import sys
import time

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

A = 15  # actions
EPS = 1e-3

SETTINGS = dict(torso="nature32", envs=64, T=16, K=5, nf=4, nr=16, H=128, Hh=64, model="res", atoms=41, vmax=4., rmax=2.5, gamma=.995, lam=.95,
                wd=0., adam_eps=1e-8, b2=.999, ema=.1, prior=5., prior_kind="logit", c=1., lam_cmpo=1., pg=1., wm=1., wv=.25, wr=1., ent=0.,
                mix="0.967,0.03,0.003", mask_end=0, inp="c", tln=1)


def settings(**changes): return argparse.Namespace(**{**SETTINGS, **changes})


# ---------------------------------------------------------------- transform, two-hot
def h(x): return jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1) - 1) + EPS * x
def hinv(y):
    return jnp.sign(y) * (((jnp.sqrt(1 + 4 * EPS * (jnp.abs(y) + 1 + EPS)) - 1) / (2 * EPS)) ** 2 - 1)
def twohot_ce(logits, y, vmax):
    """cross entropy of softmax(logits) against two-hot of y (h-space)."""
    n = logits.shape[-1]
    x = (jnp.clip(y, -vmax, vmax) + vmax) * ((n - 1) / (2 * vmax))
    lo = jnp.clip(jnp.floor(x), 0, n - 2)
    w = x - lo
    idx = jnp.arange(n)
    t = jnp.where(idx == lo[..., None].astype(int), 1 - w[..., None], 0.) + jnp.where(idx == lo[..., None].astype(int) + 1, w[..., None], 0.)
    return -(t * jax.nn.log_softmax(logits)).sum(-1)


# ---------------------------------------------------------------- layers
def lin(key, i, o, s=1.):
    return {'w': jax.random.normal(key, (i, o)) * (s / np.sqrt(i)), 'b': jnp.zeros(o)}
def ap(p, x): return x @ p['w'] + p['b']
def ln(x): return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
def s2d(x, b):
    n, H, W, C = x.shape
    return x.reshape(n, H // b, b, W // b, b, C).transpose(0, 1, 3, 2, 4, 5).reshape(n, H // b, W // b, b * b * C)
def shift2(x):  # 2x2 valid neighbourhood, concatenated
    return jnp.concatenate([x[:, :-1, :-1], x[:, :-1, 1:], x[:, 1:, :-1], x[:, 1:, 1:]], -1)
def conv(p, x, s=1, pad='SAME'):
    return jax.lax.conv_general_dilated(x, p['w'], (s, s), pad, dimension_numbers=('NHWC', 'HWIO', 'NHWC')) + p['b']
def convp(key, k, i, o):
    return {'w': jax.random.normal(key, (k, k, i, o)) * np.sqrt(2. / (k * k * i)), 'b': jnp.zeros(o)}
R2 = np.sqrt(2.)


def torso_init(key, kind, H):
    k = jax.random.split(key, 40)
    if kind == 'nature':
        return {'c1': lin(k[0], 192, 16, R2), 'c2': lin(k[1], 256, 32, R2), 'fc': lin(k[2], 1568, 256, R2)}
    if kind == 'patch':  # 4x4 s4 patches, then 4x4 s2
        return {'c1': lin(k[0], 48, 24, R2), 'c2': lin(k[1], 384, 32, R2), 'fc': lin(k[2], 1568, 256, R2)}
    if kind == 'nature32w':  # wider
        return {'c1': lin(k[0], 192, 32, R2), 'c2': lin(k[1], 512, 64, R2), 'fc': lin(k[2], 49 * 64, 256, R2)}
    if kind == 'nature32':  # 2x average pool, then 4x4 s2, 4x4 s2
        return {'c1': lin(k[0], 48, 16, R2), 'c2': lin(k[1], 256, 32, R2), 'fc': lin(k[2], 1568, 256, R2)}
    if kind.startswith('impala8'):
        ps = {}; i = 3; n = 0
        for b, c in enumerate((8, 16, 16)):
            ps[f'b{b}'] = convp(k[n], 3, i, c); n += 1
            for r in range(2):
                for q in range(2):
                    ps[f'b{b}r{r}{q}'] = convp(k[n], 3, c, c); n += 1
            i = c
        side = 4 if kind.endswith('32') else 8
        ps['fc'] = lin(k[n], side * side * 16, 256, R2)
        return ps


def torso(p, kind, x, tln=0):  # x float NHWC
    n = x.shape[0]
    if kind == 'patch':
        x = jax.nn.relu(ap(p['c1'], s2d(x, 4)))
        x = jax.nn.relu(ap(p['c2'], shift2(s2d(x, 2))))
    elif kind.startswith('nature'):
        if kind == 'nature32':
            x = x.reshape(n, 32, 2, 32, 2, 3).mean((2, 4))
            x = shift2(s2d(x, 2))            # 15x15x48
        else:
            x = shift2(s2d(x, 4))            # 15x15x192
        x = jax.nn.relu(ap(p['c1'], x))
        x = jnp.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)))
        x = jax.nn.relu(ap(p['c2'], shift2(s2d(x, 2))))   # 7x7
    else:
        if kind.endswith('32'):
            x = x.reshape(n, 32, 2, 32, 2, 3).mean((2, 4))
        for b in range(3):
            x = conv(p[f'b{b}'], x)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
            for r in range(2):
                y = conv(p[f'b{b}r{r}0'], jax.nn.relu(x))
                x = x + conv(p[f'b{b}r{r}1'], jax.nn.relu(y))
        x = jax.nn.relu(x)
    y = ap(p['fc'], x.reshape(n, -1))
    return jax.nn.relu(ln(y) if tln else y)


def head_init(key, H, Hh, o, s=.01):
    k1, k2 = jax.random.split(key)
    if Hh == 0: return {'o': lin(k2, H, o, s)}
    return {'h': lin(k1, H, Hh, R2), 'o': lin(k2, Hh, o, s)}
def head(p, z):
    if 'h' in p: z = jax.nn.relu(ap(p['h'], z))
    return ap(p['o'], z)


class Net:
    def __init__(s, a):
        s.a = a
        s.vz = jnp.linspace(-a.vmax, a.vmax, a.atoms); s.rz = jnp.linspace(-a.rmax, a.rmax, a.atoms)

    def init(s, key):
        a = s.a; k = jax.random.split(key, 12); H = a.H
        p = {'torso': torso_init(k[0], a.torso, H), 'pi': head_init(k[3], H, a.Hh, A), 'v': head_init(k[4], H, a.Hh, a.atoms),
             'r': head_init(k[5], H, a.Hh, a.atoms)}
        if a.model == 'lstm':
            p['proj'] = lin(k[1], 256, 2 * H)
            p['dyn'] = lin(k[2], H, 4 * H); p['emb'] = jax.random.normal(k[6], (A, 4 * H)) * .5
        else:
            p['proj'] = lin(k[1], 256, H)
            p['dyn'] = lin(k[2], H, H, R2); p['dyn2'] = lin(k[9], H, H, .5); p['emb'] = jax.random.normal(k[6], (A, H))
        o = 1 if a.prior_kind == 'scalar' else a.atoms
        Hp = a.Hh if a.Hh else 64
        pr = {'v': head_init(k[7], H, Hp, o, 1.), 'r': head_init(k[8], H, Hp, o, 1.)}
        if a.prior and a.prior_kind == 'net':   # frozen copy of torso and model: a fixed function of (obs, actions)
            q = Net(a)._init_trunk(jax.random.split(k[10], 12))
            pr['t'] = q
        return p, pr

    def _init_trunk(s, k):
        a = s.a; H = a.H
        p = {'torso': torso_init(k[0], a.torso, H)}
        if a.model == 'lstm':
            p['proj'] = lin(k[1], 256, 2 * H); p['dyn'] = lin(k[2], H, 4 * H); p['emb'] = jax.random.normal(k[6], (A, 4 * H)) * .5
        else:
            p['proj'] = lin(k[1], 256, H); p['dyn'] = lin(k[2], H, H, R2); p['dyn2'] = lin(k[9], H, H, .5); p['emb'] = jax.random.normal(k[6], (A, H))
        return p

    # prior latents, only for prior_kind == 'net' (else the prior reads the learned latent, gradient stopped)
    @property
    def sep(s): return bool(s.a.prior) and s.a.prior_kind == 'net'
    def proot(s, pr, obs): return s.root(pr['t'], obs) if s.sep else None
    def pstep(s, pr, zp, act): return s.step(pr['t'], zp, act) if s.sep else None
    def pstep_all(s, pr, zp): return s.step_all(pr['t'], zp) if s.sep else None

    def root(s, p, obs):  # obs uint8 (n,64,64,3)
        x = obs.astype(jnp.float32) / 255.
        if s.a.inp == 'c': x = x * 2 - 1
        x = torso(p['torso'], s.a.torso, x, s.a.tln)
        y = ap(p['proj'], x)
        if s.a.model == 'lstm':
            c, o = jnp.split(y, 2, -1)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c)
        return (ln(y),)

    def feat(s, z):
        return z[0]

    def pre(s, p, z):
        return ap(p['dyn'], z[0])

    def step_e(s, p, z, pre, e):
        if s.a.model == 'lstm':
            i, f, g, o = jnp.split(pre + e, 4, -1)
            c = jax.nn.sigmoid(f + 1.) * z[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c)
        return (ln(z[0] + ap(p['dyn2'], jax.nn.relu(pre + e))),)

    def step(s, p, z, act):
        return s.step_e(p, z, s.pre(p, z), p['emb'][act])

    def step_all(s, p, z):  # all actions; shares the state part of the gates
        pre = s.pre(p, z)[..., None, :]
        z = jax.tree.map(lambda x: x[..., None, :], z)
        return s.step_e(p, z, pre, p['emb'])

    def _cat(s, p, pr, z, zp, name):
        lg = head(p[name], s.feat(z))
        if s.a.prior and s.a.prior_kind in ('logit', 'net'):
            lg = lg + s.a.prior * head(pr[name], jax.lax.stop_gradient(s.feat(zp if s.sep else z)))
        return lg
    def v_logits(s, p, pr, z, zp): return s._cat(p, pr, z, zp, 'v')
    def r_logits(s, p, pr, z, zp): return s._cat(p, pr, z, zp, 'r')
    def shift(s, pr, z, name):
        if s.a.prior and s.a.prior_kind == 'scalar':
            return s.a.prior * head(pr[name], jax.lax.stop_gradient(s.feat(z)))[..., 0]
        return 0.
    def val(s, p, pr, z, zp): return hinv((jax.nn.softmax(s.v_logits(p, pr, z, zp)) * s.vz).sum(-1) + s.shift(pr, z, 'v'))
    def rew(s, p, pr, z, zp): return hinv((jax.nn.softmax(s.r_logits(p, pr, z, zp)) * s.rz).sum(-1) + s.shift(pr, z, 'r'))
    def pol(s, p, z): return head(p['pi'], s.feat(z))


# ---------------------------------------------------------------- loss
def make_update(net, a):
    m1, m2, m3 = [float(x) for x in a.mix.split(',')]

    def targets(tp, pr, obs, act, rew, disc, mu, on):
        """obs (B,L+1,...), act/rew/disc (B,L), mu (B,L+1,A) behaviour probs"""
        B, L1 = obs.shape[:2]
        ob = obs.reshape((-1,) + obs.shape[2:])
        z = net.root(tp, ob); zp = net.proot(pr, ob)
        v = net.val(tp, pr, z, zp).reshape(B, L1)
        pt = jax.nn.softmax(net.pol(tp, z)).reshape(B, L1, A)
        pp = m1 * pt + m2 * mu + m3 / A
        z1 = net.step_all(tp, z); zp1 = net.pstep_all(pr, zp)
        q = (net.rew(tp, pr, z1, zp1) + a.gamma * net.val(tp, pr, z1, zp1)).reshape(B, L1, A)
        q = q * on; v = v * on
        V = (pp * q).sum(-1)
        qa = jnp.take_along_axis(q[:, :-1], act[..., None], -1)[..., 0]
        ppa = jnp.take_along_axis(pp[:, :-1], act[..., None], -1)[..., 0]
        mua = jnp.take_along_axis(mu[:, :-1], act[..., None], -1)[..., 0]
        cc = a.lam * jnp.minimum(1., ppa / mua)

        def f(nxt, x):  # nxt = V_{t+1} + c_{t+1}(G_{t+1}-q_{t+1})
            r, d, Vt, ct, qt = x
            G = r + d * nxt
            return Vt + ct * (G - qt), G
        xs = jax.tree.map(lambda x: x.T, (rew, disc, V[:, :-1], cc, qa))
        _, G = jax.lax.scan(f, V[:, -1], xs, reverse=True)
        G = G.T
        raw = G - v[:, :-1]
        zp0 = jax.tree.map(lambda x: x.reshape((B, L1) + x.shape[1:])[:, :-1].reshape((-1,) + x.shape[1:]), zp) if zp is not None else None
        return v, q, pp, G, V, raw, mua, zp0

    def update(p, tp, pr, opt, norm, batch, lr, on):
        obs, act, rew, disc, mu, mu_last = batch
        B, L = act.shape
        mu = jnp.concatenate([mu, mu_last[:, None]], 1)
        v, q, pp, G, V, raw, mua, zp0 = targets(tp, pr, obs, act, rew, disc, mu, on)
        upd_n = lambda o, n: jnp.where(on > 0, n, o)   # normaliser starts with the bootstrap
        var = upd_n(norm[0], .99 * norm[0] + .01 * (raw ** 2).mean()); bp = upd_n(norm[1], norm[1] * .99)
        sd = jnp.sqrt(var / jnp.maximum(1 - bp, 1e-6) + 1e-12)
        adv = jnp.clip((q - v[..., None]) / sd, -a.c, a.c)
        cm = pp * jnp.exp(adv); cm = cm / cm.sum(-1, keepdims=True)          # (B,L+1,A)
        advG = raw / sd
        Gx = jnp.concatenate([G, V[:, -1:]], 1)                              # return at index L = bootstrap
        K = a.K
        # per depth: targets for start t, depth k -> index t+k
        notend = (disc > 0).astype(jnp.float32)                              # transition t does not end the episode
        masks, inside = [jnp.ones((B, L))], [jnp.ones((B, L))]
        for k in range(1, K + 1):
            ne = jnp.pad(notend[:, k - 1:], ((0, 0), (0, k - 1)), constant_values=0.)
            ins = (jnp.arange(L) + k <= L).astype(jnp.float32)[None] * jnp.ones((B, 1))
            masks.append(masks[-1] * ne); inside.append(ins)
        rmask = [None] + [masks[k - 1] for k in range(1, K + 1)]            # reward k is real if transition k-1.. alive before
        def sh(x, k):  # x indexed 0..L -> x[t+k], padded
            x = x[:, k:k + L]
            return jnp.pad(x, ((0, 0), (0, L - x.shape[1])) + ((0, 0),) * (x.ndim - 2))

        def loss(p):
            z = net.root(p, obs[:, :-1].reshape((-1,) + obs.shape[2:]))
            lg = net.pol(p, z).reshape(B, L, A); lp = jax.nn.log_softmax(lg); pi = jnp.exp(lp)
            lpa = jnp.take_along_axis(lp, act[..., None], -1)[..., 0]
            rho = jnp.minimum(1., jax.lax.stop_gradient(jnp.exp(lpa)) / mua)
            l_pg = -(rho * lpa * advG).mean()
            def kl(t, lq): return (t * (jnp.log(t + 1e-12) - lq)).sum(-1)
            l_cm = kl(cm[:, :-1], lp).mean()
            ent = -(pi * lp).sum(-1).mean()
            zp = zp0
            lv = [twohot_ce(net.v_logits(p, pr, z, zp), h(Gx[:, :-1]).reshape(-1) - net.shift(pr, z, 'v'), a.vmax).mean()]
            lr_, lm = [], []
            for k in range(1, K + 1):
                ak = jnp.pad(act[:, k - 1:], ((0, 0), (0, k - 1))).reshape(-1)
                z = net.step(p, z, ak); zp = net.pstep(pr, zp, ak)
                mk = (masks[k] * inside[k]); rm = rmask[k] * inside[k]
                mv = mk if a.mask_end else inside[k]; mr = rm if a.mask_end else inside[k]
                tv = (sh(Gx, k) * masks[k]).reshape(-1)
                tr = (sh(jnp.pad(rew, ((0, 0), (1, 0))), k) * rmask[k]).reshape(-1)
                lv.append((twohot_ce(net.v_logits(p, pr, z, zp), h(tv) - net.shift(pr, z, 'v'), a.vmax) * mv.reshape(-1)).sum() / mv.sum())
                lr_.append((twohot_ce(net.r_logits(p, pr, z, zp), h(tr) - net.shift(pr, z, 'r'), a.rmax) * mr.reshape(-1)).sum() / mr.sum())
                lpk = jax.nn.log_softmax(net.pol(p, z)).reshape(B, L, A)
                lm.append((kl(sh(cm, k), lpk) * mk).sum() / (mk.sum() + 1e-6))
            Lv, Lr, Lm = sum(lv) / (K + 1), sum(lr_) / K, sum(lm) / K
            tot = on * (a.pg * l_pg + a.lam_cmpo * l_cm + a.wm * Lm) + a.wv * Lv + a.wr * Lr - a.ent * ent
            return tot, dict(pg=l_pg, cmpo=l_cm, lm=Lm, lv=Lv, lv0=lv[0], lr=Lr, ent=ent, rho=rho.mean())
        (tot, aux), g = jax.value_and_grad(loss, has_aux=True)(p)
        t = opt['t'] + 1
        m = jax.tree.map(lambda m, g: .9 * m + .1 * g, opt['m'], g)
        vv = jax.tree.map(lambda v, g: a.b2 * v + (1 - a.b2) * g * g, opt['v'], g)
        def upd(p, m, v):
            u = (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - a.b2 ** t)) + a.adam_eps)
            return p - lr * (jnp.clip(u, -1, 1) + a.wd * p)
        newp = jax.tree.map(upd, p, m, vv)
        p = {k: (newp[k] if k in ('v', 'r') else jax.tree.map(lambda n, o: jnp.where(on > 0, n, o), newp[k], p[k])) for k in p}   # warm-up: only v, r heads
        tp = jax.tree.map(lambda x, y: (1 - a.ema) * x + a.ema * y, tp, p)
        gn = jnp.sqrt(sum((x ** 2).sum() for x in jax.tree.leaves(g)))
        aux.update(sd=sd, gnorm=gn, v=v.mean(), G=G.mean(), q_v=jnp.abs(q - v[..., None]).mean(), adv_clip=(jnp.abs((q - v[..., None]) / sd) > a.c).mean(),
                   ev=1 - ((raw) ** 2).mean() / (G.var() + 1e-8), qspread=q.std(-1).mean())
        return p, tp, dict(t=t, m=m, v=vv), (var, bp), aux
    return jax.jit(update, donate_argnums=(0, 1, 3)), targets


def make_act(net, a):
    @jax.jit
    def act(p, obs, key):
        z = net.root(p, obs)
        lg = net.pol(p, z)
        return jax.random.categorical(key, lg), jax.nn.softmax(lg)
    return act


def make_probe(net, a, nseq):
    """k-MPVs 0..K in real units for nseq sampled sequences -> (n, nseq, K+1); also value and entropy."""
    @jax.jit
    def probe(p, pr, obs, key):
        z, zp = net.root(p, obs), net.proot(pr, obs)
        z, zp = jax.tree.map(lambda x: jnp.repeat(x, nseq, 0), (z, zp))
        vs, R, out = net.val(p, pr, z, zp), 0., []
        out.append(vs); d = 1.
        for k in range(a.K):
            key, s = jax.random.split(key)
            ac = jax.random.categorical(s, net.pol(p, z))
            z = net.step(p, z, ac); zp = net.pstep(pr, zp, ac)
            R = R + d * net.rew(p, pr, z, zp); d = d * a.gamma
            out.append(R + d * net.val(p, pr, z, zp))
        m = jnp.stack(out, -1)
        return m.reshape(obs.shape[0], nseq, a.K + 1)
    return probe


# ---------------------------------------------------------------- measurements
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


def begin(net, key):
    p, pr = net.init(key)
    zero = lambda: jax.tree.map(jnp.zeros_like, p)
    return pr, [p, jax.tree.map(jnp.copy, p), dict(t=jnp.zeros(()), m=zero(), v=zero()), (jnp.zeros(()), jnp.ones(()))]


def bench(repeats):
    key, rng = jax.random.PRNGKey(0), np.random.default_rng(0)
    for name, torso in (("small", "nature32"), ("impala 8,16,16", "impala8_32")):
        a = settings(torso=torso)
        net, (B, T, N) = Net(a), (a.nf + a.nr, a.T, a.envs)
        pr, state = begin(net, key)
        update, act, probe = make_update(net, a)[0], make_act(net, a), make_probe(net, a, 1)
        batch = (rng.integers(0, 255, (B, T + 1, 64, 64, 3), np.uint8), rng.integers(0, A, (B, T)), np.zeros((B, T), np.float32),
                 np.full((B, T), a.gamma, np.float32), np.full((B, T, A), 1 / A, np.float32), np.full((B, A), 1 / A, np.float32))
        observations = rng.integers(0, 255, (N, 64, 64, 3), np.uint8)

        def work():
            out = update(*state[:2], pr, *state[2:], batch, 1e-4, 1.)
            state[:] = out[:4]
            jax.block_until_ready(out[4])
        say("muesli update " + name, work, 8 * repeats)
        say("muesli acting 64 " + name, lambda: jax.block_until_ready(act(state[1], observations, key)), 30 * repeats)
        say("muesli probe 64 " + name, lambda: jax.block_until_ready(probe(state[1], pr, observations, key)), 30 * repeats)


if __name__ == "__main__":
    bench(int(sys.argv[1]))
