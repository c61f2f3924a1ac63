"""Agents that `ive train` has trained."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _ive
from ._arrays import whole
from ._ensemble import Ensemble


class Decisions(NamedTuple):
    """What an agent would do in some states, and what it expects of it."""

    #: The greedy action: a number for each state, int64, or a vector for each where actions are continuous, float64.
    action: Any
    #: The value by which it was chosen, [*batch].
    value: NDArray[np.float64]
    #: The k-step values of that action along the agent's plan; None for an agent without a model (DQN).
    ensemble: Ensemble | None


class Trained:
    """The agent of a run directory, as its newest good checkpoint has it. Made by `ive.load`.

    Observations are those of `ive.make(agent.environment, **agent.options)`, one or a batch: boards of zeros and ones (bool or any
    number), pixels (uint8), or vectors (float).
    """

    __slots__ = ("_inner",)

    _inner: _ive.Trained

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("use ive.load(run)")

    @classmethod
    def _of(cls, inner: _ive.Trained) -> Trained:
        self = cls.__new__(cls)
        self._inner = inner
        return self

    def decide(self, observations: object, members: Iterable[int] | None = None) -> Decisions:
        """What it would do, and what it expects of it.

        Args:
            observations: one observation, or a batch of any shape in front of it.
            members: which k; those that the agent was trained to have, if nothing is said: 1..5. A value prediction network never
                trains k = 0, the value of the state that it has just encoded, unless it was told to; `range(0, 6)` adds it.
        """
        seen, batch = self._observations(observations)
        wanted = None if members is None else [whole("members", k) for k in members]
        actions, values, inner = self._inner.decide(seen, wanted)
        numbered: Any = actions
        if self._inner.bytes or actions.shape[1] == 1:
            numbered = actions.astype(np.int64).reshape(batch)
        else:
            numbered = actions.reshape(*batch, actions.shape[1])
        ensemble = None if inner is None else Ensemble._of(inner, batch)
        return Decisions(numbered, values.reshape(batch), ensemble)

    def act(self, observation: object) -> Any:
        """The greedy action: an int for one observation, an array for a batch."""
        action = self.decide(observation).action
        return int(action) if action.ndim == 0 else action

    def ensemble(self, observations: object, members: Iterable[int] | None = None) -> Ensemble:
        """The implicit value ensemble of the greedy action: `.members`, `.mean()`, `.std()`; see `decide`."""
        found = self.decide(observations, members).ensemble
        if found is None:
            raise ValueError(f"{self.agent} has no model, so there is no ensemble; mu-ive, vpn-v1 and vpn-v5 have one")
        return found

    def sigma(self, observations: object, members: Iterable[int] | None = None) -> NDArray[np.float64]:
        """σ-IVE of the greedy action, [*batch]."""
        return self.ensemble(observations, members).std()

    def _observations(self, observations: object) -> tuple[Any, tuple[int, ...]]:
        array = np.asarray(observations)
        shape = tuple(self._inner.shape)
        if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
            raise ValueError(f"observations: expected the shape {shape}, or a batch of it, got {array.shape}")
        batch = array.shape[: array.ndim - len(shape)]
        if math.prod(batch) == 0:
            raise ValueError("observations: there is none")
        kind = np.uint8 if self._inner.bytes else np.float64
        if array.dtype.kind not in "buif":
            raise TypeError(f"observations: expected numbers, got {array.dtype}")
        if kind is np.uint8 and array.dtype != np.bool_ and not np.array_equal(array, array.astype(np.uint8)):
            raise ValueError("observations: expected whole numbers from 0 to 255")
        return np.ascontiguousarray(array, dtype=kind), batch

    @property
    def agent(self) -> str:
        """Its name, such as "mu-ive"."""
        return self._inner.agent

    @property
    def environment(self) -> str:
        """The name of the environment that it was trained in, for `ive.make`."""
        return self._inner.environment

    @property
    def options(self) -> dict[str, str]:
        """The options of that environment, as far as they are not the usual ones."""
        return self._inner.options

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._inner.seed

    @property
    def steps(self) -> int:
        """Environment steps of training behind the checkpoint."""
        return self._inner.steps

    @property
    def planned_steps(self) -> int:
        """Environment steps that the run was to have; more than `steps` if it is not finished."""
        return self._inner.planned_steps

    @property
    def discount(self) -> float:
        """γ."""
        return self._inner.discount

    @property
    def actions(self) -> list[str]:
        """The names of the actions in the order of their numbers, or of the motors."""
        return self._inner.actions

    def __repr__(self) -> str:
        return f"Trained({self.agent!r}, {self.environment!r}, seed={self.seed}, steps={self.steps})"


def load(run: str | os.PathLike[str]) -> Trained:
    """Opens the agent of a run directory of `ive train`, from its newest good checkpoint.

    A run that is still in training can be opened as soon as it has a checkpoint (after a few seconds); what is opened stays as it is.

        agent = ive.load("runs/breakout-mu-ive-0")
        action, sigma = agent.act(observation), agent.sigma(observation)

    Raises:
        FileNotFoundError: if the directory is no run, or the run has no checkpoint yet.
        ValueError: if its settings or all of its checkpoints are damaged, or belong to another version of the agent.
        OSError: if a file cannot be read.

    A damaged checkpoint is passed over with a `RuntimeWarning` if there is an older one that is whole.
    """
    inner, passed_over = _ive.Trained.load(os.fspath(run))
    for what in passed_over:
        warnings.warn(what, RuntimeWarning, stacklevel=2)
    return Trained._of(inner)
