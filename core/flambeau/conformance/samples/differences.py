"""Differences, gradients and integrals of sampled functions."""

from __future__ import annotations

from .sample import COMPLEX, FLOATS, Sample, real

__all__ = ["SAMPLES"]


SAMPLES = [
    Sample("diff", lambda torch, x: torch.diff(x), [real(2, 4)], lambda np, x: np.diff(x), (*FLOATS, "int64", *COMPLEX)),
    Sample("diff", lambda torch, x, y: torch.diff(x, 2, 0, prepend=y), [real(3, 2), real(1, 2)],
           lambda np, x, y: np.diff(x, 2, 0, y)),
    *(Sample(name, lambda torch, y, name=name: getattr(torch, name)(y, dx=0.5), [real(2, 4)],
             lambda np, y: np.trapezoid(y, dx=0.5))
      for name in ("trapezoid", "trapz")),
    Sample("trapezoid", lambda torch, y, x: torch.trapezoid(y, x), [real(2, 4), real(4)], lambda np, y, x: np.trapezoid(y, x)),
    Sample("cumulative_trapezoid", lambda torch, y: torch.cumulative_trapezoid(y), [real(2, 4)],
           lambda np, y: ((y[:, 1:] + y[:, :-1]) / 2).cumsum(1)),
    Sample("gradient", lambda torch, x: torch.gradient(x, spacing=2.0), [real(3, 4)], lambda np, x: np.gradient(x, 2.0),
           ("float64", "float32")),
]  # fmt: skip
