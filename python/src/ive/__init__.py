"""Epistemic uncertainty from the world model you already have.

Roll the model out k steps, add the predicted rewards, finish with the value function: one estimate of the value of a state. Each k
gives another one. Together they are an implicit value ensemble (IVE). Where model and value are right, all estimates agree; their
standard deviation over k, σ-IVE, says where they do not. Filos et al. (2022), *Model-Value Inconsistency as a Signal for Epistemic
Uncertainty*.

    import ive
    sigma = ive.ensemble(rewards, values, discount=0.99).std()         # from predictions, [n, batch] and [n + 1, batch]
    path = ive.unroll(dynamics, value, policy, state, horizon=5)       # from a model, as plain functions
    sigma = path.ensemble(members=range(1, 6)).std()
    guard = ive.Guard.calibrate(held_out_sigma, rate=0.01)             # an alarm with a stated false-alarm rate
    agent = ive.load("runs/breakout-mu-ive-0")                         # an agent that `ive train` has trained
    model = ive.load_onnx("folder")                                    # a model exported to ONNX

Everything is on one page: docs/python.md.
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING, Any

from . import _ive
from ._ensemble import Ensemble, SampledEnsemble, average, ensemble, jensen_shannon, sampled_std
from ._guard import Guard
from ._metrics import (
    Detection,
    Estimate,
    RiskCoverage,
    aupr,
    auroc,
    binomial_interval,
    bootstrap_interval,
    detection,
    fpr95,
    risk_coverage,
    roc,
    spearman,
)
from ._onnx import OnnxModel, load_onnx
from ._trained import Decisions, Trained, load
from ._unroll import Rollout, branch, unroll, unroll_recurrent_fn

if TYPE_CHECKING:
    from .gym import Env, VectorEnv

__version__: str = _ive.VERSION

__all__ = [
    "Decisions",
    "Detection",
    "Ensemble",
    "Estimate",
    "Guard",
    "OnnxModel",
    "RiskCoverage",
    "Rollout",
    "SampledEnsemble",
    "Trained",
    "aupr",
    "auroc",
    "average",
    "binomial_interval",
    "bootstrap_interval",
    "branch",
    "describe",
    "detection",
    "ensemble",
    "environments",
    "fpr95",
    "jensen_shannon",
    "load",
    "load_onnx",
    "make",
    "make_vec",
    "risk_coverage",
    "roc",
    "sampled_std",
    "spearman",
    "unroll",
    "unroll_recurrent_fn",
]


def environments() -> list[str]:
    """The names of all environments, for `ive.make`.

    >>> ive.environments()[1]
    'minatar:breakout'
    """
    return _ive.names()


def describe(name: str) -> dict[str, Any]:
    """What there is to know about an environment: shape, channels, actions, options with defaults, origin, licence.

    >>> ive.describe("minatar:breakout")["options"]["sticky"]
    ('0.1', '0 to 1', 'probability that the last action is executed again')
    """
    return _ive.describe(name)


def make(name: str, **options: Any) -> Env:
    """One Gymnasium environment by name; needs `pip install gymnasium`.

    >>> env = ive.make("minatar:breakout", sticky=0.0)
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, env.action_space
    ((10, 10, 4), Discrete(6))
    """
    from . import gym

    return gym.make(name, **options)


def make_vec(name: str, num_envs: int, **options: Any) -> VectorEnv:
    """Many environments stepped by one native call, as a Gymnasium vector environment; see `ive.gym.VectorEnv`.

    >>> envs = ive.make_vec("minatar:breakout", 8)
    >>> observations, info = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
    >>> observations.shape
    (8, 10, 10, 4)
    """
    from . import gym

    return gym.make_vec(name, num_envs, **options)


if _find_spec("gymnasium") is not None:
    from . import gym as gym
