"""Convolutions of one, two and three dimensions, and their transposes.

Three operations implement them all and are each other's derivatives: the convolution, its transpose (the gradient of a
convolution's input), and the gradient of a convolution's weight.  Each takes any number of spatial dimensions: inputs are
`(batch, channels, *space)`, and stride, padding and dilation have one entry per spatial dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.dispatch import whole_numbers
from ..engine.calls.facts import Autocast, Kind, Order, declare
from ..engine.calls.node_names import with_grad_fn
from ..engine.calls.op import composite, op
from ..engine.calls.tables import PUBLIC
from ..engine.devices.warning import warn_once
from ..engine.tape.grad_mode import grad_flag
from ..engine.tensors.tensor import Tensor
from ..engine.values.dtypes import c_name
from .padding import constant_pad

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolve"]

Sizes = Sequence[int]


# --- forward functions: one matrix product for each kernel position ---------------------------------------------------


def pad_space(xp: Any, input: Any, before: Sizes, after: Sizes) -> Any:
    """Pad each spatial dimension with zeros: `before` at its start, `after` at its end."""
    for dim, (low, high) in enumerate(zip(before, after, strict=True), 2):
        for amount, in_front in ((low, True), (high, False)):
            if amount:
                shape = (*input.shape[:dim], amount, *input.shape[dim + 1 :])
                zeros = xp.zeros(shape, dtype=input.dtype)
                input = xp.concat([zeros, input] if in_front else [input, zeros], axis=dim)
    return input


def window(start: Sizes, size: Sizes, stride: Sizes) -> tuple[slice, ...]:
    """Return slices for all input elements that are multiplied with one position of the kernel."""
    steps = (slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(start, size, stride, strict=True))
    return (slice(None), slice(None), *steps)


def kernel_places(kernel: Sizes, dilation: Sizes) -> Any:
    """Yield each kernel position and its offset in the input, `position * dilation`."""
    for place in product(*map(range, kernel)):
        yield place, [p * d for p, d in zip(place, dilation, strict=True)]


def _split_groups(xp: Any, array: Any, groups: int, dim: int) -> Any:
    """Split the channel dimension into `(group, channel in the group)`."""
    return xp.reshape(array, (*array.shape[:dim], groups, array.shape[dim] // groups, *array.shape[dim + 1 :]))


def _flatten_space(xp: Any, array: Any, groups: int) -> Any:
    """Reshape to `(batch, group, channel, position)`."""
    return xp.reshape(array, (array.shape[0], groups, array.shape[1] // groups, prod(array.shape[2:])))


def output_size(input: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    """Return the spatial sizes of a convolution's output."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(input, kernel, stride, padding, dilation, strict=True)
    )


