"""The peers of `ive bench envs` for Procgen: the Python package and EnvPool, one thread, all levels, easy.

usage: procgen.py REPEATS ENVS GAME    one JSON line per peer: steps per CPU-second, best of REPEATS
"""
import json
import sys
import time

import numpy as np

REPEATS, ENVS, GAME = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ACTIONS = np.random.RandomState(1).randint(0, 15, (64, ENVS)).astype(np.int32)


def say(peer, step):
    """A repetition takes a second of CPU time at least."""
    best = 0.0
    for _ in range(REPEATS):
        start, steps = time.process_time(), 0
        while time.process_time() - start < 1.0:
            for actions in ACTIONS:
                step(actions)
            steps += ACTIONS.size
        best = max(best, steps / (time.process_time() - start))
    print(json.dumps({"peer": peer, "rate": best}), flush=True)


def python_package():
    from procgen import ProcgenGym3Env
    env = ProcgenGym3Env(num=ENVS, env_name=GAME, distribution_mode="easy", rand_seed=0, num_threads=0)

    def step(actions):
        env.act(actions)
        env.observe()
    say("procgen", step)
    env.close()


def envpool():
    import envpool
    env = envpool.make_gymnasium(f"{GAME.capitalize()}Easy-v0", num_envs=ENVS, num_threads=1, seed=0)
    env.reset()
    say("envpool", env.step)
    env.close()


for measure in (python_package, envpool):
    try:
        measure()
    except Exception as problem:    # not installed, or not for this Python: the other may be
        print(f"{measure.__name__}: {problem}", file=sys.stderr)
