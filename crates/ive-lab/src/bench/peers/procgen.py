"""A peer of `ive bench envs` for Procgen: the Python package or EnvPool, one thread, all levels, easy.

usage: procgen.py procgen|envpool ENVS GAME
Says `ready`, and then, for each line that it reads, takes 64 steps and prints their CPU seconds. The package plays the
very games that we play: same seed, same actions.
"""
import sys
import time

import numpy as np

PEER, ENVS, GAME = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def python_package():
    from procgen import ProcgenGym3Env
    env = ProcgenGym3Env(num=ENVS, env_name=GAME, distribution_mode="easy", rand_seed=0, num_threads=0)

    def step(actions):
        env.act(actions)
        env.observe()
    return step


def envpool():
    import envpool
    env = envpool.make_gymnasium(f"{GAME.capitalize()}Easy-v0", num_envs=ENVS, num_threads=1, seed=0)
    env.reset()
    return env.step


def block(x, last):
    """Actions for 64 steps; each repeats the last one or is drawn anew, evenly."""
    actions = np.empty((64, ENVS), np.int32)
    for now in actions:
        for i in range(ENVS):
            x = (1103515245 * x + 12345) % 2**31
            drawn = (x >> 16) % 30
            last[i] = drawn if drawn < 15 else last[i]
        now[:] = last
    return x, actions


step = {"procgen": python_package, "envpool": envpool}[PEER]()
print("ready", flush=True)
x, last = 1, [4] * ENVS
for _ in sys.stdin:
    x, actions = block(x, last)
    start = time.process_time()
    for now in actions:
        step(now)
    print(time.process_time() - start, flush=True)
