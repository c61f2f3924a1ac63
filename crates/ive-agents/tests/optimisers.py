"""Reference sequences of the optimisers, in double precision, from their published formulas.

    python optimisers.py > golden/optimisers.json

Parameters start at x_j = cos(j). The gradient of step t = 1, 2, ... is size_j * (sin(0.7 t + j) + 0.3 cos(0.05 t j)), rounded
to single precision, with sizes over six orders of magnitude. Adam sees it scaled to a length of at most CLIP.
"""

import json

import numpy as np

STEPS = 200
SHOWN = [1, 2, 3, 10, 50, 100, 200]
SIZES = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0])
J = np.arange(len(SIZES))
CLIP = 40.0


def gradient(t):
    g = SIZES * (np.sin(0.7 * t + J) + 0.3 * np.cos(0.05 * t * J))
    return g.astype(np.float32).astype(np.float64)


def adam(rate=1e-2, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    """Kingma and Ba, 2015, Algorithm 1, on gradients clipped to a global norm."""
    x, m, v = np.cos(J), np.zeros(len(J)), np.zeros(len(J))
    for t in range(1, STEPS + 1):
        g = gradient(t)
        g = g * min(1.0, CLIP / np.sqrt(np.sum(g**2)))
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        x = x - rate * (m / (1 - beta_1**t)) / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
        yield t, x


def centred_rms_prop(rate=1e-2, rho=0.95, epsilon=0.01):
    """Graves, 2013, Eq. 38-40, without momentum and with epsilon outside the root, as MinAtar's example has it."""
    x, mean, square = np.cos(J), np.zeros(len(J)), np.zeros(len(J))
    for t in range(1, STEPS + 1):
        g = gradient(t)
        mean = rho * mean + (1 - rho) * g
        square = rho * square + (1 - rho) * g**2
        x = x - rate * g / (np.sqrt(square - mean**2) + epsilon)
        yield t, x


def shown(sequence):
    return {str(t): x.tolist() for t, x in sequence if t in SHOWN}


print(json.dumps({
    "steps": STEPS,
    "clip": CLIP,
    "rate": 1e-2,
    "sizes": SIZES.tolist(),
    "gradient_norms": {str(t): float(np.sqrt(np.sum(gradient(t) ** 2))) for t in SHOWN},
    "adam": shown(adam()),
    "centred_rms_prop": shown(centred_rms_prop()),
}, indent=1))
