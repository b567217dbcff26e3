"""Operators of `torch.ops.aten` for which no public function has the same name and arguments.

They occur in graphs from `torch.export`: for example a slice with its limits, or a loss whose reduction is a number.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import flambeau as torch

from ..engine.calls.facts import Kind, register
from ..engine.calls.tables import OPS
from ..engine.tensors.tensor import Tensor

__all__ = ["ATEN", "FUNCTIONAL_NAMES", "REDUCTIONS"]

ATEN: dict[str, Callable[..., Any]] = {}
REDUCTIONS = ("none", "mean", "sum")  # operators take an index into this tuple

FUNCTIONAL_NAMES = {
    "col2im": "fold", "cross_entropy_loss": "cross_entropy", "im2col": "unfold", "log_sigmoid": "logsigmoid",
    "nll_loss_nd": "nll_loss",
}  # fmt: skip
"""Names of the `nn.functional` functions that compute operators with a different name."""

register("cross_entropy_loss", {"schema": (
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, "
    "float label_smoothing=0.) -> Tensor"
)})  # fmt: skip
register("nll_loss_nd", {"schema": (
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor"
)})  # fmt: skip


def _operator(*schemas: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: register an operator with the given schemas; by default they are derived from the function's signature."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        ATEN[function.__name__] = function
        if schemas:
            facts["schema"] = schemas
        if facts:
            register(function.__name__, facts)
        return function

    return add


# --- parts and sizes ---


@_operator(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", kind=Kind.VIEW
)
def slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Return a view of part of one dimension."""
    dim %= input.dim()
    return input[(builtins.slice(None),) * dim + (builtins.slice(start, end, step),)]


@_operator()
def _to_copy(
    input: Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None, layout: Any = None, **_: Any
) -> Tensor:
    """Return a copy of `input`, optionally with another dtype or on another device."""
    return input.to(device or input.device, dtype or input.dtype, copy=True, memory_format=memory_format)


@_operator("index.Tensor")
def index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Return the elements at `indices`, one index tensor per dimension; None selects the full dimension."""
    return input[_index(indices)]


@_operator()
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` to the elements at `indices`, or add them if `accumulate`."""
    if not any(each is None for each in indices):
        return Tensor.index_put_(input, tuple(indices), values, accumulate)
    if not accumulate:
        input[_index(indices)] = values
        return input
    # `Tensor.index_put_` adds the values of repeated indices, but only indexes leading dimensions: move the indexed ones there.
    indices = [part for each in indices for part in _as_integers(each)]
    given = [dim for dim, each in enumerate(indices) if each is not None]
    others = [dim for dim in range(input.ndim) if dim not in given]
    target, places = input.permute(*given, *others), tuple(each for each in indices if each is not None)
    indexed = torch.broadcast_shapes(*(index.shape for index in places))
    first = given[0] if given == list(range(given[0], given[-1] + 1)) else 0  # position of `indexed` in the selection's shape
    sizes = [input.shape[dim] for dim in others]
    values = values.expand(*sizes[:first], *indexed, *sizes[first:])
    values = values.movedim(tuple(range(first, first + len(indexed))), tuple(range(len(indexed))))
    Tensor.index_put_(target, places, values, True)
    return input


@_operator()
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy of `input` with `values` written to `indices`."""
    return index_put_(input.clone(), indices, values, accumulate)  # type: ignore[no-any-return]  # decorated function


def _as_integers(index: Tensor | None) -> Sequence[Tensor | None]:
    """Convert a mask to a list of integer indices, one for each of its dimensions; return other indices as `[index]`."""
    is_mask = index is not None and index.dtype in (torch.bool, torch.uint8)
    return index.nonzero().unbind(1) if index is not None and is_mask else [index]


def _index(indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    return tuple(builtins.slice(None) if each is None else each for each in indices)


@_operator("sym_size.int(Tensor self, int dim) -> SymInt")
def sym_size(input: Tensor, dim: int) -> int:
    """Return the size of one dimension as an int."""
    return int(input.size(dim))


@_operator()
def sym_numel(input: Tensor) -> int:
    """Return the number of elements as an int."""
    return int(input.numel())


@_operator()
def _assert_scalar(condition: Any, message: str) -> None:
    """Raise RuntimeError with `message` if the condition is false."""
    if not condition:
        raise RuntimeError(message)


@_operator(kind=Kind.VIEW)
def numpy_T(input: Tensor) -> Tensor:
    """Return a view with the dimensions in reverse order."""
    return input.permute(tuple(reversed(range(input.dim()))))


@_operator(kind=Kind.VIEW)
def alias(input: Tensor) -> Tensor:
    """Return a view of all elements."""
    return input.view_as(input)


@_operator()
def _pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Copy to page-locked memory."""
    return input.pin_memory(device)


