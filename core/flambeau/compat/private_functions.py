"""Private functions of `torch` that libraries call, listed in `docs/private_names.md`.  Imported on first use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from ..engine.calls.tables import PUBLIC
from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..operations.creation.from_data import tensor
from ..operations.creation.ranges import arange
from ..operations.joining import stack
from ..operations.linalg.torch_names.norms import norm_except_dim
from ..operations.segments import segment_reduce
from ..operations.sorting import searchsorted

__all__: list[str] = []


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Compute `v * g / norm(v)`, where the norm is over all dimensions except `dim`."""
    weight: Tensor = v * (g / norm_except_dim(v, 2, dim))
    return weight


def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Whether `self.data = from_` is possible: both tensors have the same layout, and are on devices of the same type."""
    return self.layout is from_.layout and self.device.type == from_.device.type


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    """Return a view with another shape.  In PyTorch, the gradient of other views of `self` ignores changes of it."""
    view: Tensor = self.view(size)
    return view


def set_vital(vital: str, attr: str, value: str) -> bool:
    """Return False: PyTorch prints such values at exit if the environment variable `TORCH_VITAL` is set; they are not kept."""
    return False


def _shape_as_tensor(self: Tensor) -> Tensor:
    """Return the shape as an int64 tensor on the CPU."""
    return tensor(list(self.shape), dtype=dtypes.int64)


def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """Return the indices along a dimension: `arange(like.shape[dim])`."""
    return arange(like.shape[dim], device=like.device)


def _conj(self: Tensor) -> Tensor:
    """Return the complex conjugate."""
    conjugate: Tensor = PUBLIC["conj"](self)
    return conjugate


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Compute `softmax(self, dim)` in the dtype of `self`.  RuntimeError if `half_to_float` is True."""
    return _same_dtype("softmax", self, dim, half_to_float)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Compute `log_softmax(self, dim)` in the dtype of `self`.  RuntimeError if `half_to_float` is True."""
    return _same_dtype("log_softmax", self, dim, half_to_float)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """Compute the gradient of `softmax` with respect to its input, from its result `output`."""
    gradient: Tensor = output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    return gradient.to(dtype=input_dtype)


def _same_dtype(name: str, self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    if half_to_float:
        raise RuntimeError(f"{name} with half to float conversion is not supported on CPU")
    result: Tensor = PUBLIC[name](self, dim)
    return result


def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (values, inverse, counts) of `unique`; results that were not requested are empty tensors."""
    values, *rest = _as_tuple(PUBLIC["unique"](self, sorted, return_inverse, return_counts))
    nothing = self.new_empty(0, dtype=dtypes.int64)
    inverse = rest.pop(0) if return_inverse else nothing
    return values, inverse, rest.pop(0) if return_counts else nothing


def _as_tuple(value: Any) -> tuple[Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """Return (values, inverse) of `unique`; `inverse` is empty unless `return_inverse` is True."""
    return _unique2(self, sorted, return_inverse)[:2]


def _aminmax(self: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest element as two 0-d tensors."""
    return self.min(), self.max()


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Convert sorted row indices to compressed row pointers `crow_indices`, of shape `(size + 1,)`."""
    rows = arange(size + 1, device=self.device, dtype=self.dtype)
    return searchsorted(self, rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Convert compressed row pointers and column indices to COO indices, of shape `(2, nnz)`.

    The first row has the row indices, or with `transpose` the column indices.
    """
    lengths = crow_indices[1:] - crow_indices[:-1]
    rows = arange(lengths.shape[0], device=lengths.device).repeat_interleave(lengths)
    parts = [col_indices, rows] if transpose else [rows, col_indices]
    dtype = dtypes.int32 if out_int32 else dtypes.int64
    return stack([part.to(dtype) for part in parts])


def _segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """Call `segment_reduce`, which checks its arguments."""
    result: Tensor = segment_reduce(
        data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial
    )
    return result


@no_grad()
def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients by `inv_scale`, in place, and set `found_inf` to 1 if one of them is infinite or NaN."""
    for gradient in self:
        if not bool(gradient.isfinite().all()):
            found_inf.fill_(1.0)
        gradient.mul_(inv_scale.to(gradient.device))


@no_grad()
def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float, scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:  # fmt: skip
    """Reduce scale `self` after an infinite gradient, increase it after `growth_interval` steps without one; return `self`."""
    if growth_tracker.dtype is not dtypes.int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    if bool(found_inf):
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    growth_tracker.add_(1)
    if int(growth_tracker) == growth_interval:
        grown = self * scale_growth_factor
        if math.isfinite(grown.item()):
            self.copy_(grown)
        growth_tracker.fill_(0)
    return self


def _fused_sdp_choice(query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> int:
    """Return 0, the number of `SDPBackend.MATH`."""
    return 0


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """Decorator: leave a function as it is.  In PyTorch, compiled code calls such a function without compiling it."""
    return fn if fn is not None else lambda function: function


def quantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, dtype: Any) -> NoReturn:
    """Raise NotImplementedError: tensors of quantized dtypes are not supported."""
    raise NotImplementedError("flambeau has no quantized tensors; see torch.ops.quantized_decomposed, or torchao")


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> NoReturn:
    """Raise NotImplementedError: tensors of quantized dtypes are not supported."""
    quantize_per_tensor(input, scales, zero_points, dtype)


def _scaled_grouped_mm(self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError, as PyTorch does on the CPU."""
    raise NotImplementedError("Could not run 'aten::_scaled_grouped_mm' with arguments from the 'CPU' backend")


def is_compiling() -> bool:
    """Whether `torch.compile` or `torch.export` is tracing a function."""
    from .. import compiler

    return bool(compiler.is_compiling())
