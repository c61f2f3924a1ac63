"""Several estimates of the value of the same states, and how much they disagree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _ive
from ._arrays import Floats, floats, same_precision, whole


class Ensemble:
    """Estimates of the values of a batch of states, one row for each member.

    Made by `ive.ensemble`, `ive.Rollout.ensemble`, `ive.branch`, `ive.average` or `Ensemble.from_members`. Results are float64.

    >>> e = ive.ensemble(rewards=[[1.0, 0.0]], values=[[10.0, 4.0], [10.0, 5.0]], discount=0.9)
    >>> e
    Ensemble(k=0..1, shape=(2,))
    >>> e.members
    array([[10. ,  4. ],
           [10. ,  4.5]])
    >>> e.mean(), e.std()
    (array([10.  ,  4.25]), array([0.  , 0.25]))
    """

    __slots__ = ("_inner", "_members", "_shape")

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("use ive.ensemble(rewards, values, discount) or ive.Ensemble.from_members(values)")

    @classmethod
    def _of(cls, inner: _ive.Ensemble, shape: tuple[int, ...]) -> Ensemble:
        self = cls.__new__(cls)
        self._inner, self._shape, self._members = inner, shape, None
        return self

    _inner: _ive.Ensemble
    _shape: tuple[int, ...]
    _members: NDArray[np.float64] | None

    @classmethod
    def from_members(cls, members: object) -> Ensemble:
        """Any members, [member, *batch]: explicit ensembles of value functions or models, or values from elsewhere.

        >>> ive.Ensemble.from_members([[1.0, 2.0], [3.0, 2.0]]).std()
        array([1., 0.])
        """
        array = floats("members", members)
        if array.ndim == 0:
            raise ValueError("members: expected an array [member, *batch], got a number")
        inner = _ive.Ensemble.from_members(array.reshape(array.shape[0], math.prod(array.shape[1:])))
        return cls._of(inner, array.shape[1:])

    @property
    def k(self) -> tuple[int, ...] | None:
        """The unroll length of each member; None for an explicit ensemble."""
        lengths = self._inner.k
        return None if lengths is None else tuple(lengths)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch of states."""
        return self._shape

    @property
    def members(self) -> NDArray[np.float64]:
        """All estimates, [member, *batch]. The array is read-only."""
        if self._members is None:
            members = self._inner.members().reshape(self._inner.size, *self._shape)
            members.flags.writeable = False
            self._members = members
        return self._members

    def mean(self) -> NDArray[np.float64]:
        """μ over the members, [*batch]: the value that the ensemble predicts."""
        return self._inner.mean().reshape(self._shape)

    def std(self, ddof: int = 0) -> NDArray[np.float64]:
        """σ over the members, [*batch]: σ-IVE, if the ensemble is implicit.

        `ddof` is 0 for the population form, as in every figure of the paper and of ours, or 1 for the sample form.
        """
        return self._inner.std(whole("ddof", ddof)).reshape(self._shape)

    def score(self, beta: float) -> NDArray[np.float64]:
        """μ + β·σ, [*batch]: β > 0 seeks disagreement, β < 0 avoids it."""
        return self._inner.score(float(beta)).reshape(self._shape)

    def range(self) -> NDArray[np.float64]:
        """The largest member minus the smallest, [*batch]."""
        return self._inner.range().reshape(self._shape)

    def select(self, members: Iterable[int]) -> Ensemble:
        """The ensemble restricted to some unroll lengths k.

        >>> e = ive.ensemble(rewards=[0.0, 0.0], values=[1.0, 2.0, 4.0], discount=1.0)
        >>> e.select(range(1, 3)).k
        (1, 2)
        """
        own = self.k
        if own is None:
            raise ValueError("members: an explicit ensemble has no unroll lengths to choose from")
        return Ensemble._of(self._inner.select(_lengths(members, own)), self._shape)

    def __len__(self) -> int:
        """How many members there are."""
        return self._inner.size

    def __repr__(self) -> str:
        k = self.k
        if k is None:
            which = f"members={len(self)}"
        elif len(k) > 1 and k[-1] - k[0] + 1 == len(k):
            which = f"k={k[0]}..{k[-1]}"
        else:
            which = f"k={list(k)}"
        return f"Ensemble({which}, shape={self._shape})"


