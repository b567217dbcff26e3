"""Sparse matrix operations by SciPy.  Kernels return None if SciPy is not installed, and callers use a generic algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import kernel


def _matrix(rows: Any, columns: Any, values: Any, shape: Any) -> Any:
    """Return a SciPy CSR matrix with these entries; None if SciPy is not installed or does not support the dtype."""
    if values.dtype.kind not in "iufc" or values.dtype == np.float16:
        return None
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return None
    return csr_array((values, (rows, columns)), shape=shape)


@kernel
def sparse_product(parts: Any, values: Any, shape: Any, dense: Any, layout: str, turned: bool) -> Any:
    """Multiply by SciPy's class for the given layout, which avoids sorting and conversion."""
    if values.dtype.kind not in "iufc" or values.dtype == np.float16 or values.ndim != (3 if layout == "sparse_bsr" else 1):
        return None
    try:
        from scipy import sparse
    except ImportError:
        return None
    if layout == "sparse_coo":
        rows, columns = parts[0][::-1] if turned else parts[0]
        return sparse.coo_array((values, (rows, columns)), shape=shape) @ dense
    of_layout = {"sparse_csr": sparse.csr_array, "sparse_csc": sparse.csc_array, "sparse_bsr": sparse.bsr_array}.get(layout)
    if of_layout is None:
        return None
    compressed, plain = parts
    if layout == "sparse_bsr" and turned:  # the blocks must be transposed as well
        values = np.swapaxes(values, 1, 2)
    return of_layout((values, plain, compressed), shape=shape) @ dense


@kernel
def sparse_solve(rows: Any, columns: Any, values: Any, shape: Any, right: Any) -> Any:
    matrix = _matrix(rows, columns, values, shape)
    if matrix is None or values.dtype.kind not in "fc":
        return None
    from scipy.sparse.linalg import splu

    try:
        return splu(matrix.tocsc()).solve(np.ascontiguousarray(right))
    except RuntimeError as error:
        raise RuntimeError(f"spsolve: {error}") from None
