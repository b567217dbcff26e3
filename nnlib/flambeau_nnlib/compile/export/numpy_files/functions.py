"""NumPy implementations of PyTorch operators, copied into exported NumPy models.

The writer copies the source of each function that a model uses, and of the functions that it calls.  The functions take
and return arrays where PyTorch's operators take and return tensors.
"""

import math

import numpy as np

# --- linear layers, convolutions and pooling ---


def linear(x, weight, bias=None):
    """Return `x @ weight.T + bias`."""
    result = x @ weight.T
    return result if bias is None else result + bias


def as_list(value, dims):
    """Return `value` as a list of length `dims`; a single number is repeated."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * dims if len(values) == 1 else values


def sliding_windows(x, size, stride, dilation):
    """Return a view of all windows over the last `len(size)` dimensions; the shape ends in `size`."""
    dims = len(size)
    span = [rate * (width - 1) + 1 for rate, width in zip(dilation, size, strict=False)]
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(x.ndim - dims, x.ndim)))
    steps = [slice(None, None, step) for step in (*stride, *dilation)]
    return windows[(..., *steps)]


def pad_both_sides(x, padding, value=0):
    """Pad each of the last `len(padding)` dimensions by the same width on both sides."""
    if not any(padding):
        return x
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(width, width) for width in padding], constant_values=value)


def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolve an input `(N, C, *)` with kernels `(O, C / groups, *)`."""
    dims = weight.ndim - 2
    if x.ndim == weight.ndim - 1:
        return conv(x[None], weight, bias, stride, padding, dilation, groups)[0]
    stride, dilation = as_list(stride, dims), as_list(dilation, dims)
    if padding == "same":
        total = [rate * (width - 1) for rate, width in zip(dilation, weight.shape[2:], strict=False)]
        x = np.pad(x, [(0, 0), (0, 0)] + [(width // 2, width - width // 2) for width in total])
    elif padding != "valid":
        x = pad_both_sides(x, as_list(padding, dims))
    windows = sliding_windows(x, weight.shape[2:], stride, dilation)
    kernel_axes = list(range(windows.ndim - dims, windows.ndim))
    channels, results = weight.shape[1], []
    for group, kernel in enumerate(np.split(weight, groups)):
        part = windows[:, group * channels : (group + 1) * channels]
        results.append(np.tensordot(part, kernel, ([1, *kernel_axes], list(range(1, dims + 2)))))
    result = np.moveaxis(results[0] if groups == 1 else np.concatenate(results, -1), -1, 1)
    return result if bias is None else result + bias.reshape(-1, *[1] * dims)


def conv_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution: convolve the input, with `stride - 1` zeros between its elements, with the flipped kernels."""
    dims = weight.ndim - 2
    stride, padding = as_list(stride, dims), as_list(padding, dims)
    output_padding, dilation = as_list(output_padding, dims), as_list(dilation, dims)
    spread = [(size - 1) * step + 1 + extra for size, step, extra in zip(x.shape[2:], stride, output_padding, strict=False)]
    dilated = np.zeros((*x.shape[:2], *spread), x.dtype)
    dilated[(..., *(slice(0, (size - 1) * step + 1, step) for size, step in zip(x.shape[2:], stride, strict=False)))] = x
    paddings = [rate * (size - 1) - width for rate, size, width in zip(dilation, weight.shape[2:], padding, strict=False)]
    before = [max(width, 0) for width in paddings]
    dilated = pad_both_sides(dilated, before)[(..., *(slice(max(-m, 0), None if m >= 0 else m) for m in paddings))]
    flipped = np.flip(weight, tuple(range(2, weight.ndim)))
    kernels = [np.swapaxes(part, 0, 1) for part in np.split(flipped, groups)]
    return conv(dilated, np.concatenate(kernels), bias, 1, 0, dilation, groups)


def pooling_windows(x, size, stride, padding, dilation, ceil_mode, value):
    """Return the pooling windows; the padding has the value `value`."""
    dims = len(size)
    stride = as_list(stride or size, dims)
    padding, dilation = as_list(padding, dims), as_list(dilation, dims)
    paddings = [(0, 0)] * (x.ndim - dims)
    for length, width, step, before, rate in zip(x.shape[x.ndim - dims :], size, stride, padding, dilation, strict=False):
        over = length + 2 * before - rate * (width - 1) - 1
        count = over // step + 1
        if ceil_mode and over % step and count * step < length + before:
            count += 1
        paddings.append((before, max(before, (count - 1) * step + rate * (width - 1) + 1 - length - before)))
    return sliding_windows(np.pad(x, paddings, constant_values=value), size, stride, dilation)


def max_pool(x, size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Return the maximum of each window."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    windows = pooling_windows(x, size, stride, padding, dilation, ceil_mode, lowest)
    return windows.max(tuple(range(windows.ndim - len(size), windows.ndim)))


def avg_pool(x, size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """Return the mean of each window."""
    dims = len(size)
    last = tuple(range(x.ndim, x.ndim + dims))
    total = pooling_windows(x, size, stride, padding, 1, ceil_mode, 0).sum(last, dtype=x.dtype)
    if divisor_override is not None:
        return total / x.dtype.type(divisor_override)
    ones = np.ones(x.shape[x.ndim - dims :], x.dtype)
    if count_include_pad:
        ones, stride, padding = pad_both_sides(ones, as_list(padding, dims), 1), stride or size, 0
    counts = pooling_windows(ones, size, stride, padding, 1, ceil_mode, 0)
    return total / counts.sum(tuple(range(dims, 2 * dims)), dtype=x.dtype)


def adaptive_pool(x, size, reduce):
    """Reduce the last dimensions to `size`; window `i` of `n` covers `[floor(i * L / n), ceil((i + 1) * L / n))`."""
    for axis, count in enumerate(size, x.ndim - len(size)):
        length = x.shape[axis]
        if count is None or count == length:
            continue
        bounds = [(window * length // count, -(-(window + 1) * length // count)) for window in range(count)]
        parts = [reduce(np.take(x, range(first, last), axis), axis, keepdims=True) for first, last in bounds]
        x = np.concatenate(parts, axis)
    return x


def adaptive_avg_pool(x, size):
    """Average pooling with a given output size."""
    return adaptive_pool(x, size, np.mean)


def adaptive_max_pool(x, size):
    """Max pooling with a given output size."""
    return adaptive_pool(x, size, np.max)


# --- normalization ---


def per_channel(values, x):
    """Reshape `(C,)` to `(C, 1, ...)`, which broadcasts to `x` of shape `(N, C, *)`."""
    return values.reshape(-1, *[1] * (x.ndim - 2))


def batch_norm(x, weight, bias, mean, var, training, momentum, eps, *flags):
    """Batch normalization with the running statistics, or with the statistics of the batch if `training`."""
    if training or mean is None:
        axes = (0, *range(2, x.ndim))
        mean, var = x.mean(axes), x.var(axes)
    scale = 1 / np.sqrt(var + x.dtype.type(eps))
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return x * per_channel(scale, x) + per_channel(shift, x)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5, *flags):
    """Layer normalization over the last `len(shape)` dimensions."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    centered = x - x.mean(axes, keepdims=True)
    result = centered / np.sqrt((centered * centered).mean(axes, keepdims=True) + x.dtype.type(eps))
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def rms_norm(x, shape, weight=None, eps=None):
    """Divide by the root mean square over the last `len(shape)` dimensions."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    eps = np.finfo(x.dtype).eps if eps is None else x.dtype.type(eps)
    result = x / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    return result if weight is None else result * weight


def group_norm(x, groups, weight=None, bias=None, eps=1e-5, *flags):
    """Group normalization of `x` of shape `(N, C, *)`."""
    grouped = x.reshape(x.shape[0], groups, -1)
    centered = grouped - grouped.mean(-1, keepdims=True)
    result = (centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + x.dtype.type(eps))).reshape(x.shape)
    result = result if weight is None else result * per_channel(weight, x)
    return result if bias is None else result + per_channel(bias, x)


def instance_norm(x, weight, bias, mean, var, use_input_stats, momentum, eps, *flags):
    """Instance normalization: normalize each channel of each sample separately."""
    if not use_input_stats:
        return batch_norm(x, weight, bias, mean, var, False, momentum, eps)
    return group_norm(x, x.shape[1], weight, bias, eps)


def vector_norm(x, p=2, dim=None, keepdim=False):
    """Return the p-norm over the dimensions `dim`, or over all of them."""
    axes = tuple(range(x.ndim)) if dim is None else tuple(as_list(dim, 1))
    magnitude, p = np.abs(x), 2 if p in (None, "fro") else p
    if p in (math.inf, -math.inf):
        return (magnitude.max if p > 0 else magnitude.min)(axes, keepdims=keepdim)
    return ((magnitude**p).sum(axes, keepdims=keepdim) ** (1 / p)).astype(x.dtype)


# --- activations ---


def sigmoid(x):
    """Return `1 / (1 + exp(-x))`, without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def softmax(x, dim):
    """Return `exp(x) / sum(exp(x))` along `dim`, without overflow."""
    powers = np.exp(x - x.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def log_softmax(x, dim):
    """Return `log(softmax(x))` along `dim`, without overflow."""
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def logsumexp(x, dim, keepdim=False):
    """Return `log(sum(exp(x)))` over `dim`, without overflow."""
    axes = tuple(as_list(dim, 1))
    largest = x.max(axes, keepdims=True)
    result = np.log(np.exp(x - largest).sum(axes, keepdims=True)) + largest
    return result if keepdim else result.squeeze(axes)


def erf(x):
    """Error function; NumPy has none, so `math.erf` is applied to each element."""
    return np.frompyfunc(math.erf, 1, 1)(x).astype(x.dtype)


def gelu(x, approximate="none"):
    """Return `x * Phi(x)`, where `Phi` is the cumulative distribution function of the standard normal distribution."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


def softplus(x, beta=1.0, threshold=20.0):
    """Return `log(1 + exp(beta * x)) / beta`, or `x` where `beta * x > threshold`."""
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x).astype(x.dtype) / x.dtype.type(beta))


def elu(x, alpha=1.0, scale=1.0):
    """Return `x` where it is positive, else `alpha * (exp(x) - 1)`, times `scale`."""
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x, alpha=1.0):
    """Return `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def prelu(x, weight):
    """Return `x` where it is positive, else `weight * x`."""
    slope = weight if weight.size == 1 or x.ndim < 2 else per_channel(weight, x)
    return np.where(x > 0, x, slope * x)


def glu(x, dim=-1):
    """Split `x` into halves `a` and `b` along `dim` and return `a * sigmoid(b)`."""
    first, second = np.split(x, 2, dim)
    return first * sigmoid(second)


# --- attention ---


def scaled_dot_product_attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Return `softmax(query @ key.T * scale + mask) @ value`."""
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
    all_masked = largest == -np.inf  # a query whose keys are all masked returns zeros
    powers = np.exp(scores - np.where(all_masked, 0, largest))
    return np.where(all_masked, 0, powers / np.where(all_masked, 1, powers.sum(-1, keepdims=True))).astype(query.dtype) @ value


# --- recurrent layers ---


def run_recurrent_layers(step, x, states, weights, has_biases, layers, bidirectional, batch_first):
    """Run stacked recurrent layers; `step(gates, state, weight_hh, bias_hh)` returns the next state, hidden state first."""
    if batch_first:
        x = np.swapaxes(x, 0, 1)
    count, directions, finals = 4 if has_biases else 2, 2 if bidirectional else 1, []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            params = [*weights[index * count : (index + 1) * count], *([0, 0] if not has_biases else [])]
            state, results = [part[index] for part in states], []
            inputs = x @ params[0].T + params[2]
            for gates in inputs[::-1] if direction else inputs:
                state = step(gates, state, params[1], params[3])
                results.append(state[0])
            outputs.append(np.stack(results[::-1] if direction else results))
            finals.append(state)
        x = outputs[0] if directions == 1 else np.concatenate(outputs, -1)
    finals = [np.stack(parts) for parts in zip(*finals, strict=False)]
    return (np.swapaxes(x, 0, 1) if batch_first else x, *finals)


def lstm(x, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Long short-term memory (LSTM)."""

    def step(gates, state, weight, bias):
        i, f, g, o = np.split(gates + state[0] @ weight.T + bias, 4, -1)
        cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(cell), cell]

    return run_recurrent_layers(step, x, states, weights, has_biases, layers, bidirectional, batch_first)


def gru(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Gated recurrent unit (GRU)."""

    def step(gates, state, weight, bias):
        reset_in, update_in, new_in = np.split(gates, 3, -1)
        reset_at, update_at, new_at = np.split(state[0] @ weight.T + bias, 3, -1)
        new = np.tanh(new_in + sigmoid(reset_in + reset_at) * new_at)
        return [new + sigmoid(update_in + update_at) * (state[0] - new)]

    return run_recurrent_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


def rnn_tanh(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Elman RNN with a tanh nonlinearity."""

    def step(gates, state, weight, bias):
        return [np.tanh(gates + state[0] @ weight.T + bias)]

    return run_recurrent_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


def rnn_relu(x, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    """Elman RNN with a ReLU nonlinearity."""

    def step(gates, state, weight, bias):
        return [np.maximum(gates + state[0] @ weight.T + bias, 0)]

    return run_recurrent_layers(step, x, [state], weights, has_biases, layers, bidirectional, batch_first)


# --- indexing, sorting, shapes ---


def split(x, size, dim=0):
    """Split `x` along `dim` into chunks of length `size`; the last one may be shorter."""
    return np.split(x, range(size, x.shape[dim], size), dim)


def split_with_sizes(x, sizes, dim=0):
    """Split `x` along `dim` into chunks of the given lengths."""
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def chunk(x, count, dim=0):
    """Split `x` along `dim` into at most `count` chunks of equal length."""
    return split(x, -(-x.shape[dim] // count), dim)


def slice_along(x, dim=0, start=0, end=None, step=1):
    """Return `x[start:end:step]` along dimension `dim`."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def slice_scatter(x, source, dim=0, start=0, end=None, step=1):
    """Return a copy of `x` in which `[start:end:step]` along dimension `dim` is `source`."""
    result = x.copy()
    result[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)] = source
    return result


def select_scatter(x, source, dim, index):
    """Return a copy of `x` in which position `index` of dimension `dim` is `source`."""
    result = x.copy()
    result[(slice(None),) * (dim % x.ndim) + (index,)] = source
    return result


def fancy_index(x, indices):
    """Return `x[indices]`, where None stands for `:`."""
    return x[tuple(slice(None) if index is None else index for index in indices)]


def index_put(x, indices, values, accumulate=False):
    """Return a copy of `x` with `values` written, or added, at `indices`; None stands for `:`."""
    result, key = x.copy(), tuple(slice(None) if index is None else index for index in indices)
    if accumulate:
        np.add.at(result, key, values)
    else:
        result[key] = values
    return result


def scatter(x, dim, index, source, reduce=None, include_self=True):
    """Return a copy of `x` with `source` written, or reduced into it, at positions `index` along `dim`."""
    result = x.copy()
    position = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    position[dim] = index
    values = source if np.isscalar(source) else source[tuple(slice(size) for size in index.shape)]
    write = {"add": np.add, "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}.get(reduce)
    if write is None:
        result[tuple(position)] = values
    else:
        write.at(result, tuple(position), values)
    return result


def scatter_add(x, dim, index, source):
    """Return a copy of `x` with `source` added at positions `index` along `dim`."""
    return scatter(x, dim, index, source, "add")


def expand(x, sizes, implicit=False):
    """Broadcast `x` to `sizes`; -1 keeps the size of a dimension."""
    known = (1,) * (len(sizes) - x.ndim) + x.shape
    return np.broadcast_to(x, [old if new == -1 else new for old, new in zip(known, sizes, strict=False)])


def flatten(x, start_dim=0, end_dim=-1):
    """Merge the dimensions `start_dim` to `end_dim` into one."""
    if x.ndim == 0:
        return x.reshape(1)
    first, last = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def unflatten(x, dim, sizes):
    """Split the dimension `dim` into dimensions of the given sizes."""
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def squeeze(x, dim=None):
    """Remove dimensions of size 1, either all or only those in `dim`."""
    dims = range(x.ndim) if dim is None else as_list(dim, 1)
    return x.squeeze(tuple(each for each in dims if x.ndim and x.shape[each] == 1))


def max_along(x, dim, keepdim=False):
    """Return the maxima along `dim` and their indices."""
    return x.max(dim, keepdims=keepdim), x.argmax(dim, keepdims=keepdim)


def min_along(x, dim, keepdim=False):
    """Return the minima along `dim` and their indices."""
    return x.min(dim, keepdims=keepdim), x.argmin(dim, keepdims=keepdim)


def sort(x, dim=-1, descending=False, stable=True):
    """Return the values sorted along `dim` and their original indices."""
    order = np.argsort(np.flip(x, dim) if descending else x, dim, kind="stable")
    if descending:
        order = np.flip(x.shape[dim] - 1 - order, dim)
    return np.take_along_axis(x, order, dim), order


def argsort(x, dim=-1, descending=False, stable=True):
    """Return the indices that sort `x` along `dim`."""
    return sort(x, dim, descending)[1]


def topk(x, k, dim=-1, largest=True, sorted=True):
    """Return the `k` largest (or smallest) values along `dim`, sorted, and their indices."""
    values, indices = sort(x, dim, largest)
    return slice_along(values, dim, 0, k), slice_along(indices, dim, 0, k)


def one_hot(x, classes=-1):
    """Return an array of shape `(*x.shape, classes)` that is 1 at the class of each element and 0 elsewhere."""
    count = int(x.max()) + 1 if classes == -1 else classes
    return (x[..., None] == np.arange(count)).astype(np.int64)


def pad(x, pads, mode="constant", value=None):
    """Pad, or crop where the width is negative; `pads` starts with the last dimension: `(left, right, top, bottom, ...)`."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    widths = [(0, 0)] * (x.ndim - len(pads) // 2) + [(pads[i], pads[i + 1]) for i in range(len(pads) - 2, -1, -2)]
    cut = tuple(slice(max(-low, 0), size + min(high, 0)) for (low, high), size in zip(widths, x.shape, strict=False))
    x, widths = x[cut], [(max(low, 0), max(high, 0)) for low, high in widths]
    if mode == "constant":
        return np.pad(x, widths, constant_values=value or 0)
    return np.pad(x, widths, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


# --- interpolation ---


def interpolate_nearest(x, size, factors=None):
    """Resize by nearest-neighbor interpolation; the source index is `floor(i * scale)`."""
    return resample(x, size, factors, lambda i, scale: np.floor(i * scale))


def interpolate_nearest_exact(x, size, factors=None):
    """Resize by nearest-neighbor interpolation; the source index is `floor((i + 0.5) * scale)`."""
    return resample(x, size, factors, lambda i, scale: np.floor((i + 0.5) * scale))


def resample(x, size, factors, source):
    """Resize each spatial dimension; `source(i, scale)` gives the input index of each output index `i`."""
    for axis in range(2, x.ndim):
        length = x.shape[axis]
        count = math.floor(length * factors[axis - 2]) if size is None else size[axis - 2]
        scale = length / count if size is not None else 1 / factors[axis - 2]
        index = source(np.arange(count, dtype=np.float64), scale).astype(np.int64)
        x = np.take(x, np.minimum(index, length - 1), axis)
    return x


def interpolate_linear(x, size, align_corners, factors=None):
    """Resize by linear, bilinear or trilinear interpolation, one spatial dimension after the other."""
    for axis in range(2, x.ndim):
        length = x.shape[axis]
        count = math.floor(length * factors[axis - 2]) if size is None else size[axis - 2]
        scale = length / count if size is not None else 1 / factors[axis - 2]
        if align_corners:
            position = np.arange(count) * ((length - 1) / max(count - 1, 1))
        else:
            position = np.maximum((np.arange(count) + 0.5) * scale - 0.5, 0)
        low = np.minimum(position.astype(np.int64), length - 1)
        high = np.minimum(low + 1, length - 1)
        fraction = (position - low).astype(x.dtype).reshape(-1, *[1] * (x.ndim - axis - 1))
        x = np.take(x, low, axis) * (1 - fraction) + np.take(x, high, axis) * fraction
    return x


def pixel_shuffle(x, factor):
    """Rearrange `(N, C * factor**2, H, W)` to `(N, C, H * factor, W * factor)`."""
    n, channels, height, width = x.shape
    parts = x.reshape(n, channels // factor**2, factor, factor, height, width)
    return parts.transpose(0, 1, 4, 2, 5, 3).reshape(n, channels // factor**2, height * factor, width * factor)


# --- detection ---


def nms(boxes, scores, threshold):
    """Non-maximum suppression: return the indices of the kept boxes, in order of decreasing score."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order, kept = np.argsort(-scores, kind="stable"), []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(best)
        low, high = np.maximum(boxes[best, :2], boxes[rest, :2]), np.minimum(boxes[best, 2:], boxes[rest, 2:])
        intersection = np.maximum(high - low, 0).prod(-1)
        order = rest[intersection <= threshold * (areas[best] + areas[rest] - intersection)]
    return np.array(kept, dtype=np.int64)
