"""The legacy flags `size_average` and `reduce`, which PyTorch had before `reduction`."""

from __future__ import annotations

import warnings


def get_enum(reduction: str) -> int:
    """Return PyTorch's number of a `reduction`: 0 for "none", 1 for "mean", 2 for "sum"; ValueError for other strings."""
    numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the `reduction` ("none", "mean" or "sum") that is equivalent to the legacy flags `size_average` and `reduce`."""
    if reduce is False:
        reduction = "none"
    else:
        reduction = "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction
