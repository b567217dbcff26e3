"""Symbolic functions: translations of operators in the form of PyTorch's TorchScript-based ONNX exporter.

    def softplus(g, self, beta, threshold):
        return g.op("Softplus", self)

    torch.onnx.register_custom_op_symbolic("aten::softplus", softplus, 18)

They are used if `torch.onnx.export` is called with `dynamo=False`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flambeau as torch

from ..export._tracing import TensorSpec
from ._errors import OnnxExporterError

if TYPE_CHECKING:
    from ._builder import Builder, Value

__all__ = ["register_custom_op_symbolic", "symbolic_of", "unregister_custom_op_symbolic"]

_NAME = re.compile(r"[a-zA-Z0-9-_]+::[a-zA-Z-_]+[a-zA-Z0-9-_]*")
_registered: dict[str, dict[int, Callable[..., Any]]] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Register a translation of an operator to ONNX for `torch.onnx.export(..., dynamo=False)`.

    Args:
        symbolic_name: the operator as `"namespace::name"`; PyTorch's operators are in the namespace `aten`, such as
            `"aten::gelu"`.
        symbolic_fn: a function of the graph `g` and the operator's arguments as graph values. It adds nodes with
            `g.op("Name", *values, axis_i=1)` and returns their output. Lists, strings and None are passed unchanged.
        opset_version: the lowest ONNX opset version that the translation supports.

    Raises:
        OnnxExporterError: `symbolic_name` is not of this form.
        ValueError: the namespace is `onnx`.

    >>> torch.onnx.register_custom_op_symbolic("mine::twice", lambda g, x: g.op("Add", x, x), 18)
    >>> torch.onnx.unregister_custom_op_symbolic("mine::twice", 18)
    """
    name = _checked(symbolic_name)
    _registered.setdefault(name, {})[opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Remove a translation registered with `register_custom_op_symbolic`.

    Args:
        symbolic_name, opset_version: as in the registration; unknown ones are ignored.

    Raises:
        OnnxExporterError, ValueError: see `register_custom_op_symbolic`.
    """
    name = _checked(symbolic_name)
    _registered.get(name, {}).pop(opset_version, None)


def _checked(name: str) -> str:
    name = f"aten{name}" if name.startswith("::") else name
    if not _NAME.fullmatch(name):
        raise OnnxExporterError(
            f"Failed to register operator {name}. The symbolic name must match the format domain::name, and should start with a "
            "letter and contain only alphanumerical characters"
        )
    if name.partition("::")[0] == "onnx":
        raise ValueError(f"Failed to register operator {name}. onnx domain cannot be modified.")
    return name


def symbolic_of(operator: Any, opset: int) -> Callable[..., Any] | None:
    """Return the registered translation of an operator, or None.

    Args:
        operator: the target of a node.
        opset: the exported opset version. Among the translations for this and earlier versions, the latest is used.
    """
    packet = getattr(operator, "overloadpacket", operator)
    name = f"{getattr(operator, 'namespace', 'aten')}::{getattr(packet, '__name__', packet)}"
    versions = {version: function for version, function in _registered.get(name, {}).items() if version <= opset}
    if not versions:
        return None
    function = versions[max(versions)]

    def translate(builder: Builder, *args: Any, **kwargs: Any) -> Any:
        return _called(function, builder, _all_arguments(operator, args, kwargs))

    return translate


def _all_arguments(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return all arguments of a call in order, including defaults. Integers become floats where the parameter is a float."""
    try:
        parameters = [(each.name, each.default_value, str(each.type)) for each in operator._schema.arguments]
    except (AttributeError, RuntimeError):  # built-in operators have no schema: use the function's signature
        signature = inspect.signature(getattr(operator, "op", operator))
        parameters = [(each.name, each.default, str(each.annotation)) for each in signature.parameters.values()]
        parameters = [(name, default, kind) for name, default, kind in parameters if name != "out"]
    values = [*args, *(kwargs.get(name, default) for name, default, _ in parameters[len(args) :])]
    for place, (value, (_, _, kind)) in enumerate(zip(values, parameters, strict=False)):
        if value is inspect.Parameter.empty:
            values[place] = None
        elif type(value) is int and any(word in kind for word in ("float", "Scalar", "number")):
            values[place] = float(value)
    return values


def _called(function: Callable[..., Any], builder: Builder, arguments: list[Any]) -> Any:
    from ._builder import Value

    graph = _Graph(
        builder,
        next((each.dtype for each in arguments if isinstance(each, Value) and each.dtype.is_floating_point), torch.float32),
    )
    result = function(graph, *(graph.value(each) for each in arguments))
    if isinstance(result, (tuple, list)):
        return [graph.value(each) for each in result]
    return graph.value(result)


def _symbolic_value(value: Value) -> Any:
    """Return a value with the methods of TorchScript graph values."""
    from ._builder import Value

    class SymbolicValue(Value):
        def type(self) -> _Type:
            return _Type(self.spec, None if self.array is None else tuple(self.array.shape))

        def setType(self, type: Any) -> None:
            """Do nothing: shapes and dtypes need not be set."""

        def debugName(self) -> str:
            return self.name

    return SymbolicValue(value.name, value.spec, value.array)


class _Type:
    """The metadata of a value: `dim()`, `sizes()` and `dtype()` return None if unknown.

    `varyingSizes()` returns a list with None in place of dynamic sizes, for which `sizes()` returns None.
    """

    def __init__(self, spec: TensorSpec | None, shape: tuple[int, ...] | None) -> None:
        self._spec, self._shape = spec, shape if spec is None else tuple(spec.shape)

    def dim(self) -> int | None:
        return None if self._shape is None else len(self._shape)

    def sizes(self) -> list[int | None] | None:
        sizes = self.varyingSizes()
        return None if sizes is None or None in sizes else sizes

    def varyingSizes(self) -> list[int | None] | None:
        return None if self._shape is None else [size if isinstance(size, int) else None for size in self._shape]

    def dtype(self) -> torch.dtype | None:
        return None if self._spec is None else self._spec.dtype

    def scalarType(self) -> str | None:
        return None if self._spec is None else self._spec.dtype.legacy_name

    def with_sizes(self, sizes: Any) -> _Type:
        return self

    with_dtype = with_sizes


class _Graph:
    """The graph that symbolic functions add nodes to."""

    def __init__(self, builder: Builder, dtype: torch.dtype) -> None:
        self.builder, self.opset = builder, builder.opset
        self._dtype = dtype  # the dtype that Python floats get in the graph

    def op(self, opname: str, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Add a node.

        Args:
            opname: an ONNX operator, or `"domain::name"`.
            *raw_args: the inputs: values, tensors, numbers, or None for an omitted input.
            outputs: the number of outputs.
            **kwargs: the attributes, by name with a type suffix: `axis_i=1`, `axes_i=[0, 1]`, `alpha_f=0.5`,
                `mode_s="linear"`, `value_t=tensor`.
        """
        if opname == "Constant":
            return self.value(torch.as_tensor(next(iter(kwargs.values()))))
        domain, _, kind = opname.rpartition("::")
        attributes = {name[:-2]: _attribute(name, value) for name, value in kwargs.items()}
        if domain and domain != "onnx":
            attributes["domain"] = domain
        inputs = [self.value(each) for each in raw_args]
        results = [_symbolic_value(each) for each in self.builder.op_with_outputs(kind, *inputs, outputs=outputs, **attributes)]
        return results[0] if outputs == 1 else tuple(results)

    def value(self, given: Any) -> Any:
        """Convert a number or tensor to a graph value; return other arguments unchanged."""
        from ._builder import Value

        if isinstance(given, Value):
            return given if hasattr(given, "debugName") else _symbolic_value(given)
        if isinstance(given, bool) or not isinstance(given, (int, float, torch.Tensor)):
            return given
        return _symbolic_value(self.builder.constant(given, self._dtype if isinstance(given, float) else None))


def _attribute(name: str, value: Any) -> Any:
    from ._builder import as_numpy

    kinds: dict[str, Callable[[Any], Any]] = {
        "_i": int,
        "_f": float,
        "_s": str,
        "_t": lambda tensor: _tensor_attribute(as_numpy(tensor)),
    }
    if name[-2:] not in kinds:
        raise ValueError(f"Invalid attribute specifier '{name}': names end with _i, _f, _s or _t")
    convert = kinds[name[-2:]]
    return [convert(each) for each in value] if isinstance(value, (list, tuple)) else convert(value)


def _tensor_attribute(array: Any) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(array)
