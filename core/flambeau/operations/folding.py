"""Sliding windows: as columns (`unfold`), summed back into an image (`fold`), or as a view (`Tensor.unfold`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from operator import index as whole
from typing import Any

from ..engine.calls.dispatch import whole_numbers
from ..engine.calls.facts import Kind, Linearity, Order, declare
from ..engine.calls.op import op
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from .convolution import kernel_places, output_size, pad_space, spread_out, window
from .indexing.standard import put
from .views.views import wrap_dim

__all__ = ["fold", "unfold"]

Sizes = Sequence[int]


def _unfold_forward(xp: Any, input: Any, /, window_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Any:
    size = output_size(input.shape[2:], window_size, stride, padding, dilation)
    padded = pad_space(xp, input, padding, padding)
    windows = [padded[window(start, size, stride)] for _, start in kernel_places(window_size, dilation)]
    return xp.reshape(xp.stack(windows, axis=2), (input.shape[0], input.shape[1] * prod(window_size), prod(size)))


def _fold_forward(
    xp: Any, input: Any, /, space: Sizes, window_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Any:
    size = output_size(space, window_size, stride, padding, dilation)
    channels = input.shape[1] // prod(window_size)
    columns = xp.reshape(input, (input.shape[0], channels, *window_size, *size))
    padded_size = [n + 2 * p for n, p in zip(space, padding, strict=True)]
    output = xp.zeros((input.shape[0], channels, *padded_size), dtype=input.dtype)
    for place, start in kernel_places(window_size, dilation):
        part = spread_out(xp, columns[(slice(None), slice(None), *place, ...)], stride)
        output = output + pad_space(
            xp, part, start, [r - a - n for r, a, n in zip(padded_size, start, part.shape[2:], strict=True)]
        )
    return output[(..., *(slice(p, p + n) for p, n in zip(padding, space, strict=True)))]


_unfold = op(
    "im2col", _unfold_forward,
    kind=Kind.CONVOLUTION, linearity=Linearity.JOINT, public=False, method=False, out=False, grad_fn="Im2ColBackward0",
    input=lambda F, g, input_shape, window_size, dilation, padding, stride: F.col2im(
        g, tuple(input_shape[2:]), window_size, dilation, padding, stride),
    schema="im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
)  # fmt: skip
_fold = op(
    "col2im", _fold_forward,
    kind=Kind.CONVOLUTION, linearity=Linearity.JOINT, order=Order.ROW_MAJOR,
    promote="accumulate", public=False, method=False, out=False, grad_fn="Col2ImBackward0",
    input=lambda F, g, window_size, dilation, padding, stride: F.im2col(g, window_size, dilation, padding, stride),
    schema=(
        "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
        "Tensor",
    ),
)  # fmt: skip


def _pair(name: str, value: Any) -> tuple[int, int]:
    sizes = whole_numbers(name, tuple(value) if isinstance(value, Iterable) else value)
    if len(sizes) not in (1, 2):
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(sizes)}")
    return sizes[0], sizes[-1]


def _geometry(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    kernel, dilation = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    padding, stride = _pair("padding", padding), _pair("stride", stride)
    for name, (height, width) in (("kernel", kernel), ("dilation", dilation), ("stride", stride)):
        if height <= 0 or width <= 0:
            words = "kernel size" if name == "kernel" else name
            raise RuntimeError(f"{words} should be greater than zero, but got {name}_height: {height} {name}_width: {width}")
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    return kernel, dilation, padding, stride


@declare(kind=Kind.VIEW)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return each window of an image as a column of a matrix (im2col); see `nn.Unfold`.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: height and width of a window, or one number for both.
        dilation: the distance between the elements of a window.
        padding: the number of zeros added to the image on each side.
        stride: the distance between windows.

    Shape:
        The result is `(N, C * KH * KW, windows)` or `(C * KH * KW, windows)`.

    Raises:
        RuntimeError: the input has neither 3 nor 4 dimensions, or is too small for a window.

    Example:
        >>> F.unfold(torch.ones(1, 3, 4, 4), 2).shape
        torch.Size([1, 12, 9])
    """
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    if input.dtype.category == dtypes.INTEGER:
        raise NotImplementedError(f"\"im2col_cpu\" not implemented for '{input.dtype.legacy_name}'")
    kernel, dilation, padding, stride = geometry = _geometry(kernel_size, dilation, padding, stride)
    size = output_size(input.shape[-2:], kernel, stride, padding, dilation)
    if min(size) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {size}, but its components "
            "must be at least one."
        )
    if input.ndim == 3:
        return _unfold(input.unsqueeze(0), *geometry).squeeze(0)
    return _unfold(input, *geometry)


