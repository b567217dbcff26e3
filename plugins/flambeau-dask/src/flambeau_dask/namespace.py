"""Dask's functions by the array API standard; replaces those that are missing, wrong, or depend on values."""

from __future__ import annotations

from functools import partial
from typing import Any

import array_api_compat.dask.array as standard
import array_api_compat.numpy.linalg as numpys
import dask.array
import numpy

__all__ = [
    "argsort",
    "eye",
    "fft",
    "linalg",
    "nonzero",
    "permute_dims",
    "reshape",
    "sort",
    "take",
    "take_along_axis",
    "unique_values",
]


def __getattr__(name: str) -> Any:
    return getattr(standard, name)


class _Fourier:
    """Dask's Fourier transforms, with each transformed dimension rechunked to a single chunk, which Dask requires."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(standard.fft, name)
        if name in ("fftfreq", "rfftfreq"):
            return function

        def transform(x: Any, /, **options: Any) -> Any:
            axes = options.get("axes", None if name.endswith(("fftn", "shift")) else (options.get("axis", -1),))
            dims = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
            return function(x.rechunk({dim % x.ndim: -1 for dim in dims}), **options)

        return transform


fft = _Fourier()


class _Matrices:
    """Linear algebra: factorizations call NumPy on each matrix, which must be in a single chunk."""

    def __getattr__(self, name: str) -> Any:
        return partial(_of_matrices, getattr(numpys, name)) if name in _FACTORIZATIONS else getattr(standard.linalg, name)


_FACTORIZATIONS = ("cholesky", "det", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd", "svdvals")
linalg = _Matrices()


def _of_matrices(function: Any, *operands: Any, **options: Any) -> Any:
    """Apply a function of matrices to each matrix of a batch.

    The number of results and their shapes are inferred from a call with small matrices.
    """
    rows, columns = operands[0].shape[-2:]
    small = (3 if rows > columns else 2, 3 if columns > rows else 2)
    lengths = {small[0]: rows, small[1]: columns, 5: operands[-1].shape[-1]}
    examples = [numpy.eye(*small, dtype=operands[0].dtype)]
    examples += [numpy.ones((2, 5)[: min(operand.ndim, 2)], dtype=operand.dtype) for operand in operands[1:]]
    found = function(*examples, **options)
    outputs = found if isinstance(found, tuple) else (found,)
    signature = "->".join(
        ",".join(f"({','.join(f'n{length}' for length in array.shape)})" for array in arrays) for arrays in (examples, outputs)
    )
    results = dask.array.apply_gufunc(
        lambda *blocks: tuple(function(*blocks, **options)) if isinstance(found, tuple) else function(*blocks, **options),
        signature,
        *operands,
        output_dtypes=[array.dtype for array in outputs] if isinstance(found, tuple) else found.dtype,
        output_sizes={f"n{length}": lengths[length] for array in outputs for length in array.shape},
        allow_rechunk=True,
    )
    return type(found)(*results) if isinstance(found, tuple) else results


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not x.ndim:
        return x
    kept = {axis % x.ndim: -1}

    def chunk(block: Any) -> Any:
        ordered = numpy.sort(block, axis=axis, stable=True)
        return numpy.flip(ordered, axis) if descending else ordered

    return x.rechunk(kept).map_blocks(chunk, dtype=x.dtype)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if not x.ndim:
        return dask.array.zeros((), dtype=numpy.int64)

    def chunk(block: Any) -> Any:
        if not descending:
            return numpy.argsort(block, axis=axis, stable=True)
        last = block.shape[axis] - 1
        return numpy.flip(last - numpy.argsort(numpy.flip(block, axis), axis=axis, stable=True), axis)

    return x.rechunk({axis % x.ndim: -1}).map_blocks(chunk, dtype=numpy.int64)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """Like `dask.array.eye`, which fails if there are more columns than rows."""
    rows, columns = dask.array.arange(n_rows), dask.array.arange(n_rows if n_cols is None else n_cols)
    return (rows[:, None] + k == columns).astype(numpy.float64 if dtype is None else dtype)


def nonzero(x: Any, /) -> Any:
    """Return the indices of nonzero elements; computes `x` immediately, since their number determines shapes."""
    return tuple(dask.array.from_array(found, chunks="auto") for found in numpy.nonzero(x.compute()))


def unique_values(x: Any, /) -> Any:
    return dask.array.from_array(numpy.unique(x.compute(), equal_nan=False), chunks="auto")


def take(x: Any, indices: Any, /, *, axis: int = 0) -> Any:
    """Return the elements at `indices`. The values of `indices` are computed first, since Dask requires known indices."""
    found = indices.compute() if isinstance(indices, dask.array.Array) else numpy.asarray(indices)
    return dask.array.take(x, found, axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    axis %= x.ndim
    if any(n != m for dim, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if dim != axis):
        found = numpy.take_along_axis(x.compute(), indices.compute(), axis)
        return dask.array.from_array(found, chunks="auto")
    rows = x.rechunk({axis: -1})
    places = indices.rechunk({dim: -1 if dim == axis else chunks for dim, chunks in enumerate(rows.chunks)})

    def chunk(block: Any, where: Any) -> Any:
        return numpy.take_along_axis(block, where, axis)

    return dask.array.map_blocks(chunk, rows, places, dtype=x.dtype, chunks=places.chunks)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    lengths = tuple(int(length) for length in shape)
    try:
        return dask.array.reshape(x, lengths)
    except NotImplementedError:  # Dask cannot split these dimensions, but can flatten the array first
        return dask.array.reshape(dask.array.reshape(x, (-1,)), lengths)


def permute_dims(x: Any, /, axes: Any) -> Any:
    return dask.array.transpose(x, tuple(axes))
