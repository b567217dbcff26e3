"""Operations by cuDNN, through its Python front end: graphs of one operation, planned once per combination of shapes.

If cuDNN has no engine for an operation, that result is cached as well: functions return None, and callers use other kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from flambeau import backends
from flambeau.engine.devices import settings

__all__ = ["library", "run"]

_TYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}
_local = threading.local()


class Layout(NamedTuple):
    """Shape, strides (in elements) and dtype of an array."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@cache
def library() -> Any:
    """Return the module of cuDNN's front end; None if it or cuDNN is missing."""
    try:
        import cudnn

        cudnn.backend_version()
    except (ImportError, OSError, RuntimeError):
        return None
    return cudnn


def run(describe: Callable[..., Any], arrays: Sequence[Any], results: Sequence[tuple[Sequence[int], Any]], *options: Any) -> Any:
    """Compute an operation; return arrays of the given shapes and dtypes, or None if cuDNN does not support it.

    `describe(cudnn, graph, *tensors, *options)` adds the operation to a graph and returns its result tensors.
    """
    if (
        library() is None
        or not backends.cudnn.enabled
        or any(array.dtype.name not in _TYPES or not array.size for array in arrays)
    ):
        return None
    arrays = [array if _is_dense(array) else cupy.ascontiguousarray(array) for array in arrays]
    outputs = [_empty(shape, dtype, like=arrays[0]) for shape, dtype in results]
    exact = not backends.cudnn.allow_tf32
    plan = _plan(
        describe,
        cupy.cuda.runtime.getDevice(),
        tuple(map(_layout, arrays)),
        tuple(map(_layout, outputs)),
        options,
        exact,
        backends.cudnn.deterministic or settings.are_deterministic_algorithms_enabled(),
    )
    if plan is None:
        return None
    plan.execute([*arrays, *outputs])
    return outputs


