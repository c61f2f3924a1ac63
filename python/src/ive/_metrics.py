"""Is the signal any good? Detection, risk–coverage and rank correlation, with intervals that respect episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _ive
from ._arrays import Floats, flat, names_of, whole


class Estimate(NamedTuple):
    """A number and the interval in which it lies."""

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Detection:
    """How well a score tells states out of distribution (positives) from ordinary ones (negatives)."""

    #: 0.5 is chance, 1 is perfect.
    auroc: Estimate
    #: Chance is the share of positives.
    aupr: Estimate
    #: The false-positive rate where 95 % of the positives are found; 0 is perfect.
    fpr95: Estimate


@dataclass(frozen=True)
class RiskCoverage:
    """The mean error of the states with the lowest scores, for every share of states that is kept."""

    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]
    #: The area under the curve; a score that knows nothing has the mean error.
    area: Estimate
    #: By how much the area exceeds that of the best possible order; 0 is perfect.
    excess: Estimate


def auroc(negatives: object, positives: object) -> float:
    """Area under the ROC curve: the probability that a positive scores higher than a negative, ties counted half.

    >>> ive.auroc([0.1, 0.2], [0.2, 0.3])
    0.875
    """
    return _ive.auroc(flat("negatives", negatives), flat("positives", positives))


def aupr(negatives: object, positives: object) -> float:
    """Area under the precision–recall curve for the positives, as average precision.

    >>> ive.aupr([0.1, 0.2], [0.3, 0.4])
    1.0
    """
    return _ive.aupr(flat("negatives", negatives), flat("positives", positives))


def fpr95(negatives: object, positives: object) -> float:
    """The false-positive rate at the highest threshold that still finds 95 % of the positives.

    >>> ive.fpr95([0.1, 0.5], [0.3, 0.4])
    0.5
    """
    return _ive.fpr95(flat("negatives", negatives), flat("positives", positives))


def roc(negatives: object, positives: object) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ROC curve: false-positive rates and true-positive rates for all thresholds, from high to low.

    >>> ive.roc([0.1, 0.5], [0.3, 0.6])
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    return _ive.roc(flat("negatives", negatives), flat("positives", positives))


def spearman(x: object, y: object) -> float:
    """Spearman's rank correlation, ties with their mean rank; NaN if one side is constant.

    >>> ive.spearman([1, 2, 3], [10, 30, 20])
    0.5
    """
    return _ive.spearman(flat("x", x), flat("y", y))


def detection(
    negatives: object,
    positives: object,
    *,
    negative_episodes: Iterable[Any] | None = None,
    positive_episodes: Iterable[Any] | None = None,
    paired: bool = False,
    rival: tuple[object, object] | None = None,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Detection:
    """AUROC, AUPR and FPR95 of a score, with percentile bootstrap intervals.

    Args:
        negatives: scores of states in distribution.
        positives: scores of states out of distribution.
        negative_episodes: the episode of each negative. States of one episode resemble each other, so whole episodes are resampled;
            without this argument every state counts as independent, and intervals of logged episodes come out too narrow.
        positive_episodes: the same for the positives.
        paired: positive i *is* negative i under a shift, so both go together; then `negative_episodes` holds for both.
        rival: scores (negatives, positives) of another detector on the same states. The result is then by how much the score exceeds
            the rival's, with intervals by resampling in pairs.
        confidence, replicates, seed: of the bootstrap.

    >>> rng = np.random.default_rng(0)
    >>> found = ive.detection(rng.normal(0, 1, 300), rng.normal(1, 1, 300), replicates=500)
    >>> found.auroc.low < 0.76 < found.auroc.high  # Φ(1/√2) = 0.760
    True
    """
    n, p = flat("negatives", negatives), flat("positives", positives)
    groups = [_episodes("negative_episodes", negative_episodes, n)]
    if not paired:
        groups.append(_episodes("positive_episodes", positive_episodes, p))
    elif positive_episodes is not None:
        raise ValueError("positive_episodes: with paired=True the episodes of the negatives hold for both")
    other = None if rival is None else (flat("rival[0]", rival[0]), flat("rival[1]", rival[1]))
    found = _ive.detection(n, p, groups, float(confidence), whole("replicates", replicates), whole("seed", seed), other)
    return Detection(*(Estimate(*estimate) for estimate in found))


def risk_coverage(
    scores: object,
    errors: object,
    *,
    episodes: Iterable[Any] | None = None,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> RiskCoverage:
    """Does leaving out the states with high scores lower the error on the rest?

    Args:
        scores: one for each state, such as σ-IVE.
        errors: what went wrong there, such as |predicted − realised return|.
        episodes: the episode of each state, for the intervals; see `ive.detection`.
        confidence, replicates, seed: of the bootstrap.

    >>> found = ive.risk_coverage([0.1, 0.9, 0.2], [1.0, 6.0, 2.0], replicates=100)
    >>> found.risk
    array([1. , 1.5, 3. ])
    >>> found.excess.value  # no order is better
    0.0
    """
    s, e = flat("scores", scores), flat("errors", errors)
    if s.shape != e.shape:
        raise ValueError(f"errors: expected the shape {s.shape}, one for each score, got {e.shape}")
    groups = _episodes("episodes", episodes, s)
    found = _ive.risk_coverage(s, e, groups, float(confidence), whole("replicates", replicates), whole("seed", seed))
    (coverage, risk), area, excess = found
    return RiskCoverage(coverage, risk, Estimate(*area), Estimate(*excess))


def bootstrap_interval(
    units: object, statistic: str = "mean", *, confidence: float = 0.95, replicates: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """A percentile bootstrap interval of a statistic of independent units: seeds of a training run, never its episodes.

    `statistic` is "mean" or "iqm", the interquartile mean.

    >>> low, high = ive.bootstrap_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> low < 3.0 < high
    True
    """
    if statistic not in ("mean", "iqm"):
        raise ValueError(f'statistic: expected "mean" or "iqm", got {statistic!r}')
    count, start = whole("replicates", replicates), whole("seed", seed)
    return _ive.bootstrap_interval(flat("units", units), statistic == "iqm", float(confidence), count, start)


def binomial_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of Clopper and Pearson for a probability, such as a false-alarm rate.

    >>> low, high = ive.binomial_interval(0, 100)
    >>> low, round(high, 4)  # none in a hundred may still be one in 28
    (0.0, 0.0362)
    """
    return _ive.binomial_interval(whole("successes", successes), whole("trials", trials), float(confidence))


def _episodes(name: str, labels: Iterable[Any] | None, scores: Floats) -> list[int]:
    length = scores.shape[0]
    return list(range(length)) if labels is None else names_of(name, labels, length)
