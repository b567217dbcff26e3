"""Derivatives of gamma and beta samples by their parameters; samples in float32 and float64, computed in float64."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .choice import FLOAT, fast
from .kernels import kernels

DOUBLE = np.dtype(np.float64)
LEAST, MOST = 1e-30, 1e30  # arguments outside these limits are left to the NumPy backend
BELOW_ONE = 1 - 2.0**-53


@cache
def _rule(points: int) -> tuple[Any, Any]:
    """Return the nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return (1 + nodes) / 2, weights / 2


def _vectors(*arrays: Any) -> list[Any]:
    """Return the arrays, broadcast, as float64 vectors."""
    return [np.ascontiguousarray(array, DOUBLE).reshape(-1) for array in np.broadcast_arrays(*arrays)]


def _lie_between(least: float, most: float, *vectors: Any) -> bool:
    """Whether all elements are between two limits, so none is NaN."""
    return all(least <= vector.min() and vector.max() <= most for vector in vectors)


@fast(1, of=1, dtypes=(FLOAT, DOUBLE))
def standard_gamma_grad(input: Any, sample: Any) -> Any:
    shape, (a, x) = np.broadcast_shapes(input.shape, sample.shape), _vectors(input, sample)
    if not x.size or not _lie_between(LEAST, MOST, a, x):
        return None
    points, result = 20 if sample.dtype is FLOAT else 40, np.empty(a.shape)
    kernels.gamma_grad(result, a, x, *_rule(points), points)
    return result.astype(sample.dtype, copy=False).reshape(shape)


@fast(1, dtypes=(FLOAT, DOUBLE))
def dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    shape, (samples, a, sums) = np.broadcast_shapes(x.shape, alpha.shape, total.shape), _vectors(x, alpha, total)
    b = sums - a
    if not b.size or not (_lie_between(LEAST, MOST, a, b) and _lie_between(LEAST, BELOW_ONE, samples)):
        return None
    points, result = 18 if x.dtype is FLOAT else 36, np.empty(a.shape)
    kernels.beta_grad(result, samples, a, b, *_rule(points), points + 4)
    return result.astype(x.dtype, copy=False).reshape(shape)
