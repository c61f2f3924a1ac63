"""The peers of the walker in `ive bench envs`: dm_control and EnvPool, one JSON line per peer.

usage: walker.py BATCH STEPS REPEATS

BATCH environments of EnvPool, one of dm_control, take STEPS control steps each with uniformly random actions, which are drawn
beforehand. `cpu` and `wall` are seconds per control step with reward and observation, CPU time over all threads, best of
REPEATS by CPU. STEPS = 1000 is a whole episode; shorter ones see more of the fall and less of the floor, which is cheaper.
"""
import json
import sys
import time
from importlib.metadata import version

import numpy as np

BATCH, STEPS, REPEATS = (int(number) for number in sys.argv[1:4])


def say(peer, steps, begin, work):
    """Measures `work`, each time after `begin`, and prints the best run."""
    runs = []
    for _ in range(REPEATS):
        begin()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        runs.append(((time.process_time() - cpu) / steps, (time.perf_counter() - wall) / steps))
    cpu, wall = min(runs)
    print(json.dumps({"case": "walker", "peer": peer, "cpu": cpu, "wall": wall}), flush=True)


def dm_control():
    from dm_control import suite
    environment = suite.load("walker", "walk", task_kwargs={"random": 0})
    actions = np.random.RandomState(1).uniform(-1, 1, (STEPS, 6))

    def work():
        for action in actions:
            environment.step(action)
    say(f"dm_control {version('dm_control')}, MuJoCo {version('mujoco')}", STEPS, environment.reset, work)


def envpool():
    import envpool
    environments = envpool.make_gymnasium("WalkerWalk-v1", num_envs=BATCH, num_threads=1, seed=0)
    actions = np.random.RandomState(1).uniform(-1, 1, (STEPS, BATCH, 6))

    def work():
        for action in actions:
            environments.step(action)
    say(f"EnvPool {version('envpool')}, {BATCH} environments", STEPS * BATCH, environments.reset, work)


for name, measure in (("dm_control", dm_control), ("EnvPool", envpool)):
    try:
        measure()
    except Exception as missing:  # not there, or broken: the others are measured all the same
        print(json.dumps({"missing": name, "why": str(missing)}), flush=True)
