"""Counts, histograms, quantiles, covariance, and sums that skip NaN."""

from __future__ import annotations

from .reductions import over
from .sample import FLOATS, NUMBERS, REALS, Bad, Sample, distinct, fixed, real

__all__ = ["BAD", "SAMPLES"]

_DOUBLE = ("float64", "float32")
_NAN = float("nan")


def _quantile(name: str, interpolation: str) -> Sample:
    return Sample(
        name,
        lambda torch, x, q: getattr(torch, name)(x, q, 1, interpolation=interpolation),
        [distinct(3, 4), fixed([0.1, 0.45, 0.8])],
        lambda np, x, q: getattr(np, name)(x, q, 1, method=interpolation),
        _DOUBLE,
    )


SAMPLES = [
    Sample("nansum", lambda torch, x: torch.nansum(x), [fixed([1.0, _NAN, 2.0])], lambda np, x: np.nansum(x), grad=False),
    Sample("nanmean", lambda torch, x: torch.nanmean(x, 0), [fixed([[1.0, _NAN], [2.0, 4.0]])], lambda np, x: np.nanmean(x, 0),
           grad=False),
    Sample("nan_to_num", lambda torch, x: torch.nan_to_num(x, 1.0, 5.0, -5.0), [fixed([1.0, _NAN, float("inf"), float("-inf")])],
           lambda np, x: np.nan_to_num(x, nan=1.0, posinf=5.0, neginf=-5.0), grad=False),
    Sample("nan_to_num", lambda torch, x: torch.nan_to_num(x), [real(3)], lambda np, x: x),
    Sample("aminmax", lambda torch, x: torch.aminmax(x, dim=1), [distinct(3, 4)], lambda np, x: (x.min(1), x.max(1)),
           (*FLOATS, "int64")),
    Sample("count_nonzero", lambda torch, x: torch.count_nonzero(x, 1), [real(3, 4, low=-1, high=1)],
           lambda np, x: (x != 0).sum(1), NUMBERS,
           "int64", grad=False),
    Sample("nonzero_static", lambda torch, x: torch.nonzero_static(x, size=3), [fixed([0, 5, 0, 7])],
           lambda np, x: np.array([[1], [3], [-1]]),
           REALS, "int64", grad=False),
    Sample("bincount", lambda torch, x: torch.bincount(x, minlength=6), [fixed([1, 3, 3], "int64")],
           lambda np, x: np.bincount(x, minlength=6),
           ("int64",), grad=False),
    Sample("bincount", lambda torch, x, w: torch.bincount(x, w), [fixed([1, 3, 3], "int64"), real(3)],
           lambda np, x, w: np.bincount(x, w),
           _DOUBLE, grad=False),
    Sample("histc", lambda torch, x: torch.histc(x, 4, -1, 1), [real(20)], lambda np, x: np.histogram(x, 4, (-1, 1))[0], _DOUBLE,
           grad=False),
    Sample("histogram", lambda torch, x: torch.histogram(x, 4, range=(-1.0, 1.0)), [real(20)],
           lambda np, x: np.histogram(x, 4, (-1, 1)),
           _DOUBLE, grad=False),
    Sample("histogramdd", lambda torch, x: torch.histogramdd(x, [2, 3], range=[-2.0, 2.0, -1.0, 1.0])[0], [real(9, 2)],
           lambda np, x: np.histogramdd(x, [2, 3], [(-2, 2), (-1, 1)])[0], _DOUBLE, grad=False),
    *(_quantile("quantile", method) for method in ("linear", "lower", "higher", "midpoint", "nearest")),
    _quantile("nanquantile", "linear"),
    Sample("quantile", lambda torch, x: torch.quantile(x, 0.3), [distinct(3, 4)], lambda np, x: np.quantile(x, 0.3), _DOUBLE),
    Sample("cov", lambda torch, x: torch.cov(x), [real(3, 5)], lambda np, x: np.cov(x)),
    Sample("corrcoef", lambda torch, x: torch.corrcoef(x), [real(3, 5)], lambda np, x: np.corrcoef(x)),
    Sample("argwhere", lambda torch, x: torch.argwhere(x), [real(2, 3, low=-1, high=1)], lambda np, x: np.argwhere(x), NUMBERS,
           "int64", grad=False, vmap=False),
    *over("nansum", "nansum"),
    *over("nanmean", "nanmean", empty=False),
]  # fmt: skip


BAD = [
    Bad("bincount", lambda torch, x: torch.bincount(x), [fixed([-1], "int64")], "RuntimeError"),
    Bad("bincount", lambda torch, x: torch.bincount(x), [fixed([1.0])], "NotImplementedError"),
    Bad("histc", lambda torch, x: torch.histc(x, 0), [real(3)], "RuntimeError"),
    Bad("quantile", lambda torch, x: torch.quantile(x, 1.5), [real(3)], "RuntimeError"),
    Bad("quantile", lambda torch, x: torch.quantile(x, 0.5), [fixed([1, 2], "int64")], "RuntimeError"),
    Bad("cov", lambda torch, x: torch.cov(x), [real(2, 2, 2)], "RuntimeError"),
]  # fmt: skip