def _layout(array: Any) -> Layout:
    return Layout(array.shape, tuple(stride // array.itemsize for stride in array.strides), array.dtype.name)


def _in_channels_last(array: Any) -> bool:
    order = (0, *range(2, array.ndim), 1)
    return array.ndim > 3 and bool(array.transpose(order).flags.c_contiguous)


def _is_dense(array: Any) -> bool:
    return bool(array.flags.c_contiguous) or _in_channels_last(array)


def _empty(shape: Sequence[int], dtype: Any, like: Any) -> Any:
    """Allocate an array; it is channels-last if `like` is, and has the same number of dimensions."""
    if len(shape) != like.ndim or like.flags.c_contiguous:
        return cupy.empty(shape, dtype)
    return cupy.empty((shape[0], *shape[2:], shape[1]), dtype).transpose((0, len(shape) - 1, *range(1, len(shape) - 1)))


def _handle(cudnn: Any) -> Any:
    """Return this thread's cuDNN handle for the current device, set to the current stream."""
    handles = _local.__dict__.setdefault("handles", {})
    device = cupy.cuda.runtime.getDevice()
    if device not in handles:
        handles[device] = cudnn.create_handle()
    cudnn.set_stream(handles[device], cupy.cuda.get_current_stream().ptr)
    return handles[device]


class _Plan:
    """A cuDNN graph of one operation and the engine selected for it."""

    def __init__(
        self,
        describe: Callable[..., Any],
        inputs: Sequence[Layout],
        results: Sequence[Layout],
        options: Any,
        unwanted: Sequence[Any],
    ) -> None:
        cudnn = self.cudnn = library()
        single = cudnn.data_type.FLOAT
        self.graph = graph = cudnn.pygraph(
            io_data_type=_type(cudnn, inputs[0]), intermediate_data_type=single, compute_data_type=single, handle=_handle(cudnn)
        )
        operands = [
            graph.tensor(dim=list(layout.shape), stride=list(layout.strides), data_type=_type(cudnn, layout)) for layout in inputs
        ]
        outputs = describe(cudnn, graph, *operands, *options)
        for tensor, layout in zip(outputs, results, strict=True):
            tensor.set_output(True).set_dim(list(layout.shape)).set_stride(list(layout.strides)).set_data_type(
                _type(cudnn, layout)
            )
        self.tensors = [*operands, *outputs]
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        if unwanted:
            graph.deselect_numeric_notes(list(unwanted))
        graph.check_support()
        graph.build_plans()
        self.workspace = graph.get_workspace_size()

    def execute(self, arrays: Sequence[Any]) -> None:
        workspace = cupy.empty(max(self.workspace, 1), np.uint8)
        pointers = {tensor: array.data.ptr for tensor, array in zip(self.tensors, arrays, strict=True)}
        self.graph.execute(pointers, workspace.data.ptr, handle=_handle(self.cudnn))


def _type(cudnn: Any, layout: Layout) -> Any:
    return getattr(cudnn.data_type, _TYPES[layout.dtype])


@lru_cache(maxsize=1024)
def _plan(
    describe: Callable[..., Any],
    device: int,
    inputs: tuple[Layout, ...],
    results: tuple[Layout, ...],
    options: tuple[Any, ...],
    exact: bool,
    deterministic: bool,
) -> _Plan | None:
    cudnn = library()
    unwanted = [cudnn.numerical_note.NONDETERMINISTIC] if deterministic else []
    if exact and inputs[0].dtype == "float32":
        unwanted.append(cudnn.numerical_note.TENSOR_CORE)
    try:
        return _Plan(describe, inputs, results, options, unwanted)
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError):
        return None


# --- convolution --------------------------------------------------------------------------------------------------

Sizes = Sequence[int]


def _geometry_options(stride: Sizes, padding: Sizes, dilation: Sizes) -> dict[str, list[int]]:
    return {"pre_padding": list(padding), "post_padding": list(padding), "stride": list(stride), "dilation": list(dilation)}


def _forward(cudnn: Any, graph: Any, image: Any, weight: Any, *geometry: Sizes) -> Any:
    return [graph.conv_fprop(image=image, weight=weight, **_geometry_options(*geometry))]


def _input_gradient(cudnn: Any, graph: Any, loss: Any, weight: Any, *geometry: Sizes) -> Any:
    return [graph.conv_dgrad(loss=loss, filter=weight, **_geometry_options(*geometry))]


def _weight_gradient(cudnn: Any, graph: Any, image: Any, loss: Any, *geometry: Sizes) -> Any:
    return [graph.conv_wgrad(image=image, loss=loss, **_geometry_options(*geometry))]


def _convolved(describe: Callable[..., Any], a: Any, b: Any, shape: Sizes, *geometry: Sizes) -> Any:
    """Run a convolution or a gradient; one-dimensional inputs get a second spatial dimension, which cuDNN requires."""
    if a.ndim == 3:
        stride, padding, dilation = geometry
        flat = (1, *stride), (0, *padding), (1, *dilation)
        output = _convolved(describe, a[:, :, None], b[:, :, None], (*shape[:2], 1, shape[2]), *flat)
        return None if output is None else output[:, :, 0]
    outputs = run(describe, [a, b], [(tuple(shape), a.dtype)], *map(tuple, geometry))
    return None if outputs is None else outputs[0]


def convolution(input: Any, weight: Any, shape: Sizes, *geometry: Sizes) -> Any:
    """Compute a convolution with result shape `shape`; `geometry` consists of stride, padding and dilation."""
    return _convolved(_forward, input, weight, shape, *geometry)


def convolution_transposed(input: Any, weight: Any, shape: Sizes, *geometry: Sizes) -> Any:
    """Compute a transposed convolution: the gradient of a convolution's input, given the gradient of its output."""
    return _convolved(_input_gradient, input, weight, shape, *geometry)


def convolution_weight(grad: Any, input: Any, shape: Sizes, *geometry: Sizes) -> Any:
    """Compute the gradient of a convolution's weight, given the gradient of its output."""
    return _convolved(_weight_gradient, input, grad, shape, *geometry)


# --- layer normalization ------------------------------------------------------------------------------------------


def _normalized(cudnn: Any, graph: Any, input: Any, weight: Any, bias: Any, eps: float) -> Any:
    phase, epsilon = cudnn.norm_forward_phase.TRAINING, graph.tensor_scalar(eps, cudnn.data_type.FLOAT)
    return graph.layernorm(norm_forward_phase=phase, input=input, scale=weight, bias=bias, epsilon=epsilon)


def _normalized_gradients(cudnn: Any, graph: Any, grad: Any, input: Any, weight: Any, mean: Any, inv_variance: Any) -> Any:
    return graph.layernorm_backward(grad=grad, input=input, scale=weight, mean=mean, inv_variance=inv_variance)


def _as_rows(array: Any, width: int) -> Any:
    return array.reshape(array.size // max(width, 1), width, 1, 1)


def layer_norm(input: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Compute layer norm over rows of `weight.size` elements; also returns the rows' means and inverse standard deviations."""
    rows = _as_rows(cupy.ascontiguousarray(input), weight.size)
    shape, statistics = rows.shape, ((rows.shape[0], 1, 1, 1), np.float32)
    operands = [rows, *(cupy.ascontiguousarray(parameter).reshape(1, -1, 1, 1) for parameter in (weight, bias))]
    outputs = run(_normalized, operands, [(shape, input.dtype), statistics, statistics], eps)
    return None if outputs is None else (outputs[0].reshape(input.shape), outputs[1], outputs[2])


def layer_norm_backward(grad: Any, input: Any, weight: Any, mean: Any, inv_variance: Any) -> Any:
    """Return the gradients of layer norm with respect to input, weight and bias."""
    rows, grads = (_as_rows(cupy.ascontiguousarray(array), weight.size) for array in (input, grad))
    scale = cupy.ascontiguousarray(weight).reshape(1, -1, 1, 1)
    results = [(rows.shape, input.dtype), (scale.shape, weight.dtype), (scale.shape, weight.dtype)]
    outputs = run(_normalized_gradients, [grads, rows, scale, mean, inv_variance], results)
    return (
        None
        if outputs is None
        else (outputs[0].reshape(input.shape), outputs[1].reshape(weight.shape), outputs[2].reshape(weight.shape))
    )


# --- attention ----------------------------------------------------------------------------------------------------


def _attended(cudnn: Any, graph: Any, query: Any, key: Any, value: Any, causal: bool, scale: float) -> Any:
    return graph.sdpa(q=query, k=key, v=value, attn_scale=scale, generate_stats=True, use_causal_mask=causal)


def _attended_gradients(
    cudnn: Any, graph: Any, query: Any, key: Any, value: Any, result: Any, grad: Any, statistics: Any, causal: bool, scale: float
) -> Any:
    operands = {"q": query, "k": key, "v": value, "o": result, "dO": grad, "stats": statistics}
    return graph.sdpa_backward(**operands, attn_scale=scale, use_causal_mask=causal)


def attention(query: Any, key: Any, value: Any, causal: bool, scale: float) -> Any:
    """Compute attention over `(batch, heads, length, size)` in half precision; also returns the scores' log-sum-exp."""
    shape, statistics = (*query.shape[:3], value.shape[3]), (*query.shape[:3], 1)
    return run(_attended, [query, key, value], [(shape, query.dtype), (statistics, np.float32)], causal, scale)


def attention_backward(
    grad: Any, query: Any, key: Any, value: Any, result: Any, statistics: Any, causal: bool, scale: float
) -> Any:
    """Return the gradients of attention with respect to query, key and value."""
    operands = [query, key, value, result, grad, statistics]
    return run(_attended_gradients, operands, [(array.shape, array.dtype) for array in operands[:3]], causal, scale)
