"""`Linear`, `Bilinear`, `Identity` and the lazy `LazyLinear`."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init, parameter
from ..parameter import Parameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input: a placeholder for an omitted layer. The constructor ignores all its arguments.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: the input itself.

    Example:
        >>> torch.nn.Identity(54, unused=True)(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Applies an affine map to the last dimension: `y = x @ weight.T + bias`.

    Weight and bias are initialized from U(-k, k) with k = 1 / sqrt(in_features).

    Args:
        in_features: the size of the last dimension of the input; the call raises RuntimeError for another size.
        out_features: the size of the last dimension of the output.
        bias: whether to add a learned bias; False sets `bias` to None.
        device, dtype: device and dtype of the parameters `weight`, `(out_features, in_features)`, and `bias`, `(out_features,)`.

    Shape:
        - Input: `(*, in_features)`, where `*` is any number of dimensions, including zero.
        - Output: `(*, out_features)`.

    Example:
        >>> layer = torch.nn.Linear(20, 30)
        >>> layer(torch.randn(128, 20)).shape
        torch.Size([128, 30])
    """

    __constants__ = ("in_features", "out_features")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        init._bias_uniform_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The output layer of `MultiheadAttention`: a `Linear` whose class has a different name, as in PyTorch."""


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input, and then becomes a `Linear`.

    Its parameters have no shape before the first call: run a batch through the network before creating an optimizer.

    Args:
        out_features: the size of the last dimension of the output.
        bias: whether a learned bias is added.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(*, in_features)`, where `*` is any number of dimensions, including zero.
        - Output: `(*, out_features)`.

    Example:
        >>> layer = torch.nn.LazyLinear(30)
        >>> layer(torch.randn(128, 20)).shape
        torch.Size([128, 30])
        >>> layer
        Linear(in_features=20, out_features=30, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)  # the uninitialized parameters are set below
        self.out_features = out_features
        self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values, once the shapes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Allocate the parameters for the size of the last dimension of `input`, and initialize them."""
        self.in_features = input.shape[-1]
        if not self.has_uninitialized_params():  # `load_state_dict` has already set the parameters
            if self.weight.shape[-1] != self.in_features:
                raise AssertionError(
                    f"The in_features inferred from input: {self.in_features} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            return
        shape = (self.out_features, self.in_features)
        self.weight.materialize(shape)  # type: ignore[attr-defined]  # the parameter is uninitialized
        if self.bias is not None:
            self.bias.materialize((self.out_features,))
        self.reset_parameters()


class Bilinear(Module):
    """Applies a bilinear map to the last dimensions of two inputs: `y[o] = x1 @ weight[o] @ x2 + bias[o]`.

    Weight and bias are initialized from U(-k, k) with k = 1 / sqrt(in1_features).

    Args:
        in1_features: the size of the last dimension of the first input; ValueError unless it is positive.
        in2_features: the size of the last dimension of the second input.
        out_features: the size of the last dimension of the output.
        bias: whether to add a learned bias; False sets `bias` to None.
        device, dtype: device and dtype of the parameters `weight`, `(out_features, in1_features, in2_features)`, and `bias`,
            `(out_features,)`.

    Shape:
        - Inputs: `(*, in1_features)` and `(*, in2_features)`, with the same dimensions `*` (or none).
        - Output: `(*, out_features)`.

    Example:
        >>> layer = torch.nn.Bilinear(20, 30, 40)
        >>> layer(torch.randn(128, 20), torch.randn(128, 30)).shape
        torch.Size([128, 40])
    """

    __constants__ = ("in1_features", "in2_features", "out_features")

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
