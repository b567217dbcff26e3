"""Random numbers inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.calls.tables import PUBLIC
from ...engine.devices.devices import DispatchKey, device, dispatch_key
from ...engine.tape.transforming import VMAP_WRITES_TO_ALL
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values.dtypes import float32
from .arrays import BatchedArray, namespace
from .keys import lift, plain_of, with_levels
from .levels import Level, active, levels_of, no_levels

__all__ = ["BatchedGenerator", "filled", "lift_parameter", "sampled"]


def _check_allowed() -> None:
    if any(level.randomness == "error" for level in active()):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of "
            "vmap"
        )


class BatchedGenerator:
    """A random generator for all active levels: it draws different numbers for each member of a batch, or the same for all."""

    def __init__(self, generator: Any, place: device) -> None:
        _check_allowed()
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


def lift_parameter(parameter: Tensor) -> Tensor:
    """Lift a parameter of a distribution to all active levels.

    Raises:
        RuntimeError: the parameter is batched in a level whose members draw the same numbers.
    """
    _check_allowed()
    if any(level.randomness == "same" for level in levels_of(parameter._key)):
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
        )
    return lift(parameter, active())


def filled(tensor: Tensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the random numbers with which the method `name` fills a batched tensor.

    The numbers of all members are drawn in one call, in the order in which the batch is stored, or in row-major order if the
    members of one level have the same numbers.

    Raises:
        RuntimeError: the members of a level have different numbers but the tensor is not batched in it, or a parameter is batched
            where the tensor is not, or where all members have the same numbers.
    """
    _check_allowed()
    own, key = levels_of(tensor._key), plain_of(tensor._key)
    levels = tuple(level for level in active() if level.randomness == "different")
    for argument in (*args, *kwargs.values()):
        if isinstance(argument, Tensor):
            lift_parameter(argument)
            if not set(levels_of(argument._key)) <= set(own):
                raise RuntimeError(VMAP_WRITES_TO_ALL)
    if not set(levels) <= set(own):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
            "If this is necessary for your usage, please file an issue with functorch."
        )
    sizes = tuple(level.size for level in levels)
    with no_levels():
        if own and own == levels and tensor._array.raw.shape[: len(own)] == sizes:
            batch = PUBLIC["empty_like"](wrap(tensor._array.raw, key))
        else:
            batch = PUBLIC["empty"](sizes + tensor.shape, dtype=key.dtype, device=key.device)
        args = tuple(_whole(argument, levels, tensor.ndim) for argument in args)
        kwargs = {option: _whole(argument, levels, tensor.ndim) for option, argument in kwargs.items()}
        getattr(batch, name)(*args, **kwargs)
    if not levels:
        return batch  # type: ignore[no-any-return]  # a tensor
    return wrap(BatchedArray(batch._array, namespace(key.backend.forward_xp, len(levels))), with_levels(key, levels))


def _whole(argument: Any, levels: tuple[Level, ...], ndim: int) -> Any:
    """Return the whole batch of a tensor, with `ndim` dimensions besides those of the levels, so that it broadcasts."""
    if not isinstance(argument, Tensor):
        return argument
    argument = lift(argument, levels)
    if not levels:
        return argument
    count, shape = len(levels), argument.shape
    raw = argument._array.raw
    return wrap(
        argument._array.xp.inner.reshape(raw, (*raw.shape[:count], *(1,) * (ndim - len(shape)), *shape)), plain_of(argument._key)
    )


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
