#!/usr/bin/env python3
"""Compares our MinAtar with the original, step by step, and records the fixtures of the test suite.

Needs numpy and minatar==1.0.15 (`pip install minatar==1.0.15`) and a release build of the `ive` command.

    minatar_parity.py compare --ive target/release/ive --steps 1000000   # every observation, reward and end
    minatar_parity.py record                                            # rewrites the fixtures

Seaquest as it was before October 2022 (`pip install --no-deps --target DIR minatar==1.0.10`):

    minatar_parity.py compare --minatar DIR --games seaquest --option oxygen_flash=on
    minatar_parity.py record --minatar DIR --games seaquest --option oxygen_flash=on --fixture minatar-1.0.10

Actions come from simple players that look at the observation only, mixed with random moves, a different share in each
episode: random play alone never gets far enough to meet the rules of long games. Both sides replay the same actions.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np

GAMES = ["asterix", "breakout", "freeway", "seaquest", "space_invaders"]
NOOP, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
#          sticky ramping share of the steps
SETTINGS = [(0.1, True, 1.0), (0.0, True, 0.25), (0.1, False, 0.25), (0.0, False, 0.25)]
RANDOM_SHARES = [0.0, 0.01, 0.05, 0.2, 1.0]


def first(channel):
    """Row and column of the first object of a channel."""
    return divmod(int(channel.argmax()), 10)


def heading(state, y, x, trail):
    """The direction of the thing at (y, x): away from its trail."""
    if x > 0 and state[y, x - 1, trail]:
        return 1
    if x < 9 and state[y, x + 1, trail]:
        return -1
    return 1 if x == 0 else -1


def play_asterix(state, _):
    y, x = first(state[:, :, 0])
    threats, gold = [], []
    for ty, tx in zip(*np.nonzero(state[:, :, 1] | state[:, :, 3])):
        (gold if state[ty, tx, 3] else threats).append((ty, tx, heading(state, ty, tx, 2)))
    best, choice = None, NOOP
    for action, dy, dx in [(NOOP, 0, 0), (LEFT, 0, -1), (RIGHT, 0, 1), (UP, -1, 0), (DOWN, 1, 0)]:
        cy, cx = min(max(y + dy, 1), 8), min(max(x + dx, 0), 9)
        cost = 0.2 * abs(cx - 4.5) + 0.05 * abs(cy - 4.5)
        for ty, tx, d in threats:
            if ty == cy:
                ahead = (cx - tx) * d
                cost += 100 if ahead == 0 else (50 if ahead == 1 else (8 / ahead if ahead > 0 else 0))
        for ty, tx, d in gold:
            cost -= 3 / (1 + abs(ty - cy) + 0.5 * abs(tx + d - cx))
        if best is None or cost < best:
            best, choice = cost, action
    return choice


def play_breakout(state, _):
    paddle = int(state[9, :, 0].argmax())
    (y, x), (py, px) = first(state[:, :, 1]), first(state[:, :, 2])
    dx = 1 if x > px or (x == px and x == 0) else -1
    if y > py or y == 3 and py == 3:
        while y < 8:
            x += dx
            if not 0 <= x <= 9:
                x, dx = min(max(x, 0), 9), -dx
            y += 1
    return LEFT if x < paddle else RIGHT if x > paddle else NOOP


def play_freeway(state, _):
    y, _ = first(state[:, :, 0])
    above = state[max(y - 1, 1)]
    near = above[3:6, 1].any()
    return NOOP if near and y > 1 else UP


def play_seaquest(state, memory):
    y, x = first(state[:, :, 0])
    oxygen, crew = int(state[9, :, 7].sum()), int(state[9, :, 8].sum())
    # Once a full crew went ashore one may surface again and again, each time to a harder game.
    if memory.get("crew") == 6 and crew == 0:
        memory["dives"] = 60
    memory["crew"] = crew
    if memory.get("dives", 0) > 0:
        memory["dives"] -= 1
        return DOWN if y == 0 else UP
    facing = -1 if x < 9 and state[y, x + 1, 1] else 1
    enemies = [(ey, ex, heading(state, ey, ex, 3)) for ey, ex in zip(*np.nonzero(state[:, :, 5] | state[:, :, 6]))]
    bullets = [(ey, ex) for ey, ex in zip(*np.nonzero(state[:, :, 4]))]
    danger = any(ey == y and abs(ex - x) <= 2 for ey, ex, _ in enemies)
    danger = danger or any(by == y and abs(bx - x) <= 2 for by, bx in bullets)
    # Now and then a full crew waits below the surface until about the last breath.
    if crew == 6 and y == 1 and memory.setdefault("wait", memory["rng"].integers(-20, 23)) > 0:
        memory["wait"] -= oxygen == 0
        if memory["wait"] > 0 and not danger:
            return NOOP
    if crew and (oxygen <= 3 or crew == 6) and not danger:
        return UP
    for ey, ex, _ in enemies:
        if ey == y and (ex - x) * facing > 0:
            return FIRE
    if danger:
        here = [ex for ey, ex, _ in enemies if ey == y]
        if here:
            return RIGHT if here[0] > x else LEFT
        return UP if y > 1 else DOWN
    divers = [(abs(dy - y) + abs(dx - x), dy, dx) for dy, dx in zip(*np.nonzero(state[:, :, 9]))]
    target = min(divers)[1:] if divers and crew < 6 else None
    if target is None and enemies:
        target = min((abs(ey - y), ey, ex) for ey, ex, _ in enemies)[1:]
    if target is None:
        return DOWN if y < 4 else FIRE
    ty, tx = target
    if ty != y:
        step = 1 if ty > y else -1
        blocked = any(ey == y + step and abs(ex - x) <= 2 for ey, ex, _ in enemies)
        if not blocked and y + step > 0:
            return DOWN if step > 0 else UP
        return FIRE
    return LEFT if tx < x else RIGHT if tx > x else FIRE


def play_space_invaders(state, _):
    x = int(state[9, :, 0].argmax())
    bullets = state[:, :, 5]
    if bullets[5:9, x].any():
        options = [c for c in (x - 1, x + 1) if 0 <= c <= 9 and not bullets[6:10, c].any()]
        if options:
            return LEFT if options[0] < x else RIGHT
    columns = np.nonzero(state[:, :, 1].any(axis=0))[0]
    lead = -1 if state[:, :, 2].any() else 1
    target = int(columns[np.abs(columns + lead - x).argmin()]) + lead
    target = min(max(target, 0), 9)
    if target == x:
        return FIRE
    side = x + (1 if target > x else -1)
    if bullets[6:10, side].any():
        return FIRE
    return LEFT if target < x else RIGHT


PLAYERS = dict(zip(GAMES, [play_asterix, play_breakout, play_freeway, play_seaquest, play_space_invaders]))


def fnv(observations):
    """64-bit FNV-1a of each row."""
    columns = np.ascontiguousarray(observations.T).astype(np.uint64)
    hashes = np.full(columns.shape[1], 0xCBF29CE484222325, dtype=np.uint64)
    for column in columns:
        hashes ^= column
        hashes *= np.uint64(0x100000001B3)
    return hashes


class NewDraws(np.random.RandomState):
    """What older releases ask of `choice`, answered with the draws that 1.0.15 makes for the same purpose."""

    def choice(self, items, p=None):
        if list(items) == [True, False]:
            return self.rand() < (p[0] if p else 0.5)
        return items[self.randint(len(items))]


def play(game, seed, steps, sticky, ramping):
    """A run of the original: actions, rewards, ends, hashes, and how it went."""
    from minatar import Environment

    options = {"sticky_action_prob": sticky, "difficulty_ramping": ramping}
    if hasattr(Environment, "seed"):
        env = Environment(game, **options)
        env.seed(seed)
    else:  # Older releases have two generators; make it one, with the newer ones' draws.
        env = Environment(game, random_seed=seed, **options)
        env.random = env.env.random = NewDraws(seed)
    env.reset()
    player, rng = PLAYERS[game], np.random.default_rng([seed, int(10 * sticky), ramping])
    share = RANDOM_SHARES[rng.integers(len(RANDOM_SHARES))]
    actions, rewards = np.zeros(steps, np.int64), np.zeros(steps, np.int64)
    ends = np.zeros(steps, bool)
    state = env.state()
    seen = np.zeros((steps, state.size), np.uint8)
    memory = {"rng": rng}
    length = total = longest = best = 0
    for t in range(steps):
        action = int(rng.integers(6)) if share and rng.random() < share else player(state, memory)
        reward, end = env.act(action)
        state = env.state()
        actions[t], rewards[t], ends[t] = action, reward, end
        seen[t] = state.reshape(-1)
        length, total = length + 1, total + int(reward)
        longest, best = max(longest, length), max(best, total)
        if end:
            env.reset()
            state = env.state()
            memory, length, total = {"rng": rng}, 0, 0
            share = RANDOM_SHARES[rng.integers(len(RANDOM_SHARES))]
    return actions, rewards, ends, fnv(seen), longest, best


def lines(actions, rewards, ends, hashes):
    end = ("false", "true")
    rows = zip(actions.tolist(), rewards.tolist(), ends.tolist(), hashes.tolist())
    return [
        f'{{"step":{t},"action":{a},"reward":{r},"terminal":{end[e]},"hash":"{h:016x}"}}'
        for t, (a, r, e, h) in enumerate(rows, 1)
    ]


def compare_run(job):
    game, seed, steps, sticky, ramping, ive, options = job
    actions, rewards, ends, hashes, longest, best = play(game, seed, steps, sticky, ramping)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(map(str, actions.tolist())))
        file.flush()
        command = [ive, "env", "trace", f"minatar:{game}", "--rng", "numpy", "--seed", str(seed), "--actions", file.name]
        command += ["--steps", str(steps), "--sticky", str(sticky), "--json", *([] if ramping else ["--no-ramping"])]
        for option in options:
            command += ["--option", option]
        ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    theirs = lines(actions, rewards, ends, hashes)
    if len(ours) != steps:
        return job, 0, int(ends.sum()), longest, best, f"{len(ours)} lines"
    wrong = [(o, t) for o, t in zip(ours, theirs) if o != t]
    first_wrong = f"ours {wrong[0][0]}, theirs {wrong[0][1]}" if wrong else ""
    return job, len(wrong), int(ends.sum()), longest, best, first_wrong


def compare(args):
    failures = 0
    with ProcessPoolExecutor(args.jobs) as pool:
        for game in args.games:
            for sticky, ramping, part in SETTINGS:
                steps = int(args.steps * part)
                runs = max(1, steps // args.length)
                jobs = [
                    (game, args.seed + s, steps // runs, sticky, ramping, args.ive, args.option) for s in range(runs)
                ]
                done = list(pool.map(compare_run, jobs))
                wrong = sum(result[1] for result in done)
                bad = [result for result in done if result[5]]
                print(
                    f"{game:15} sticky {sticky} ramping {'on ' if ramping else 'off'} {runs} seeds "
                    f"{sum(job[2] for job in jobs):>8} steps  {sum(r[2] for r in done):>6} episodes  "
                    f"longest {max(r[3] for r in done):>5}  best return {max(r[4] for r in done):>4}  "
                    f"{wrong} mismatches",
                    flush=True,
                )
                for result in bad[:3]:
                    print("   seed", result[0][1], result[5])
                failures += len(bad)
    return 1 if failures else 0


def record(args):
    """A few runs per game and setting: the actions, and after every 50 steps a hash of all that was seen so far."""
    runs = []
    for game in args.games:
        for sticky, ramping, _ in SETTINGS:
            for seed in (0, 1, 20221012):
                actions, rewards, ends, hashes, *_ = play(game, seed, 3000, sticky, ramping)
                digest, checks = 0xCBF29CE484222325, []
                for t, (r, e, h) in enumerate(zip(rewards.tolist(), ends.tolist(), hashes.tolist()), 1):
                    for byte in h.to_bytes(8, "little") + bytes([r & 255, e]):
                        digest = ((digest ^ byte) * 0x100000001B3) & (2**64 - 1)
                    if t % 50 == 0:
                        checks.append(f"{digest:016x}")
                runs.append({
                    "game": game, "options": args.option, "seed": seed, "sticky": sticky, "ramping": ramping,
                    "return": int(rewards.sum()), "episodes": int(ends.sum()),
                    "actions": "".join(map(str, actions.tolist())), "digests": checks,
                })
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", f"{args.fixture}.json")
    with open(path, "w") as file:
        file.write('{"every": 50, "runs": [\n')
        file.write(",\n".join(json.dumps(run) for run in runs) + "\n]}\n")
    print(f"{len(runs)} runs, {os.path.getsize(path)} bytes: {path}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "record"])
    parser.add_argument("--ive", default="target/release/ive", help="the command to compare with")
    parser.add_argument("--games", nargs="+", default=GAMES, choices=GAMES)
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps per game with the default options")
    parser.add_argument("--length", type=int, default=10_000, help="steps per seed")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--option", action="append", default=[], help="further options of our world, KEY=VALUE")
    parser.add_argument("--fixture", default="minatar-1.0.15", help="the name of the file to record")
    parser.add_argument("--minatar", metavar="DIR", help="import minatar from this directory")
    args = parser.parse_args()
    if args.minatar:
        sys.path.insert(0, args.minatar)
    return record(args) if args.what == "record" else compare(args)


if __name__ == "__main__":
    sys.exit(main())
