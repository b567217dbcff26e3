"""Random numbers inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.devices.devices import DispatchKey, device, dispatch_key
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values.dtypes import float32
from .arrays import BatchedArray, namespace
from .keys import plain_of, with_levels
from .levels import active

__all__ = ["BatchedGenerator", "sampled"]


class BatchedGenerator:
    """A random generator for all active levels: it draws different numbers for each member of a batch, or the same for all."""

    def __init__(self, generator: Any, place: device) -> None:
        if any(level.randomness == "error" for level in active()):
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of "
                "vmap"
            )
        self._generator = generator
        self._xp = namespace(dispatch_key(float32, device(place.type, place.index)).backend.xp, len(active()))
        self._hidden = tuple(level.size if level.randomness == "different" else 1 for level in active())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        sampler = getattr(self._generator, name)

        def draw(first: Any, *args: Any, **kwargs: Any) -> BatchedArray:
            arguments = [
                self._xp.spread(argument, self._hidden_with(argument)) if isinstance(argument, BatchedArray) else argument
                for argument in (first, *args)
            ]
            if isinstance(first, tuple):
                arguments[0] = self._hidden + first
            return self._xp.made(sampler(*arguments, **kwargs))

        return draw

    def _hidden_with(self, array: BatchedArray) -> tuple[int, ...]:
        return tuple(max(lengths) for lengths in zip(self._hidden, array.raw.shape, strict=False))

    def permutation(self, n: int, *args: Any) -> BatchedArray:
        inner, count = self._xp.inner, 1
        for length in self._hidden:
            count *= length
        drawn = inner.stack([self._generator.permutation(n, *args) for _ in range(count)])
        return self._xp.made(inner.reshape(drawn, (*self._hidden, n)))

    def multinomial(self, weights: BatchedArray, *args: Any) -> BatchedArray:
        inner, raw = self._xp.inner, self._xp.spread(weights, self._hidden_with(weights))
        drawn = self._generator.multinomial(inner.reshape(raw, (-1, raw.shape[-1])), *args)
        return self._xp.made(inner.reshape(drawn, (*raw.shape[:-1], drawn.shape[-1])))


def sampled(array: BatchedArray, key: DispatchKey) -> Tensor:
    """Return the drawn numbers as a tensor, batched in those levels of `vmap` whose members have different numbers."""
    levels = active()
    differing = [
        position for position, level in enumerate(levels) if level.randomness == "different" or array.raw.shape[position] > 1
    ]
    inner = array.xp.inner
    raw = inner.reshape(array.raw, tuple(array.raw.shape[position] for position in differing) + array.shape)
    plain = plain_of(key)
    if not differing:
        return wrap(raw, plain)
    return wrap(
        BatchedArray(raw, namespace(inner, len(differing))), with_levels(plain, tuple(levels[position] for position in differing))
    )
