"""A run-time alarm with a stated false-alarm rate."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _ive
from ._arrays import flat, floats, names_of, whole

_FORMAT = "ive-guard"


class Guard:
    """A threshold for a score such as σ-IVE, from held-out scores in distribution (split-conformal calibration).

    For a new score that is exchangeable with the held-out ones, P(alarm) ≤ rate, exactly, for any number of scores and any
    distribution. That says nothing about how many shifted states are found: `ive.detection` measures that.

    >>> guard = ive.Guard.calibrate(np.arange(1.0, 200.0), rate=0.01)
    >>> guard
    Guard(threshold=198.0, rate=0.01, n=199, unit='step')
    >>> guard.is_alarm(198.0), guard.is_alarm(198.5), guard.is_alarm(float("nan"))
    (False, True, True)
    """

    __slots__ = ("_inner", "provenance", "score", "scoring")

    def __init__(self, threshold: float, rate: float, n: int, unit: str = "step", *, score: str = "std", source: str = "") -> None:
        """A guard that was calibrated elsewhere, from its parts; otherwise use `Guard.calibrate`."""
        self._inner = _ive.Guard.from_parts(float(threshold), float(rate), whole("n", n), unit)
        #: The name of the score that it judges: "std" is σ.
        self.score = score
        #: How `ive guard` makes scores of predictions; None for guards from Python, which judge scores.
        self.scoring: dict[str, Any] | None = None
        #: Who made it, when, and of what.
        self.provenance: dict[str, Any] = {
            "program": f"ive {_ive.VERSION} (Python)",
            "date": date.today().isoformat(),
            "file": source,
            "blake3": None,
            "states": self.n,
            "episodes": self.n if unit == "episode" else None,
        }

    @classmethod
    def calibrate(
        cls,
        scores: object,
        rate: float = 0.01,
        *,
        episodes: Iterable[Any] | None = None,
        score: str = "std",
        source: str = "",
    ) -> Guard:
        """Finds the threshold.

        Args:
            scores: of held-out states in distribution, which no learner has seen.
            rate: the false-alarm rate to be stated.
            episodes: the episode of each score. States of one episode resemble each other and are not exchangeable, so with scores
                from episodes give this argument: the score of an episode is its largest, and `rate` is the rate of ordinary episodes
                with one alarm or more. Episodes must be complete.
            score: the name of the score, for `ive guard`.
            source: where the scores come from, such as the agent and its data; saved with the guard.

        A rate of 1 in 100 needs at least 99 scores, or 99 episodes (`Guard.needed`).
        """
        known = flat("scores", scores)
        names = None if episodes is None else names_of("episodes", episodes, known.shape[0])
        inner = _ive.Guard.calibrate(known, float(rate), names)
        guard = cls(inner.threshold, inner.rate, inner.n, inner.unit, score=score, source=source)
        guard.provenance["states"] = known.shape[0]
        return guard

    @staticmethod
    def needed(rate: float) -> int:
        """How many held-out scores (or episodes) a rate needs at least.

        >>> ive.Guard.needed(0.01)
        99
        """
        return _ive.Guard.needed(float(rate))

    def is_alarm(self, score: object) -> Any:
        """Whether a score is an alarm: above the threshold, or not finite. A bool for a number, an array of bool for an array."""
        if isinstance(score, (int, float)):
            return self._inner.is_alarm(score)
        array = floats("score", score)
        if array.ndim == 0:
            return self._inner.is_alarm(float(array))
        return self._alarms(array)

    def _alarms(self, array: Any) -> NDArray[np.bool_]:
        return self._inner.alarms(array.reshape(-1)).reshape(array.shape)

    @property
    def threshold(self) -> float:
        """Scores up to this one raise no alarm."""
        return self._inner.threshold

    @property
    def rate(self) -> float:
        """The stated false-alarm rate."""
        return self._inner.rate

    @property
    def n(self) -> int:
        """How many held-out scores or episodes are behind it."""
        return self._inner.n

    @property
    def unit(self) -> str:
        """What false alarms are counted by: "step" or "episode"."""
        return self._inner.unit

    def rate_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the false-alarm rate of *this* guard lies, given that its held-out scores are what they are."""
        return self._inner.rate_interval(float(confidence))

    def to_json(self) -> str:
        """The guard as JSON text, in the format of `ive calibrate` and `ive guard`."""
        parts = {"threshold": self.threshold, "rate": self.rate, "n": self.n, "unit": self.unit}
        rest = {"score": self.score, "scoring": self.scoring, "provenance": self.provenance}
        return json.dumps({"format": _FORMAT, "version": 1, "guard": parts, **rest}, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Guard:
        """The guard of a JSON text, written here or by `ive calibrate`; what does not make sense is refused.

        >>> guard = ive.Guard(0.7, 0.05, 40, source="agent 7, validation episodes")
        >>> ive.Guard.from_json(guard.to_json()).provenance["file"]
        'agent 7, validation episodes'
        """
        try:
            saved = json.loads(text)
            if (saved["format"], saved["version"]) != (_FORMAT, 1):
                raise ValueError(f"format {saved['format']!r}, version {saved['version']!r}")
            parts, score = saved["guard"], str(saved["score"])
            known = (float(parts["threshold"]), float(parts["rate"]), whole("n", parts["n"]), str(parts["unit"]))
            provenance, scoring = dict(saved["provenance"]), saved["scoring"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a saved guard: {type(error).__name__}: {error}") from None
        guard = cls(*known, score=score)
        guard.provenance, guard.scoring = provenance, scoring
        return guard

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the guard to a file, whole or not at all."""
        target = Path(path)
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            beside.write_text(self.to_json() + "\n", encoding="utf-8")
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Guard:
        """Reads a guard from a file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.threshold, self.rate, self.n, self.unit))

    def __repr__(self) -> str:
        return f"Guard(threshold={self.threshold}, rate={self.rate}, n={self.n}, unit={self.unit!r})"
