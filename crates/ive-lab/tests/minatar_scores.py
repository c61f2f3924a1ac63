"""Made-up scores of Table 2 and what NumPy and SciPy say about them, for the tests of `experiments/minatar/score.rs`.

    python crates/ive-lab/tests/minatar_scores.py > crates/ive-lab/tests/fixtures/minatar_scores.json
"""

import json

import numpy as np
from scipy import stats

rng = np.random.default_rng(2022)
BEST = np.array([18.3, 22.0, 49.6, 8.6, 97.3])  # best mean of a game in the paper's Table 2
RANDOM = np.array([0.48, 0.5, 0.1, 0.12, 3.0])
SEEDS = 3
levels = {
    "dqn": [3.0, 8.0, 40.0, 0.5, 20.0],
    "vpn-v1": [4.0, 9.0, 42.0, 0.8, 22.0],
    "vpn-v5": [2.0, 6.0, 25.0, 0.4, 15.0],
    "mu-ive": [5.0, 11.0, 44.0, 1.1, 30.0],
}
scores = {
    m: np.round(np.array(v)[:, None] * (1 + 0.15 * rng.normal(size=(5, SEEDS))), 3) for m, v in levels.items()
}
normalised = {m: (s - RANDOM[:, None]) / (BEST - RANDOM)[:, None] for m, s in scores.items()}


def iqm(x):
    return float(stats.trim_mean(x, 0.25, axis=None))


def iqm_interval(x, n=200_000):
    pick = rng.integers(0, SEEDS, (n, 5, SEEDS))
    sample = np.sort(x[np.arange(5)[None, :, None], pick].reshape(n, -1), axis=1)
    cut = sample.shape[1] // 4
    return np.quantile(sample[:, cut:-cut].mean(1), [0.025, 0.975]).tolist()


def compare(x, y):
    d = x - y
    v = d.var(1, ddof=1) / SEEDS
    freedom = v.sum() ** 2 / (v**2 / (SEEDS - 1)).sum()
    half = stats.t.ppf(0.975, freedom) * np.sqrt(v.sum()) / 5
    better = [stats.mannwhitneyu(a, b).statistic / (SEEDS * SEEDS) for a, b in zip(x, y)]
    return {
        "effect": float(d.mean()),
        "interval": [float(d.mean() - half), float(d.mean() + half)],
        "improvement": float(np.mean(better)),
    }


print(
    json.dumps(
        {
            "random": RANDOM.tolist(),
            "scores": {m: s.tolist() for m, s in scores.items()},
            "expected": {
                "normalised": {m: s.tolist() for m, s in normalised.items()},
                "mean": {m: s.mean(1).tolist() for m, s in scores.items()},
                "error": {m: stats.sem(s, axis=1, ddof=1).tolist() for m, s in scores.items()},
                "iqm": {m: iqm(s) for m, s in normalised.items()},
                "iqm_interval": {m: iqm_interval(s) for m, s in normalised.items()},
                "mu-ive against": {
                    m: compare(normalised["mu-ive"], s) for m, s in normalised.items() if m != "mu-ive"
                },
            },
        },
        indent=1,
    )
)
