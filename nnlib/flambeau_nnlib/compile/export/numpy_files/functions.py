"""What written models are made of: layers in NumPy alone.

The writer copies those functions of this file that a model uses, with what they call, as they stand here.  They take and give
arrays as PyTorch's operators take and give tensors.
"""

import math

import numpy as np

# --- linear maps, convolutions and windows ---


def apply_linear(x, weight, bias=None):
    """`x @ weight.T + bias`."""
    result = x @ weight.T
    return result if bias is None else result + bias


def for_each(value, dims):
    """One number for each dimension."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * dims if len(values) == 1 else values


def windows_of(x, size, stride, dilation):
    """All windows of the last dimensions: `(*x.shape, *size)`."""
    dims = len(size)
    span = [rate * (width - 1) + 1 for rate, width in zip(dilation, size, strict=False)]
    found = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(x.ndim - dims, x.ndim)))
    steps = [slice(None, None, step) for step in (*stride, *dilation)]
    return found[(..., *steps)]


def padded(x, padding, value=0):
    """The last dimensions with margins on both sides."""
    if not any(padding):
        return x
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(width, width) for width in padding], constant_values=value)


def convolve(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A convolution of `(N, C, *)` with `(O, C / groups, *)`."""
    dims = weight.ndim - 2
    if x.ndim == weight.ndim - 1:
        return convolve(x[None], weight, bias, stride, padding, dilation, groups)[0]
    stride, dilation = for_each(stride, dims), for_each(dilation, dims)
    if padding == "same":
        total = [rate * (width - 1) for rate, width in zip(dilation, weight.shape[2:], strict=False)]
        x = np.pad(x, [(0, 0), (0, 0)] + [(width // 2, width - width // 2) for width in total])
    elif padding != "valid":
        x = padded(x, for_each(padding, dims))
    windows = windows_of(x, weight.shape[2:], stride, dilation)
    kernel_axes = list(range(windows.ndim - dims, windows.ndim))
    channels, results = weight.shape[1], []
    for group, kernel in enumerate(np.split(weight, groups)):
        part = windows[:, group * channels : (group + 1) * channels]
        results.append(np.tensordot(part, kernel, ([1, *kernel_axes], list(range(1, dims + 2)))))
    result = np.moveaxis(results[0] if groups == 1 else np.concatenate(results, -1), -1, 1)
    return result if bias is None else result + bias.reshape(-1, *[1] * dims)


def convolve_transposed(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A transposed convolution: a convolution of the input with zeros between its elements."""
    dims = weight.ndim - 2
    stride, padding = for_each(stride, dims), for_each(padding, dims)
    output_padding, dilation = for_each(output_padding, dims), for_each(dilation, dims)
    spread = [(size - 1) * step + 1 + extra for size, step, extra in zip(x.shape[2:], stride, output_padding, strict=False)]
    wide = np.zeros((*x.shape[:2], *spread), x.dtype)
    wide[(..., *(slice(0, (size - 1) * step + 1, step) for size, step in zip(x.shape[2:], stride, strict=False)))] = x
    margins = [rate * (size - 1) - width for rate, size, width in zip(dilation, weight.shape[2:], padding, strict=False)]
    before = [max(margin, 0) for margin in margins]
    wide = padded(wide, before)[(..., *(slice(max(-m, 0), None if m >= 0 else m) for m in margins))]
    flipped = np.flip(weight, tuple(range(2, weight.ndim)))
    kernels = [np.swapaxes(part, 0, 1) for part in np.split(flipped, groups)]
    return convolve(wide, np.concatenate(kernels), bias, 1, 0, dilation, groups)


def pool_windows(x, size, stride, padding, dilation, ceil_mode, value):
    """The windows that pooling goes over."""
    dims = len(size)
    stride = for_each(stride or size, dims)
    padding, dilation = for_each(padding, dims), for_each(dilation, dims)
    margins = [(0, 0)] * (x.ndim - dims)
    for length, width, step, pad, rate in zip(x.shape[x.ndim - dims :], size, stride, padding, dilation, strict=False):
        over = length + 2 * pad - rate * (width - 1) - 1
        count = over // step + 1
        if ceil_mode and over % step and count * step < length + pad:
            count += 1
        margins.append((pad, max(pad, (count - 1) * step + rate * (width - 1) + 1 - length - pad)))
    return windows_of(np.pad(x, margins, constant_values=value), size, stride, dilation)


def max_pool(x, size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest element of each window."""
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    windows = pool_windows(x, size, stride, padding, dilation, ceil_mode, least)
    return windows.max(tuple(range(windows.ndim - len(size), windows.ndim)))


def average_pool(x, size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window."""
    dims = len(size)
    last = tuple(range(x.ndim, x.ndim + dims))
    total = pool_windows(x, size, stride, padding, 1, ceil_mode, 0).sum(last, dtype=x.dtype)
    if divisor_override is not None:
        return total / x.dtype.type(divisor_override)
    ones = np.ones(x.shape[x.ndim - dims :], x.dtype)
    if count_include_pad:
        ones, stride, padding = padded(ones, for_each(padding, dims), 1), stride or size, 0
    counts = pool_windows(ones, size, stride, padding, 1, ceil_mode, 0)
    return total / counts.sum(tuple(range(dims, 2 * dims)), dtype=x.dtype)


def adaptive_pool(x, size, reduce):
    """A reduction of windows that share the last dimensions evenly."""
    for place, count in enumerate(size):
        axis = x.ndim - len(size) + place
        length = x.shape[axis]
        if count is None or count == length:
            continue
        limits = [(window * length // count, -(-(window + 1) * length // count)) for window in range(count)]
        parts = [reduce(np.take(x, range(first, last), axis), axis, keepdims=True) for first, last in limits]
        x = np.concatenate(parts, axis)
    return x


def adaptive_average_pool(x, size):
    """The mean of windows that share the last dimensions evenly."""
    return adaptive_pool(x, size, np.mean)


def adaptive_max_pool(x, size):
    """The largest element of windows that share the last dimensions evenly."""
    return adaptive_pool(x, size, np.max)


# --- normalization ---


def per_channel(values, x):
    """Values of channels in a shape that broadcasts to `x`."""
    return values.reshape(-1, *[1] * (x.ndim - 2))


def normalize_batch(x, weight, bias, mean, var, training, momentum, eps, *flags):
    """Normalization of channels, by running statistics or those of the batch."""
    if training or mean is None:
        axes = (0, *range(2, x.ndim))
        mean, var = x.mean(axes), x.var(axes)
    scale = 1 / np.sqrt(var + x.dtype.type(eps))
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return x * per_channel(scale, x) + per_channel(shift, x)


def normalize_layer(x, shape, weight=None, bias=None, eps=1e-5, *flags):
    """Normalization of the last dimensions."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    centered = x - x.mean(axes, keepdims=True)
    result = centered / np.sqrt((centered * centered).mean(axes, keepdims=True) + x.dtype.type(eps))
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def normalize_rms(x, shape, weight=None, eps=None):
    """Division by the root of the mean square of the last dimensions."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    eps = np.finfo(x.dtype).eps if eps is None else x.dtype.type(eps)
    result = x / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    return result if weight is None else result * weight


def normalize_groups(x, groups, weight=None, bias=None, eps=1e-5, *flags):
    """Normalization of groups of channels."""
    grouped = x.reshape(x.shape[0], groups, -1)
    centered = grouped - grouped.mean(-1, keepdims=True)
    result = (centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + x.dtype.type(eps))).reshape(x.shape)
    result = result if weight is None else result * per_channel(weight, x)
    return result if bias is None else result + per_channel(bias, x)


def normalize_instances(x, weight, bias, mean, var, use_input_stats, momentum, eps, *flags):
    """Normalization of each channel of each sample."""
    if not use_input_stats:
        return normalize_batch(x, weight, bias, mean, var, False, momentum, eps)
    return normalize_groups(x, x.shape[1], weight, bias, eps)


def vector_norm(x, p=2, dim=None, keepdim=False):
    """A norm of vectors."""
    axes = tuple(range(x.ndim)) if dim is None else tuple(for_each(dim, 1))
    magnitude, p = np.abs(x), 2 if p in (None, "fro") else p
    if p in (math.inf, -math.inf):
        return (magnitude.max if p > 0 else magnitude.min)(axes, keepdims=keepdim)
    return ((magnitude**p).sum(axes, keepdims=keepdim) ** (1 / p)).astype(x.dtype)


# --- activations ---


def sigmoid(x):
    """`1 / (1 + exp(-x))`, without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def soften_max(x, dim):
    """Exponentials, divided by their sum."""
    powers = np.exp(x - x.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def log_soften_max(x, dim):
    """The logarithm of `soften_max`."""
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def log_sum_exp(x, dim, keepdim=False):
    """The logarithm of a sum of exponentials."""
    axes = tuple(for_each(dim, 1))
    largest = x.max(axes, keepdims=True)
    result = np.log(np.exp(x - largest).sum(axes, keepdims=True)) + largest
    return result if keepdim else result.squeeze(axes)


def error_function(x):
    """The error function; NumPy has none, so that of the standard library computes each element."""
    return np.frompyfunc(math.erf, 1, 1)(x).astype(x.dtype)


def gelu(x, approximate="none"):
    """`x` times the normal distribution's function of it."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + error_function(x * math.sqrt(0.5)))


def softplus(x, beta=1.0, threshold=20.0):
    """`log(1 + exp(beta * x)) / beta`; `x` itself above the threshold."""
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x).astype(x.dtype) / x.dtype.type(beta))


def elu(x, alpha=1.0, scale=1.0):
    """`x`, or `alpha * (exp(x) - 1)` where it is negative."""
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x, alpha=1.0):
    """`elu` that is smooth for any `alpha`."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def prelu(x, weight):
    """`x`, times a learned slope where it is negative."""
    slope = weight if weight.size == 1 or x.ndim < 2 else per_channel(weight, x)
    return np.where(x > 0, x, slope * x)


def glu(x, dim=-1):
    """One half times the sigmoid of the other."""
    first, second = np.split(x, 2, dim)
    return first * sigmoid(second)


# --- attention ---


def attend(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Means of values, weighted by how well keys match queries."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, groups, -3), np.repeat(value, groups, -3)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ np.swapaxes(key, -2, -1)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf).astype(query.dtype)
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf).astype(query.dtype)
    elif mask is not None:
        scores = scores + mask
    largest = scores.max(-1, keepdims=True)
    nothing = largest == -np.inf  # queries that may attend to nothing give zeros
    powers = np.exp(scores - np.where(nothing, 0, largest))
    return np.where(nothing, 0, powers / np.where(nothing, 1, powers.sum(-1, keepdims=True))).astype(query.dtype) @ value


# --- recurrent layers ---


def run_layers(step, x, states, weights, has_biases, layers, bidirectional, batch_first):
    """Stacked layers in one or two directions; `step` goes from gates and states to states."""
    if batch_first:
        x = np.swapaxes(x, 0, 1)
    count, directions, finals = 4 if has_biases else 2, 2 if bidirectional else 1, []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            own = [*weights[index * count : (index + 1) * count], *([0, 0] if not has_biases else [])]
            state, results = [part[index] for part in states], []
            inputs = x @ own[0].T + own[2]
            for gates in inputs[::-1] if direction else inputs:
                state = step(gates, state, own[1], own[3])
                results.append(state[0])
            outputs.append(np.stack(results[::-1] if direction else results))
            finals.append(state)
        x = outputs[0] if directions == 1 else np.concatenate(outputs, -1)
    finals = [np.stack(parts) for parts in zip(*finals, strict=False)]
    return (np.swapaxes(x, 0, 1) if batch_first else x, *finals)


def lstm(x, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Long short-term memory."""

    def step(gates, state, weight, bias):
        i, f, g, o = np.split(gates + state[0] @ weight.T + bias, 4, -1)
        cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(cell), cell]

    return run_layers(step, x, states, weights, has_biases, layers, bidirectional, batch_first)


def gru(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Gated recurrent units."""

    def step(gates, state, weight, bias):
        reset_in, update_in, new_in = np.split(gates, 3, -1)
        reset_at, update_at, new_at = np.split(state[0] @ weight.T + bias, 3, -1)
        new = np.tanh(new_in + sigmoid(reset_in + reset_at) * new_at)
        return [new + sigmoid(update_in + update_at) * (state[0] - new)]

    return run_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


def rnn_tanh(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """An Elman network with tanh."""

    def step(gates, state, weight, bias):
        return [np.tanh(gates + state[0] @ weight.T + bias)]

    return run_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


def rnn_relu(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """An Elman network with relu."""

    def step(gates, state, weight, bias):
        return [np.maximum(gates + state[0] @ weight.T + bias, 0)]

    return run_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


# --- parts, order, places ---


def pieces_of(x, size, dim=0):
    """Pieces of one size along a dimension; the last one may be smaller."""
    return np.split(x, range(size, x.shape[dim], size), dim)


def pieces_of_sizes(x, sizes, dim=0):
    """Pieces of these sizes along a dimension."""
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def chunks_of(x, count, dim=0):
    """At most so many pieces along a dimension."""
    return pieces_of(x, -(-x.shape[dim] // count), dim)


def part_of(x, dim=0, start=0, end=None, step=1):
    """A part of one dimension."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def with_part(x, source, dim=0, start=0, end=None, step=1):
    """A copy with another part of one dimension."""
    result = x.copy()
    result[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)] = source
    return result


def with_place(x, source, dim, index):
    """A copy with another value at one place of a dimension."""
    result = x.copy()
    result[(slice(None),) * (dim % x.ndim) + (index,)] = source
    return result


def elements_at(x, indices):
    """The elements at indices of dimensions; None for all of one."""
    return x[tuple(slice(None) if index is None else index for index in indices)]


def with_elements(x, indices, values, accumulate=False):
    """A copy, written to at indices."""
    result, place = x.copy(), tuple(slice(None) if index is None else index for index in indices)
    if accumulate:
        np.add.at(result, place, values)
    else:
        result[place] = values
    return result


def scattered(x, dim, index, source, reduce=None, include_self=True):
    """A copy with elements of `source` written at indices along a dimension."""
    result = x.copy()
    place = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    place[dim] = index
    values = source if np.isscalar(source) else source[tuple(slice(size) for size in index.shape)]
    write = {"add": np.add, "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}.get(reduce)
    if write is None:
        result[tuple(place)] = values
    else:
        write.at(result, tuple(place), values)
    return result


def scattered_sum(x, dim, index, source):
    """A copy with elements of `source` added at indices along a dimension."""
    return scattered(x, dim, index, source, "add")


def expanded(x, sizes, implicit=False):
    """Dimensions of size 1 repeated; -1 for a size that stays."""
    known = (1,) * (len(sizes) - x.ndim) + x.shape
    return np.broadcast_to(x, [old if new == -1 else new for old, new in zip(known, sizes, strict=False)])


def flattened(x, start_dim=0, end_dim=-1):
    """Several dimensions as one."""
    if x.ndim == 0:
        return x.reshape(1)
    first, last = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def unflattened(x, dim, sizes):
    """One dimension as several."""
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def squeezed(x, dim=None):
    """Without dimensions of size 1."""
    dims = range(x.ndim) if dim is None else for_each(dim, 1)
    return x.squeeze(tuple(each for each in dims if x.ndim and x.shape[each] == 1))


def largest_along(x, dim, keepdim=False):
    """The largest elements along a dimension, and their places."""
    return x.max(dim, keepdims=keepdim), x.argmax(dim, keepdims=keepdim)


def smallest_along(x, dim, keepdim=False):
    """The smallest elements along a dimension, and their places."""
    return x.min(dim, keepdims=keepdim), x.argmin(dim, keepdims=keepdim)


def sorted_along(x, dim=-1, descending=False, stable=True):
    """Elements in order along a dimension, and their places."""
    order = np.argsort(np.flip(x, dim) if descending else x, dim, kind="stable")
    if descending:
        order = np.flip(x.shape[dim] - 1 - order, dim)
    return np.take_along_axis(x, order, dim), order


def order_along(x, dim=-1, descending=False, stable=True):
    """The places of elements in order along a dimension."""
    return sorted_along(x, dim, descending)[1]


def best_of(x, k, dim=-1, largest=True, in_order=True):
    """The largest elements along a dimension in order, and their places."""
    values, places = sorted_along(x, dim, largest)
    return part_of(values, dim, 0, k), part_of(places, dim, 0, k)


def one_hot(x, classes=-1):
    """1 at the place of each number."""
    count = int(x.max()) + 1 if classes == -1 else classes
    return (x[..., None] == np.arange(count)).astype(np.int64)


def with_margins(x, pads, mode="constant", value=None):
    """Margins of the last dimensions."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    widths = [(0, 0)] * (x.ndim - len(pads) // 2) + [(pads[i], pads[i + 1]) for i in range(len(pads) - 2, -1, -2)]
    cut = tuple(slice(max(-low, 0), size + min(high, 0)) for (low, high), size in zip(widths, x.shape, strict=False))
    x, widths = x[cut], [(max(low, 0), max(high, 0)) for low, high in widths]
    if mode == "constant":
        return np.pad(x, widths, constant_values=value or 0)
    return np.pad(x, widths, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


# --- resampling ---


def resized_nearest(x, size, factors=None):
    """The nearest elements, rounded down."""
    return resized_by(x, size, factors, lambda place, scale: np.floor(place * scale))


def resized_nearest_exact(x, size, factors=None):
    """The nearest elements."""
    return resized_by(x, size, factors, lambda place, scale: np.floor((place + 0.5) * scale))


def resized_by(x, size, factors, source):
    """Elements at the places that `source` says, along each dimension."""
    for place in range(x.ndim - 2):
        length = x.shape[place + 2]
        count = math.floor(length * factors[place]) if size is None else size[place]
        scale = length / count if size is not None else 1 / factors[place]
        index = source(np.arange(count, dtype=np.float64), scale).astype(np.int64)
        x = np.take(x, np.minimum(index, length - 1), place + 2)
    return x


def resized_linear(x, size, align_corners, factors=None):
    """Means of the elements around, along each dimension."""
    for place in range(x.ndim - 2):
        length = x.shape[place + 2]
        count = math.floor(length * factors[place]) if size is None else size[place]
        scale = length / count if size is not None else 1 / factors[place]
        if align_corners:
            at = np.arange(count) * ((length - 1) / max(count - 1, 1))
        else:
            at = np.maximum((np.arange(count) + 0.5) * scale - 0.5, 0)
        low = np.minimum(at.astype(np.int64), length - 1)
        high = np.minimum(low + 1, length - 1)
        share = (at - low).astype(x.dtype).reshape(-1, *[1] * (x.ndim - place - 3))
        x = np.take(x, low, place + 2) * (1 - share) + np.take(x, high, place + 2) * share
    return x


def pixels_of(x, factor):
    """Channels as pixels."""
    n, channels, height, width = x.shape
    parts = x.reshape(n, channels // factor**2, factor, factor, height, width)
    return parts.transpose(0, 1, 4, 2, 5, 3).reshape(n, channels // factor**2, height * factor, width * factor)


# --- detection ---


def suppressed(boxes, scores, threshold):
    """The indices of boxes that overlap no better one by more than a threshold, best first."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order, kept = np.argsort(-scores, kind="stable"), []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(best)
        low, high = np.maximum(boxes[best, :2], boxes[rest, :2]), np.minimum(boxes[best, 2:], boxes[rest, 2:])
        common = np.maximum(high - low, 0).prod(-1)
        order = rest[common <= threshold * (areas[best] + areas[rest] - common)]
    return np.array(kept, dtype=np.int64)
