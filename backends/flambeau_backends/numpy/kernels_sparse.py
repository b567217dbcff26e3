"""Sparse matrices, by SciPy where it is installed; None says that the caller has to do without."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import kernel


def _matrix(rows: Any, columns: Any, values: Any, shape: Any) -> Any:
    """A SciPy matrix in rows, of the entries; None where SciPy is not installed, or does not know the dtype."""
    if values.dtype.kind not in "iufc" or values.dtype == np.float16:
        return None
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return None
    return csr_array((values, (rows, columns)), shape=shape)


@kernel
def sparse_product(rows: Any, columns: Any, values: Any, shape: Any, dense: Any) -> Any:
    matrix = _matrix(rows, columns, values, shape)
    return None if matrix is None else matrix @ dense


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
