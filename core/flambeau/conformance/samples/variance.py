"""Variances and standard deviations, alone or with the mean."""

from __future__ import annotations

from typing import Any

from .sample import Sample, real

__all__ = ["SAMPLES"]


def _spread(name: str) -> list[Sample]:
    """Return samples of `var` or `std` with a correction."""

    def mean_too(np: Any, x: Any) -> Any:
        return getattr(np, name)(x, 0, ddof=1), np.mean(x, 0)

    return [
        Sample(name, lambda torch, x: getattr(torch, name)(x), [real(3, 4)], lambda np, x: getattr(np, name)(x, ddof=1)),
        Sample(name, lambda torch, x: getattr(torch, name)(x, 1, False), [real(3, 4)], lambda np, x: getattr(np, name)(x, 1)),
        Sample(
            name,
            lambda torch, x: getattr(torch, name)(x, (0, 1), correction=2, keepdim=True),
            [real(3, 4)],
            lambda np, x: getattr(np, name)(x, (0, 1), ddof=2, keepdims=True),
        ),
        Sample(f"{name}_mean", lambda torch, x: getattr(torch, f"{name}_mean")(x, 0), [real(3, 4)], mean_too),
    ]


SAMPLES = [*_spread("var"), *_spread("std")]