@_operator()
def _sparse_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Compute `beta * input + alpha * mat1 @ mat2` for a sparse `mat1`."""
    from ..layouts.sparse import addmm

    result: Tensor = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return result


@_operator()
def _sparse_mm_reduce_impl(input: Tensor, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """Multiply a CSR tensor by a dense one, and reduce the products by `reduce`. The second result (the argmax) is empty."""
    from ..layouts.sparse import mm

    return mm(input, other, reduce), torch.empty(0, dtype=torch.int64, device=other.device)


# --- copies ---


@_operator()
def lift_fresh_copy(input: Tensor) -> Tensor:
    """Copy a constant of a traced program, so that the program can write to the copy."""
    return input.clone()


@_operator("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor")
def copy(input: Tensor, other: Tensor) -> Tensor:
    """Return a copy of `other` with the shape and dtype of `input`."""
    return input.clone().copy_(other)


@_operator("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor")
def slice_scatter(input: Tensor, source: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return a copy of `input` with `source` written to a slice."""
    result = input.clone()
    slice(result, *args, **kwargs).copy_(source)
    return result


# --- resampling ---


def _add_resampling(name: str, mode: str, has_corners: bool, antialias: bool = False) -> None:
    def resize(input: Tensor, output_size: Any, *rest: Any) -> Tensor:
        corners = bool(rest[0]) if has_corners else None
        factors = rest[-1] if len(rest) > has_corners else None
        return torch.nn.functional.interpolate(
            input, output_size, None if output_size is not None else factors, mode, corners, antialias=antialias
        )

    ATEN[name] = resize
    corners = "bool align_corners, " * has_corners
    register(name, {"schema": f"{name}.vec(Tensor input, SymInt[]? output_size, {corners}float[]? scale_factors) -> Tensor"})


for _dims in "123":
    _add_resampling(f"upsample_nearest{_dims}d", "nearest", False)
    _add_resampling(f"_upsample_nearest_exact{_dims}d", "nearest-exact", False)
for _mode in ("linear1d", "bilinear2d", "bicubic2d", "trilinear3d"):
    _add_resampling(f"upsample_{_mode}", _mode.rstrip("123d"), True)
for _mode in ("bilinear2d", "bicubic2d"):
    _add_resampling(f"_upsample_{_mode}_aa", _mode.rstrip("2d"), True, antialias=True)


# --- functions with the names and arguments of operators ---


@_operator()
def tensordot(input: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """Multiply two tensors, and sum over dimensions `dims_self` of the first and `dims_other` of the second."""
    return torch.tensordot(input, other, (dims_self, dims_other))


@_operator()
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return sliding windows of one dimension: `Tensor.unfold`, not `nn.functional.unfold`."""
    return Tensor.unfold(input, dimension, size, step)


@_operator(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, "
    "bool allow_tf32) -> Tensor"
)
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
    """Compute a convolution. The flags for cuDNN are ignored; PyTorch's traces contain them."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@_operator(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
    "(Tensor, Tensor, Tensor)"
)
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """Return the gradients of a convolution with respect to the input, the weight and the bias that are in the mask."""
    operands = [input, weight]
    wanted = [place for place in (0, 1) if output_mask[place]]

    def convolve(*given: Tensor) -> Tensor:
        for place, operand in zip(wanted, given, strict=True):
            operands[place] = operand
        return _convolution(*operands, None, stride, padding, dilation, transposed, output_padding, groups)  # type: ignore[no-any-return]  # a generated function

    gradients: list[Tensor | None] = [None, None]
    if wanted:
        _, pull_back = torch.func.vjp(convolve, *(operands[place] for place in wanted))
        for place, gradient in zip(wanted, pull_back(grad_output), strict=True):
            gradients[place] = gradient
    return *gradients, grad_output.sum([0, *range(2, grad_output.dim())]) if output_mask[2] else None


