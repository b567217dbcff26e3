"""List the tensors, inputs, outputs and operators of an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ModelListing", "list_model"]


@dataclass(frozen=True)
class ModelListing:
    """The contents of an ONNX file.

    Attributes:
        opset: the version of the standard operators.
        tensors: (name, dtype name, shape) of each weight and constant.
        inputs: the name, dtype and shape of each input as text, such as "x float32 [batch, 3]".
        outputs: the same for the outputs.
        operators: the operator of each node, in order.
    """

    opset: int
    tensors: list[tuple[str, str, list[int]]]
    inputs: list[str]
    outputs: list[str]
    operators: list[str]


def list_model(path: str) -> ModelListing:
    """List the contents of an ONNX file without reading external data.

    Raises:
        ImportError: the package onnx is not installed.
        RuntimeError: the file is not an ONNX model.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("reading .onnx files requires the package onnx: pip install onnx") from error
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError:
        raise
    except Exception as error:  # the parser raises exceptions of the protobuf package
        raise RuntimeError(f"{path} is not an ONNX model: {error}") from error
    graph = model.graph
    return ModelListing(
        opset=next((each.version for each in model.opset_import if not each.domain), 0),
        tensors=[(each.name, _dtype_name(each.data_type), list(each.dims)) for each in graph.initializer],
        inputs=[_described(each) for each in graph.input],
        outputs=[_described(each) for each in graph.output],
        operators=[node.op_type for node in graph.node],
    )


def _described(value: Any) -> str:
    kind = value.type.tensor_type
    sizes = [size.dim_param or str(size.dim_value) for size in kind.shape.dim]
    return f"{value.name} {_dtype_name(kind.elem_type)} [{', '.join(sizes)}]"


def _dtype_name(number: int) -> str:
    """Return the name that PyTorch and ONNX share, such as "float8_e4m3fn", for an ONNX dtype."""
    from onnx import TensorProto

    name: str = TensorProto.DataType.Name(number).lower()
    name = {"float": "float32", "double": "float64"}.get(name, name)
    return name.replace("float8e", "float8_e")
