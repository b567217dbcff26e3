"""Depthwise convolution as a sum of shifted images, each scaled by one weight.

Rows keep the length of the padded input, so that a shift in any dimension is an offset in flat memory; the surplus at the end of
each row is removed afterwards.  With a stride, or several outputs per channel, strided windows are used instead.  Small images
are computed channels-last, because NumPy processes their many channels in longer runs than their few positions.  All of these
add the same products in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .layout import channels_second
from .threads import LARGE, parts, share
from .windows import Geometry, Sizes, inside, padded, padded_size, strided, total, window_elements

__all__ = ["bands", "convolve", "convolve_by_bands", "spread", "suits", "suits_bands", "weight_gradient"]

_CACHE = 1 << 15  # number of elements processed at a time, so that they stay in the cache
_WIDEST = 64  # maximum number of image columns for `convolve_by_bands`
_FEW_POSITIONS, _MANY_CHANNELS = 1 << 8, 64  # limits for `_convolve_channels_last`, measured for MobileNetV3


def suits(g: Geometry) -> bool:
    return g.groups > 1 and g.shape[1] == 1


def _parts(images: Any, g: Geometry) -> list[slice]:
    return parts(len(images), _CACHE * len(images) // max(images.size, 1), _pays(g))


def _pays(g: Geometry) -> bool:
    """Whether the work is large enough for several threads."""
    return g.batch * g.elements >= LARGE


def _kernel_offsets(g: Geometry, space: Sizes) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield each kernel element and its offset in the flat memory of images of shape `space`."""
    strides = [prod(space[dim + 1 :]) * d for dim, d in enumerate(g.dilation)]
    for place in product(*map(range, g.places)):
        yield place, sum(p * stride for p, stride in zip(place, strides, strict=True))


def _flat(array: Any) -> Any:
    return array.reshape(*array.shape[:2], prod(array.shape[2:]))


def _uses_shifts(g: Geometry) -> bool:
    """Whether the convolution is a sum of shifted images: stride 1 and one output per channel."""
    return max(g.stride) == 1 and g.shape[0] == g.groups


def _in_long_rows(array: Any, space: Sizes) -> Any:
    """Zero-pad the rows of an array to the row length of `space`."""
    result = np.zeros((*array.shape[:3], *space[1:]), array.dtype)
    result[(..., *(slice(0, n) for n in array.shape[2:]))] = array
    return result


def _weights_of_element(weight: Any, g: Geometry, place: Sizes) -> Any:
    """Return the weights of one kernel element, shaped to broadcast against `(image, group, output of the group, *space)`."""
    return weight[(slice(None), 0, *place)].reshape(g.groups, -1, *(1,) * len(place))