def _convolution_forward(
    xp: Any,
    input: Any,
    weight: Any,
    bias: Any = None,
    /,
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
    workspace: Any = None,
) -> Any:
    size = output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    padded = pad_space(xp, input, padding, padding)
    kernels = _split_groups(xp, weight, groups, 0)
    output = xp.zeros((input.shape[0], groups, weight.shape[0] // groups, prod(size)), dtype=input.dtype)
    for place, start in kernel_places(weight.shape[2:], dilation):
        output = output + xp.matmul(kernels[(..., *place)], _flatten_space(xp, padded[window(start, size, stride)], groups))
    output = xp.reshape(output, (input.shape[0], weight.shape[0], *size))
    return output if bias is None else output + xp.reshape(bias, (-1, *(1,) * len(size)))


def spread_out(xp: Any, array: Any, stride: Sizes) -> Any:
    """Insert `stride - 1` zeros between neighbouring elements."""
    for dim, step in enumerate(stride, 2):
        if step > 1 and array.shape[dim]:
            tall = xp.expand_dims(array, axis=dim + 1)
            zeros = xp.zeros((*tall.shape[: dim + 1], step - 1, *tall.shape[dim + 2 :]), dtype=array.dtype)
            length = array.shape[dim] * step
            array = xp.reshape(xp.concat([tall, zeros], axis=dim + 1), (*array.shape[:dim], length, *array.shape[dim + 1 :]))
            array = array[(*(slice(None),) * dim, slice(0, length - step + 1), ...)]
    return array


def _transposed_forward(
    xp: Any,
    input: Any,
    weight: Any,
    bias: Any = None,
    /,
    size: Sizes = (),
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
) -> Any:
    spread = spread_out(xp, input, stride)
    padded_size = [n + 2 * p for n, p in zip(size, padding, strict=True)]  # the output size before the padding is removed
    output = xp.zeros((input.shape[0], weight.shape[1] * groups, *padded_size), dtype=input.dtype)
    flat = _flatten_space(xp, spread, groups)
    grouped = _split_groups(xp, weight, groups, 0)
    for place, start in kernel_places(weight.shape[2:], dilation):
        part = xp.matmul(xp.matrix_transpose(grouped[(..., *place)]), flat)
        part = xp.reshape(part, (input.shape[0], weight.shape[1] * groups, *spread.shape[2:]))
        output = output + pad_space(
            xp, part, start, [r - a - n for r, a, n in zip(padded_size, start, spread.shape[2:], strict=True)]
        )
    output = output[(..., *(slice(p, p + n) for p, n in zip(padding, size, strict=True)))]
    return output if bias is None else output + xp.reshape(bias, (-1, *(1,) * len(size)))


def _weight_forward(
    xp: Any,
    grad: Any,
    input: Any,
    /,
    shape: Sizes = (),
    stride: Sizes = (),
    padding: Sizes = (),
    dilation: Sizes = (),
    groups: int = 1,
    workspace: Any = None,
) -> Any:
    padded = pad_space(xp, input, padding, padding)
    slopes = _flatten_space(xp, grad, groups)
    parts = []
    for _, start in kernel_places(shape[2:], dilation):
        windows = _flatten_space(xp, padded[window(start, grad.shape[2:], stride)], groups)
        parts.append(xp.sum(xp.matmul(slopes, xp.matrix_transpose(windows)), axis=0))
    return xp.reshape(xp.stack(parts, axis=-1), tuple(shape))


# --- operation records --------------------------------------------------------------------------------------------


def _sum_over_space(F: Any, g: Any) -> Any:
    return F.sum(g, (0, *range(2, len(g.shape))), False)


def _convolve_and_crop(F: Any, shape: Sizes, *arguments: Any) -> Any:
    """Return the convolution, cropped to `shape`: it is larger if the output padding is at least the stride."""
    output = F.convolution(*arguments)
    if output.shape == tuple(shape):
        return output
    return F.getitem_slice(output, tuple(slice(0, length) for length in shape))


_convolution = op(
    "convolution", _convolution_forward,
    kind=Kind.CONVOLUTION, order=Order.IMAGE, promote="accumulate", dtypes="numbers", public=False, method=False, out=False,
    own_arguments=True,
    schema="convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    input=lambda F, g, weight, input_shape, stride, padding, dilation, groups: F.convolution_transposed(
        g, F.conj(weight), None, tuple(input_shape[2:]), stride, padding, dilation, groups),
    weight=lambda F, g, input, weight_shape, stride, padding, dilation, groups, workspace: F.convolution_weight(
        g, F.conj(input), tuple(weight_shape), stride, padding, dilation, groups, workspace),
    bias=lambda F, g: _sum_over_space(F, g),
)  # fmt: skip
_transposed = op(
    "convolution_transposed", _transposed_forward,
    kind=Kind.CONVOLUTION, order=Order.IMAGE, promote="accumulate", dtypes="numbers", public=False, method=False, out=False,
    grad_fn="ConvolutionBackward0",
    input=lambda F, g, weight, input_shape, stride, padding, dilation, groups: _convolve_and_crop(
        F, input_shape, g, F.conj(weight), None, stride, padding, dilation, groups),
    weight=lambda F, g, input, weight_shape, stride, padding, dilation, groups: F.convolution_weight(
        F.conj(input), g, tuple(weight_shape), stride, padding, dilation, groups),
    bias=lambda F, g: _sum_over_space(F, g),
)  # fmt: skip
op(
    "convolution_weight", _weight_forward,
    kind=Kind.CONVOLUTION, promote="accumulate", dtypes="numbers", public=False, method=False, out=False,
    grad_fn="ConvolutionBackward0",
    grad=lambda F, g, input, grad_shape, stride, padding, dilation, groups: _convolve_and_crop(
        F, grad_shape, F.conj(input), g, None, stride, padding, dilation, groups),
    input=lambda F, g, grad, input_shape, stride, padding, dilation, groups: F.convolution_transposed(
        F.conj(grad), g, None, tuple(input_shape[2:]), stride, padding, dilation, groups),
)  # fmt: skip


# --- arguments ----------------------------------------------------------------------------------------------------


def _sizes(name: str, value: Any, n: int) -> tuple[int, ...]:
    """Return a number, or a sequence of `n` numbers, as a tuple of `n` integers."""
    if type(value) is int:
        return (value,) * n
    sizes = whole_numbers(name, value)
    if len(sizes) not in (1, n):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, but got {name}={list(sizes)}"
        )
    return sizes if len(sizes) == n else sizes * n


