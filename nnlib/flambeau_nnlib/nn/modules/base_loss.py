"""The base classes of all loss layers, with `reduction` and class weights."""

from __future__ import annotations

from flambeau import Tensor

from .._reduction import legacy_get_string
from .module import Module


class _Loss(Module):
    __constants__: tuple[str, ...] = ("reduction",)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
