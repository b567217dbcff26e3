"""Operators of `torch.ops.aten` that no public function of the same name and arguments computes.

They stand in exported graphs (`torch.export`): a slice with its limits, a loss with its reduction as a number, a size.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor

__all__ = ["ATEN"]

ATEN: dict[str, Callable[..., Any]] = {}


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    ATEN[function.__name__] = function
    return function


# --- parts and sizes ---


@_operator
def slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Part of one dimension, a view."""
    dim %= input.dim()
    return input[(builtins.slice(None),) * dim + (builtins.slice(start, end, step),)]


@_operator
def _to_copy(
    input: Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None, layout: Any = None, **_: Any
) -> Tensor:
    """A copy in another dtype, or on another device."""
    return input.to(device or input.device, dtype or input.dtype, copy=True, memory_format=memory_format)


@_operator
def index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements at indices, one for each dimension; None for all of a dimension."""
    return input[_index(indices)]


@_operator
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write to the elements at indices, or add to them."""
    if not any(each is None for each in indices):
        return Tensor.index_put_(input, tuple(indices), values, accumulate)
    input[_index(indices)] = input[_index(indices)] + values if accumulate else values
    return input


@_operator
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy, written to at indices."""
    return index_put_(input.clone(), indices, values, accumulate)  # type: ignore[no-any-return]  # of a decorated function


def _index(indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    return tuple(builtins.slice(None) if each is None else each for each in indices)


@_operator
def sym_size(input: Tensor, dim: int) -> int:
    """One size, a whole number."""
    return int(input.size(dim))


@_operator
def sym_numel(input: Tensor) -> int:
    """The number of elements."""
    return int(input.numel())


@_operator
def _assert_scalar(condition: Any, message: str) -> None:
    """Raise RuntimeError with a message unless a condition holds."""
    if not condition:
        raise RuntimeError(message)


@_operator
def numpy_T(input: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return input.permute(tuple(reversed(range(input.dim()))))


@_operator
def alias(input: Tensor) -> Tensor:
    """The same elements, a view."""
    return input.view_as(input)


@_operator
def _pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """The same elements in page-locked memory."""
    return input.pin_memory(device)


@_operator
def _sparse_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * mat1 @ mat2` of a sparse `mat1`."""
    from ..layouts.sparse import addmm

    result: Tensor = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return result


