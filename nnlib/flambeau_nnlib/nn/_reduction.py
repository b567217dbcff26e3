"""The legacy flags `size_average` and `reduce`, which PyTorch had before `reduction`."""

from __future__ import annotations

import warnings


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The value of `reduction` that means the same as `size_average` and `reduce`."""
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