def ensemble(rewards: object, values: object, discount: object, members: Iterable[int] | None = None) -> Ensemble:
    """The implicit value ensemble of predictions along imagined paths: one estimate of the value for each number of steps k.

        v̂ᵏ = Σ_{i<k} γⁱ rⁱ⁺¹ + γᵏ v̂(sᵏ),    σ-IVE = standard deviation over k

    Args:
        rewards: r¹..rⁿ, [n, *batch]. rewards[i] lies *between* values[i] and values[i + 1]: where model and value are right,
            values[i] = rewards[i] + discount[i] · values[i + 1]. See docs/python.md for the convention of your agent.
        values: v̂(s⁰)..v̂(sⁿ), [n + 1, *batch].
        discount: γ, a number; or for each step, [n] or [n, *batch], γ times the predicted probability of going on: zero where the
            episode ends.
        members: which k take part, such as `range(1, 6)`; all of 0..n if it is left out. The choice matters and the paper makes
            several: see docs/python.md.

    Arrays may be of NumPy, PyTorch or JAX, float32 or float64, and are not copied if they are contiguous and of one precision. The
    calculation is in float64 whatever they are: σ is a difference of nearly equal numbers. Batches of any shape are kept.

    Raises:
        TypeError: if an argument does not hold real numbers.
        ValueError: if shapes do not fit, a number is not finite, a discount is outside [0, 1], or a k is beyond n.

    >>> rewards = np.zeros((5, 3))                  # five steps from each of three states
    >>> values = np.ones((6, 3)); values[3, 2] = 2  # a value that does not fit, three steps after the last state
    >>> ive.ensemble(rewards, values, discount=1.0).std().round(3)
    array([0.   , 0.   , 0.373])
    """
    r, v = floats("rewards", rewards), floats("values", values)
    if r.ndim == 0:
        raise ValueError("rewards: expected an array [n, *batch], got a number")
    steps, batch = r.shape[0], r.shape[1:]
    if v.shape != (steps + 1, *batch):
        raise ValueError(f"values: expected the shape {(steps + 1, *batch)}, a row more than rewards {r.shape}, got {v.shape}")
    states = math.prod(batch)
    if states == 0:
        raise ValueError(f"rewards: there are no states, the shape is {r.shape}")
    each = discount if type(discount) is float else _discounts(discount, r.shape)
    chosen = None if members is None else _lengths(members, range(steps + 1))
    if isinstance(each, float):
        r, v = same_precision(r, v)
    else:
        r, v, each = same_precision(r, v, each)
    arrays = {"rewards": r, "values": v, "discount": each}
    try:
        inner = _ive.implicit(r.reshape(steps, states), v.reshape(steps + 1, states), each, chosen)
    except ValueError as error:
        raise _placed(error, arrays) from None
    return Ensemble._of(inner, batch)


def _discounts(discount: object, shape: tuple[int, ...]) -> float | Floats:
    """A number, or one for each step and state."""
    d = floats("discount", discount)
    if d.ndim == 0:
        return float(d)
    if d.shape == shape:
        return d
    if d.shape == shape[:1]:
        return np.ascontiguousarray(np.broadcast_to(d.reshape(-1, *[1] * (len(shape) - 1)), shape))
    raise ValueError(f"discount: expected a number, or the shape {shape[:1]} or {shape} of rewards, got {d.shape}")


def _lengths(members: Iterable[int], known: Sequence[int]) -> list[int]:
    """Unroll lengths, all of which there are."""
    if isinstance(members, (int, str)):
        raise TypeError(f"members: expected unroll lengths such as range(0, 6) or [1, 3, 5], got {members!r}")
    try:
        lengths = [whole("members", k) for k in members]
    except TypeError as error:
        raise TypeError(f"members: expected unroll lengths such as range(0, 6) or [1, 3, 5] ({error})") from None
    if not lengths:
        raise ValueError("members: must not be empty")
    for k in lengths:
        if k not in known:
            raise ValueError(f"members: there is no k = {k}; the predictions have k = {_listed(known)}")
    return lengths


def _listed(known: Sequence[int]) -> str:
    if known[-1] - known[0] + 1 == len(known):
        return f"{known[0]}..{known[-1]}"
    return ", ".join(map(str, known))


_ENTRY = re.compile(r"(rewards|values|discounts?)[^:]*: entry (\d+) is ([^,]+), (.*)")


def _placed(error: ValueError, arrays: dict[str, Any]) -> ValueError:
    """The error with the place of the number in the caller's array."""
    found = _ENTRY.fullmatch(str(error))
    if found is None:
        return error
    name, entry, value, rest = found.groups()
    place = ", ".join(map(str, np.unravel_index(int(entry), arrays[name].shape)))
    return ValueError(f"{name}[{place}] is {value}, {rest}")


