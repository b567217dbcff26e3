"""Operators of `torch.ops.aten` for which no public function has the same name and arguments.

They occur in graphs from `torch.export`: for example a slice with its limits, or a loss whose reduction is a number.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ..engine.calls.facts import Kind, register
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
