"""`LinearCrossEntropyLoss`: a linear layer and the cross entropy of its output."""

from __future__ import annotations

import dataclasses
import math

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .base_loss import _WeightedLoss
from .linear import Linear

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]

ACCUMULATION_POLICIES = {"accurate", "balanced", "compact", "auto"}
ACCUMULATION_DTYPES = {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Chunking options of `LinearCrossEntropyLoss`. They are validated, but the loss is always computed without chunks.

    Args:
        allow_retain_graph: whether `backward` may be called with `retain_graph=True`.
        batch_chunk_size: the number of input rows per chunk; None to use `chunking_method`.
        chunking_method: "auto", "aspect_ratio", "aspect_ratio:N" for a positive integer N, or None for no chunks.
        acc_policy: the precision of accumulation: "accurate", "balanced", "compact" or "auto".
        acc_dtype: the dtype of accumulation: float16, bfloat16, float32 or float64; None for the input's dtype.

    Raises:
        ValueError: an option has another value.

    Example:
        >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
        64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ACCUMULATION_POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in ACCUMULATION_DTYPES:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                f"got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def for_input(self, input: Tensor) -> LinearCrossEntropyOptions:
        """Return options in which `acc_dtype=None` is replaced by the dtype of `input`; ValueError for unsupported dtypes."""
        return self if self.acc_dtype is not None else dataclasses.replace(self, acc_dtype=input.dtype)


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear layer's output: `CrossEntropyLoss` and the `Linear` before it as one layer.

    The linear layer is its attribute `linear`, with `num_classes * prod(out_features)` outputs.

    Args:
        in_features: the size of the last dimension of the input.
        num_classes: the number of classes.
        out_features: additional dimensions of the predictions: each input row gives `prod(out_features)` predictions.
        bias: whether the linear layer has a learned bias.
        device, dtype: device and dtype of the parameters.
        reduction: "mean", the mean over targets weighted by `weight`, "sum", or "none" for the loss of each target.
        weight: a factor for each class, `(num_classes,)`; None for 1. RuntimeError for other shapes.
        ignore_index: a target class that is ignored; None for -100. Not supported for targets of probabilities.
        label_smoothing: the fraction of the target, from 0 to 1, that is spread evenly over all classes; RuntimeError
            for others.
        options: a `LinearCrossEntropyOptions`, or None; no effect on the result.

    Shape:
        - Input: `(N, in_features)`, or `(in_features,)` without `out_features`.
        - Target: `(N, *out_features)` of classes, or `(N, num_classes, *out_features)` of their probabilities; or
          without N.
        - Output: `()`, or `(N, *out_features)` with `reduction="none"`.

    Example:
        >>> loss = torch.nn.LinearCrossEntropyLoss(8, 1000)
        >>> loss(torch.randn(4, 8), torch.tensor([1, 0, 999, 4])).shape
        torch.Size([])
    """

    __constants__ = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing")

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        outputs = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*outputs, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(outputs),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )
