"""Procgen by the Python package: records runs for `procgen_parity.rs`, and compares whole runs with `ive env trace`.

    python procgen_parity.py record                                     # writes fixtures/procgen-0.10.7.json
    python procgen_parity.py compare --ive target/release/ive --steps 5000

Needs `procgen==0.10.7` and `gym3`. The package has no wheel for Python 3.11 and later, but the one for 3.10 works there
when it is unpacked and named in PYTHONPATH: its library does not depend on Python. Compare only with the library of this very
wheel; others paint some pixels differently.
"""
import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
from procgen import ProcgenGym3Env

GAMES = ["chaser", "climber", "coinrun", "fruitbot", "jumper"]
CONFIGURATIONS = [(10, 0, "easy"), (0, 0, "hard"), (100, 500, "easy")]  # levels, first level, mode
ENVS, STEPS, EVERY = 8, 600, 100
FIXTURE = Path(__file__).parent / "fixtures" / "procgen-0.10.7.json"


def make(game, levels, start_level, mode, envs, seed):
    return ProcgenGym3Env(num=envs, env_name=game, num_levels=levels, start_level=start_level,
                          distribution_mode=mode, rand_seed=seed, num_threads=0)


def fnv1a(rows):
    """64-bit FNV-1a of every row of bytes."""
    hashes = np.full(len(rows), 0xcbf29ce484222325, np.uint64)
    for column in np.ascontiguousarray(rows.T):
        hashes = (hashes ^ column) * np.uint64(0x100000001b3)
    return hashes


def player(envs):
    """Actions that are held for a while: each step repeats the last one or draws another, evenly. Integers only, so that
    the test in Rust plays the same."""
    x, last = 1, [4] * envs
    while True:
        for i in range(envs):
            x = (1103515245 * x + 12345) % 2**31
            drawn = (x >> 16) % 30
            last[i] = drawn if drawn < 15 else last[i]
        yield list(last)


def play(env, actions):
    """Takes the steps and returns what was seen, `[step, environment]`."""
    rewards, firsts, infos, pixels = [], [], [], []
    for action in actions:
        env.act(np.array(action, np.int32))
        reward, observation, first = env.observe()
        info = env.get_info()
        rewards.append(reward)
        firsts.append(first)
        infos.append([[i["level_seed"], i["prev_level_seed"], i["prev_level_complete"]] for i in info])
        pixels.append(observation["rgb"].reshape(env.num, -1))
    hashes = fnv1a(np.concatenate(pixels)).reshape(len(rewards), env.num)
    return np.array(rewards), np.array(firsts), np.array(infos, np.int32), hashes


def record():
    runs = []
    for game in GAMES:
        for levels, start_level, mode in CONFIGURATIONS:
            env = make(game, levels, start_level, mode, ENVS, seed=7)
            source = player(ENVS)
            rewards, firsts, infos, hashes = play(env, [next(source) for _ in range(STEPS)])
            seen, digests = b"", []
            for t in range(STEPS):
                for i in range(ENVS):
                    seen += hashes[t, i].tobytes() + rewards[t, i].tobytes() + firsts[t, i].tobytes()
                    seen += infos[t, i, 0].tobytes() + infos[t, i, 1].tobytes() + bytes([infos[t, i, 2]])
                if (t + 1) % EVERY == 0:
                    digests.append(f"{int(fnv1a(np.frombuffer(seen, np.uint8)[None])[0]):016x}")
            runs.append({"game": game, "levels": levels, "start_level": start_level, "mode": mode,
                         "return": float(rewards.sum(dtype=np.float64)), "episodes": int(firsts.sum()),
                         "completed": int(infos[:, :, 2].sum()), "digests": digests})
            print({key: runs[-1][key] for key in runs[-1] if key != "digests"})
    lines = ",\n  ".join(json.dumps(run) for run in runs)
    FIXTURE.write_text(f'{{"envs": {ENVS}, "steps": {STEPS}, "every": {EVERY}, "seed": 7, "runs": [\n  {lines}\n]}}\n')


def compare(ive, steps, envs, threads):
    for game in GAMES:
        for levels, start_level, mode in CONFIGURATIONS:
            options = [f"levels={levels}", f"start_level={start_level}", f"mode={mode}"]
            command = [ive, "env", "trace", f"procgen:{game}", "--seed", "3", "--envs", str(envs), "--threads",
                       str(threads), "--steps", str(steps), "--json", *sum((["-o", o] for o in options), [])]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            ours = [json.loads(line) for line in lines]
            actions = np.array([line["action"] for line in ours]).reshape(steps, envs)
            rewards, firsts, infos, hashes = play(make(game, levels, start_level, mode, envs, seed=3), actions)
            for number, line in enumerate(ours):
                t, i = divmod(number, envs)
                mine = (line["step"], line["env"], np.float32(line["reward"]), line["first"], line["level_seed"],
                        int(line["hash"], 16))
                theirs = (t + 1, i, rewards[t, i], bool(firsts[t, i]), infos[t, i, 0], int(hashes[t, i]))
                if mine != theirs:
                    raise SystemExit(f"{game} {options}: differs at {line}, the package has {theirs}")
            print(f"{game} {' '.join(options)}: {steps} steps of {envs} environments equal, {firsts.sum()} episodes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("--ive", default="target/release/ive")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    record() if chosen.what == "record" else compare(chosen.ive, chosen.steps, chosen.envs, chosen.threads)
