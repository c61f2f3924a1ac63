"""The guard: thresholds, its promise, files, and the wrapper around environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ive


def test_the_threshold_is_the_stated_order_statistic() -> None:
    scores = np.random.default_rng(0).permutation(np.arange(1.0, 200.0))
    guard = ive.Guard.calibrate(scores, 0.01)
    assert (guard.threshold, guard.rate, guard.n, guard.unit) == (198.0, 0.01, 199, "step")  # ⌈200 · 0.99⌉
    assert guard.is_alarm(199) is True and guard.is_alarm(198.0) is False and guard.is_alarm(np.nan) is True
    assert guard.is_alarm(np.array([[1.0, 300.0]])).tolist() == [[False, True]]
    assert guard.is_alarm(np.float32(500)) is True
    low, high = guard.rate_interval(0.9)
    assert 0 < low < 0.01 < high


def test_the_stated_rate_of_false_alarms_holds() -> None:
    # Each trial calibrates anew; (n + 1) · rate is whole, so alarms are binomial with the rate itself. One seed in 10⁶ misses.
    rng, trials = np.random.default_rng(1), 2000
    alarms = sum(bool(ive.Guard.calibrate(rng.normal(size=39) ** 4, 0.05).is_alarm(float(rng.normal() ** 4))) for _ in range(trials))
    low, high = ive.binomial_interval(alarms, trials, 1 - 1e-6)
    assert low <= 0.05 <= high


def test_episodes_are_the_unit_where_states_resemble_each_other() -> None:
    scores, episodes = np.arange(200.0), np.repeat([f"e{i}" for i in range(20)], 10)
    guard = ive.Guard.calibrate(scores, 0.1, episodes=episodes)
    # The largest scores of the episodes are 9, 19, …, 199; ⌈21 · 0.9⌉ = 19, the 19th is 189.
    assert (guard.threshold, guard.n, guard.unit) == (189.0, 20, "episode")


def test_guards_are_saved_and_read_whole(tmp_path: Path) -> None:
    guard = ive.Guard.calibrate(np.random.default_rng(0).normal(size=500), 0.02, source="agent a, members 1..5")
    path = tmp_path / "guard.json"
    guard.save(path)
    assert ive.Guard.load(path) == guard and hash(ive.Guard.load(path)) == hash(guard)
    assert ive.Guard.load(path).provenance["file"] == "agent a, members 1..5"
    assert ive.Guard.load(path).provenance["states"] == 500
    assert [file.name for file in tmp_path.iterdir()] == ["guard.json"]
    saved = json.loads(path.read_text())
    for key, value in [("threshold", "x"), ("rate", 2.0), ("n", 3), ("n", 1.5), ("unit", "day"), ("rate", None)]:
        path.write_text(json.dumps({**saved, "guard": {**saved["guard"], key: value}}))
        with pytest.raises(ValueError):
            ive.Guard.load(path)
    for key in saved:
        path.write_text(json.dumps({name: part for name, part in saved.items() if name != key}))
        with pytest.raises(ValueError, match="this is not a saved guard"):
            ive.Guard.load(path)
    for text in ("", "[]", "{}", "null", "garbage"):
        with pytest.raises(ValueError, match="this is not a saved guard"):
            ive.Guard.from_json(text)
    with pytest.raises(FileNotFoundError):
        ive.Guard.load(tmp_path / "nothing.json")


def test_guards_of_the_command_line_are_read_and_written_back_unchanged() -> None:
    # As docs/guard.md shows the format.
    saved = {
        "format": "ive-guard",
        "version": 1,
        "guard": {"threshold": 0.41, "rate": 0.05, "n": 200, "unit": "episode"},
        "score": "std",
        "scoring": {"gamma": 0.9, "members": None, "ddof": 0, "convention": None},
        "provenance": {"program": "ive", "date": "2026-11-18", "file": "a.npz", "blake3": "0", "states": 4000, "episodes": 200},
    }
    guard = ive.Guard.from_json(json.dumps(saved))
    assert (guard.threshold, guard.n, guard.unit, guard.score) == (0.41, 200, "episode", "std")
    assert json.loads(guard.to_json()) == saved
    # Our own have exactly the same fields, which the command insists on.
    own = json.loads(ive.Guard.calibrate(np.arange(100.0), 0.1).to_json())
    assert own.keys() == saved.keys() and own["provenance"].keys() == saved["provenance"].keys()  # type: ignore[attr-defined]
    assert own["guard"].keys() == saved["guard"].keys()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ive.Guard.calibrate(np.ones(98), 0.01), "at least 99 are needed, got 98"),
        (lambda: ive.Guard.calibrate(np.ones(98), 0), "false-alarm rate: 0 is not between 0 and 1"),
        (lambda: ive.Guard.calibrate([1.0, np.inf], 0.5), "entry 1 is inf"),
        (lambda: ive.Guard.calibrate([1.0, 2.0], 0.5, episodes=[1]), "episodes: expected the shape (2,)"),
        (lambda: ive.Guard(np.nan, 0.5, 10), "threshold of a guard: entry 0 is NaN"),
    ],
)
def test_nonsense_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)


def test_the_wrapper_hands_over_to_the_fallback() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from ive.gym import GuardWrapper

    class Line(gymnasium.Env):  # type: ignore[misc, name-defined]
        """Position 0, 1, 2, …; action 1 goes on, action 0 goes back. It never ends."""

        observation_space = gymnasium.spaces.Box(-100.0, 100.0, (), np.float64)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            self.x = 0.0
            return self.x, {"own": 1}

        def step(self, action: int) -> Any:
            self.x += 1 if action == 1 else -1
            return self.x, float(action), False, False, {"own": 2}

    guard, heard = ive.Guard(2.5, 0.1, 10), []
    env = GuardWrapper(Line(), guard, score=abs, fallback=lambda x: 0, on_alarm=lambda x, score: heard.append((x, score)))
    observation, info = env.reset(seed=0)
    assert info == {"own": 1, "guard": {"score": 0.0, "alarm": False, "replaced": False}}
    seen = [env.step(1) for _ in range(6)]
    assert [step[0] for step in seen] == [1, 2, 3, 2, 3, 2]
    assert [step[4]["guard"]["replaced"] for step in seen] == [False, False, False, True, False, True]
    assert heard == [(3.0, 3.0), (3.0, 3.0)]

    latched = GuardWrapper(Line(), guard, score=abs, fallback=lambda x: 0, latch=True)
    latched.reset()
    assert [latched.step(1)[0] for _ in range(6)] == [1, 2, 3, 2, 1, 0]
    assert latched.reset()[1]["guard"]["alarm"] is False

    stopped = GuardWrapper(Line(), guard, score=abs, stop=True)
    stopped.reset()
    assert [stopped.step(1)[3] for _ in range(3)] == [False, False, True]
    # An episode that begins with an alarm ends at its first step, even if that leads back.
    started = GuardWrapper(Line(), guard, score=lambda x: 3.0 - x, stop=True)
    assert started.reset()[1]["guard"]["alarm"] and started.step(1)[3]
