"""Speed through Python, beside the peers that are installed, in one process and in turns.

usage: python python/bench/speed.py [calls|ensemble|minatar|walker|procgen ...] [--blocks 12] [--json]
peers: pip install minatar==1.0.15 dm_control==1.0.50 mujoco==3.17.0 envpool jax

Seconds are CPU seconds of this process with all its threads, so other work on the machine disturbs little. Ours and the peers take turns,
block by block; a rate is that of the best block. Actions are random and drawn beforehand. A step is an action and what it shows, through
Gymnasium's interface or the peer's own, with new episodes as they come.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

import ive

Block = Callable[[], Any]


def compare(title: str, unit: str, amount: float, sides: dict[str, Block], blocks: int) -> dict[str, Any]:
    """The rate of each side: `amount` over the CPU seconds of its best block."""
    best = dict.fromkeys(sides, math.inf)
    for _ in range(blocks):
        for name, block in sides.items():
            start = time.process_time()
            block()
            best[name] = min(best[name], time.process_time() - start)
    rates = {name: amount / seconds for name, seconds in best.items()}
    return {"what": title, "unit": unit, "rates": rates}


def optional(make: Callable[[], Block], name: str) -> dict[str, Block]:
    """A peer, if it is there."""
    try:
        return {name: make()}
    except Exception as missing:  # not installed, or broken: the others are measured all the same
        print(f"({name} is not measured: {missing})", file=sys.stderr)
        return {}


def calls(blocks: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    rewards, values, n = rng.normal(size=(5, 32)), rng.normal(size=(6, 32)), 2000
    e = ive.ensemble(rewards, values, 0.93)
    sides: dict[str, Block] = {
        "ensemble(…)": lambda: [ive.ensemble(rewards, values, 0.93) for _ in range(n)],
        "ensemble(…, members).std()": lambda: [ive.ensemble(rewards, values, 0.93, range(6)).std() for _ in range(n)],
        "std()": lambda: [e.std() for _ in range(n)],
    }
    found = compare("a call with 32 states", "calls per CPU-second", n, sides, blocks)
    found["microseconds"] = {name: 1e6 / rate for name, rate in found["rates"].items()}
    return [found]


def numpy_statistics(rewards: Any, values: Any, gamma: float) -> tuple[Any, Any, Any]:
    """The same in NumPy, without needless passes or copies."""
    members = np.empty_like(values)
    members[0], total, power = values[0], np.zeros(values.shape[1]), 1.0
    for k in range(len(rewards)):
        total += power * rewards[k]
        power *= gamma
        np.multiply(values[k + 1], power, out=members[k + 1])
        members[k + 1] += total
    return members, members.mean(0), members.std(0)


def jax_statistics(rewards: Any, values: Any, gamma: float) -> Block:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    powers = gamma ** np.arange(len(values))[:, None]

    def statistics(r: Any, v: Any) -> tuple[Any, Any, Any]:
        sums = jnp.concatenate([jnp.zeros_like(v[:1]), jnp.cumsum(powers[:-1] * r, 0)])
        members = sums + powers * v
        return members, members.mean(0), members.std(0)

    compiled, r, v = jax.jit(statistics), jax.device_put(rewards), jax.device_put(values)
    jax.block_until_ready(compiled(r, v))
    return lambda: jax.block_until_ready(compiled(r, v))


def ensemble(blocks: int) -> list[dict[str, Any]]:
    states, gamma, rng = 1_000_000, 0.97, np.random.default_rng(0)
    rewards, values = rng.normal(size=(5, states)), rng.normal(size=(6, states))

    def ours() -> tuple[Any, Any, Any]:
        e = ive.ensemble(rewards, values, gamma)
        return e, e.mean(), e.std()

    theirs, mine = numpy_statistics(rewards, values, gamma), ours()
    assert np.abs(mine[2] - theirs[2]).max() < 1e-9
    sides: dict[str, Block] = {"ive": ours, "NumPy": lambda: numpy_statistics(rewards, values, gamma)}
    sides |= optional(lambda: jax_statistics(rewards, values, gamma), "JAX, jitted")
    return [compare("members, μ and σ of a million states × 6 members, float64", "states per CPU-second", states, sides, blocks)]


def ours_vector(name: str, num_envs: int, steps: int, **options: Any) -> Block:
    envs = ive.make_vec(name, num_envs, **options)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(steps)]
    return lambda: [envs.step(action) for action in actions]


def minatar_original(game: str, steps: int) -> Block:
    from minatar import Environment

    env, actions = Environment(game), np.random.RandomState(1).randint(0, 6, steps).tolist()
    env.reset()

    def block() -> None:
        for action in actions:
            _, end = env.act(action)
            env.state()
            if end:
                env.reset()

    return block


def single(name: str, steps: int) -> Block:
    env = ive.make(name)
    env.reset(seed=0)
    actions = np.random.RandomState(1).randint(0, 6, steps).tolist()

    def block() -> None:
        for action in actions:
            if env.step(action)[2]:
                env.reset()

    return block


def minatar(blocks: int) -> list[dict[str, Any]]:
    found = []
    for game in ("asterix", "breakout", "freeway", "seaquest", "space_invaders"):
        name, steps, num_envs = f"minatar:{game}", 64, 1024
        vector = compare(name, "steps per CPU-second", steps * num_envs, {"ive, 1024": ours_vector(name, num_envs, steps)}, blocks)
        sides = {"ive, 1": single(name, 2000)}
        sides |= optional(lambda game=game: minatar_original(game, 2000), "MinAtar")  # type: ignore[misc]
        one = compare(name, "steps per CPU-second", 2000, sides, blocks)
        found.append({**vector, "rates": {**vector["rates"], **one["rates"]}})
    return found


def dm_control_walker(steps: int) -> Block:
    from dm_control import suite

    env = suite.load("walker", "walk", task_kwargs={"random": 0})
    env.reset()
    actions = np.random.RandomState(1).uniform(-1, 1, (steps, 6))

    def block() -> None:
        for action in actions:
            if env.step(action).last():
                env.reset()

    return block


def envpool_vector(identifier: str, num_envs: int, actions: Any) -> Block:
    import envpool

    envs = envpool.make_gymnasium(identifier, num_envs=num_envs, num_threads=1, seed=0)
    envs.reset()
    return lambda: [envs.step(action) for action in actions]


def walker(blocks: int) -> list[dict[str, Any]]:
    steps, num_envs = 250, 64  # four blocks are an episode, so that the best block of each side is of the same part of it
    actions = np.random.RandomState(1).uniform(-1, 1, (steps, num_envs, 6))
    many = {"ive, 64": ours_vector("walker:walk", num_envs, steps, repeat=1)}
    many |= optional(lambda: envpool_vector("WalkerWalk-v1", num_envs, actions), "EnvPool, 64")
    together = compare("walker:walk", "control steps per CPU-second", steps * num_envs, many, blocks)
    one = compare("", "", steps, optional(lambda: dm_control_walker(steps), "dm_control, 1"), blocks)
    return [{**together, "rates": {**together["rates"], **one["rates"]}}]


def procgen(blocks: int) -> list[dict[str, Any]]:
    steps, num_envs, found = 64, 64, []
    actions = np.random.RandomState(1).randint(0, 15, (steps, num_envs)).astype(np.int32)
    for game in ("coinrun", "jumper"):
        sides = {"ive, 64": ours_vector(f"procgen:{game}", num_envs, steps, mode="easy")}
        identifier = f"{game.capitalize()}Easy-v0"
        sides |= optional(lambda identifier=identifier: envpool_vector(identifier, num_envs, actions), "EnvPool, 64")  # type: ignore[misc]
        found.append(compare(f"procgen:{game}", "steps per CPU-second", steps * num_envs, sides, blocks))
    return found


CASES = {"calls": calls, "ensemble": ensemble, "minatar": minatar, "walker": walker, "procgen": procgen}
PEERS = ("numpy", "jax", "minatar", "dm_control", "mujoco", "envpool")


def versions() -> dict[str, str]:
    found = {"ive": ive.__version__}
    for name in PEERS:
        try:
            found[name] = version(name)
        except Exception:
            continue
    return found


def shown(rate: float) -> str:
    return f"{rate / 1e6:.2f}M" if rate >= 1e6 else f"{rate / 1e3:.1f}k"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), choices=[[], *CASES], help="what to measure [default: all]")
    parser.add_argument("--blocks", type=int, default=12, help="how often ours and the peers take turns; the best counts")
    parser.add_argument("--json", action="store_true", help="one object for each measurement")
    arguments = parser.parse_args()
    if not arguments.json:
        print("best of", arguments.blocks, "blocks;", ", ".join(f"{name} {number}" for name, number in versions().items()))
    for case in arguments.cases or CASES:
        for found in CASES[case](arguments.blocks):
            if arguments.json:
                print(json.dumps({**found, "blocks": arguments.blocks, "versions": versions()}, ensure_ascii=False), flush=True)
                continue
            rates = found["rates"]
            ours = next(iter(rates.values()))
            print(f"\n{found['what']}, {found['unit']}")
            for name, rate in rates.items():
                micro = found.get("microseconds", {}).get(name)
                ratio = f"{ours / rate:10.1f}×" if not name.startswith("ive") and micro is None else ""
                print(f"  {name:<28}{shown(rate):>10}{ratio}" + (f"{micro:10.1f} µs" if micro else ""), flush=True)


if __name__ == "__main__":
    main()
