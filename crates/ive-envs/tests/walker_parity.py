#!/usr/bin/env python3
"""Records runs of dm_control's walker, which `walker_parity.rs` replays bit by bit.

Needs dm_control==1.0.50 and mujoco==3.17.0 (`pip install dm_control==1.0.50 mujoco==3.17.0`).

    walker_parity.py                             # rewrites fixtures/walker-1.0.50.json
    walker_parity.py --runs 200 --out more.json  # more runs, to replay with
    IVE_WALKER_RUNS=more.json cargo test --release -p ive-envs --test walker_parity

Numbers are recorded by the bits of their doubles. Actions come from a generator that both sides have: they are multiples of
2⁻³⁰, so that no conversion can round them. A digest is the FNV-1a hash of the bits of all positions and velocities of
all control steps so far.
"""

import argparse
import json
import os
import struct

import mujoco
import numpy as np
from dm_control import suite

EPISODE, EVERY = 1000, 20
TASKS = ["run", "stand", "walk"]
# Seeds of dm_control, and how its poses are used: random, or these.
UPRIGHT = [0.0] * 9
LEANING = [0.0, 0.0, 0.25, 0.5, -0.25, 0.0, -0.25, -0.125, 0.125]


def bits(numbers):
    return [struct.pack(">d", x).hex() for x in np.ravel(numbers).tolist()]


def actions(start, hold, scale):
    """x ← 6364136223846793005 x + 1442695040888963407 (mod 2⁶⁴); an action is six of (x >> 33) / 2³⁰ − 1, times a scale."""
    x, now = start, None
    for step in range(EPISODE):
        if step % hold == 0:
            now = []
            for _ in range(6):
                x = (6364136223846793005 * x + 1442695040888963407) % 2**64
                now.append(((x >> 33) / 2**30 - 1) * scale)
        yield np.array(now)


def fnv(digest, numbers):
    for byte in np.asarray(numbers, dtype="<f8").tobytes():
        digest = ((digest ^ byte) * 0x100000001B3) % 2**64
    return digest


def flat(observation):
    return np.concatenate([np.ravel(part) for part in observation.values()])


def run(seed, hold, scale, pose=None):
    """The three tasks with the same actions: one motion, three rewards."""
    environments = [suite.load("walker", task, task_kwargs={"random": seed}) for task in TASKS]
    for environment in environments:
        environment.reset()
        if pose is not None:
            with environment.physics.reset_context():
                environment.physics.data.qpos[:] = pose
    data = [environment.physics.data for environment in environments]
    start = bits(data[0].qpos)
    digest, digests, rewards, sums = 0xCBF29CE484222325, [], [], np.zeros(3)
    for step, action in enumerate(actions(seed, hold, scale), 1):
        seen = [environment.step(action) for environment in environments]
        assert all((d.qpos == data[0].qpos).all() and (d.qvel == data[0].qvel).all() for d in data)
        now = [s.reward for s in seen]
        sums += now
        digest = fnv(fnv(digest, data[0].qpos), data[0].qvel)
        assert seen[0].last() == (step == EPISODE) and seen[0].discount == 1.0
        if step % EVERY == 0:
            digests.append(f"{digest:016x}")
            rewards.append(bits(now))
    return {
        "seed": seed, "hold": hold, "scale": scale, "fixed": pose is not None, "start": start,
        "digests": digests, "rewards": rewards, "returns": bits(sums),
        "qpos": bits(data[0].qpos), "qvel": bits(data[0].qvel), "observation": bits(flat(seen[0].observation)),
    }


def poses(seed, episodes=3):
    """The poses in which the first episodes start."""
    environment = suite.load("walker", "walk", task_kwargs={"random": seed})
    found = []
    for _ in range(episodes):
        environment.reset()
        found.append(bits(environment.physics.data.qpos))
    return {"seed": seed, "poses": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--out", default=os.path.join(here, "fixtures", "walker-1.0.50.json"))
    parser.add_argument("--runs", type=int, help="this many runs with other seeds instead of the fixed list")
    args = parser.parse_args()
    assert mujoco.__version__ == "3.17.0", mujoco.__version__
    if args.runs:
        # Actions held for 1 to 20 steps; every third run asks for more than the motors give.
        chosen = [(1000 + i, 1 + i % 20, [1.0, 0.5, 2.0][i % 3], None) for i in range(args.runs)]
    else:
        chosen = [(0, 1, 1.0, None), (1, 2, 1.0, None), (2, 5, 1.0, None), (3, 10, 2.0, None), (4, 20, 0.5, None),
                  (12345, 4, 1.5, None), (4294967295, 1, 1.0, None), (7, 1, 0.25, UPRIGHT), (8, 8, 0.5, LEANING)]
    recorded = {"every": EVERY, "poses": [poses(seed) for seed in (0, 1, 2, 12345, 4294967295)], "runs": []}
    recorded["runs"] = [run(*choice) for choice in chosen]
    with open(args.out, "w") as file:
        file.write('{"every": %d,\n"poses": %s,\n"runs": [\n' % (EVERY, json.dumps(recorded["poses"])))
        file.write(",\n".join(json.dumps(one) for one in recorded["runs"]) + "\n]}\n")
    print(f"{len(recorded['runs'])} runs, {os.path.getsize(args.out)} bytes: {args.out}")


if __name__ == "__main__":
    main()