@lru_cache(256)
def _check(n: int, input_shape: Sizes, weight_shape: Sizes, bias: Sizes | None, groups: int, transposed: bool) -> None:
    """Raise an error unless the shapes of input, weight and bias fit together."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(weight_shape) != n + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {len(weight_shape) - 2} values to match the "
            f"convolution dimensions, but got stride={[1] * n}"
        )
    if 0 in weight_shape[2:]:
        raise RuntimeError(f"kernel size should be greater than zero, but got {' '.join(map(str, weight_shape[2:]))}")
    described = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(weight_shape)}, expected "
    if not transposed and (weight_shape[0] < groups or weight_shape[0] % groups):
        problem = (
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight_shape)} instead"
            if weight_shape[0] < groups
            else f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(weight_shape)}] instead"
        )
        raise RuntimeError(problem)
    channels = weight_shape[0] if transposed else weight_shape[1] * groups
    if input_shape[1] != channels:
        raise RuntimeError(
            f"{described}input{list(input_shape)} to have {channels} channels, but got {input_shape[1]} channels instead"
        )
    outputs = weight_shape[1] * groups if transposed else weight_shape[0]
    if bias is not None and bias != (outputs,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight_shape)}, expected bias to be "
            f"1-dimensional with {outputs} elements, but got bias of size {list(bias)} instead"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise an error for mixed dtypes, unless an override (such as autocast) will handle the call."""
    if overriding.should_offer((input, weight, bias)):
        return
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"Input type ({input.type()}) and weight type ({weight.type()}) should be the same")
    if bias is not None and bias.dtype is not input.dtype:
        names = [c_name(tensor.dtype) for tensor in (input, bias)]
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")