def _outputs(array: Any, g: Geometry) -> Any:
    """Reshape an array to `(image, group, output of the group, *space)`."""
    return array.reshape(len(array), g.groups, g.shape[0] // g.groups, *array.shape[2:])


# --- forward ------------------------------------------------------------------------------------------------------


def convolve(input: Any, weight: Any, bias: Any, g: Geometry) -> Any:
    output = np.empty((len(input), g.shape[0], *g.size), input.dtype)
    if _uses_channels_last(g):
        algorithm = _convolve_channels_last
    else:
        algorithm = _convolve_shifted if _uses_shifts(g) else _convolve_windows

    def compute(part: slice) -> None:
        output[part] = algorithm(input[part], weight, g)
        if bias is not None:
            output[part] += bias

    share(compute, _parts(input, g), _pays(g))
    return output


def _uses_channels_last(g: Geometry) -> bool:
    return g.shape[0] == g.groups >= _MANY_CHANNELS and 0 < prod(g.size) <= _FEW_POSITIONS


def _convolve_channels_last(images: Any, weight: Any, g: Geometry) -> Any:
    space, channels = images.shape[2:], images.shape[1]
    whole = np.zeros((len(images), *padded_size(space, g.padding), channels), images.dtype)
    channels_second(whole)[inside(space, g.padding)] = images
    weights = weight.reshape(channels, -1).T[:, None]
    if g.stride[-1] == 1:
        weights = weights.repeat(g.size[-1], 1)  # the elements of an output row are contiguous in all operands: one run for NumPy
    output = np.zeros((len(images), *g.size, channels), images.dtype)
    scaled = np.empty_like(output)
    for place, factor in zip(product(*map(range, g.places)), weights, strict=True):
        np.multiply(whole[(slice(None), *window_elements(place, g)[1:])], factor, scaled)
        np.add(output, scaled, output)
    return channels_second(output)


def _convolve_shifted(images: Any, weight: Any, g: Geometry) -> Any:
    images = padded(images, g.padding)
    space = images.shape[2:]
    output = np.zeros((*images.shape[:2], g.size[0], *space[1:]), images.dtype)
    images, target = _flat(images), _flat(output)
    for place, shift in _kernel_offsets(g, space):
        length = min(target.shape[2], images.shape[2] - shift)
        target[:, :, :length] += images[:, :, shift : shift + length] * weight[(slice(None), 0, *place, None)]
    return output[(..., *(slice(0, n) for n in g.size))]


def _convolve_windows(images: Any, weight: Any, g: Geometry) -> Any:
    images = padded(images, g.padding)[:, :, None]
    output = np.zeros((len(images), g.groups, g.shape[0] // g.groups, *g.size), images.dtype)
    for place in product(*map(range, g.places)):
        output += images[window_elements(place, g)] * _weights_of_element(weight, g, place)
    return output.reshape(len(images), g.shape[0], *g.size)


# --- forward with a constant weight ---


def suits_bands(space: Sizes, g: Geometry) -> bool:
    """Whether `convolve_by_bands` is likely faster than `convolve`: a band is a small part of the matrix of a wide image."""
    return len(space) == 2 and g.shape[0] == g.groups and 0 < space[1] <= _WIDEST


def bands(space: Sizes, weight: Any, g: Geometry) -> Any:
    """Return a banded matrix for each channel, `(channel, kernel row * image column, output column)`.

    An output row is the product of this matrix and the image rows under the kernel, side by side.
    """
    columns, width, pad = np.arange(g.size[1]), space[1], g.padding[1]
    banded = np.zeros((g.groups, g.places[0], width + 2 * pad, g.size[1]), weight.dtype)
    for place in range(g.places[1]):
        banded[:, :, columns * g.stride[1] + place * g.dilation[1], columns] = weight[:, 0, :, place, None]
    return banded[:, :, pad : pad + width].reshape(g.groups, g.places[0] * width, g.size[1])


def convolve_by_bands(images: Any, bands: Any, bias: Any, g: Geometry) -> Any:
    """Return the convolution, computed by one small product for each channel."""
    images = padded(images, (g.padding[0], 0))
    image, channel, row, column = images.strides
    shape = (*images.shape[:2], g.size[0], g.places[0], images.shape[3])
    windows = strided(images, shape, (image, channel, row * g.stride[0], row * g.dilation[0], column))
    output = np.matmul(windows.reshape(*shape[:3], -1), bands)
    return output if bias is None else np.add(output, bias, output)


# --- gradients ----------------------------------------------------------------------------------------------------


def spread(grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
    """Return the gradient of the input with spatial shape `space`, given the gradient of the output."""
    grad_input = np.empty((len(grad), g.groups, *space), grad.dtype)

    def compute(part: slice) -> None:
        whole = np.zeros((len(grad_input[part]), g.groups, *padded_size(space, g.padding)), grad.dtype)
        (_spread_shifted if _uses_shifts(g) else _spread_windows)(whole, grad[part], weight, g)
        grad_input[part] = whole[inside(space, g.padding)]
        if bias is not None:
            grad_input[part] += bias

    share(compute, _parts(grad_input, g), _pays(g))
    return grad_input


def _spread_shifted(target: Any, grad: Any, weight: Any, g: Geometry) -> None:
    space = target.shape[2:]
    grads, target = _flat(_in_long_rows(grad, space)), _flat(target)
    for place, shift in _kernel_offsets(g, space):
        length = min(grads.shape[2], target.shape[2] - shift)
        target[:, :, shift : shift + length] += grads[:, :, :length] * weight[(slice(None), 0, *place, None)]


def _spread_windows(target: Any, grad: Any, weight: Any, g: Geometry) -> None:
    grads = _outputs(grad, g)
    for place in product(*map(range, g.places)):
        target[window_elements(place, g)] += (grads * _weights_of_element(weight, g, place)).sum(2)


def weight_gradient(grad: Any, input: Any, g: Geometry) -> Any:
    """Return the gradient of the weight, given the gradient of the output."""

    def compute(part: slice) -> Any:
        grads, images = grad[part].conj(), padded(input[part], g.padding)  # conjugated because vecdot conjugates again
        return (_weight_gradient_shifted if _uses_shifts(g) else _weight_gradient_of_windows)(grads, images, g)

    return total(share(compute, _parts(input, g), _pays(g))).reshape(g.shape)


def _weight_gradient_shifted(grad: Any, images: Any, g: Geometry) -> Any:
    space = images.shape[2:]
    grad_weight = np.empty((g.groups, *g.places), grad.dtype)
    grads, images = _flat(_in_long_rows(grad, space)), _flat(images)
    for place, shift in _kernel_offsets(g, space):
        length = min(grads.shape[2], images.shape[2] - shift)
        grad_weight[(slice(None), *place)] = np.vecdot(grads[:, :, :length], images[:, :, shift : shift + length]).sum(0)
    return grad_weight


def _weight_gradient_of_windows(grad: Any, images: Any, g: Geometry) -> Any:
    grad_weight = np.empty((g.groups, g.shape[0] // g.groups, *g.places), grad.dtype)
    windows = _outputs(grad, g).reshape(len(grad), *grad_weight.shape[:2], -1)
    for place in product(*map(range, g.places)):
        seen = _flat(images[window_elements(place, g)])
        grad_weight[(..., *place)] = np.vecdot(windows, seen[:, :, None]).sum(0)
    return grad_weight
