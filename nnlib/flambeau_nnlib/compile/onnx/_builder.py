"""Build ONNX graphs: values, constants and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import flambeau as torch

from ..export._tracing import TensorSpec
from ..fx.node import Node
from ._errors import OnnxExporterError
from ._older_opsets import compose, in_older_form, require_operator

__all__ = ["Builder", "Value", "onnx_dtype"]

_DTYPES = {
    torch.float32: TensorProto.FLOAT, torch.float64: TensorProto.DOUBLE, torch.float16: TensorProto.FLOAT16,
    torch.bfloat16: TensorProto.BFLOAT16, torch.int8: TensorProto.INT8, torch.int16: TensorProto.INT16,
    torch.int32: TensorProto.INT32, torch.int64: TensorProto.INT64, torch.uint8: TensorProto.UINT8, torch.bool: TensorProto.BOOL,
    torch.complex64: TensorProto.COMPLEX64, torch.complex128: TensorProto.COMPLEX128,
}  # fmt: skip


def onnx_dtype(dtype: torch.dtype) -> int:
    """Return the ONNX number of a dtype.

    Raises:
        OnnxExporterError: ONNX does not support the dtype.
    """
    if dtype not in _DTYPES:
        raise OnnxExporterError(f"ONNX has no dtype for {dtype}")
    return int(_DTYPES[dtype])


class Value:
    """A tensor in an ONNX graph.

    Args:
        name: the name of the tensor.
        spec: its shape and dtype, or None if unknown.
        array: its elements, if it is a weight or constant.
    """

    def __init__(self, name: str, spec: TensorSpec | None = None, array: Any = None) -> None:
        self.name, self.spec, self.array = name, spec, array

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def shape(self) -> Sequence[Any]:
        """The sizes; unknown ones are symbolic numbers."""
        if self.array is not None:
            return tuple(self.array.shape)
        assert self.spec is not None, f"the shape and dtype of {self.name} are unknown"
        return tuple(self.spec.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype."""
        assert self.spec is not None, f"the shape and dtype of {self.name} are unknown"
        return self.spec.dtype


