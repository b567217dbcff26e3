"""The contents of event files as protocol buffers: a function that returns a `Summary` for each kind of data."""

from __future__ import annotations

import io
import json
import struct
import wave
from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .images import as_array, encode_image, encode_video, to_hwc, to_uint8

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]

_MAX_THRESHOLDS = 127  # maximum number of thresholds that TensorBoard's plugin accepts

# For each dtype, its protocol buffer type and the field that contains its values.
_FIELDS = {
    torch.float16: ("DT_HALF", "half_val"),
    torch.bfloat16: ("DT_BFLOAT16", "half_val"),
    torch.float32: ("DT_FLOAT", "float_val"),
    torch.float64: ("DT_DOUBLE", "double_val"),
    torch.int8: ("DT_INT8", "int_val"),
    torch.uint8: ("DT_UINT8", "uint32_val"),
    torch.int16: ("DT_INT16", "int_val"),
    torch.int32: ("DT_INT32", "int_val"),
    torch.int64: ("DT_INT64", "int64_val"),
    torch.bool: ("DT_BOOL", "bool_val"),
    torch.complex64: ("DT_COMPLEX64", "scomplex_val"),
    torch.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}


def _summary(tag: str, **content: Any) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary(value=[Summary.Value(tag=tag, **content)])


def _metadata(plugin: str, content: Any = None) -> Any:
    """Return metadata with the name of the TensorBoard plugin that shows the value."""
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    data = b"" if content is None else content.SerializeToString()
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=data))


def _tensor(dtype: str, shape: Sequence[int] | None, **values: Any) -> Any:
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    if shape is not None:
        values["tensor_shape"] = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
    return TensorProto(dtype=dtype, **values)


def scalar(name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False) -> Any:
    """Return the summary of a number. Raise AssertionError if `tensor` has several elements."""
    value = as_array(tensor).squeeze()
    if value.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and {value.ndim} dimensions."
        )
    if not new_style:
        return _summary(name, simple_value=float(value))
    if double_precision:
        written = _tensor("DT_DOUBLE", None, double_val=[float(value)])
    else:
        written = _tensor("DT_FLOAT", None, float_val=[float(value)])
    return _summary(name, tensor=written, metadata=_metadata("scalars"))


