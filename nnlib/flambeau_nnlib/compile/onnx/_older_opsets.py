"""Write nodes as ONNX had them before opset version 18, the version for which the operators are translated.

Opset versions 11 to 17 differ in a few operators: axes were attributes rather than inputs, and some operators did not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import onnx

import flambeau as torch

from ..export._tracing import TensorSpec
from ._errors import OnnxExporterError

if TYPE_CHECKING:
    from ._builder import Builder, Value

__all__ = ["OLDEST_TRANSLATED", "compose", "in_older_form", "require_operator"]

OLDEST_TRANSLATED = 11

Inputs = Sequence["Value | None"]
Form = Callable[["Builder", Inputs, dict[str, Any]], tuple[Inputs, dict[str, Any]]]


def in_older_form(builder: Builder, kind: str, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    """Return the inputs and attributes that the operator `kind` takes in the builder's opset version.

    Raises:
        OnnxExporterError: the version has no such form.
    """
    for version, form in _FORMS.get(kind, ()):
        if builder.opset < version:
            inputs, attributes = form(builder, inputs, attributes)
    return inputs, attributes


def compose(kind: str, opset: int, attributes: dict[str, Any]) -> Callable[..., Value] | None:
    """Return the function that builds the operator `kind` from others, or None if the opset version has the operator."""
    version, function = _COMPOSED.get(kind, (0, None))
    is_old = kind == "Shape" and not attributes  # only a part of the shape needs a newer version
    return function if opset < version and not is_old else None


def require_operator(kind: str, opset: int) -> None:
    """Check that an opset version has an operator.

    Raises:
        OnnxExporterError: it does not.
    """
    if not onnx.defs.has(kind, max_inclusive_version=opset):
        first = min(schema.since_version for schema in _schemas(kind))
        raise OnnxExporterError(f"{kind} requires opset_version={first} or higher, but got {opset}")


def _schemas(kind: str) -> list[Any]:
    return [each for each in onnx.defs.get_all_schemas_with_history() if each.name == kind and not each.domain]


# --- operators with other inputs or attributes ---


def _numbers(kind: str, value: Value | None) -> list[int] | None:
    if value is None:
        return None
    if value.array is None:
        raise OnnxExporterError(f"{kind} with computed numbers requires opset_version=18 or higher")
    return [int(each) for each in value.array.reshape(-1)]


def _attribute(name: str) -> Form:
    """Return the form that takes the second input as an attribute."""

    def form(builder: Builder, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
        numbers = _numbers(name, inputs[1]) if len(inputs) > 1 else None
        return inputs[:1], attributes if numbers is None else {**attributes, name: numbers}

    return form


def _without(name: str, default: Any, needed: int) -> Form:
    """Return the form without an attribute, which must have its default."""

    def form(builder: Builder, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
        rest = dict(attributes)
        value = rest.pop(name, default)
        if value != default:
            raise OnnxExporterError(f"{name}={value!r} requires opset_version={needed} or higher, but got {builder.opset}")
        return inputs, rest

    return form


def _split_in_halves(builder: Builder, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    """Omit the number of outputs, because a node without lengths splits evenly."""
    return inputs, {name: value for name, value in attributes.items() if name != "num_outputs"}


def _no_omitted_sizes(builder: Builder, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    """Pass empty tensors for omitted inputs of Resize."""
    empty = builder.constant(torch.zeros(0))
    return [value if value is not None else empty for value in inputs], attributes


_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
_REDUCTION = _without("reduction", "none", 16)
# {operator: (the version that introduced the form that the builder writes, the form before), ...}, latest first
_FORMS: dict[str, tuple[tuple[int, Form], ...]] = {
    **dict.fromkeys(("ReduceSum", "Squeeze", "Unsqueeze"), ((13, _attribute("axes")),)),
    **dict.fromkeys((f"Reduce{name}" for name in _REDUCTIONS), ((18, _attribute("axes")),)),
    "LpPool": ((18, _without("ceil_mode", 0, 18)),),
    "Reshape": ((14, _without("allowzero", 0, 14)),),
    "Resize": ((18, _without("antialias", 0, 18)), (13, _no_omitted_sizes)),
    "RoiAlign": ((16, _without("coordinate_transformation_mode", "output_half_pixel", 16)),),
    "ScatterElements": ((16, _REDUCTION),),
    "ScatterND": ((16, _REDUCTION),),
    "Split": ((18, _split_in_halves), (13, _attribute("split"))),
}


# --- operators that did not exist ---


def _shape(b: Builder, x: Value, *, like: Any, start: int = 0, end: int | None = None) -> Value:
    sizes, end = b.shape(x), x.rank if end is None else end
    return b.op("Slice", sizes, b.ints([start]), b.ints([end]), b.ints([0]), like=like)


def _triangle(b: Builder, x: Value, diagonal: Value | None = None, *, like: Any, upper: int = 1) -> Value:
    ints = TensorSpec((1, 1), torch.int64, torch.device("cpu"))
    rows, columns = (
        b.op("Range", b.constant(0), b.op("Squeeze", _size(b, x, dim), b.ints([0]), like=ints), b.constant(1), like=ints)
        for dim in (-2, -1)
    )  # fmt: skip
    rows = b.op("Unsqueeze", rows, b.ints([1]), like=ints)
    if diagonal is not None:
        rows = b.op("Add", rows, diagonal, like=ints)
    flags = TensorSpec((1, 1), torch.bool, torch.device("cpu"))
    outside = b.op("Less", columns, rows, like=flags) if upper else b.op("Greater", columns, rows, like=flags)
    return b.op("Where", outside, b.constant(0, x.dtype), x, like=like)


def _size(b: Builder, x: Value, dim: int) -> Value:
    """Return a size as a 1-D tensor of one element."""
    dim %= x.rank
    return _shape(b, x, like=TensorSpec((1,), torch.int64, torch.device("cpu")), start=dim, end=dim + 1)


def _hardswish(b: Builder, x: Value, *, like: Any) -> Value:
    return b.op("Mul", x, b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5, like=x), like=like)


def _celu(b: Builder, x: Value, *, like: Any, alpha: float = 1.0) -> Value:
    factor, zero = b.constant(alpha, x.dtype), b.constant(0, x.dtype)
    decayed = b.op("Exp", b.op("Div", b.op("Min", x, zero, like=x), factor, like=x), like=x)
    below = b.op("Mul", factor, b.op("Sub", decayed, b.constant(1, x.dtype), like=x), like=x)
    return b.op("Add", b.op("Max", x, zero, like=x), below, like=like)


def _layer_norm(
    b: Builder, x: Value, weight: Value, bias: Value | None = None, *, like: Any, axis: int = -1, epsilon: float = 1e-5
) -> Value:
    axes = b.ints(list(range(axis, 0)))
    centered = b.op("Sub", x, b.op("ReduceMean", x, axes, keepdims=1, like=x), like=x)
    variance = b.op("ReduceMean", b.op("Mul", centered, centered, like=x), axes, keepdims=1, like=x)
    scale = b.op("Sqrt", b.op("Add", variance, b.constant(epsilon, x.dtype), like=x), like=x)
    result = b.op("Mul", b.op("Div", centered, scale, like=x), weight, like=like)
    return result if bias is None else b.op("Add", result, bias, like=like)


def _or_equal(kind: str) -> Callable[..., Value]:
    def compare(b: Builder, x: Value, y: Value, *, like: Any) -> Value:
        return b.op("Or", b.op(kind, x, y, like=like), b.op("Equal", x, y, like=like), like=like)

    return compare


# {operator: (the version that introduced it, the function that builds it from other operators)}
_COMPOSED: dict[str, tuple[int, Callable[..., Value]]] = {
    "Celu": (12, _celu),
    "GreaterOrEqual": (12, _or_equal("Greater")),
    "HardSwish": (14, _hardswish),
    "LayerNormalization": (17, _layer_norm),
    "LessOrEqual": (12, _or_equal("Less")),
    "Shape": (15, _shape),
    "Trilu": (14, _triangle),
}
