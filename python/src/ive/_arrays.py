"""From whatever holds numbers to NumPy arrays, and clear words where that fails."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def floats(name: str, x: object) -> Floats:
    """The numbers of an argument as an array of float32 or float64 in C order, without a copy where they are that already.

    `x` may be an array or a number, a nested list, anything with `__array__` or `__dlpack__` (PyTorch, JAX), or a list of such.
    Integers and other precisions become float64.
    """
    array = x if type(x) is np.ndarray else _imported(name, x)
    dtype = array.dtype
    if dtype != _DOUBLE and dtype != _SINGLE:
        # `V` is how NumPy shows the types of other packages, such as bfloat16.
        if dtype.kind not in "biufV" or dtype.names is not None:
            raise TypeError(f"{name}: expected real numbers, got an array of dtype {dtype}")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: expected real numbers, got an array of dtype {dtype}") from None
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.dtype.isnative):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    return array


def _imported(name: str, x: Any) -> NDArray[Any]:
    """An array from something else."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported; fill or drop what is masked")
    if isinstance(x, (list, tuple)) and x and hasattr(x[0], "__array__"):
        return _stacked(name, [_imported(name, item) for item in x])
    if hasattr(x, "detach") and hasattr(x, "cpu"):  # a tensor of PyTorch
        x = x.detach().cpu()
        if str(x.dtype) == "torch.bfloat16":  # which NumPy does not know
            x = x.float()
    try:
        if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
            return np.from_dlpack(x)
        return np.asarray(x)
    except ValueError:
        raise ValueError(f"{name}: its parts have different shapes, so it is no array") from None
    except (TypeError, RuntimeError, BufferError) as error:
        raise TypeError(f"{name}: {type(x).__name__} cannot be read as an array ({error})") from error


def _stacked(name: str, parts: list[NDArray[Any]]) -> NDArray[Any]:
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        listed = ", ".join(str(part.shape) for part in parts[:8])
        raise ValueError(f"{name}: its parts have different shapes: {listed}")
    return np.stack(parts)


def flat(name: str, x: object) -> Floats:
    """A list of numbers, whatever its shape was."""
    return floats(name, x).reshape(-1)


def same_precision(*arrays: Floats) -> tuple[Floats, ...]:
    """The arrays in float32 if all of them are, else in float64."""
    if all(array.dtype == arrays[0].dtype for array in arrays):
        return arrays
    return tuple(array.astype(np.float64, copy=False) for array in arrays)


def whole(name: str, x: object, least: int = 0) -> int:
    """A whole number that is not too small."""
    try:
        number = operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {x!r}") from None
    if number < least:
        raise ValueError(f"{name}: expected at least {least}, got {number}")
    return number


def names_of(name: str, x: Iterable[Any], length: int) -> list[int]:
    """What things belong to, such as episodes, numbered from 0."""
    labels = np.asarray(x)
    if labels.shape != (length,):
        raise ValueError(f"{name}: expected the shape ({length},), one for each score, got {labels.shape}")
    numbers: list[int] = np.unique(labels, return_inverse=True)[1].tolist()
    return numbers
