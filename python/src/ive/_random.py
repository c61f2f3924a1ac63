"""Random numbers for other people's functions: whatever their generator is, each call gets fresh numbers."""

from __future__ import annotations

import copy
import sys
from typing import Any


def is_jax_key(rng: object) -> bool:
    """Whether this is a key of JAX, which must be split and never used twice."""
    return type(rng).__module__.partition(".")[0] in ("jax", "jaxlib")


class Source:
    """What functions draw from: nothing, a generator with a state, or a fresh key of JAX for each call."""

    def __init__(self, rng: object) -> None:
        self._rng = rng
        self._jax = is_jax_key(rng)

    def next(self) -> Any:
        """A generator or a key for the next call."""
        if self._jax:
            self._rng, key = sys.modules["jax"].random.split(self._rng)
            return key
        return self._rng

    def arguments(self) -> tuple[Any, ...]:
        """What to pass to the next call, after its other arguments: nothing, if there is no generator."""
        return () if self._rng is None else (self.next(),)


def copies(rng: Any, count: int) -> list[Any]:
    """Generators that give the same numbers. The last is the one given, which so moves on as if it had been used alone."""
    if rng is None or is_jax_key(rng):
        return [rng] * count
    return [_copy(rng) for _ in range(count - 1)] + [rng]


def _copy(rng: Any) -> Any:
    if hasattr(rng, "get_state") and hasattr(rng, "manual_seed"):  # torch.Generator
        other = type(rng)(device=rng.device)
        other.set_state(rng.get_state())
        return other
    return copy.deepcopy(rng)
