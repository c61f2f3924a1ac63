"""Golden numbers of Muesli, in double precision, by the JAX peer in ../../../ive-lab/src/bench/peers/muesli.py.

usage: muesli.py > muesli.json

Nothing random: parameter j of a network, in the order of `tensors`, is 0.35 sin(1.7 j + 0.3) (the target network 0.33 sin(1.9 j + 0.1), the
priors 0.4 sin(2.1 j + 0.7)); data are sines too (`wave`). The small case has observations of ten numbers in place of pixels, and every tensor
stands whole. The case `pixels` is the torso of the preset `small`: too large to be written down, so each gradient stands as its norm,
its product with a wave, and its first numbers.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../ive-lab/src/bench/peers"))
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

import muesli as peer

OBS = 10
C = peer.settings(H=8, Hh=12, atoms=7, vmax=2.0, rmax=1.5, T=6, K=5, prior=0.5, c=0.05)


class Vectors(peer.Net):
    """The network of the peer with a dense torso: z = LN(P relu(LN(F x)))."""

    def init(self, key):
        p, pr = super().init(key)
        p["torso"], p["proj"] = {"fc": peer.lin(key, OBS, 16)}, peer.lin(key, 16, self.a.H)
        return p, pr

    def root(self, p, obs):
        x = jax.nn.relu(peer.ln(peer.ap(p["torso"]["fc"], obs)))
        return (peer.ln(peer.ap(p["proj"], x)),)


def wave(shape, frequency, phase):
    return jnp.asarray(np.sin(frequency * np.arange(np.prod(shape)) + phase).astype(np.float32).astype(np.float64).reshape(shape))


def linear(name, place):
    yield name, place, "w"
    yield name + ".bias", place, "b"


def head(name, place):
    yield from linear(name + ".hidden", place["h"])
    yield from linear(name + ".output", place["o"])


def tensors(p):
    """Names and places, in the order of the agent's layout."""
    for name, key in (("conv.0", "c1"), ("conv.1", "c2")):
        if key in p["torso"]:
            yield from linear(name, p["torso"][key])
    yield from linear("torso", p["torso"]["fc"])
    yield from linear("latent", p["proj"])
    yield "model.action", p, "emb"
    yield from linear("model.hidden", p["dyn"])
    yield from linear("model.output", p["dyn2"])
    for name, key in (("policy", "pi"), ("value", "v"), ("reward", "r")):
        yield from head(name, p[key])


def priors(pr):
    for name, key in (("value", "v"), ("reward", "r")):
        yield from head(name, pr[key])


def fill(places, scale, frequency, phase):
    j = 0
    for _, place, key in places:
        n = place[key].size
        values = scale * np.sin(frequency * np.arange(j, j + n) + phase)
        place[key] = jnp.asarray(values.astype(np.float32).astype(np.float64).reshape(place[key].shape))
        j += n


def flat(tree):
    return {name: np.asarray(place[key]).ravel().tolist() for name, place, key in tensors(tree)}


def sums(tree):
    out = {}
    for name, place, key in tensors(tree):
        x = place[key]
        out[name] = {"norm": jnp.linalg.norm(x), "wave": (x.ravel() * wave((x.size,), 0.37, 0.2)).sum(), "first": x.ravel()[:4]}
    return out


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, (jnp.ndarray, np.ndarray)):
        return plain(np.asarray(x, np.float64).ravel().tolist()) if x.ndim else float(f"{float(x):.10g}")
    return float(f"{x:.10g}") if isinstance(x, float) else x


def copy(tree):
    return jax.tree.map(jnp.copy, tree)


def small():
    net = Vectors(C)
    p, pr = net.init(jax.random.PRNGKey(0))
    p, tp, pr = (jax.tree.map(lambda x: x.astype(jnp.float64), t) for t in (p, p, pr))
    p, tp = copy(p), copy(p)
    fill(tensors(p), 0.35, 1.7, 0.3)
    fill(tensors(tp), 0.33, 1.9, 0.1)
    fill(priors(pr), 0.4, 2.1, 0.7)
    B, L = 3, C.T
    obs = wave((B, L + 1, OBS), 0.9, 0.1)
    act = (np.arange(B * L).reshape(B, L) * 7 + 3) % peer.A
    rew = wave((B, L), 0.7, 0.4)
    disc = np.full((B, L), C.gamma)
    disc[0, 2] = disc[1, L - 1] = disc[2, 0] = 0.0          # episodes end inside, at the end and at the beginning of a window
    logits = wave((B, L + 1, peer.A), 1.3, 0.5)
    mu = jax.nn.softmax(logits)
    out = {"settings": {k: getattr(C, k) for k in ("H", "Hh", "atoms", "vmax", "rmax", "T", "K", "prior", "c", "gamma", "lam", "wv", "wr", "ema", "mix")},
           "actions": act, "discounts": disc, "behaviour": mu}
    update, targets = peer.make_update(net, C)
    v, q, pp, G, V, raw, _, _ = targets(tp, pr, obs, act, rew, disc, mu, 1.0)
    out["targets"] = {"value": v, "action_values": q, "prior_policy": pp, "returns": G, "bootstrap": V[:, -1]}
    for name, on in (("update", 1.0), ("warm_up", 0.0)):
        zero = jax.tree.map(jnp.zeros_like, p)
        opt = dict(t=jnp.zeros(()), m=zero, v=copy(zero))
        before = copy(p)
        new, target, state, norm, aux = update(copy(p), copy(tp), pr, opt, (jnp.zeros(()), jnp.ones(())), (obs, act, rew, disc, mu[:, :-1], mu[:, -1]), 1e-3, on)
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), before, p))
        out[name] = {"losses": {k: aux[k] for k in ("pg", "cmpo", "lm", "lv", "lv0", "lr", "ent")}, "normaliser": norm[0], "deviation": aux["sd"],
                     "gradient": flat(jax.tree.map(lambda m: m / 0.1, state["m"])), "parameters": flat(new), "target": flat(target)}
    # k-step values along given actions, with the target network: members k = 0..5.
    z, total, discount, members = net.root(tp, obs[:, 0]), 0.0, 1.0, []
    members.append(net.val(tp, pr, z, None))
    for k in range(C.K):
        z = net.step(tp, z, act[:, k])
        total = total + discount * net.rew(tp, pr, z, None)
        discount *= C.gamma
        members.append(total + discount * net.val(tp, pr, z, None))
    out["members"] = jnp.stack(members)
    return out


def pixels():
    a = peer.settings()
    net = peer.Net(a)
    p = copy(jax.tree.map(lambda x: x.astype(jnp.float64), net.init(jax.random.PRNGKey(0))[0]))
    fill(tensors(p), 0.05, 1.7, 0.3)
    images = (np.arange(2 * 64 * 64 * 3) * 37 % 251).astype(np.uint8).reshape(2, 64, 64, 3)

    def loss(p):
        (z,) = net.root(p, images)
        return (z * wave(z.shape, 0.61, 0.3)).sum(), z
    (value, z), gradient = jax.value_and_grad(loss, has_aux=True)(p)
    used = ("conv", "torso", "latent")
    return {"loss": value, "latent": z[:, :16], "gradient": {k: v for k, v in sums(gradient).items() if k.startswith(used)}}


json.dump(plain({"small": small(), "pixels": pixels()}), sys.stdout, separators=(",", ":"))
