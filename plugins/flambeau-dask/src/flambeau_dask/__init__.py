"""flambeau on Dask: the device type `dask`, whose tensors are lazy arrays in chunks.

Values are computed only when they are needed (`print`, `item`, `cpu`, `compute`).  Dask then computes chunk by chunk, in threads
of this process or on the workers of an open `dask.distributed.Client`, so tensors may be larger than memory.

>>> import flambeau as torch
>>> x = torch.ones(4, 4, device="dask")
>>> (x @ x).sum().item()
64.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask
import dask.array
import numpy

import flambeau as torch
from flambeau.backend import Backend, hookimpl
from flambeau.extension import array_of

from . import namespace
from .kernels import KERNELS

__all__ = ["DaskBackend", "compute", "from_dask", "persist", "to_dask"]


class DaskBackend(Backend):
    """Backend for Dask: arrays are `dask.array.Array`, treated as immutable."""

    name = device_type = "dask"
    xp = namespace
    array_type = dask.array.Array
    asynchronous = True  # errors that depend on values are raised when the graph is computed

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return KERNELS

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if isinstance(data, dask.array.Array):
            return data if raw_dtype is None or data.dtype == raw_dtype else data.astype(raw_dtype)
        host = numpy.array(data, dtype=raw_dtype)  # copied because the graph is computed later, when `data` may have changed
        return dask.array.from_array(host, chunks="auto")

    def wrap(self, array: Any) -> Any:
        return array if isinstance(array, dask.array.Array) else self.asarray(array)

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array.compute())

    def tolist(self, array: Any) -> Any:
        return self.to_host(array).tolist()

    def item(self, array: Any) -> Any:
        return self.to_host(array).item()

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        real = array.dtype.kind == "c" and numpy.dtype(raw_dtype).kind not in "cb"
        return (array.real if real else array).astype(raw_dtype)

    def evaluate(self, arrays: Sequence[Any]) -> None:
        """Compute the parameters after each optimizer step, so that graphs do not grow from step to step."""
        for array, computed in zip(arrays, dask.persist(*arrays), strict=True):
            array.dask, array._name, array._chunks = computed.dask, computed._name, computed._chunks

    def report(self) -> str:
        return f"dask {dask.__version__}"


_backend = DaskBackend()


@hookimpl
def flambeau_backend(name: str) -> DaskBackend | None:
    return _backend if name == "dask" else None


# --- conversion between Dask arrays and tensors ------------------------------------------------------------------------


def from_dask(array: Any) -> torch.Tensor:
    """Return a tensor on `dask` that wraps a `dask.array.Array`; computes nothing.

    Args:
        array: the array, in any chunks; for example from files by `dask.array.from_zarr`.
    """
    return torch.as_tensor(array, device="dask")


def to_dask(tensor: torch.Tensor) -> Any:
    """Return the `dask.array.Array` of a tensor on the device `dask`."""
    return array_of(tensor)


def persist(tensor: torch.Tensor) -> torch.Tensor:
    """Compute a tensor now and keep its chunks in memory, or on the cluster's workers (`dask.array.Array.persist`)."""
    return from_dask(to_dask(tensor).persist())


def compute(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Compute tensors in one pass, so that shared parts are computed once, and return them as CPU tensors."""
    return tuple(torch.as_tensor(result) for result in dask.compute(*map(to_dask, tensors)))