class SampledEnsemble:
    """Samples of an ensemble that come one at a time: their mean, and σ with its standard error, in bounded memory.

    With a stochastic model or policy each rollout is one noisy sample of every member. Average the noise away *before* σ is taken,
    or it reads as disagreement. The error is a jackknife over `groups` groups of samples.

    >>> rng, samples = np.random.default_rng(0), ive.SampledEnsemble(groups=20)
    >>> for _ in range(2000):  # two members at 1 and 3 with unit noise: the true σ is 1
    ...     samples.push(ive.Ensemble.from_members([1 + rng.normal(), 3 + rng.normal()]))
    >>> sigma, error = samples.std()
    >>> bool(abs(sigma - 1) < 4 * error < 0.2)
    True
    """

    def __init__(self, groups: int = 20) -> None:
        self._inner = _ive.SampledEnsemble(whole("groups", groups, 1))
        self._shape: tuple[int, ...] | None = None

    def push(self, sample: Ensemble) -> None:
        """Takes another sample: an ensemble of the same states and members."""
        shape = _an_ensemble("sample", sample)._shape
        if self._shape is not None and shape != self._shape:
            raise ValueError(f"sample: expected the shape {self._shape} of the samples before, got {shape}")
        self._inner.push(sample._inner)
        self._shape = shape

    def __len__(self) -> int:
        """How many samples were taken."""
        return self._inner.samples

    def mean(self) -> Ensemble:
        """The mean of the samples, member by member."""
        return Ensemble._of(self._inner.mean(), self._shape or ())

    def std(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """σ over the members of the mean, and the standard error of that σ. A σ of the order of its error says nothing."""
        sigma, error = self._inner.std()
        return sigma.reshape(self._shape or ()), error.reshape(self._shape or ())


def average(samples: Iterable[Ensemble]) -> Ensemble:
    """The mean of several sampled ensembles of the same states, member by member: do this before σ with stochastic models.

    >>> noisy = [ive.Ensemble.from_members([[0.0], [1.0]]), ive.Ensemble.from_members([[2.0], [1.0]])]
    >>> ive.average(noisy).std()
    array([0.])
    """
    parts, shape = _samples(samples)
    return Ensemble._of(_ive.average(parts), shape)


def sampled_std(samples: Iterable[Ensemble]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """σ over the members of the averaged samples, and the standard error of that σ (jackknife over samples).

    >>> noisy = [ive.Ensemble.from_members([[1.0 + d], [3.0 - d]]) for d in (-0.1, 0.0, 0.1)]
    >>> sigma, error = ive.sampled_std(noisy)
    >>> sigma.round(3), error.round(3)
    (array([1.]), array([0.058]))
    """
    parts, shape = _samples(samples)
    sigma, error = _ive.sampled_std(parts)
    return sigma.reshape(shape), error.reshape(shape)


def _samples(samples: Iterable[Ensemble]) -> tuple[list[_ive.Ensemble], tuple[int, ...]]:
    parts = [_an_ensemble("samples", sample) for sample in samples]
    for part in parts:
        if part._shape != parts[0]._shape:
            raise ValueError(f"samples: one has the shape {parts[0]._shape}, another {part._shape}")
    return [part._inner for part in parts], parts[0]._shape if parts else ()


def _an_ensemble(name: str, x: object) -> Ensemble:
    if not isinstance(x, Ensemble):
        raise TypeError(f"{name}: expected an ive.Ensemble, got {type(x).__name__}")
    return x


def jensen_shannon(probabilities: object, weighting: str = "uniform") -> NDArray[np.float64]:
    """The weighted Jensen–Shannon divergence of members that are distributions, in nats: disagreement for categorical heads.

        JSD_w = H(Σₖ wₖ Pₖ) − Σₖ wₖ H(Pₖ)

    Args:
        probabilities: [member, *batch, atom]; each row sums to one.
        weighting: "uniform"; "decreasing", where the last member has a third of the weight of the first; or "increasing".

    >>> ive.jensen_shannon([[[1.0, 0.0]], [[0.0, 1.0]]])  # two members, one state: ln 2
    array([0.69314718])
    """
    p = floats("probabilities", probabilities)
    if p.ndim < 2:
        raise ValueError(f"probabilities: expected an array [member, *batch, atom], got the shape {p.shape}")
    batch = p.shape[1:-1]
    return _ive.jensen_shannon(p.reshape(p.shape[0], math.prod(batch), p.shape[-1]), weighting).reshape(batch)