class Builder:
    """Collect the nodes and weights of an ONNX graph.

    Attributes:
        node: the node of the exported program that is being translated.
        opset: the ONNX opset version.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, Value] = {}
        self.node: Node | None = None
        self._names: dict[str, int] = {}
        self._constants: dict[Any, Value] = {}

    # --- names and constants ---

    def name(self, wanted: str) -> str:
        """Return an unused name, similar to `wanted`."""
        count = self._names.get(wanted, 0)
        self._names[wanted] = count + 1
        return wanted if not count else self.name(f"{wanted}_{count}")

    def weight(self, name: str, array: np.ndarray[Any, Any], spec: TensorSpec) -> Value:
        """Add a weight. It is written to the file only if a node uses it."""
        value = self.initializers[name] = Value(name, spec, array)
        return value

    def constant(self, data: Any, dtype: torch.dtype | None = None) -> Value:
        """Return a constant for Python numbers or an array."""
        tensor = torch.as_tensor(data, dtype=dtype) if not isinstance(data, torch.Tensor) else data
        array = as_numpy(tensor)
        key = (array.dtype.str, str(tensor.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            spec = TensorSpec(tuple(tensor.shape), tensor.dtype, tensor.device)
            self._constants[key] = self.weight(self.name("const"), array, spec)
        return self._constants[key]

    # --- nodes ---

    def op(self, kind: str, *inputs: Value | None, like: Any = None, **attributes: Any) -> Value:
        """Add a node with a single output.

        Args:
            kind: the ONNX operator.
            *inputs: the inputs; None for an omitted optional input.
            like: a value with the shape and dtype of the output; by default the output of the translated node.
            **attributes: the attributes of the node; those that are None are omitted.
        """
        return self.op_with_outputs(kind, *inputs, outputs=1, like=like, **attributes)[0]

    def op_with_outputs(self, kind: str, *inputs: Value | None, outputs: int, like: Any = None, **attributes: Any) -> list[Value]:
        """Add a node with `outputs` outputs; see `op` for the other arguments."""
        attributes = {key: value for key, value in attributes.items() if value is not None}
        composed = compose(kind, self.opset, attributes)
        if composed is not None:
            return [composed(self, *inputs, like=like, **attributes)]
        require_operator(kind, self.opset)
        inputs, attributes = in_older_form(self, kind, inputs, attributes)  # type: ignore[assignment]  # a sequence
        label = self.node.name if self.node is not None else kind
        names = [self.name(label if outputs == 1 else f"{label}_{place}") for place in range(outputs)]
        given = [value.name if value is not None else "" for value in inputs]
        while given and not given[-1]:
            given.pop()
        node = helper.make_node(kind, given, names, name=self.name(f"node_{kind}"), **attributes)
        if self.node is not None and self.node.stack_trace:
            node.doc_string = self.node.stack_trace
        self.nodes.append(node)
        spec = like.spec if isinstance(like, Value) else like if like is not None else self.result_spec()
        return [Value(name, spec) for name in names]

    def result_spec(self) -> TensorSpec | None:
        """Return the metadata of the translated node's output, or None if unknown."""
        value = self.node.meta.get("val") if self.node is not None else None
        if isinstance(value, tuple):
            value = value[0]
        if isinstance(value, TensorSpec):
            return value
        return TensorSpec((), torch.int64, torch.device("cpu"))

    @property
    def result_dtype(self) -> torch.dtype:
        """The dtype of the translated node's output."""
        spec = self.result_spec()
        assert spec is not None
        return spec.dtype

    def cast(self, value: Any, dtype: torch.dtype) -> Value:
        """Convert a value to a dtype; a Python number becomes a constant."""
        if not isinstance(value, Value):
            return self.constant(value, dtype)
        if value.dtype is dtype:
            return value
        if value.array is not None and value.array.size < 64:
            return self.constant(torch.as_tensor(value.array).to(dtype))
        spec = TensorSpec(value.shape, dtype, torch.device("cpu"))  # type: ignore[arg-type]  # a tuple
        return self.op("Cast", value, to=onnx_dtype(dtype), like=spec)

    # --- sizes ---

    def ints(self, values: Sequence[Any] | Any) -> Value:
        """Convert a list of integers or graph values to a 1-D tensor."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        if all(isinstance(value, int) for value in values):
            return self.constant(torch.tensor(values, dtype=torch.int64))
        parts = [self.unsqueeze_scalar(value) if isinstance(value, Value) else self.constant([value]) for value in values]
        spec = TensorSpec((len(values),), torch.int64, torch.device("cpu"))
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0, like=spec)

    def unsqueeze_scalar(self, number: Value) -> Value:
        """Convert a scalar to a 1-D tensor."""
        spec = TensorSpec((1,), number.dtype, torch.device("cpu"))
        return self.op("Unsqueeze", self.cast(number, torch.int64), self.constant([0]), like=spec)

    def shape(self, value: Value) -> Value:
        """Return the shape of a value as a tensor."""
        return self.op("Shape", value, like=TensorSpec((value.rank,), torch.int64, torch.device("cpu")))

    def size(self, value: Value, dim: int) -> Any:
        """Return a size, as an integer if it is known."""
        known = value.shape[dim]
        if isinstance(known, int):
            return known
        dim %= value.rank
        shape = self.op("Shape", value, start=dim, end=dim + 1, like=TensorSpec((1,), torch.int64, torch.device("cpu")))
        return self.op("Squeeze", shape, self.constant([0]), like=TensorSpec((), torch.int64, torch.device("cpu")))

    def sizes(self, value: Value) -> list[Any]:
        """Return all sizes of a value."""
        return [self.size(value, dim) for dim in range(value.rank)]

    # --- subgraphs ---

    @contextmanager
    def subgraph(self) -> Iterator[list[onnx.NodeProto]]:
        """Context manager in which nodes are added to a separate subgraph."""
        former, self.nodes = self.nodes, []
        constants, self._constants = self._constants, dict(self._constants)
        try:
            yield self.nodes
        finally:
            self.nodes, self._constants = former, constants

    def used(self, outputs: Sequence[str]) -> set[str]:
        """Return the names that the nodes use, including those in subgraphs."""
        names = set(outputs)

        def visit(nodes: Any) -> None:
            for node in nodes:
                names.update(node.input)
                for attribute in node.attribute:
                    if attribute.type == onnx.AttributeProto.GRAPH:
                        visit(attribute.g.node)
                        names.update(output.name for output in attribute.g.output)

        visit(self.nodes)
        return names

    def tensors(self, names: set[str]) -> list[TensorProto]:
        """Return the weights and constants with the given names as ONNX tensors."""
        return [_tensor(value) for name, value in self.initializers.items() if name in names]


def as_numpy(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().contiguous().numpy() if tensor.dtype is not torch.bfloat16 else _bfloat16(tensor)


def _bfloat16(tensor: torch.Tensor) -> Any:
    import ml_dtypes

    return tensor.detach().cpu().contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def _tensor(value: Value) -> TensorProto:
    if value.spec is not None and value.dtype is torch.bfloat16:
        array = np.ascontiguousarray(value.array)
        return helper.make_tensor(value.name, TensorProto.BFLOAT16, array.shape, array.tobytes(), raw=True)
    return numpy_helper.from_array(np.ascontiguousarray(value.array).reshape(value.array.shape), value.name)


Translation = Callable[..., Any]
