"""Metrics against definitions written out in NumPy, and against what scikit-learn and SciPy gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ive

Array = NDArray[Any]

# Expected values: scikit-learn 1.x roc_auc_score, average_precision_score; SciPy spearmanr; FPR95 by hand (no positive may be missed).
NEGATIVES, POSITIVES = [0.1, 0.4, 0.35, 0.8, 0.2, 0.4], [0.9, 0.4, 0.7, 0.3]


def test_detection_equals_scikit_learn() -> None:
    assert abs(ive.auroc(NEGATIVES, POSITIVES) - 0.7083333333333334) < 1e-15
    assert abs(ive.aupr(NEGATIVES, POSITIVES) - 0.6666666666666666) < 1e-15
    assert abs(ive.fpr95(NEGATIVES, POSITIVES) - 4 / 6) < 1e-15
    assert abs(ive.spearman(NEGATIVES, [3, 1, 4, 1, 5, 9]) - -0.3382352941176471) < 1e-15


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    n, p = rng.integers(0, 20, 300).astype(float), rng.integers(5, 25, 200).astype(np.float32)
    pairs = (p[:, None] > n).mean() + 0.5 * (p[:, None] == n).mean()
    assert abs(ive.auroc(n, p) - pairs) < 1e-12
    alarms, hits = ive.roc(n, p)
    area = float(np.sum(np.diff(alarms) * (hits[1:] + hits[:-1]) / 2))
    assert abs(area - pairs) < 1e-12 and alarms[-1] == hits[-1] == 1


def test_intervals_hold_the_value_and_respect_episodes() -> None:
    rng = np.random.default_rng(1)
    level = np.repeat(rng.normal(size=30), 40)  # thirty episodes of forty states that resemble each other
    n, p = level + 0.1 * rng.normal(size=1200), level[::-1] + 1 + 0.1 * rng.normal(size=1200)
    episodes = np.repeat(np.arange(30), 40)
    alone = ive.detection(n, p, replicates=300)
    grouped = ive.detection(n, p, negative_episodes=episodes, positive_episodes=episodes, replicates=300)
    for found in (alone, grouped):
        assert found.auroc.low <= found.auroc.value <= found.auroc.high
        assert found.auroc.value == pytest.approx(ive.auroc(n, p), abs=1e-12)
        assert found.aupr.value == pytest.approx(ive.aupr(n, p), abs=1e-12)
        assert found.fpr95.value == pytest.approx(ive.fpr95(n, p), abs=1e-12)
    # Forty copies of an episode are no forty episodes.
    assert grouped.auroc.high - grouped.auroc.low > 3 * (alone.auroc.high - alone.auroc.low)
    names = np.array([f"episode {i}" for i in episodes])
    by_name = ive.detection(n, p, negative_episodes=names, positive_episodes=names, replicates=300)
    assert by_name.auroc.value == grouped.auroc.value
    assert ive.detection(n, p, replicates=300) == alone and ive.detection(n, p, replicates=300, seed=1) != alone


def test_a_rival_is_compared_in_pairs() -> None:
    rng = np.random.default_rng(2)
    n, p = rng.normal(0, 1, 400), rng.normal(1, 1, 400)
    same = ive.detection(n, p, rival=(n, p), replicates=200).auroc
    assert (same.value, same.low, same.high) == (0, 0, 0)
    worse = ive.detection(n, p, rival=(n, rng.normal(0, 1, 400)), replicates=200).auroc
    assert worse.low > 0.1
    paired = ive.detection(n, n + 0.1, paired=True, replicates=200)
    assert 0.5 < paired.auroc.low


def test_risk_falls_as_coverage_falls_if_the_score_knows_the_error() -> None:
    rng = np.random.default_rng(3)
    errors = rng.exponential(size=500)
    found = ive.risk_coverage(errors + 0.1 * rng.normal(size=500), errors, replicates=200)
    order = np.argsort(errors + 0.0)
    best = (np.cumsum(errors[order]) / np.arange(1, 501)).mean()
    assert found.coverage[-1] == 1 and found.risk[-1] == pytest.approx(errors.mean(), rel=1e-12)
    assert found.area.value == pytest.approx(found.risk.mean(), rel=1e-12)
    assert found.excess.value == pytest.approx(found.area.value - best, abs=1e-12)
    assert found.area.high < errors.mean()


def test_small_intervals() -> None:
    low, high = ive.bootstrap_interval([1.0, 2.0, 3.0, 10.0], "iqm", replicates=500)
    assert low <= 2.5 <= high
    # Clopper–Pearson from SciPy 1.x: binomtest(3, 50).proportion_ci(0.9).
    assert np.allclose(ive.binomial_interval(3, 50, 0.9), (0.01655185918922988, 0.14783717636418414), rtol=0, atol=1e-12)
    assert repr(ive.Estimate(0.5, 0.25, 0.75)) == "0.500 [0.250, 0.750]"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ive.auroc([], [1.0]), ValueError, "scores of the negatives: must not be empty"),
        (lambda: ive.auroc([1.0], [np.nan]), ValueError, "scores of the positives: entry 0 is NaN"),
        (lambda: ive.auroc("x", [1.0]), TypeError, "negatives: expected real numbers"),
        (lambda: ive.spearman([1.0], [1.0, 2.0]), ValueError, "expected length 1, got 2"),
        (lambda: ive.risk_coverage([1.0, 2.0], [1.0]), ValueError, "errors: expected the shape (2,)"),
        (lambda: ive.detection([1.0, 2.0], [1.0, 3.0], negative_episodes=[0]), ValueError, "negative_episodes: expected the shape (2,)"),
        (lambda: ive.detection([1.0, 2.0], [1.0, 3.0], negative_episodes=[0, 0]), ValueError, "at least 2 are needed, got 1"),
        (lambda: ive.detection([1.0, 2.0], [1.0, 3.0], confidence=2), ValueError, "confidence: 2 is outside the range"),
        (lambda: ive.detection([1.0, 2.0], [1.0, 3.0], seed=-1), ValueError, "seed: expected at least 0, got -1"),
        (lambda: ive.detection([1.0, 2.0], [1.0], paired=True), ValueError, "expected length 1, got 2"),
        (lambda: ive.bootstrap_interval([1.0], "median"), ValueError, 'statistic: expected "mean" or "iqm"'),
        (lambda: ive.binomial_interval(3, 2), ValueError, "range"),
    ],
)
def test_nonsense_is_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)