@declare(kind=Kind.CONVOLUTION, linearity=Linearity.JOINT)
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Write columns back as windows of an image, summing where windows overlap (col2im); see `nn.Fold`.

    Args:
        input: a tensor `(N, C * KH * KW, windows)` or `(C * KH * KW, windows)`.
        output_size: height and width of the image, or one number for both.
        kernel_size: height and width of a window, or one number for both.
        dilation: the distance between the elements of a window.
        padding: the number of zeros added to the image on each side.
        stride: the distance between windows.

    Shape:
        The result is `(N, C, *output_size)` or `(C, *output_size)`.

    Raises:
        RuntimeError: the number or the length of the columns does not match the windows.

    Example:
        >>> F.fold(torch.ones(1, 4, 4), 3, 2)
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
            f"for input, but got: {list(input.shape)}"
        )
    space = _pair("output_size", output_size)
    geometry = _geometry(kernel_size, dilation, padding, stride)
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    _check_columns(batched, space, *geometry)
    output = _fold(batched, space, *geometry)
    return output if input.ndim == 3 else output.squeeze(0)


def _check_columns(input: Tensor, space: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    if input.shape[1] % prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[1]} and kernel_size={tuple(kernel)}."
        )
    size = output_size(space, kernel, stride, padding, dilation)
    if prod(size) != input.shape[2]:
        raise RuntimeError(
            f"Given output_size={tuple(space)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {size[0]} * {size[1]} = {prod(size)}, but got "
            f"input.size(2)={input.shape[2]}."
        )


# --- views of windows ------------------------------------------------------------------------------------------------

_unfolded = op(
    "unfold", lambda xp, input, /, dim, size, step, backend: _windows(input, dim, size, step, backend),
    kind=Kind.VIEW, view=True, public=False, method=False,
    dispatches=lambda input, dim, size, step, backend: ("unfold", input, dim, size, step),
    input=lambda F, g, input_shape, dim, size, step, backend: F.unfold_backward(g, input_shape, dim, size, step, backend),
)  # fmt: skip


def _windows(input: Any, dim: int, size: int, step: int, backend: Any) -> Any:
    shape, strides = list(input.shape), list(backend.strides(input))
    count = (shape[dim] - size) // step + 1
    flat, offset = backend.root(input)
    new_shape = [*shape[:dim], count, *shape[dim + 1 :], size]
    new_strides = [*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]]
    return backend.as_strided(flat, new_shape, new_strides, offset)


def _unfold_backward_forward(xp: Any, input: Any, /, shape: Any, dim: int, size: int, step: int, backend: Any) -> Any:
    output = xp.zeros(tuple(shape), dtype=input.dtype)
    before: tuple[Any, ...] = (slice(None),) * dim
    for position in range(size):
        index = (*before, slice(position, position + (input.shape[dim] - 1) * step + 1, step))
        output = output + put(xp, xp.zeros(tuple(shape), dtype=input.dtype), index, input[..., position])
    return output


op(
    "unfold_backward", _unfold_backward_forward,
    kind=Kind.MOVEMENT, public=False, method=False, out=False,
    input=lambda F, g, dim, size, step, backend: F.unfold(F.contiguous(g), dim, size, step, backend),
)  # fmt: skip


def _unfold_method(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all windows of length `size` along `dimension`, `step` apart.

    The windows' elements are in a new last dimension.

    Args:
        dimension: the dimension to take windows of.
        size: the length of a window.
        step: the distance between windows.

    Raises:
        RuntimeError: `size` is negative or above the length of the dimension, or `step` is not positive.

    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    if bool in (type(dimension), type(size), type(step)):
        raise TypeError("unfold(): arguments 'dimension', 'size' and 'step' must be int, not bool")
    dimension, size, step = whole(dimension), whole(size), whole(step)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    dim = wrap_dim(dimension, self.ndim)
    if not self.ndim:
        return _unfold_method(self.reshape(1), dim, size, step).reshape(size)
    if size > self.shape[dim]:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {self.shape[dim]} but size is {size}")
    return _unfolded(self, dim, size, step, self._key.backend)


attach(unfold=_unfold_method)
