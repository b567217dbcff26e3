"""Translate calls of PyTorch operators to NumPy code.

`EXPRESSIONS` maps an operator's name to a function that returns a NumPy expression, given the code of the arguments.
`FUNCTIONS` maps an operator's name to a function in `functions.py` that takes the same arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import flambeau as torch

__all__ = ["EXPRESSIONS", "FUNCTIONS", "Code", "numpy_dtype", "to_code"]

FUNCTIONS = {
    "linear": "linear", "conv1d": "conv", "conv2d": "conv", "conv3d": "conv",
    "conv_transpose1d": "conv_transpose", "conv_transpose2d": "conv_transpose",
    "conv_transpose3d": "conv_transpose",
    "max_pool1d": "max_pool", "max_pool2d": "max_pool", "max_pool3d": "max_pool", "avg_pool1d": "avg_pool",
    "avg_pool2d": "avg_pool", "avg_pool3d": "avg_pool", "adaptive_avg_pool1d": "adaptive_avg_pool",
    "adaptive_avg_pool2d": "adaptive_avg_pool", "adaptive_avg_pool3d": "adaptive_avg_pool",
    "adaptive_max_pool1d": "adaptive_max_pool", "adaptive_max_pool2d": "adaptive_max_pool", "batch_norm": "batch_norm",
    "layer_norm": "layer_norm", "rms_norm": "rms_norm", "group_norm": "group_norm",
    "instance_norm": "instance_norm", "norm": "vector_norm", "linalg_vector_norm": "vector_norm", "sigmoid": "sigmoid",
    "softmax": "softmax", "log_softmax": "log_softmax", "logsumexp": "logsumexp", "erf": "erf", "gelu": "gelu",
    "softplus": "softplus", "elu": "elu", "celu": "celu", "prelu": "prelu", "glu": "glu",
    "scaled_dot_product_attention": "scaled_dot_product_attention", "lstm": "lstm", "gru": "gru", "rnn_tanh": "rnn_tanh",
    "rnn_relu": "rnn_relu",
    "split": "split", "split_with_sizes": "split_with_sizes", "chunk": "chunk", "slice": "slice_along",
    "slice_scatter": "slice_scatter", "select_scatter": "select_scatter", "index": "fancy_index", "index_put": "index_put",
    "scatter": "scatter", "scatter_add": "scatter_add", "scatter_reduce": "scatter", "expand": "expand",
    "flatten": "flatten", "unflatten": "unflatten", "squeeze": "squeeze", "sort": "sort", "argsort": "argsort",
    "topk": "topk", "one_hot": "one_hot", "pad": "pad", "upsample_nearest1d": "interpolate_nearest",
    "upsample_nearest2d": "interpolate_nearest", "_upsample_nearest_exact2d": "interpolate_nearest_exact",
    "upsample_linear1d": "interpolate_linear",
    "upsample_bilinear2d": "interpolate_linear", "upsample_trilinear3d": "interpolate_linear",
    "pixel_shuffle": "pixel_shuffle", "nms": "nms",
}  # fmt: skip


class Code(str):
    """The NumPy code of an argument, with the `TensorSpec` of its value as `spec`, if known."""

    spec: Any = None

    def __new__(cls, text: str, spec: Any = None) -> Code:
        code = str.__new__(cls, text)
        code.spec = spec
        return code


def numpy_dtype(dtype: torch.dtype) -> str:
    """Return the NumPy code of a dtype, such as `"np.float32"`.

    Raises:
        RuntimeError: the dtype is bfloat16, which NumPy does not have.
    """
    if dtype is torch.bfloat16:
        raise RuntimeError("NumPy has no bfloat16: convert the model before exporting it, for example with model.float()")
    name = str(dtype).removeprefix("torch.")
    return "bool" if name == "bool" else f"np.{name}"


def to_code(value: Any) -> str:
    """Convert an argument to Python code."""
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, torch.dtype):
        return numpy_dtype(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}[str(value)]
    if isinstance(value, list):
        return f"[{', '.join(map(to_code, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(to_code, value))}{',' * (len(value) == 1)})"
    if value == sys.maxsize and isinstance(value, int):
        return "None"
    return repr(value)


# --- expressions: each function takes the dtype of the result and the operator's arguments ---

EXPRESSIONS: dict[str, Callable[..., str]] = {}


def _expression(*names: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    def register(function: Callable[..., str]) -> Callable[..., str]:
        EXPRESSIONS.update(dict.fromkeys(names, function))
        return function

    return register


def cast(value: Any, dtype: torch.dtype | None) -> str:
    """Return the code of an argument, converted to `dtype`; Python numbers are left to NumPy's type promotion."""
    if not isinstance(value, Code) or value.spec is None or dtype is None or value.spec.dtype is dtype:
        return _operand(value)
    return f"{_operand(value)}.astype({numpy_dtype(dtype)})"


