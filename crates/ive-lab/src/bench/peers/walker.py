"""The peers of the walker in `ive bench envs`: dm_control and EnvPool, one JSON line per peer.

usage: walker.py control|pixels BATCH REPEATS

control: BATCH environments of EnvPool, one of dm_control, take whole episodes of 1,000 control steps; with reward and observation.
Shorter ones would see more of the fall and less of the floor, which is cheaper.
pixels: one environment of dm_control takes 100 agent steps: two control steps, then a picture of 64 x 64 pixels by MuJoCo through EGL.

Actions are uniformly random and drawn beforehand. `rate` is steps per second of CPU time over all threads, best of REPEATS.
"""
import json
import os
import sys
import time
from importlib.metadata import version

import numpy as np

CASE, BATCH, REPEATS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def say(peer, name, steps, begin, work):
    """Measures `work`, each time after `begin`, and prints the best run."""
    best = 0.0
    for _ in range(REPEATS):
        begin()
        start = time.process_time()
        work()
        best = max(best, steps / (time.process_time() - start))
    print(json.dumps({"peer": peer, "name": name, "rate": best}), flush=True)


def dm_control():
    from dm_control import suite
    environment = suite.load("walker", "walk", task_kwargs={"random": 0})
    actions = np.random.RandomState(1).uniform(-1, 1, (1000, 6))

    def work():
        for action in actions:
            environment.step(action)
    say("dm_control", f"dm_control {version('dm_control')} on MuJoCo {version('mujoco')}", 1000, environment.reset, work)


def dm_control_pixels():
    os.environ["MUJOCO_GL"] = "egl"   # before the import, which reads it
    from dm_control import suite
    environment = suite.load("walker", "walk", task_kwargs={"random": 0})
    actions = np.random.RandomState(1).uniform(-1, 1, (100, 6))

    def work():
        for action in actions:
            environment.step(action)
            environment.step(action)
            environment.physics.render(64, 64, camera_id=0)

    def begin():
        environment.reset()
        environment.physics.render(64, 64, camera_id=0)   # the first one sets OpenGL up
    say("dm_control", f"dm_control {version('dm_control')} with EGL", 100, begin, work)


def envpool():
    import envpool
    environments = envpool.make_gymnasium("WalkerWalk-v1", num_envs=BATCH, num_threads=1, seed=0)
    actions = np.random.RandomState(1).uniform(-1, 1, (1000, BATCH, 6))

    def work():
        for action in actions:
            environments.step(action)
    say("envpool", f"EnvPool {version('envpool')}", 1000 * BATCH, environments.reset, work)


cases = {"control": (("dm_control", dm_control), ("EnvPool", envpool)), "pixels": (("dm_control", dm_control_pixels),)}
for name, measure in cases[CASE]:
    try:
        measure()
    except Exception as missing:  # not there, or broken: the others are measured all the same
        print(json.dumps({"missing": name, "why": str(missing)}), flush=True)
