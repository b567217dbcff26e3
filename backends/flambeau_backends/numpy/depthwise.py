"""Depthwise convolution: products with banded matrices, or sums of shifted images, each scaled by one weight.

A row of the result is the product of a banded matrix, one for each channel, and the rows of the image under the kernel.  Most
elements of the matrices of wide images are zero.  Such images are shifted instead: their rows keep the length of the padded
input, so that a shift in any dimension is an offset in flat memory; the surplus at the end of each row is removed afterwards.
With a stride, or several outputs per channel, strided windows take the place of shifted images.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .threads import LARGE, parts, share
from .windows import Geometry, Sizes, inside, padded, padded_size, strided, total, window_elements

__all__ = ["bands", "convolve", "spread", "suits", "weight_gradient"]

_CACHE = 1 << 15  # number of elements processed at a time, so that they stay in the cache
_WIDEST, _MOST = 48, 1 << 22  # maximum number of columns of a result, and of elements of all banded matrices


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


def convolve(input: Any, weight: Any, bias: Any, g: Geometry, banded: Any = None) -> Any:
    """Return the convolution.  `banded` is the result of `bands`, if it was computed before."""
    output = np.empty((len(input), g.shape[0], *g.size), input.dtype)
    if banded is None:
        banded = bands(input.shape[2:], weight, g)
    if banded is not None and _write_products(input, banded, bias, g, output):
        return output
    algorithm = _convolve_shifted if _uses_shifts(g) else _convolve_windows

    def compute(part: slice) -> None:
        output[part] = algorithm(input[part], weight, g)
        if bias is not None:
            output[part] += bias

    share(compute, _parts(input, g), _pays(g))
    return output


def bands(space: Sizes, weight: Any, g: Geometry) -> Any:
    """Return a banded matrix for each channel, `(channel, kernel row * image column, output column)`.

    Return None if shifts are faster.
    """
    if len(space) != 2 or g.shape[0] != g.groups or weight.dtype.kind != "f" or not 0 < g.size[1] <= _WIDEST:
        return None
    columns, width, pad = np.arange(g.size[1]), space[1], g.padding[1]
    if not 0 < g.groups * g.places[0] * width * g.size[1] <= _MOST:
        return None
    banded = np.zeros((g.groups, g.places[0], width + 2 * pad, g.size[1]), weight.dtype)
    for place in range(g.places[1]):
        banded[:, :, columns * g.stride[1] + place * g.dilation[1], columns] = weight[:, 0, :, place, None]
    return banded[:, :, pad : pad + width].reshape(g.groups, g.places[0] * width, g.size[1])


def _write_products(input: Any, banded: Any, bias: Any, g: Geometry, output: Any) -> bool:
    """Write the convolution, one small product for each channel.  Return False if the result is not finite.

    An infinity times a zero of a banded matrix is NaN, also in results whose windows do not contain the infinity.
    """

    def compute(part: slice) -> bool:
        images, out = padded(input[part], (g.padding[0], 0)), output[part]
        image, channel, row, column = images.strides
        shape = (*images.shape[:2], g.size[0], g.places[0], images.shape[3])
        windows = strided(images, shape, (image, channel, row * g.stride[0], row * g.dilation[0], column))
        np.matmul(windows.reshape(*shape[:3], -1), banded, out)
        if bias is not None:
            np.add(out, bias, out)
        return bool(np.isfinite(np.add.reduce(out, None)))

    return all(share(compute, _parts(input, g), _pays(g)))


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


# --- gradients ----------------------------------------------------------------------------------------------------


def spread(grad: Any, weight: Any, bias: Any, space: Sizes, g: Geometry) -> Any:
    """Return the gradient of the input with spatial shape `space`, given the gradient of the output."""
    reach = [(n - 1) * d for n, d in zip(g.places, g.dilation, strict=True)]
    outside = tuple(r - p for r, p in zip(reach, g.padding, strict=True))
    size = tuple(n + 2 * o - r for n, o, r in zip(grad.shape[2:], outside, reach, strict=True))
    if _uses_shifts(g) and min(outside) >= 0 and size == tuple(space):  # the convolution of the gradient with the reversed weight
        reversed_weight = weight[(..., *(slice(None, None, -1) for _ in g.places))]
        return convolve(grad, reversed_weight, bias, Geometry(g.batch, g.shape, size, g.stride, outside, g.dilation, g.groups))
    grad_input = np.empty((len(grad), g.groups, *space), grad.dtype)

    def compute(part: slice) -> None:
        whole = np.zeros((len(grad_input[part]), g.groups, *padded_size(space, g.padding)), grad.dtype)
        _spread_windows(whole, grad[part], weight, g)
        grad_input[part] = whole[inside(space, g.padding)]
        if bias is not None:
            grad_input[part] += bias

    share(compute, _parts(grad_input, g), _pays(g))
    return grad_input


def _spread_windows(target: Any, grad: Any, weight: Any, g: Geometry) -> None:
    grads = _outputs(grad, g)
    for place in product(*map(range, g.places)):
        target[window_elements(place, g)] += (grads * _weights_of_element(weight, g, place)).sum(2)


def weight_gradient(grad: Any, input: Any, g: Geometry) -> Any:
    """Return the gradient of the weight, given the gradient of the output."""
    if _uses_shifts(g):
        result = _weight_gradient(grad, input, g, _weight_gradient_shifted)
        if np.isfinite(np.add.reduce(result, None)):  # an infinity times the zeros after a row is NaN
            return result
    return _weight_gradient(grad, input, g, _weight_gradient_of_windows)


def _weight_gradient(grad: Any, input: Any, g: Geometry, algorithm: Any) -> Any:
    def compute(part: slice) -> Any:
        return algorithm(grad[part].conj(), padded(input[part], g.padding), g)  # conjugated because vecdot conjugates again

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