def _operand(value: Any) -> str:
    text = to_code(value)
    return f"({text})" if text.startswith("-") else text


def _infix(symbol: str) -> Callable[..., str]:
    def arithmetic(dtype: Any, x: Any, y: Any, alpha: Any = 1) -> str:
        right = cast(y, dtype) if alpha == 1 else f"{to_code(alpha)} * {cast(y, dtype)}"
        return f"{cast(x, dtype)} {symbol} {right}"

    return arithmetic


def _comparison(symbol: str) -> Callable[..., str]:
    return lambda dtype, x, y: f"{to_code(x)} {symbol} {to_code(y)}"


def _function(name: str) -> Callable[..., str]:
    return lambda dtype, x, *args: f"np.{name}({', '.join([cast(x, dtype), *map(to_code, args)])})"


def _pair(name: str) -> Callable[..., str]:
    return lambda dtype, x, y: f"np.{name}({cast(x, dtype)}, {cast(y, dtype)})"


for _name, _symbol in {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}.items():
    EXPRESSIONS[_name] = _infix(_symbol)
for _name, _symbol in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    EXPRESSIONS[_name] = _comparison(_symbol)
for _name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "abs", "floor", "ceil", "sign", "log2", "log10",
              "log1p", "expm1", "exp2", "trunc", "square", "reciprocal", "isnan", "isinf", "isfinite", "tril", "triu",
              "negative", "arcsin", "arccos", "arctan"):  # fmt: skip
    EXPRESSIONS[_name] = _function(_name)
for _name, _numpy in {"neg": "negative", "round": "round", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}.items():
    EXPRESSIONS[_name] = _function(_numpy)
for _name in ("maximum", "minimum", "fmod", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "outer"):
    EXPRESSIONS[_name] = _pair(_name)
for _name in ("matmul", "mm", "bmm", "mv", "dot"):
    EXPRESSIONS[_name] = _infix("@")


@_expression("rsub")
def _rsub(dtype: Any, x: Any, y: Any, alpha: Any = 1) -> str:
    return f"{cast(y, dtype)} - {cast(x, dtype)}" if alpha == 1 else f"{cast(y, dtype)} - {to_code(alpha)} * {cast(x, dtype)}"


@_expression("div")
def _div(dtype: Any, x: Any, y: Any, rounding_mode: Any = None) -> str:
    if rounding_mode == "floor":
        return f"{cast(x, dtype)} // {cast(y, dtype)}"
    quotient = f"{cast(x, dtype)} / {cast(y, dtype)}"
    return f"np.trunc({quotient}).astype({numpy_dtype(dtype)})" if rounding_mode == "trunc" else quotient


@_expression("floor_divide")
def _floor_divide(dtype: Any, x: Any, y: Any) -> str:
    return f"{cast(x, dtype)} // {cast(y, dtype)}"


@_expression("remainder")
def _remainder(dtype: Any, x: Any, y: Any) -> str:
    return f"{cast(x, dtype)} % {cast(y, dtype)}"


@_expression("relu")
def _relu(dtype: Any, x: Any) -> str:
    return f"np.maximum({x}, 0)"


@_expression("rsqrt")
def _rsqrt(dtype: Any, x: Any) -> str:
    return f"1 / np.sqrt({cast(x, dtype)})"


@_expression("silu")
def _silu(dtype: Any, x: Any) -> str:
    return f"{x} * sigmoid({x})"


@_expression("leaky_relu")
def _leaky_relu(dtype: Any, x: Any, slope: float = 0.01) -> str:
    return f"np.where({x} > 0, {x}, {slope} * {x})"


