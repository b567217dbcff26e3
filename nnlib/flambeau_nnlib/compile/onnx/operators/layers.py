"""ONNX translations of convolution, pooling, normalization, attention, interpolation, recurrent layers and detection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import flambeau as torch

from ...export._tracing import TensorSpec
from .._builder import Builder, Value
from .._errors import OnnxExporterError
from ._table import translates
from .reductions import reduce
from .shapes import transpose

_CPU = torch.device("cpu")


def _as_list(value: Any, dims: int) -> list[int]:
    """Return `value` as a list of length `dims`; a single number is repeated."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * dims if len(values) == 1 else values


# --- convolutions ---


@translates("conv1d", "conv2d", "conv3d", "convolution")
def convolution(
    b: Builder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    *rest: Any,
) -> Value:
    """Translate convolution or transposed convolution."""
    dims = weight.rank - 2
    transposed, output_padding, groups = rest if len(rest) == 3 else (False, 0, rest[0] if rest else 1)
    stride, dilation = _as_list(stride, dims), _as_list(dilation, dims)
    if isinstance(padding, str):
        total = [rate * (size - 1) if padding == "same" else 0 for rate, size in zip(dilation, weight.shape[2:], strict=True)]
        pads = [each // 2 for each in total] + [each - each // 2 for each in total]
    else:
        pads = _as_list(padding, dims) * 2
    options = {"strides": stride, "pads": pads, "dilations": dilation, "group": groups}
    if transposed:
        return b.op("ConvTranspose", x, weight, bias, output_padding=_as_list(output_padding, dims), **options)
    return b.op("Conv", x, weight, bias, kernel_shape=list(weight.shape[2:]), **options)


@translates("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    b: Builder, x: Value, weight: Value, bias: Value | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Value:  # fmt: skip
    """Translate transposed convolution."""
    return convolution(b, x, weight, bias, stride, padding, dilation, True, output_padding, groups)


# --- pooling ---


@translates("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    b: Builder, x: Value, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Value:
    """Translate max pooling."""
    dims = len(size)
    return b.op(
        "MaxPool", x, kernel_shape=list(size), strides=_as_list(stride or size, dims), pads=_as_list(padding, dims) * 2,
        dilations=_as_list(dilation, dims), ceil_mode=int(ceil_mode),
    )  # fmt: skip


@translates("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    b: Builder, x: Value, size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool =
    True, divisor_override: int | None = None,
) -> Value:  # fmt: skip
    """Translate average pooling."""
    dims = len(size)
    counted = int(count_include_pad or divisor_override is not None)
    pooled = b.op(
        "AveragePool", x, kernel_shape=list(size), strides=_as_list(stride or size, dims), pads=_as_list(padding, dims) * 2,
        ceil_mode=int(ceil_mode), count_include_pad=counted,
    )  # fmt: skip
    return pooled if divisor_override is None else b.op("Mul", pooled, b.constant(math.prod(size) / divisor_override, x.dtype))


@translates("lp_pool1d", "lp_pool2d", "lp_pool3d")
def lp_pool(b: Builder, x: Value, p: float, size: Any, stride: Any = None, ceil_mode: bool = False) -> Value:
    """Translate p-norm pooling."""
    dims = x.rank - 2
    if int(p) != p:
        raise OnnxExporterError(f"lp_pool{dims}d with a norm of {p} has no translation to ONNX")
    return b.op(
        "LpPool", x, p=int(p), kernel_shape=_as_list(size, dims), strides=_as_list(stride or size, dims), ceil_mode=int(ceil_mode)
    )


@translates("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(b: Builder, x: Value, size: Any) -> Value:
    """Translate adaptive average pooling."""
    dims = len(size)
    inputs = x.shape[-dims:]
    if all(each == 1 for each in size):
        return reduce(b, "ReduceMean", x, list(range(-dims, 0)), True)
    if not all(isinstance(each, int) for each in inputs):
        raise OnnxExporterError("adaptive pooling of dynamic sizes has no translation to ONNX, except to output size 1")
    size = [known if each is None else each for each, known in zip(size, inputs, strict=True)]
    if all(known % each == 0 for each, known in zip(size, inputs, strict=True)):
        windows = [known // each for each, known in zip(size, inputs, strict=True)]
        return b.op("AveragePool", x, kernel_shape=windows, strides=windows)
    # Along each dimension, multiply by a matrix that averages the elements of each window.
    for place, (each, known) in enumerate(zip(size, inputs, strict=True)):
        shares = np.zeros((known, each), dtype=np.float32)
        for window in range(each):
            first, last = window * known // each, -(-(window + 1) * known // each)
            shares[first:last, window] = 1 / (last - first)
        moved = transpose(b, x, place - dims, -1, like=x)
        x = transpose(b, b.op("MatMul", moved, b.constant(torch.from_numpy(shares), x.dtype), like=x), place - dims, -1, like=x)
    return x


@translates("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(b: Builder, x: Value, size: Any) -> Value:
    """Translate adaptive max pooling."""
    dims = len(size)
    inputs = x.shape[-dims:]
    if all(each == 1 for each in size):
        return reduce(b, "ReduceMax", x, list(range(-dims, 0)), True)
    if not all(isinstance(known, int) and known % each == 0 for each, known in zip(size, inputs, strict=True)):
        raise OnnxExporterError(f"adaptive max pooling from {tuple(inputs)} to {tuple(size)} has no translation to ONNX")
    windows = [known // each for each, known in zip(size, inputs, strict=True)]
    return b.op("MaxPool", x, kernel_shape=windows, strides=windows)


# --- normalization ---


def _scale_channels(b: Builder, x: Value, weight: Value | None, bias: Value | None, rank: int) -> Value:
    """Multiply each channel (dimension 1) by its weight and add its bias."""
    for kind, parameter in (("Mul", weight), ("Add", bias)):
        if parameter is not None:
            shaped = b.op("Unsqueeze", parameter, b.ints(list(range(1, rank - 1))), like=parameter) if rank > 2 else parameter
            x = b.op(kind, x, shaped, like=x)
    return x


@translates("batch_norm", "_native_batch_norm_legit_functional")
def batch_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None, training: bool,
    momentum: float, eps: float, *flags: Any,
) -> Any:  # fmt: skip
    """Translate batch normalization with running statistics, or with the statistics of the batch."""
    if not training and mean is not None and var is not None:
        channels = mean.shape[0]
        weight = weight or b.constant(torch.ones(channels, dtype=x.dtype))
        bias = bias or b.constant(torch.zeros(channels, dtype=x.dtype))
        return b.op("BatchNormalization", x, weight, bias, mean, var, epsilon=eps)
    dims = [0, *range(2, x.rank)]
    average = reduce(b, "ReduceMean", x, dims, True, like=x)
    centered = b.op("Sub", x, average, like=x)
    variance = reduce(b, "ReduceMean", b.op("Mul", centered, centered, like=x), dims, True, like=x)
    root = b.op("Sqrt", b.op("Add", variance, b.constant(eps, x.dtype), like=x), like=x)
    result = _scale_channels(b, b.op("Div", centered, root, like=x), weight, bias, x.rank)
    return result if mean is None else (result, average, root, mean, var)


@translates("layer_norm")
def layer_norm(
    b: Builder, x: Value, shape: Sequence[int], weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5, *_: Any
) -> Value:
    """Translate layer normalization over the last `len(shape)` dimensions."""
    weight = weight or b.constant(torch.ones(list(shape), dtype=x.dtype))
    return b.op("LayerNormalization", x, weight, bias, axis=-len(shape), epsilon=eps)


@translates("rms_norm")
def rms_norm(b: Builder, x: Value, shape: Sequence[int], weight: Value | None = None, eps: float | None = None) -> Value:
    """Translate RMS normalization over the last `len(shape)` dimensions."""
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    mean = reduce(b, "ReduceMean", b.op("Mul", x, x, like=x), list(range(-len(shape), 0)), True, like=x)
    result = b.op("Div", x, b.op("Sqrt", b.op("Add", mean, b.constant(eps, x.dtype), like=x), like=x), like=x)
    return result if weight is None else b.op("Mul", result, weight)


@translates("group_norm")
def group_norm(
    b: Builder, x: Value, groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5, *_: Any
) -> Value:
    """Translate group normalization."""
    grouped = b.op("Reshape", x, b.ints([0, groups, -1]), like=x)
    ones, zeros = b.constant(torch.ones(groups, dtype=x.dtype)), b.constant(torch.zeros(groups, dtype=x.dtype))
    normal = b.op("InstanceNormalization", grouped, ones, zeros, epsilon=eps, like=x)
    return _scale_channels(b, b.op("Reshape", normal, b.shape(x), like=x), weight, bias, x.rank)


@translates("instance_norm")
def instance_norm(
    b: Builder, x: Value, weight: Value | None, bias: Value | None, mean: Any, var: Any, use_input_stats: bool, momentum: float,
    eps: float, *_: Any,
) -> Value:  # fmt: skip
    """Translate instance normalization."""
    if not use_input_stats:
        return batch_norm(b, x, weight, bias, mean, var, False, momentum, eps)  # type: ignore[no-any-return]
    channels = x.shape[1]
    weight = weight or b.constant(torch.ones(channels, dtype=x.dtype))
    bias = bias or b.constant(torch.zeros(channels, dtype=x.dtype))
    return b.op("InstanceNormalization", x, weight, bias, epsilon=eps)


# --- attention ---


@translates("softmax", "_softmax", "log_softmax", "_log_softmax")
def softmax(b: Builder, x: Value, dim: int, dtype: Any = None) -> Value:
    """Translate softmax and log-softmax."""
    assert b.node is not None
    kind, x = "LogSoftmax" if "log" in str(b.node.target) else "Softmax", b.cast(x, b.result_dtype)
    if b.opset >= 13 or dim % x.rank == x.rank - 1:
        return b.op(kind, x, axis=dim)
    # before opset 13, Softmax normalizes over all dimensions from `axis` on
    return transpose(b, b.op(kind, transpose(b, x, dim, -1, like=x), axis=-1, like=x), dim, -1)


@translates("scaled_dot_product_attention")
def attention(
    b: Builder, query: Value, key: Value, value: Value, mask: Value | None = None, dropout_p: float = 0.0, is_causal: bool =
    False, scale: float | None = None, enable_gqa: bool = False, **kwargs: Any,
) -> Value:  # fmt: skip
    """Translate scaled dot-product attention."""
    dtype = query.dtype
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (_repeated(b, each, groups) for each in (key, value))
    factor = b.constant(1 / math.sqrt(query.shape[-1]) if scale is None else scale, dtype)
    like = TensorSpec((1,) * query.rank, dtype, _CPU)
    scores = b.op("MatMul", b.op("Mul", query, factor, like=query), transpose(b, key, -2, -1, like=key), like=like)
    nothing = b.constant(float("-inf"), dtype)
    if is_causal:
        shape = b.op("Shape", scores, start=-2, like=TensorSpec((2,), torch.int64, _CPU))
        ones = b.op("Expand", b.constant(1), shape, like=TensorSpec((1, 1), torch.int64, _CPU))
        causal = b.op("Cast", b.op("Trilu", ones, upper=0), to=9, like=TensorSpec((1, 1), torch.bool, _CPU))
        scores = b.op("Where", causal, scores, nothing, like=like)
    if mask is not None and mask.dtype is torch.bool:
        scores = b.op("Where", mask, scores, nothing, like=like)
    elif mask is not None:
        scores = b.op("Add", scores, mask, like=like)
    weights = b.op("Softmax", scores, axis=-1, like=like)
    if mask is not None:  # a query whose keys are all masked returns zeros
        best = reduce(b, "ReduceMax", scores, -1, True, like=like)
        empty = b.op("Equal", best, nothing, like=TensorSpec((), torch.bool, _CPU))
        weights = b.op("Where", empty, b.constant(0, dtype), weights, like=like)
    return b.op("MatMul", weights, value)


def _repeated(b: Builder, x: Value, groups: int) -> Value:
    wide = b.op("Unsqueeze", x, b.ints([x.rank - 2]), like=x)
    tiled = b.op("Tile", wide, b.ints([1] * (x.rank - 2) + [groups, 1, 1]), like=x)
    shape = [*(b.size(x, dim) for dim in range(x.rank - 3)), x.shape[-3] * groups, b.size(x, -2), b.size(x, -1)]
    return b.op("Reshape", tiled, b.ints(shape), like=x)


# --- interpolation ---


def _resize(b: Builder, x: Value, size: Any, factors: Any, **options: Any) -> Value:
    if size is None:
        scales = b.constant(torch.tensor([1.0, 1.0, *factors], dtype=torch.float32))
        return b.op("Resize", x, None, scales, **options)
    shape = b.ints([*(b.size(x, dim) for dim in range(2)), *size])
    return b.op("Resize", x, None, None, shape, **options)


@translates("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(b: Builder, x: Value, size: Any, factors: Any = None) -> Value:
    """Translate nearest-neighbor interpolation with source index `floor(i * scale)`."""
    return _resize(b, x, size, factors, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@translates("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def upsample_nearest_exact(b: Builder, x: Value, size: Any, factors: Any = None) -> Value:
    """Translate nearest-neighbor interpolation with source index `floor((i + 0.5) * scale)`."""
    return _resize(
        b, x, size, factors, mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil"
    )


@translates("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa")
def upsample(b: Builder, x: Value, size: Any, align_corners: bool, factors: Any = None) -> Value:
    """Translate linear and cubic interpolation."""
    assert b.node is not None
    name = str(b.node.target)
    cubic = {"mode": "cubic", "cubic_coeff_a": -0.75} if "cubic" in name else {"mode": "linear"}
    corners = "align_corners" if align_corners else "half_pixel"
    return _resize(
        b, x, size, factors, coordinate_transformation_mode=corners, antialias=1 if name.endswith("aa.vec") else None, **cubic
    )


@translates("im2col")
def im2col(b: Builder, x: Value, size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """Translate `unfold` of images of constant size: the elements of each window, as a column."""
    *lead, channels, height, width = x.shape
    if not all(isinstance(length, int) for length in (channels, height, width)):
        raise OnnxExporterError("aten.im2col.default: the channels, height and width must be constant")
    places = []
    for length, window, rate, margin, step in zip((height, width), size, dilation, padding, stride, strict=True):
        starts = np.arange(0, length + 2 * margin - rate * (window - 1), step)
        places.append(np.arange(window)[:, None] * rate + starts)
    rows, columns = places
    index = rows[:, None, :, None] * (width + 2 * padding[1]) + columns[None, :, None, :]
    margins = [*[0] * (len(lead) + 1), *padding]
    padded = b.op("Pad", x, b.ints(margins * 2)) if any(padding) else x
    flat = b.op("Reshape", padded, b.ints([*[0] * (len(lead) + 1), -1]))
    windows = b.op("Gather", flat, b.ints(index.ravel().tolist()), axis=len(lead) + 1)
    return b.op("Reshape", windows, b.ints([*[0] * len(lead), channels * math.prod(size), rows.shape[1] * columns.shape[1]]))


@translates("pixel_shuffle")
def pixel_shuffle(b: Builder, x: Value, factor: int) -> Value:
    """Translate pixel shuffle: `(N, C * r * r, H, W)` to `(N, C, H * r, W * r)`."""
    return b.op("DepthToSpace", x, blocksize=factor, mode="CRD")


@translates("grid_sampler", "grid_sampler_2d")
def grid_sampler(b: Builder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """Translate grid sampling."""
    modes = ("linear", "nearest", "cubic") if b.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return b.op(
        "GridSample", x, grid, mode=modes[mode], padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(align_corners),
    )  # fmt: skip


# --- recurrent layers ---

# ONNX stores the gates of recurrent layers in another order: index of the PyTorch gate for each ONNX gate.
_ORDERS = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _rearranged(kind: str, weight: Value) -> Any:
    if weight.array is None:
        raise OnnxExporterError(f"{kind}: the weights of recurrent layers must be parameters, not computed tensors")
    return np.concatenate([np.split(weight.array, len(_ORDERS[kind]))[gate] for gate in _ORDERS[kind]])


def _recurrent(
    b: Builder, kind: str, x: Value, state: Sequence[Value], weights: Sequence[Value], has_biases: bool, layers: int,
    bidirectional: bool, batch_first: bool, **attributes: Any,
) -> list[Value]:  # fmt: skip
    directions, per_layer = 1 + bidirectional, 4 if has_biases else 2
    if len(weights) != per_layer * layers * directions:
        raise OnnxExporterError(f"{kind} with projections has no translation to ONNX")
    hidden, dtype = weights[1].shape[1], x.dtype
    if batch_first:
        x = transpose(b, x, 0, 1, like=x)
    finals: list[list[Value]] = [[] for _ in state]
    for layer in range(layers):
        groups = [
            weights[per_layer * (layer * directions + way) : per_layer * (layer * directions + way + 1)]
            for way in range(directions)
        ]
        matrices = [np.stack([_rearranged(kind, group[place]) for group in groups]) for place in range(2)]
        biases = None
        if has_biases:
            biases = np.stack([np.concatenate([_rearranged(kind, group[place]) for place in (2, 3)]) for group in groups])
        arrays = [*matrices, *([] if biases is None else [biases])]
        label = groups[0][0].name
        values = [
            b.weight(b.name(f"{label}.{name}"), array, TensorSpec(array.shape, dtype, _CPU))
            for name, array in zip("WRB", arrays, strict=False)
        ]
        first = [
            b.op("Slice", part, b.ints([layer * directions]), b.ints([(layer + 1) * directions]), b.ints([0]), like=part)
            for part in state
        ]
        names = [*values, *([None] if biases is None else []), None, *first]
        direction = "bidirectional" if bidirectional else "forward"
        repeated = {key: value * directions if isinstance(value, list) else value for key, value in attributes.items()}
        output, *final = b.op_with_outputs(
            kind, x, *names, outputs=1 + len(state), hidden_size=hidden, direction=direction, like=x, **repeated
        )  # fmt: skip
        for found, value in zip(finals, final, strict=True):
            found.append(value)
        x = b.op("Reshape", b.op("Transpose", output, perm=[0, 2, 1, 3], like=x), b.ints([0, 0, -1]), like=x)
    states = [found[0] if layers == 1 else b.op("Concat", *found, axis=0) for found in finals]
    specs = b.node.meta["val"]  # type: ignore[union-attr]
    results = [transpose(b, x, 0, 1) if batch_first else x, *states]
    return [Value(value.name, spec) for value, spec in zip(results, specs, strict=True)]


@translates("lstm")
def lstm(
    b: Builder, x: Value, state: Sequence[Value], weights: Sequence[Value], has_biases: bool, layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> list[Value]:  # fmt: skip
    """Translate LSTM layers."""
    return _recurrent(b, "LSTM", x, state, weights, has_biases, layers, bidirectional, batch_first)


@translates("gru")
def gru(
    b: Builder, x: Value, state: Value, weights: Sequence[Value], has_biases: bool, layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> list[Value]:  # fmt: skip
    """Translate GRU layers."""
    return _recurrent(b, "GRU", x, [state], weights, has_biases, layers, bidirectional, batch_first, linear_before_reset=1)


@translates("rnn_tanh", "rnn_relu")
def rnn(
    b: Builder, x: Value, state: Value, weights: Sequence[Value], has_biases: bool, layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> list[Value]:  # fmt: skip
    """Translate Elman RNN layers with tanh or ReLU."""
    assert b.node is not None
    activation = "Tanh" if "tanh" in str(b.node.target) else "Relu"
    return _recurrent(b, "RNN", x, [state], weights, has_biases, layers, bidirectional, batch_first, activations=[activation])


# --- detection ---


@translates("nms")
def nms(b: Builder, boxes: Value, scores: Value, threshold: float) -> Value:
    """Translate non-maximum suppression."""
    like = TensorSpec((1, 1, 1), boxes.dtype, _CPU)
    boxes = b.op("Unsqueeze", boxes, b.ints([0]), like=like)
    scores = b.op("Unsqueeze", scores, b.ints([0, 1]), like=like)
    most = b.constant([2**31 - 1])
    spec = TensorSpec((1, 3), torch.int64, _CPU)
    kept = b.op("NonMaxSuppression", boxes, scores, most, b.constant([float(threshold)], torch.float32), like=spec)
    return b.op("Gather", kept, b.constant(2), axis=1)


@translates("roi_align")
def roi_align(
    b: Builder, x: Value, boxes: Value, size: Any, scale: float = 1.0, sampling_ratio: int = -1, aligned: bool = False
) -> Value:
    """Translate RoI align."""
    height, width = _as_list(size, 2)
    like = TensorSpec((1, 4), boxes.dtype, _CPU)
    places = b.op("Slice", boxes, b.ints([1]), b.ints([5]), b.ints([1]), like=like)
    numbers = b.cast(b.op("Gather", boxes, b.constant(0), axis=1, like=like), torch.int64)
    return b.op(
        "RoiAlign", x, places, numbers, output_height=height, output_width=width, spatial_scale=float(scale),
        sampling_ratio=max(sampling_ratio, 0), coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )  # fmt: skip