@lru_cache(256)
def _check_steps(stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")


def _batched(name: str, n: int, input: Tensor) -> tuple[Tensor, bool]:
    """Return the input with a batch dimension, and whether it already had one."""
    ndim = input._array.ndim
    if ndim == n + 2:
        return input, True
    if ndim != n + 1:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    return input.unsqueeze(0), False


# --- convolution --------------------------------------------------------------------------------------------------


def _same_padding(kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[list[int], list[int]]:
    """Return the padding on each side and the additional padding at the end that together preserve the input's size."""
    if max(stride) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return [n // 2 for n in total], [n % 2 for n in total]


def _convolve(
    n: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    name = f"conv{n}d"
    input, batched = _batched(name, n, input)
    _check(n, input._array.shape, weight._array.shape, None if bias is None else bias._array.shape, groups, False)
    if input._key is not weight._key or (bias is not None and bias._key is not weight._key):
        _check_dtypes(input, weight, bias)
    stride, dilation, kernel = _sizes("stride", stride, n), _sizes("dilation", dilation, n), weight._array.shape[2:]
    if isinstance(padding, str):
        if padding not in ("valid", "same"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        padding, more = _same_padding(kernel, stride, dilation) if padding == "same" else ([0] * n, [0] * n)
        if any(more):
            warn_once(
                "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
                "input be created"
            )
            input = constant_pad(input, [amount for after in reversed(more) for amount in (0, after)])
    padding = _sizes("padding", padding, n)
    _check_steps(stride, padding, dilation)
    _check_kernel_fits(input._array.shape[2:], kernel, padding, dilation)
    workspace: dict[str, Any] | None = {} if weight._requires_grad and grad_flag.get() else None
    output = _convolution(input, weight, bias, stride, padding, dilation, groups, workspace)
    return output if batched else output.squeeze(0)


@lru_cache(256)
def _check_kernel_fits(space: Sizes, kernel: Sizes, padding: Sizes, dilation: Sizes) -> None:
    padded = [n + 2 * p for n, p in zip(space, padding, strict=True)]
    extent = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(r > n for r, n in zip(extent, padded, strict=True)):
        sizes = [" x ".join(map(str, size)) for size in (padded, extent)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({sizes[0]}). Kernel size: ({sizes[1]}). Kernel size "
            "can't be greater than actual input size"
        )


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    schema=(
        "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
        "dilation=[1], SymInt groups=1) -> Tensor",
        'conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding="valid", '
        "SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    ),
    home="torch",
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve sequences; see `nn.Conv1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        weight: a tensor `(C_out, C / groups, K)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows.
        padding: the number of zeros added on each side; or "valid" for none, or "same" to preserve the size of the input.
        dilation: the distance between the elements of a window.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv1d(torch.arange(4.0).reshape(1, 1, 4), torch.ones(1, 1, 2))
        tensor([[[1., 3., 5.]]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    schema=(
        "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
        "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
        'conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid", '
        "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    ),
    home="torch",
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve images; see `nn.Conv2d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        weight: a tensor `(C_out, C / groups, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows, one number or one for each dimension.
        padding: the number of zeros added on each side, one number or one for each dimension; or "valid" for none, or "same" to
            preserve the size of the input.
        dilation: the distance between the elements of a window, one number or one for each dimension.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 2, 2])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    schema=(
        "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, "
        "0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
        "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str "
        'padding="valid", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor',
    ),
    home="torch",
)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve volumes; see `nn.Conv3d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: a tensor `(C_out, C / groups, KD, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance between neighbouring windows, one number or one for each dimension.
        padding: the number of zeros added on each side, one number or one for each dimension; or "valid" for none, or "same" to
            preserve the size of the input.
        dilation: the distance between the elements of a window, one number or one for each dimension.
        groups: the number of separate convolutions that the channels are split into.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 2, 2, 2])
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


# --- transposed convolution ---------------------------------------------------------------------------------------


def _transpose(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    name = f"conv_transpose{n}d"
    input, batched = _batched(name, n, input)
    _check(n, input._array.shape, weight._array.shape, None if bias is None else bias._array.shape, groups, True)
    if input._key is not weight._key or (bias is not None and bias._key is not weight._key):
        _check_dtypes(input, weight, bias)
    stride, dilation, padding = _sizes("stride", stride, n), _sizes("dilation", dilation, n), _sizes("padding", padding, n)
    extra = _sizes("output_padding", output_padding, n)
    _check_steps(stride, padding, dilation)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got output_padding_height: "
            f"{extra[0]} output_padding_width: {extra[-1]} stride_height: {stride[0]} stride_width: {stride[-1]} "
            f"dilation_height: {dilation[0]} dilation_width: {dilation[-1]}"
        )
    size = tuple(
        (length - 1) * s - 2 * p + d * (k - 1) + e + 1
        for length, s, p, d, k, e in zip(
            input._array.shape[2:], stride, padding, dilation, weight._array.shape[2:], extra, strict=True
        )
    )
    if min(size) < 1:
        raise RuntimeError(
            f"Given input size per channel: {list(input.shape[2:])}. Calculated output size per channel: "
            f"{list(size)}. Output size is too small"
        )
    output = _transposed(input, weight, bias, size, stride, padding, dilation, groups)
    return output if batched else output.squeeze(0)


def convolve(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Compute a convolution of `n` spatial dimensions, or its transpose if `transposed`."""
    if min(_sizes("output_padding", output_padding, n)) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if transposed:
        return _transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(n, input, weight, bias, stride, padding, dilation, groups)


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    home="torch",
    schema=(
        "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
        "padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor"
    ),
)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Compute a transposed convolution over sequences; see `nn.ConvTranspose1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        weight: a tensor `(C, C_out / groups, K)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements.
        padding: the number of elements removed from each side of the result.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2), stride=2)
        tensor([[[1., 1., 1., 1.]]])
    """
    return _transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    schema=(
        "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2]"
        " padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor"
    ),
    home="torch",
)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Compute a transposed convolution over images; see `nn.ConvTranspose2d` for the sizes of the result.

    It computes the gradient of a convolution with respect to its input.  With a stride, a convolution maps inputs of several
    sizes to the same output size: `output_padding` chooses among them.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        weight: a tensor `(C, C_out / groups, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements, one number or one for each
            dimension.
        padding: the number of elements removed from each side of the result, one number or one for each dimension.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window, one number or one for each dimension.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), stride=2).shape
        torch.Size([1, 1, 4, 4])
    """
    return _transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@composite(
    method=False,
    kind=Kind.CONVOLUTION,
    autocast=Autocast.FAST,
    schema=(
        "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
        "SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, "
        "1, 1]) -> Tensor"
    ),
    home="torch",
)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Compute a transposed convolution over volumes; see `nn.ConvTranspose3d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: a tensor `(C, C_out / groups, KD, KH, KW)`.
        bias: a tensor `(C_out,)`; None for no bias.
        stride: the distance in the result between the windows of neighbouring input elements, one number or one for each
            dimension.
        padding: the number of elements removed from each side of the result, one number or one for each dimension.
        output_padding: the number of elements added at the end of each dimension; it is below the stride or the dilation.
        groups: the number of separate convolutions that the channels are split into.
        dilation: the distance between the elements of a window, one number or one for each dimension.

    Raises:
        RuntimeError: the sizes do not fit, or the dtypes differ.

    Example:
        >>> torch.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), stride=2).shape
        torch.Size([1, 1, 4, 4, 4])
    """
    return _transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# --- as functions of `torch` -----------------------------------------------------------------------------------------


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Convolve over `weight.ndim - 2` spatial dimensions, or compute the transpose; the input has a batch dimension.

    Shapes: input `(N, C, *)`, weight `(C_out, C / groups, *)`, or `(C, C_out / groups, *)` if `transposed`.

    Args:
        input: a tensor `(N, C, *)`.
        weight: the kernels.
        bias: a vector with a number for each output channel; None for no bias.
        stride, padding, dilation: the step, the number of zeros added on both sides, and the distance between kernel elements,
            for each spatial dimension.
        transposed: whether to compute the transpose of a convolution.
        output_padding: the number of elements added to one end of each spatial dimension of a transposed convolution's result.
        groups: the number of groups of channels that are convolved separately.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[2., 2.]]])
    """
    if isinstance(padding, str):
        raise TypeError("convolution(): argument 'padding' (position 5) must be tuple of ints, not str")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, "
            f"but got {input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    return convolve(input.ndim - 2, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@declare(kind=Kind.CONVOLUTION, autocast=Autocast.FAST, home="torch")
@with_grad_fn("ConvTbcBackward0")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolve over time, the first dimension of `input`, with `pad` zeros at both ends.

    The result has the shape `(T + 2 * pad - K + 1, N, C_out)`.

    Args:
        input: a tensor `(T, N, C)`.
        weight: the kernels, a tensor `(K, C, C_out)`.
        bias: a vector `(C_out,)`.
        pad: the number of zeros added at each end.

    Raises:
        RuntimeError: the shapes do not fit.

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    output = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)
    return output.contiguous()


PUBLIC.update(convolution=convolution, conv_tbc=conv_tbc)
