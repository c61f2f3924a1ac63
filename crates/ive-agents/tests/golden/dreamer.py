"""Golden numbers of Dreamer, in double precision, by the JAX peer in ../../../ive-lab/src/bench/peers/dreamer.py.

usage: dreamer.py > dreamer.json

Nothing random: parameter j of a network, in the order of `ORDER`, is 0.35 sin(1.7 j + 0.3); data and noise are sines too
(`wave`). Every gradient stands tensor by tensor, under the names that the agent uses.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../ive-lab/src/bench/peers"))
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

import dreamer as peer

C = peer.settings(z=4, d=8, width=12, batch=3, length=5, horizon=4, starts=0, free=0.01)
MLP = {"encoder": "enc", "prior": "prior", "posterior": "post", "decoder": "dec", "reward": "rew"}


def wave(shape, frequency, phase):
    """sin(frequency · i + phase) over all entries in order, rounded to single precision, which is what we compute in."""
    return jnp.asarray(np.sin(frequency * np.arange(np.prod(shape)) + phase).astype(np.float32).astype(np.float64).reshape(shape))


def layers(name, mlp):
    for i, layer in enumerate(mlp):
        yield f"{name}.{i}", layer, "w"
        yield f"{name}.{i}.bias", layer, "b"


def tensors(network, parameters):
    """Names and places, in the order of the agent's layout."""
    if network != "model":
        yield from layers(network, parameters)
        return
    yield from layers("encoder", parameters["enc"])
    yield "input", parameters["w1"], "w"
    yield "input.bias", parameters["w1"], "b"
    for ours, theirs in (("gru.input", "wx"), ("gru.input.bias", "bx"), ("gru.recurrent", "wh"), ("gru.recurrent.bias", "bh")):
        yield ours, parameters["gru"], theirs
    for name in ("prior", "reward", "posterior", "decoder"):
        yield from layers(name, parameters[MLP[name]])


def by_formula(P):
    for network in P:
        j = 0
        for _, place, key in tensors(network, P[network]):
            n = place[key].size
            values = 0.35 * np.sin(1.7 * np.arange(j, j + n) + 0.3)
            place[key] = jnp.asarray(values.astype(np.float32).astype(np.float64).reshape(place[key].shape))
            j += n
    return P


def flat(network, tree):
    return {name: np.asarray(place[key]).ravel().tolist() for name, place, key in tensors(network, tree)}


class Noise:
    """Hands out waves instead of random numbers, in the order in which the peer asks."""

    def __init__(self):
        self.count = 0

    def normal(self, _key, shape, *_):
        self.count += 1
        return wave(shape, 2.3 + 0.1 * self.count, 0.5 * self.count)


def main():
    P = by_formula(jax.tree.map(lambda x: x, peer.init(jax.random.PRNGKey(0), C)))
    L, B = C.length, C.batch
    obs, act, rew = wave((L, B, peer.OBS), 0.9, 0.1), wave((L, B, peer.ACT), 1.3, 0.2), wave((L, B), 0.7, 0.4)
    key = jax.random.PRNGKey(0)
    out = {"settings": {k: getattr(C, k) for k in ("z", "d", "width", "batch", "length", "horizon", "kl", "free", "obs_w", "rew_w",
                                                    "lr_model", "lr_value", "lr_actor")}}

    def with_noise(f, *args):
        real, jax.random.normal = jax.random.normal, Noise().normal
        try:
            return f(*args)
        finally:
            jax.random.normal = real

    # One step of the recurrent state-space model, prior and posterior, from the first row of the data.
    z, d = wave((B, C.z), 1.1, 0.6), wave((B, C.d), 0.8, 0.9)
    d1 = peer.deter(P["model"], z, act[0], d)
    e = peer.encode(P["model"], obs[0])
    out["step"] = {"deterministic": d1, "embedding": e, "prior": peer.prior(P["model"], d1), "posterior": peer.post(P["model"], d1, e)}

    # The loss of the model; once more with so many free nats that the divergence is clipped.
    grad = jax.value_and_grad(peer.model_loss, has_aux=True)
    (loss, (zs, ds, parts)), gradient = with_noise(grad, P["model"], obs, act, rew, key, C)
    out["model"] = {"loss": loss, "kl": parts["kl"], "observation": parts["obs"], "reward": parts["rew"], "z": zs, "d": ds,
                    "gradient": flat("model", gradient)}
    free = peer.settings(**{**vars(C), "free": 1e3})
    (loss, _), clipped = with_noise(grad, P["model"], obs, act, rew, key, free)
    out["model_clipped"] = {"free": 1e3, "loss": loss, "gradient": flat("model", clipped)}

    # Imagination from every posterior state: returns, and the losses of actor and value.
    starts = [jax.lax.stop_gradient(x).reshape(-1, x.shape[-1]) for x in (zs, ds)]
    grad = jax.value_and_grad(peer.actor_loss, has_aux=True)
    (loss, (f, R, w)), actor = with_noise(grad, P["actor"], P["model"], P["value"], *starts, key, C)
    rewards, values = peer.scalar(P["model"]["rew"], f), peer.scalar(P["value"], f)
    out["imagination"] = {"features": f, "rewards": rewards, "values": values, "returns": R}
    out["actor"] = {"loss": loss, "gradient": flat("actor", actor)}
    loss, value = jax.value_and_grad(peer.value_loss)(P["value"], f, R, w)
    out["value"] = {"loss": loss, "gradient": flat("value", value)}

    # The parameters after one update of all three, with clipping at 0.5 so that it acts, and Adam.
    out["update"] = {"clip": 0.5}
    for name, g, rate in (("model", gradient, C.lr_model), ("value", value, C.lr_value), ("actor", actor, C.lr_actor)):
        zero = jax.tree.map(jnp.zeros_like, P[name])
        new, _, norm = peer.adam(P[name], g, (zero, zero), rate, 1.0, clip=0.5)
        out["update"][name] = {"norm": norm, "parameters": flat(name, new)}

    # Implicit ensemble along given actions, and the gradient of μ + βσ with respect to them: what the planner climbs.
    z0, d0, eps, A = z[0], d[0], wave((5, C.z), 1.9, 0.3), 0.5 * wave((5, peer.ACT), 1.5, 0.8)

    def utility(A, beta):
        def step(s, x):
            s = peer.img_step(P["model"], s[0], s[1], x[0], x[1])
            return s, jnp.concatenate(s, -1)
        _, F = jax.lax.scan(step, (z0, d0), (A, eps))
        F = jnp.concatenate([jnp.concatenate([z0, d0], -1)[None], F])
        mu, sigma = peer.ive(P["model"], P["value"], F)
        return mu + beta * sigma, (mu, sigma)
    for beta in (0.0, 0.1, 10.0):
        (u, (mu, sigma)), g = jax.value_and_grad(utility, has_aux=True)(A, beta)
        out[f"plan_{beta:g}"] = {"utility": u, "mu": mu, "sigma": sigma, "gradient": g}

    def plain(x):
        if isinstance(x, dict):
            return {k: plain(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return [plain(v) for v in x]
        if isinstance(x, (jnp.ndarray, np.ndarray)):
            return plain(np.asarray(x).ravel().tolist()) if x.ndim else float(f"{float(x):.10g}")
        return float(f"{x:.10g}") if isinstance(x, float) else x
    json.dump(plain(out), sys.stdout, separators=(",", ":"))


main()