@_expression("hardsigmoid")
def _hardsigmoid(dtype: Any, x: Any) -> str:
    return f"np.clip({x} / 6 + 0.5, 0, 1)"


@_expression("hardswish")
def _hardswish(dtype: Any, x: Any) -> str:
    return f"{x} * np.clip({x} / 6 + 0.5, 0, 1)"


@_expression("mish")
def _mish(dtype: Any, x: Any) -> str:
    return f"{x} * np.tanh(softplus({x}))"


@_expression("log_sigmoid")
def _log_sigmoid(dtype: Any, x: Any) -> str:
    return f"-softplus(-{x})"


@_expression("clamp", "clip")
def _clamp(dtype: Any, x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> str:
    limits = (low if min is None else min, high if max is None else max)
    return f"np.clip({cast(x, dtype)}, {', '.join(cast(limit, dtype) for limit in limits)})"


@_expression("clamp_min")
def _clamp_min(dtype: Any, x: Any, low: Any) -> str:
    return f"np.maximum({x}, {to_code(low)})"


@_expression("clamp_max")
def _clamp_max(dtype: Any, x: Any, high: Any) -> str:
    return f"np.minimum({x}, {to_code(high)})"


@_expression("relu6")
def _relu6(dtype: Any, x: Any) -> str:
    return f"np.clip({x}, 0, 6)"


@_expression("hardtanh")
def _hardtanh(dtype: Any, x: Any, low: Any = -1, high: Any = 1) -> str:
    return f"np.clip({x}, {low}, {high})"


@_expression("logical_not", "bitwise_not")
def _not(dtype: Any, x: Any) -> str:
    return f"np.logical_not({x})" if dtype is torch.bool else f"~{x}"


@_expression("where")
def _where(dtype: Any, condition: Any, x: Any, y: Any) -> str:
    both = [isinstance(value, Code) for value in (x, y)]
    text = f"np.where({condition}, {cast(x, dtype)}, {cast(y, dtype)})"
    return text if all(both) else f"{text}.astype({numpy_dtype(dtype)})"


@_expression("masked_fill")
def _masked_fill(dtype: Any, x: Any, mask: Any, value: Any) -> str:
    return f"np.where({mask}, {cast(value, dtype)}, {x}).astype({numpy_dtype(dtype)})"


# --- reductions ---


def _axes(dims: Any) -> str:
    if dims is None or dims == []:
        return "None"
    return to_code(tuple(dims)) if isinstance(dims, (list, tuple)) else to_code(dims)


def _reduction(name: str, pass_dtype: bool = False) -> Callable[..., str]:
    def reduce(dtype: Any, x: Any, dims: Any = None, keepdim: bool = False, **kwargs: Any) -> str:
        options = [_axes(dims)] * (dims not in (None, []) or keepdim) + ["keepdims=True"] * keepdim
        options += [f"dtype={numpy_dtype(dtype)}"] * pass_dtype
        return f"{x}.{name}({', '.join(options)})"

    return reduce


for _name, _numpy in {"amax": "max", "amin": "min", "any": "any", "all": "all", "argmax": "argmax", "argmin": "argmin"}.items():
    EXPRESSIONS[_name] = _reduction(_numpy)
for _name in ("sum", "mean", "prod"):
    EXPRESSIONS[_name] = _reduction(_name, pass_dtype=True)


def _deviation(name: str) -> Callable[..., str]:
    def deviate(
        dtype: Any, x: Any, dims: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
    ) -> str:
        if isinstance(dims, bool):
            dims, unbiased = None, dims
        ddof = int(bool(unbiased)) if correction is None else correction
        return f"{x}.{name}({_axes(dims)}, ddof={ddof}{', keepdims=True' * bool(keepdim)})"

    return deviate


EXPRESSIONS |= {name: _deviation(name) for name in ("var", "std")}


def _extreme(name: str, along: str) -> Callable[..., str]:
    def extreme(dtype: Any, x: Any, dim: Any = None, keepdim: bool = False) -> str:
        if dim is None:
            return f"{x}.{name}()"
        if isinstance(dim, Code):
            return f"np.{name}imum({x}, {dim})"
        return f"{along}({x}, {dim}{', True' * keepdim})"

    return extreme


EXPRESSIONS |= {"max": _extreme("max", "max_along"), "min": _extreme("min", "min_along")}


@_expression("cumsum")
def _cumsum(dtype: Any, x: Any, dim: int, **kwargs: Any) -> str:
    return f"np.cumsum({x}, {dim}, dtype={numpy_dtype(dtype)})"


# --- shapes and indexing ---


@_expression("view", "reshape", "_unsafe_view")
def _view(dtype: Any, x: Any, shape: Any) -> str:
    if isinstance(shape, torch.dtype):
        return f"{x}.view({numpy_dtype(shape)})"
    return f"{x}.reshape({', '.join(map(to_code, shape))})" if shape else f"{x}.reshape(())"


@_expression("view_as", "reshape_as")
def _view_as(dtype: Any, x: Any, other: Any) -> str:
    return f"{x}.reshape({other}.shape)"


@_expression("expand_as")
def _expand_as(dtype: Any, x: Any, other: Any) -> str:
    return f"np.broadcast_to({x}, {other}.shape)"


@_expression("permute")
def _permute(dtype: Any, x: Any, dims: Any) -> str:
    return f"{x}.transpose({', '.join(map(str, dims))})"


@_expression("transpose", "swapaxes", "swapdims")
def _transpose(dtype: Any, x: Any, dim0: int, dim1: int) -> str:
    return f"np.swapaxes({x}, {dim0}, {dim1})"


@_expression("t", "numpy_T")
def _t(dtype: Any, x: Any) -> str:
    return f"{x}.T"


@_expression("movedim", "moveaxis")
def _movedim(dtype: Any, x: Any, source: Any, destination: Any) -> str:
    return f"np.moveaxis({x}, {to_code(source)}, {to_code(destination)})"


@_expression("unsqueeze")
def _unsqueeze(dtype: Any, x: Any, dim: int) -> str:
    return f"np.expand_dims({x}, {dim})"


@_expression("repeat", "tile")
def _repeat(dtype: Any, x: Any, repeats: Any) -> str:
    return f"np.tile({x}, {to_code(list(repeats))})"


@_expression("flip")
def _flip(dtype: Any, x: Any, dims: Any) -> str:
    return f"np.flip({x}, {to_code(tuple(dims))})"


@_expression("roll")
def _roll(dtype: Any, x: Any, shifts: Any, dims: Any = None) -> str:
    return f"np.roll({x}, {to_code(tuple(shifts))}, {to_code(tuple(dims)) if dims else None})"


@_expression("cat", "concat", "concatenate")
def _cat(dtype: Any, tensors: Any, dim: int = 0) -> str:
    return f"np.concatenate([{', '.join(cast(tensor, dtype) for tensor in tensors)}], {dim})"


@_expression("stack")
def _stack(dtype: Any, tensors: Any, dim: int = 0) -> str:
    return f"np.stack([{', '.join(cast(tensor, dtype) for tensor in tensors)}], {dim})"


@_expression("unbind")
def _unbind(dtype: Any, x: Any, dim: int = 0) -> str:
    return f"np.moveaxis({x}, {dim}, 0)"


@_expression("meshgrid")
def _meshgrid(dtype: Any, tensors: Any, indexing: str = "ij") -> str:
    return f"np.meshgrid({', '.join(tensors)}, indexing={indexing!r})"


@_expression("select")
def _select(dtype: Any, x: Any, dim: int, index: Any) -> str:
    if dim < 0:
        return f"{x}[..., {to_code(index)}{', :' * (-1 - dim)}]"
    return f"{x}[{':, ' * dim}{to_code(index)}]"


@_expression("narrow")
def _narrow(dtype: Any, x: Any, dim: int, start: Any, length: Any) -> str:
    return f"slice_along({x}, {dim}, {to_code(start)}, {to_code(start)} + {to_code(length)})"


@_expression("embedding")
def _embedding(dtype: Any, weight: Any, indices: Any, *args: Any) -> str:
    return f"{weight}[{indices}]"


@_expression("index_select")
def _index_select(dtype: Any, x: Any, dim: int, index: Any) -> str:
    return f"np.take({x}, {index}, {dim})"


@_expression("gather")
def _gather(dtype: Any, x: Any, dim: int, index: Any) -> str:
    return f"np.take_along_axis({x}, {index}, {dim})"


@_expression("nonzero", "argwhere")
def _nonzero(dtype: Any, x: Any) -> str:
    return f"np.argwhere({x})"


@_expression("masked_select")
def _masked_select(dtype: Any, x: Any, mask: Any) -> str:
    return f"{x}[np.broadcast_to({mask}, {x}.shape)]"


@_expression("einsum")
def _einsum(dtype: Any, equation: str, operands: Any) -> str:
    return f"np.einsum({equation!r}, {', '.join(operands)})"


@_expression("addmm", "baddbmm", "addmv")
def _addmm(dtype: Any, x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> str:
    product = f"{left} @ {right}" if alpha == 1 else f"{to_code(alpha)} * ({left} @ {right})"
    return f"{x} + {product}" if beta == 1 else f"{to_code(beta)} * {x} + {product}"


# --- array creation and dtype conversion ---


def _filled(value: Any) -> Callable[..., str]:
    def fill(dtype: Any, size: Any, given: Any = None, **kwargs: Any) -> str:
        name = {0: "zeros", 1: "ones"}.get(value)
        shape = to_code(tuple(size))
        return (
            f"np.{name}({shape}, {numpy_dtype(dtype)})" if name else f"np.full({shape}, {to_code(given)}, {numpy_dtype(dtype)})"
        )

    return fill


def _filled_like(value: Any, of_size: bool = False) -> Callable[..., str]:
    def fill(dtype: Any, x: Any, *args: Any, **kwargs: Any) -> str:
        shape = to_code(tuple(args[0])) if of_size else f"{x}.shape"
        return f"np.full({shape}, {to_code(args[-1] if value is None else value)}, {numpy_dtype(dtype)})"

    return fill


EXPRESSIONS |= {"zeros": _filled(0), "empty": _filled(0), "ones": _filled(1), "full": _filled(None)}
EXPRESSIONS |= {"zeros_like": _filled_like(0), "empty_like": _filled_like(0), "ones_like": _filled_like(1)}
EXPRESSIONS |= {"full_like": _filled_like(None), "fill": _filled_like(None), "new_zeros": _filled_like(0, True)}
EXPRESSIONS |= {"new_ones": _filled_like(1, True), "new_full": _filled_like(None, True), "new_empty": _filled_like(0, True)}


@_expression("arange")
def _arange(dtype: Any, *limits: Any, **kwargs: Any) -> str:
    return f"np.arange({', '.join(map(to_code, limits))}, dtype={numpy_dtype(dtype)})"


@_expression("linspace")
def _linspace(dtype: Any, start: Any, end: Any, steps: Any, **kwargs: Any) -> str:
    return f"np.linspace({to_code(start)}, {to_code(end)}, {to_code(steps)}, dtype={numpy_dtype(dtype)})"


@_expression("eye")
def _eye(dtype: Any, *sizes: Any, **kwargs: Any) -> str:
    return f"np.eye({', '.join(map(to_code, sizes))}, dtype={numpy_dtype(dtype)})"


@_expression("scalar_tensor")
def _scalar_tensor(dtype: Any, value: Any, **kwargs: Any) -> str:
    return f"np.array({to_code(value)}, {numpy_dtype(dtype)})"


@_expression("to", "_to_copy", "type_as")
def _to(dtype: Any, x: Any, *args: Any, **kwargs: Any) -> str:
    return cast(x, dtype)


@_expression("copy")
def _copy(dtype: Any, x: Any, other: Any) -> str:
    return f"np.broadcast_to({cast(other, dtype)}, {x}.shape)"


@_expression("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "positive")
def _same(dtype: Any, x: Any, *args: Any, **kwargs: Any) -> str:
    return str(x)


@_expression("dropout", "feature_dropout", "alpha_dropout")
def _dropout(dtype: Any, x: Any, p: float, train: bool) -> str:
    if train and p:
        raise RuntimeError("an exported NumPy model cannot apply dropout in training mode: call model.eval() before exporting it")
    return str(x)


@_expression("sym_size")
def _sym_size(dtype: Any, x: Any, dim: int) -> str:
    return f"{x}.shape[{dim}]"


@_expression("item")
def _item(dtype: Any, x: Any) -> str:
    return f"{x}.item()"
