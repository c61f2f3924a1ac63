"""World models in ONNX files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from . import _ive
from ._arrays import floats, whole
from ._ensemble import Ensemble


class OnnxModel:
    """A world model in a folder of ONNX graphs with a `model.toml`. Made by `ive.load_onnx`; docs/onnx.md says how to export one.

    States are a batch, [b, ...]: observations if there is a `representation.onnx`, else the one tensor of a state. A state of several
    tensors (such as the two of an LSTM) that no representation makes is a dictionary from their names, `states`, to arrays in the shape
    that the graphs take.
    """

    __slots__ = ("_folder", "_inner")

    _inner: _ive.Onnx
    _folder: str

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("use ive.load_onnx(folder)")

    @classmethod
    def _of(cls, inner: _ive.Onnx, folder: str) -> OnnxModel:
        self = cls.__new__(cls)
        self._inner, self._folder = inner, folder
        return self

    def ensemble(
        self, states: object, horizon: int = 5, members: Iterable[int] | None = None, samples: int = 1, seed: int = 0
    ) -> Ensemble:
        """The implicit value ensemble of some states along the model's policy, k = 0..horizon, [member, b].

        Args:
            states: a batch of states or observations, [b, ...], or a dictionary of such.
            horizon: steps of a rollout.
            members: which k; all of them, if nothing is said.
            samples: rollouts over which each k-step value is averaged. One is enough unless the model `is_stochastic`.
            seed: of the samples.
        """
        return self._ensemble(states, horizon, members, samples, seed, actions=False)

    def action_ensemble(
        self, states: object, horizon: int = 5, members: Iterable[int] | None = None, samples: int = 1, seed: int = 0
    ) -> Ensemble:
        """The same for every numbered action taken first, k = 1..horizon, [member, b, action]."""
        if self.num_actions is None:
            raise ValueError("actions of this model are not numbered")
        return self._ensemble(states, horizon, members, samples, seed, actions=True)

    def sigma(
        self, states: object, horizon: int = 5, members: Iterable[int] | None = None, samples: int = 1, seed: int = 0
    ) -> NDArray[np.float64]:
        """σ-IVE of some states, [b]; see `ensemble`."""
        return self.ensemble(states, horizon, members, samples, seed).std()

    def _ensemble(
        self, states: object, horizon: int, members: Iterable[int] | None, samples: int, seed: int, *, actions: bool
    ) -> Ensemble:
        sizes = (whole("horizon", horizon, 1), whole("samples", samples, 1))
        inner, _ = self._inner.score(self._arrays(states), sizes, whole("seed", seed), actions)
        count = inner.mean().size
        batch = (count // self.num_actions, self.num_actions) if actions and self.num_actions else (count,)
        found = Ensemble._of(inner, batch)
        return found if members is None else found.select(members)

    def _arrays(self, states: object) -> list[NDArray[np.float32]]:
        named = states if isinstance(states, Mapping) else {"states": states}
        if isinstance(states, Mapping) and set(states) != set(self.states):
            raise ValueError(f"states: expected {', '.join(self.states)}, got {', '.join(map(str, states)) or 'nothing'}")
        arrays = {name: floats(str(name), array) for name, array in named.items()}
        for name, array in arrays.items():
            if array.size == 0 or array.ndim == 0:
                raise ValueError(f"{name}: expected a batch of states, [b, ...], got the shape {array.shape}")
        order = sorted(arrays) if len(arrays) == 1 else self.states
        return [arrays[name].astype(np.float32, copy=False) for name in order]

    @property
    def states(self) -> list[str]:
        """The names of the tensors that a state consists of."""
        return self._inner.states

    @property
    def discount(self) -> float | None:
        """γ; None if the model predicts its discounts."""
        return self._inner.discount

    @property
    def num_actions(self) -> int | None:
        """How many numbered actions there are; None where actions are continuous."""
        return self._inner.num_actions

    @property
    def is_stochastic(self) -> bool:
        """Whether two rollouts from the same state may differ: average several then, or sampling noise looks like disagreement."""
        return self._inner.is_stochastic

    def __repr__(self) -> str:
        return f"OnnxModel({self._folder!r})"


def load_onnx(folder: str | os.PathLike[str]) -> OnnxModel:
    """Opens a world model exported to ONNX: a folder with `model.toml`, `dynamics.onnx`, `value.onnx` and what else it names.

        model = ive.load_onnx("exported")
        sigma = model.sigma(observations, horizon=5)

    Files may come from strangers: no other file is read, nothing in them is executed, and memory and work are bounded before a graph
    is run.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: if `model.toml` or a graph is not what docs/onnx.md describes; the message names the file and the key.
    """
    path = os.fspath(folder)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"{path}: there is no such folder")
    return OnnxModel._of(_ive.Onnx.open(path), path)