@_operator
def _sparse_mm_reduce_impl(input: Tensor, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """The product of a CSR tensor and a dense one by a reduction; and, as outside of training, no places of the extremes."""
    from ..layouts.sparse import mm

    return mm(input, other, reduce), torch.empty(0, dtype=torch.int64, device=other.device)


@_operator
def log_sigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return torch.nn.functional.logsigmoid(input)


# --- copies ---


@_operator
def lift_fresh_copy(input: Tensor) -> Tensor:
    """A copy of a constant, so that the program may write to it."""
    return input.clone()


@_operator
def copy(input: Tensor, other: Tensor) -> Tensor:
    """The elements of `other` in the shape and dtype of `input`."""
    return input.clone().copy_(other)


def _scattered(place: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a tensor in which a view of it has been written to."""

    def write(input: Tensor, source: Tensor, *args: Any) -> Tensor:
        result = input.clone()
        place(result, *args).copy_(source)
        return result

    return write


ATEN["slice_scatter"] = _scattered(slice)
ATEN["select_scatter"] = _scattered(lambda input, dim, index: input.select(dim, index))


# --- resampling ---


def _resampling(mode: str, has_corners: bool, antialias: bool = False) -> Callable[..., Any]:
    def resize(input: Tensor, output_size: Any, *rest: Any) -> Tensor:
        corners = bool(rest[0]) if has_corners else None
        factors = rest[-1] if len(rest) > has_corners else None
        return torch.nn.functional.interpolate(
            input, output_size, None if output_size is not None else factors, mode, corners, antialias=antialias
        )

    return resize


for _dims in "123":
    ATEN[f"upsample_nearest{_dims}d"] = _resampling("nearest", False)
    ATEN[f"_upsample_nearest_exact{_dims}d"] = _resampling("nearest-exact", False)
for _mode in ("linear1d", "bilinear2d", "bicubic2d", "trilinear3d"):
    ATEN[f"upsample_{_mode}"] = _resampling(_mode.rstrip("123d"), True)
for _mode in ("bilinear2d", "bicubic2d"):
    ATEN[f"_upsample_{_mode}_aa"] = _resampling(_mode.rstrip("2d"), True, antialias=True)


# --- losses, which have their reduction as a number ---

REDUCTIONS = ("none", "mean", "sum")


def _loss(name: str, *parameters: str) -> Callable[..., Any]:
    """A loss whose arguments after input and target have these names, in this order."""

    def compute(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        if "reduction" in given:
            given["reduction"] = REDUCTIONS[given["reduction"]]
        return getattr(torch.nn.functional, name)(input, target, **given)  # type: ignore[no-any-return]

    return compute


LOSSES: dict[str, tuple[str, tuple[str, ...]]] = {  # by function of `nn.functional`: the operator, and its arguments
    "binary_cross_entropy": ("binary_cross_entropy", ("weight", "reduction")),
    "binary_cross_entropy_with_logits": ("binary_cross_entropy_with_logits", ("weight", "pos_weight", "reduction")),
    "cross_entropy": ("cross_entropy_loss", ("weight", "reduction", "ignore_index", "label_smoothing")),
    "huber_loss": ("huber_loss", ("reduction", "delta")),
    "kl_div": ("kl_div", ("reduction", "log_target")),
    "l1_loss": ("l1_loss", ("reduction",)),
    "mse_loss": ("mse_loss", ("reduction",)),
    "nll_loss": ("nll_loss_nd", ("weight", "reduction", "ignore_index")),
    "smooth_l1_loss": ("smooth_l1_loss", ("reduction", "beta")),
    "soft_margin_loss": ("soft_margin_loss", ("reduction",)),
}
for _name, (_aten_name, _parameters) in LOSSES.items():
    ATEN[_aten_name] = _loss(_name, *_parameters)


# --- functions under the names, and with the arguments, that operators have ---


def _of_sequence(name: str) -> Callable[..., Any]:
    """A function of several tensors that gets them as one list, as its operator does."""
    function = getattr(torch, name)
    return lambda tensors: function(*tensors) if isinstance(tensors, (list, tuple)) else function(tensors)


for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul"):
    ATEN[_name] = _of_sequence(_name)


@_operator
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of one dimension: the method, not the function of `nn.functional`."""
    return Tensor.unfold(input, dimension, size, step)


@_operator
def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *choices_of_cudnn: bool,
) -> Tensor:
    """A convolution, as traces of PyTorch's write it."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@_operator
def im2col(input: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    """All windows of images, as columns."""
    return torch.nn.functional.unfold(input, kernel_size, dilation, padding, stride)


@_operator
def col2im(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    """Images as sums of windows."""
    return torch.nn.functional.fold(input, output_size, kernel_size, dilation, padding, stride)


def _in_place(name: str) -> Callable[..., Any]:
    return lambda input, *args: input.copy_(getattr(torch.nn.functional, name)(input, *args))


ATEN |= {f"{name}_": _in_place(name) for name in ("hardsigmoid", "hardswish", "hardtanh", "mish", "relu6", "silu")}


# --- writes as new values ---


def _written(name: str) -> Callable[..., Any]:
    """An in-place method on a copy."""
    return lambda input, *args, **kwargs: getattr(input.clone(), name)(*args, **kwargs)


ATEN |= {
    name: _written(f"{name}_") for name in ("fill", "exponential", "geometric", "log_normal", "normal_functional", "uniform")
}


@_operator
def _native_batch_norm_legit_functional(
    input: Tensor, weight: Any, bias: Any, running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float
) -> tuple[Tensor, ...]:
    """Batch normalization that gives the new running statistics back: the last two results."""
    mean, var = running_mean.clone(), running_var.clone()
    output = torch.batch_norm(input, weight, bias, mean, var, training, momentum, eps, False)
    dims = [0, *range(2, input.dim())]
    return output, input.mean(dims), (input.var(dims, unbiased=False) + eps).rsqrt(), mean, var