@_operator()
def normal_functional(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Return a tensor like `input` filled with samples of a normal distribution."""
    return input.clone().normal_(mean, std, generator=generator)


@_operator(
    "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor "
    "running_var_out)"
)
def _native_batch_norm_legit_functional(
    input: Tensor, weight: Any, bias: Any, running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float
) -> tuple[Tensor, ...]:
    """Batch normalization that returns the new running statistics as the last two results."""
    mean, var = running_mean.clone(), running_var.clone()
    output = torch.batch_norm(input, weight, bias, mean, var, training, momentum, eps, False)
    dims = [0, *range(2, input.dim())]
    return output, input.mean(dims), (input.var(dims, unbiased=False) + eps).rsqrt(), mean, var


@_operator(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
)
def _native_batch_norm_legit(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Tensor, ...]:
    """Batch normalization; the other results are the mean and `1 / sqrt(variance + eps)` of the batch, empty in evaluation."""
    output: Tensor = torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
    if not training:
        return output, input.new_empty(0), input.new_empty(0)
    dims = [0, *range(2, input.dim())]
    return output, input.mean(dims), (input.var(dims, unbiased=False) + eps).rsqrt()


@_operator(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)"
)
def _native_batch_norm_legit_no_training(
    input: Tensor, weight: Any, bias: Any, running_mean: Tensor, running_var: Tensor, momentum: float, eps: float
) -> tuple[Tensor, ...]:
    """Batch normalization in evaluation."""
    results: tuple[Tensor, ...] = _native_batch_norm_legit(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return results


@_operator(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor, Tensor, Tensor)"
)
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalization; the other results are the mean and `1 / sqrt(variance + eps)` of each group."""
    dims = [*range(-len(normalized_shape), 0)]
    output = torch.layer_norm(input, normalized_shape, weight, bias, eps)
    return output, input.mean(dims, keepdim=True), (input.var(dims, unbiased=False, keepdim=True) + eps).rsqrt()


@_operator(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
    "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """Return the gradients of layer normalization with respect to the input, the weight and the bias that are in the mask."""
    inner = [*range(-len(normalized_shape), 0)]
    outer = [*range(input.dim() - len(normalized_shape))]
    normalized = (input - mean) * rstd
    scaled = grad_out if weight is None else grad_out * weight
    centered = scaled - scaled.mean(inner, keepdim=True) - normalized * (scaled * normalized).mean(inner, keepdim=True)
    return (
        centered * rstd if output_mask[0] else None,
        (grad_out * normalized).sum(outer) if output_mask[1] and weight is not None else None,
        grad_out.sum(outer) if output_mask[2] and bias is not None else None,
    )


# --- activations, dropout, and parts of tensors ---


@_operator()
def _prelu_kernel(input: Tensor, weight: Tensor) -> Tensor:
    """Return `input` where it is positive, else `weight * input`; `weight` can be broadcast with `input`."""
    return OPS["prelu_kernel"].function(input, weight)  # type: ignore[no-any-return]  # a generated function


@_operator("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
def elu(input: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """Return `scale * input` where that is positive, else `scale * alpha * (exp(input_scale * input) - 1)`."""
    return OPS["elu"].function(input, alpha, scale, input_scale)  # type: ignore[no-any-return]  # a generated function


@_operator("silu_backward(Tensor grad_output, Tensor self) -> Tensor")
def silu_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """Return the gradient of `silu` with respect to its input."""
    sigmoid = input.sigmoid()
    return grad_output * sigmoid * (1 + input * (1 - sigmoid))


@_operator("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor")
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of `sigmoid` with respect to its input, from its result."""
    return grad_output * (output * (1 - output)).conj()


@_operator("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout; the second result is the mask of the elements that are kept."""
    if train is False:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    mask = torch.empty_like(input).bernoulli_(1 - p).bool()
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


@_operator("_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
def _unsafe_index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Return the elements at `indices`, as `index` does."""
    elements: Tensor = index(input, indices)
    return elements


@_operator("lift_fresh(Tensor(a) self) -> Tensor(a)")
def lift_fresh(input: Tensor) -> Tensor:
    """Return the tensor itself."""
    return input


@_operator("is_non_overlapping_and_dense(Tensor self) -> bool")
def is_non_overlapping_and_dense(input: Tensor) -> bool:
    """Whether each element has its own place in a memory without gaps."""
    expected = 1
    for stride, size in sorted(zip(input.stride(), input.shape, strict=True)):
        if size != 1 and stride != expected:
            return input.numel() == 0
        expected *= size
    return True


@_operator("_local_scalar_dense(Tensor self) -> Scalar")
def _local_scalar_dense(input: Tensor) -> Any:
    """Return the value of a tensor with one element."""
    return input.item()


# --- operators without a kernel for the CPU ---


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it is a kernel for GPUs")

    refuse.__name__ = name
    refuse.__doc__ = "Raise NotImplementedError, as PyTorch does on the CPU."
    return refuse


for _name in (
    "_flash_attention_forward", "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention",
    "_weight_int4pack_mm_with_scales_and_zeros", "cudnn_batch_norm", "miopen_batch_norm",
):  # fmt: skip
    ATEN[_name] = _refusing(_name)