def tensor_proto(tag: str, tensor: torch.Tensor) -> Any:
    """Return the summary of all values of a tensor. Raise ValueError for 2 GB or more, or an unsupported dtype."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field = _FIELDS[tensor.dtype]
    values: list[Any] = (torch.view_as_real(tensor) if tensor.dtype.is_complex else tensor).flatten().tolist()
    if field == "half_val":  # PyTorch stores the bits of the float32 value here, so do the same
        values = [struct.unpack("i", struct.pack("f", value))[0] for value in values]
    written = _tensor(dtype, tensor.shape, **{field: values})
    return _summary(tag, metadata=_metadata("tensor"), tensor=written)


# --- distributions and curves ---


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """Return the summary of a histogram of `values`; see `make_histogram`."""
    return _summary(name, histo=make_histogram(as_array(values).astype(float), bins, max_bins))


def histogram_raw(
    name: str, min: float, max: float, num: int, sum: float, sum_squares: float, bucket_limits: Any, bucket_counts: Any
) -> Any:
    """Return the summary of a histogram computed by the caller."""
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    limits, counts = (x.tolist() if hasattr(x, "tolist") else x for x in (bucket_limits, bucket_counts))
    written = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=limits, bucket=counts)
    return _summary(name, histo=written)


def make_histogram(values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """Compute the histogram of an array.

    Args:
        values: the array.
        bins: as in `numpy.histogram`.
        max_bins: the maximum number of bins. If there are more, neighbouring bins are merged.

    Raises:
        ValueError: `values` is empty.
    """
    import numpy as np
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    # Omit empty bins at both ends. TensorBoard only stores right limits of bins, so keep one bin to the left: its limit is where
    # the first nonempty bin begins.
    used = np.flatnonzero(counts)
    start, end = (int(used[0]), int(used[-1]) + 1) if len(used) else (len(counts), len(counts) + 1)
    counts = counts[start - 1 : end] if start > 0 else np.concatenate([[0], counts[:end]])
    limits = limits[start : end + 1]
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits.tolist(),
        bucket=counts.tolist(),
    )


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """Compute a precision-recall curve at thresholds from 0 to 1 and return its summary."""
    data = compute_curve(labels, predictions, min(num_thresholds, _MAX_THRESHOLDS), weights)
    return _curve(tag, data, min(num_thresholds, _MAX_THRESHOLDS))


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """Return the summary of a precision-recall curve computed by the caller."""
    import numpy as np

    data = np.stack([as_array(part) for part in (tp, fp, tn, fn, precision, recall)])
    return _curve(tag, data, min(num_thresholds, _MAX_THRESHOLDS))


def _curve(tag: str, data: Any, num_thresholds: int) -> Any:
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    metadata = _metadata("pr_curves", PrCurvePluginData(version=0, num_thresholds=num_thresholds))
    return _summary(tag, metadata=metadata, tensor=_tensor("DT_FLOAT", data.shape, float_val=data.reshape(-1).tolist()))


def compute_curve(labels: Any, predictions: Any, num_thresholds: int, weights: Any = None) -> Any:
    """Return an array with a column for each threshold, and the rows tp, fp, tn, fn, precision and recall."""
    import numpy as np

    weights = 1.0 if weights is None else weights
    bucket = np.int32(np.floor(predictions * (num_thresholds - 1)))
    truth = labels.astype(np.float64)

    def counted(weight: Any) -> Any:
        counts, _ = np.histogram(bucket, bins=num_thresholds, range=(0, num_thresholds - 1), weights=weight * weights)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = counted(truth), counted(1.0 - truth)
    tn, fn = fp[0] - fp, tp[0] - tp
    epsilon = 1e-7
    return np.stack((tp, fp, tn, fn, tp / np.maximum(epsilon, tp + fp), tp / np.maximum(epsilon, tp + fn)))


# --- pictures, sound, text ---


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """Return the summary of an image of uint8 values or of values in [0, 1]."""
    return _summary(tag, image=encode_image(to_uint8(to_hwc(as_array(tensor), dataformats)), rescale))


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Any:
    """Return the summary of an image with boxes (left, top, right, bottom) drawn on it."""
    pixels = to_uint8(to_hwc(as_array(tensor_image), dataformats))
    return _summary(tag, image=encode_image(pixels, rescale, as_array(tensor_boxes), labels))


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Return the summary of videos of shape (N, T, C, H, W)."""
    return _summary(tag, image=encode_video(as_array(tensor), fps))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Return the summary of audio samples in [-1, 1]. Raise AssertionError unless they are 1-D."""
    import numpy as np
    from tensorboard.compat.proto.summary_pb2 import Summary

    array = as_array(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    array = (array * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(array.tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=array.shape[-1],
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _summary(tag, audio=sound)


def text(tag: str, text: str) -> Any:
    """Return the summary of a Markdown text."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    written = _tensor("DT_STRING", [1], string_val=[text.encode()])
    return _summary(f"{tag}/text_summary", metadata=_metadata("text", TextPluginData(version=0)), tensor=written)


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: dict[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Return the summary of points of shape (N, points, 3), with optional colours and faces."""
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    parts = [
        (torch.as_tensor(part), kind)
        for part, kind in ((vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR))
        if part is not None
    ]
    components = metadata.get_components_bitmask([kind for _, kind in parts])
    values = []
    for part, kind in parts:
        shape = list(part.shape)
        about = metadata.create_summary_metadata(tag, display_name, kind, components, shape, description, json_config=config)
        written = _tensor("DT_FLOAT", shape[:3], float_val=part.reshape(-1).tolist())
        values.append(Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=written, metadata=about))
    return Summary(value=values)


# --- dashboards ---


def custom_scalars(layout: dict[str, dict[str, Sequence[Any]]]) -> Any:
    """Return the summary of a layout of custom scalar charts; see `SummaryWriter.add_custom_scalars`."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    def chart(title: str, kind: str, tags: Sequence[str]) -> Any:
        if kind != "Margin":
            return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
        if len(tags) != 3:
            raise AssertionError("len(tags) != 3")
        value, lower, upper = tags
        series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))

    categories = [
        layout_pb2.Category(title=category, chart=[chart(title, *about) for title, about in charts.items()])
        for category, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    written = _tensor("DT_STRING", (), string_val=[content])
    return _summary("custom_scalars__config__", tensor=written, metadata=_metadata("custom_scalars"))


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple[Any, Any, Any]:
    """Return the three summaries of the hyperparameter plugin: the experiment, the start and the end of a session.

    Raises:
        TypeError: an argument is not a dict, or the domain of a hyperparameter is not a list of values of its type.
        ValueError: the type of a value is not supported by the plugin.
    """
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    for name, given in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        is_like = key in hparam_dict and isinstance(values, list) and all(isinstance(v, type(hparam_dict[key])) for v in values)
        if not is_like:
            raise TypeError(f"parameter: hparam_domain_discrete[{key}] should be a list of same type as hparam_dict[{key}].")
    start, infos = plugin_data_pb2.SessionStartInfo(), []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, torch.Tensor):
            field, dtype, value = "number_value", "DATA_TYPE_FLOAT64", float(as_array(value).reshape(-1)[0])
        elif isinstance(value, int | float):  # also bools, which PyTorch stores as numbers
            field, dtype = "number_value", "DATA_TYPE_FLOAT64"
        elif isinstance(value, str):
            field, dtype = "string_value", "DATA_TYPE_STRING"
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(start.hparams[key], field, value)
        domain = None
        if key in domains:
            domain = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: item}) for item in domains[key]])
        infos.append(api_pb2.HParamInfo(name=key, type=api_pb2.DataType.Value(dtype), domain_discrete=domain))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metric_dict]
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))

    def written(tag: str, **content: Any) -> Any:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        return _summary(tag, metadata=_metadata(metadata.PLUGIN_NAME, data))

    return (
        written(metadata.EXPERIMENT_TAG, experiment=api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)),
        written(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        written(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )
