"""A kernel pack with one kernel: `silu`, computed in blocks that fit into the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from flambeau.backend import Backend, hookimpl

__all__ = ["flambeau_kernels", "silu"]

BLOCK = 16_384  # number of elements per block: 64 KiB of float32 input and 64 KiB of results


def silu(input: Any) -> Any:
    """Compute `input / (1 + exp(-input))`.

    A kernel takes the arguments of the operation's forward without `xp`, with the library's arrays in place of tensors.  It must
    not write to its inputs.
    """
    if input.size <= BLOCK or not input.flags.c_contiguous:
        with numpy.errstate(over="ignore"):
            return input / (1 + numpy.exp(-input))
    result = numpy.empty_like(input)
    source, target = input.reshape(-1), result.reshape(-1)
    with numpy.errstate(over="ignore"):
        for start in range(0, source.size, BLOCK):
            part, into = source[start : start + BLOCK], target[start : start + BLOCK]
            numpy.negative(part, out=into)
            numpy.exp(into, out=into)
            into += 1
            numpy.divide(part, into, out=into)
    return result


@hookimpl
def flambeau_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return this pack's kernels for the NumPy backend, and None for other backends."""
    return {"silu": silu} if backend.name == "numpy" else None
