"""Made-up runs of Table 1 and what NumPy and SciPy say about them, for the tests of `experiments/walker`.

    python crates/ive-lab/tests/walker_scores.py > crates/ive-lab/tests/fixtures/walker_scores.json

A run has a log of 40 lines. After some of them its training return rises linearly to its end; episodes after training return 20 more.
"""

import json

import numpy as np
from scipy import stats

rng = np.random.default_rng(2022)
SEEDS, LINES, FOUND = 5, 40, 50.0
ETAS = [0.0, 0.3, 0.5, 0.7]
# The chance that a run finds the reward, and where it then ends.
chances = {
    "dreamer": [1.0, 0.8, 0.2, 0.0],
    "dreamer-gradient": [1.0, 0.6, 0.0, 0.0],
    "mu-ive": [1.0, 1.0, 0.6, 0.2],
    "mu-sigma-ive": [1.0, 1.0, 1.0, 0.8],
    "mu-sigma-ive-sample": [1.0, 1.0, 1.0, 0.6],
    "mu-sigma-eve": [1.0, 1.0, 1.0, 0.8],
    "mu-sigma-emve": [1.0, 1.0, 0.4, 0.2],
}
ends = {
    m: np.round(
        np.array([[840.0, 780.0, 720.0, 640.0]]).T * (rng.random((4, SEEDS)) < np.array(c)[:, None])
        + 25 * np.abs(rng.normal(size=(4, SEEDS))),
        3,
    )
    for m, c in chances.items()
}
delays = {m: rng.integers(0, 20, (4, SEEDS)) for m in chances}
lines = np.arange(1, LINES + 1)
curves = {
    m: ends[m][..., None] * np.maximum(lines - d[..., None], 0) / (LINES - d[..., None]) for m, d in delays.items()
}
reached = {m: c >= FOUND for m, c in curves.items()}
scores = {
    "final": {m: e + 20 for m, e in ends.items()},
    "area": {m: c.mean(-1) for m, c in curves.items()},
    "found": {m: np.where(r.any(-1), 1 - (r.argmax(-1) + 1) / LINES, 0) for m, r in reached.items()},
}


def welch(x, y):
    """The mean over rows of the difference of means: Welch and Satterthwaite."""
    v = np.concatenate([x.var(1, ddof=1), y.var(1, ddof=1)]) / SEEDS
    freedom = v.sum() ** 2 / (v**2 / (SEEDS - 1)).sum()
    half = stats.t.ppf(0.975, freedom) * np.sqrt(v.sum()) / len(x)
    effect = x.mean() - y.mean()
    if len(x) == 1:
        known = stats.ttest_ind(x[0], y[0], equal_var=False).confidence_interval()
        assert np.allclose([effect - half, effect + half], [known.low, known.high])
    return {"effect": float(effect), "interval": [float(effect - half), float(effect + half)]}


def against(other):
    out = []
    for rows in [[1, 2, 3], [1], [2], [3]]:
        one = {k: welch(s["mu-sigma-ive"][rows], s[other][rows]) for k, s in scores.items()}
        out.append({"thresholds": [ETAS[r] for r in rows], **one})
    return out


# The method whose interval reaches lowest; not the one with the lowest mean, whose spread may be small.
intervals = {m: stats.t.interval(0.95, SEEDS - 1, s[0].mean(), stats.sem(s[0])) for m, s in scores["final"].items()}
worst = min(intervals, key=lambda m: intervals[m][0])
low, high = intervals[worst]
print(
    json.dumps(
        {
            "etas": ETAS,
            "ends": {m: e.tolist() for m, e in ends.items()},
            "delays": {m: d.tolist() for m, d in delays.items()},
            "expected": {
                "scores": {k: {m: x.tolist() for m, x in s.items()} for k, s in scores.items()},
                "mu-sigma-ive against": {m: against(m) for m in chances if m != "mu-sigma-ive"},
                "worst at 0": {"method": worst, "interval": [float(low), float(high)]},
            },
        },
        indent=1,
    )
)
