"""Writes metrics.json: measures of detection, risk and calibration by SciPy, scikit-learn and NumPy.

    pip install numpy scipy scikit-learn
    python metrics.py > metrics.json

Inputs are formulas, so that nothing depends on a random generator.
"""

import itertools
import json

import numpy as np
from scipy.stats import beta, binomtest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve


def scores(n, shift, step):
    """Scores with many ties."""
    return np.array([round(10 * np.sin(step * (i + 1))) / 10 + shift for i in range(n)])


def fpr95(negatives, positives):
    labels = np.r_[np.zeros(len(negatives)), np.ones(len(positives))]
    fpr, tpr, _ = roc_curve(labels, np.r_[negatives, positives], drop_intermediate=False)
    return fpr[np.argmax(tpr >= 0.95 - 1e-12)]


def detection(n, m, shift):
    negatives, positives = scores(n, 0.0, 1.7), scores(m, shift, 2.3)
    labels, both = np.r_[np.zeros(n), np.ones(m)], np.r_[negatives, positives]
    # The standard error of an AUROC of independent states: DeLong, DeLong and Clarke-Pearson (1988).
    wins = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    error = np.sqrt(wins.mean(1).var(ddof=1) / m + wins.mean(0).var(ddof=1) / n)
    return {
        "n": n, "m": m, "shift": shift,
        "auroc": roc_auc_score(labels, both),
        "aupr": average_precision_score(labels, both),
        "fpr95": fpr95(negatives, positives),
        "auroc_error": error,
    }


def aurc(keys, errors):
    """The mean over all orders of equal keys, one by one."""
    groups = [np.flatnonzero(keys == key) for key in np.unique(keys)]
    areas = []
    for orders in itertools.product(*[itertools.permutations(group) for group in groups]):
        order = np.concatenate([list(o) for o in orders])
        areas.append(np.mean(np.cumsum(errors[order]) / np.arange(1, len(order) + 1)))
    return float(np.mean(areas))


def risk():
    keys = np.array([0.2, 0.1, 0.2, 0.5, 0.1, 0.5, 0.5, 0.9])
    errors = np.array([1.0, 0.5, 4.0, 2.0, 0.25, 8.0, 1.5, 3.0])
    return {"scores": keys.tolist(), "errors": errors.tolist(), "area": aurc(keys, errors),
            "excess": aurc(keys, errors) - aurc(errors, errors)}


def binomial(successes, trials, confidence):
    found = binomtest(successes, trials).proportion_ci(confidence, method="exact")
    return {"successes": successes, "trials": trials, "confidence": confidence, "low": found.low, "high": found.high}


def guard(n, rate):
    """The conformal threshold of sin(i + 1), and where the rate of such a guard lies."""
    held_out = np.sort([np.sin(i + 1) for i in range(n)])
    rank = int(np.ceil((n + 1) * (1 - rate) - 1e-9))
    above = n + 1 - rank
    low, high = beta.ppf([0.05, 0.95], above, rank)
    return {"n": n, "rate": rate, "threshold": held_out[rank - 1], "low": low, "high": high}


print(json.dumps({
    "detection": [detection(60, 45, 0.3), detection(200, 20, 0.1), detection(7, 40, 1.0), detection(400, 300, -0.2)],
    "risk": risk(),
    "binomial": [binomial(3, 20, 0.95), binomial(0, 5, 0.9), binomial(57, 1000, 0.99), binomial(10000, 1000000, 0.95)],
    "guard": [guard(99, 0.01), guard(1000, 0.05), guard(150, 0.1), guard(5000, 0.001)],
}, indent=1))
