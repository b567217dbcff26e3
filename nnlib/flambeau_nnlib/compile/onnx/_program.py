"""`torch.onnx.export` and `ONNXProgram`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

import flambeau as torch
from flambeau import nn
from flambeau.utils import pytree

from ..export import Dim, ExportedProgram
from ..export import export as export_program
from ..export._files import write_atomically
from ..export.dynamic_shapes import arguments_by_name
from ._errors import OnnxExporterError

__all__ = ["ONNXProgram", "export", "is_in_onnx_export"]

_exporting = False
DEFAULT_OPSET = 20
OLDEST_OPSET = 7


def is_in_onnx_export() -> bool:
    """Whether `torch.onnx.export` is tracing a module.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return _exporting


class ONNXProgram:
    """A model in the ONNX format.

    Args:
        model_proto: the model as an `onnx.ModelProto`.
        exported_program: the exported program that it was translated from.

    Attributes:
        model_proto, exported_program: the arguments.
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram) -> None:
        self.model_proto, self.exported_program = model_proto, exported_program
        self._session: Any = None

    @property
    def model(self) -> Any:
        """The `onnx.ModelProto`."""
        return self.model_proto

    def save(
        self,
        destination: str | os.PathLike[str] | IO[bytes],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file. An existing file is replaced atomically.

        Args:
            destination: a path, or a binary file that is open for writing.
            include_initializers: whether to include the weights.
            keep_initializers_as_inputs: also list the weights among the inputs.
            external_data: whether to write the weights to a separate file `NAME.data` in the same folder. By default only if
                they exceed 2 GB, the limit of an ONNX file. Ignored for an open file.

        Raises:
            ValueError: the weights exceed 2 GB, and `destination` is an open file.
        """
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        graph = model.graph
        if keep_initializers_as_inputs:
            graph.input.extend(
                onnx.helper.make_tensor_value_info(weight.name, weight.data_type, list(weight.dims))
                for weight in graph.initializer
            )
        if not include_initializers:
            del graph.initializer[:]
        is_large = sum(len(weight.raw_data) for weight in graph.initializer) > 2**31 - 2**20
        if not isinstance(destination, (str, os.PathLike)):
            if is_large:
                raise ValueError("a model of more than 2 GB needs a path, because its weights are written to a separate file")
            destination.write(model.SerializeToString())
            return
        path = Path(destination)
        if external_data or (external_data is None and is_large):
            _move_weights(graph.initializer, path.with_name(path.name + ".data"))
        write_atomically(path, model.SerializeToString())

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """Run the model, with onnxruntime if it is installed, else with the slow reference implementation of `onnx`."""
        arrays = dict(zip(self.input_names, _arrays(args, kwargs), strict=True))
        if self._session is None:
            self.initialize_inference_session()
        # the reference implementation returns NumPy scalars, and views with negative strides
        return tuple(torch.from_numpy(np.asarray(result, order="C")) for result in self._session.run(None, arrays))

    def initialize_inference_session(self, initializer: Callable[[bytes], Any] | None = None) -> None:
        """Create the inference session. Without this, the first call of the program creates it.

        Args:
            initializer: a function from the serialized model to an object with onnxruntime's method `run(names, inputs)`.
        """
        content = self.model_proto.SerializeToString()
        if initializer is not None:
            self._session = initializer(content)
            return
        try:
            import onnxruntime
        except ImportError:
            from onnx.reference import ReferenceEvaluator

            self._session = ReferenceEvaluator(self.model_proto)
        else:
            self._session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])

    call_reference = __call__

    def release(self) -> None:
        """Delete the inference session."""
        self._session = None

    def optimize(self) -> None:
        """Do nothing: `export` adds no nodes that could be removed, except `Identity`."""

    def apply_weights(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Replace weights by name.

        Args:
            state_dict: the new weights, by name.

        Raises:
            KeyError: the model has no weight of this name.
        """
        from onnx import numpy_helper

        weights = {weight.name: weight for weight in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            weights[name].CopyFrom(numpy_helper.from_array(tensor.detach().cpu().numpy(), name))

    def rename_axes(self, rename_mapping: Mapping[str, str]) -> None:
        """Rename dynamic sizes.

        Args:
            rename_mapping: maps current names to new names.
        """
        graph = self.model_proto.graph
        for info in (*graph.input, *graph.output):
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param in rename_mapping:
                    dim.dim_param = rename_mapping[dim.dim_param]

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [info.name for info in self.model_proto.graph.input]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return [info.name for info in self.model_proto.graph.output]

    def __repr__(self) -> str:
        import onnx

        return f"ONNXProgram(\n{onnx.printer.to_text(self.model_proto.graph)}\n)"


def _arrays(args: Any, kwargs: Any) -> list[Any]:
    return [leaf.detach().cpu().numpy() for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]


def _move_weights(weights: Any, path: Path) -> None:
    """Move weights to a file, each aligned to 4096 bytes, and record their positions."""
    import onnx

    content = bytearray()
    for weight in weights:
        raw = weight.raw_data
        if len(raw) < 1024:
            continue
        content += b"\0" * (-len(content) % 4096)
        onnx.external_data_helper.set_external_data(weight, path.name, len(content), len(raw))
        weight.ClearField("raw_data")
        content += raw
    write_atomically(path, bytes(content))


def export(
    model: nn.Module | ExportedProgram,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike[str] | IO[bytes] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: dict[Any, Callable[..., Any]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = None,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram:
    """Export a model to the ONNX format, which other runtimes read. Requires the package onnx: `pip install onnx`.

    The module runs once on the examples, in its current mode (training or evaluation); see `torch.export.export`.

    Args:
        model: the module, or an exported program.
        args, kwargs: the example inputs.
        f: the path of the file, or an open binary file; by default no file is written.
        verbose: print the graph.
        input_names, output_names: names for the inputs and outputs, in order.
        opset_version: the ONNX opset version, at least 7; 20 by default. For versions below 11, the model is exported for
            version 11 and converted by the package `onnx`.
        external_data: whether to write the weights to a separate file `NAME.data` in the same folder.
        dynamic_shapes: the dynamic sizes, as for `torch.export.export`; a string is short for a `Dim` of that name.
        dynamic_axes: the dynamic sizes by input name: `{"x": {0: "batch"}}` or `{"x": [0]}`.
        custom_translation_table: maps operators, such as `torch.ops.mine.scale.default`, to functions that add ONNX nodes.
            They take a builder, see `flambeau_nnlib.compile.onnx._builder`, and the arguments of the operator.
        verify: run the model on the examples and compare its outputs.
        export_params: whether to include the weights.
        keep_initializers_as_inputs: also list the weights among the inputs.
        dynamo: if False, also use the functions of `register_custom_op_symbolic`; the exporter is the same.
        report, optimize, profile, dump_exported_program, artifacts_dir, training, operator_export_type, do_constant_folding,
        custom_opsets, export_modules_as_functions, autograd_inlining: accepted and ignored.

    Raises:
        ImportError: the package `onnx` is not installed.
        ValueError: `opset_version` is below 7, or `dynamic_axes` names an unknown input.
        OnnxExporterError: an operator has no translation, or none for an old version. It is a subclass of RuntimeError.
        AssertionError: with `verify`, the outputs differ.

    Example::

        torch.onnx.export(model, (torch.randn(1, 3, 224, 224),), "model.onnx", dynamic_axes={"x": {0: "batch"}})
    """
    global _exporting
    try:
        from ._translation import OLDEST_TRANSLATED, translate
    except ImportError as error:
        raise ImportError(f"torch.onnx.export requires the package onnx: pip install onnx ({error})") from error
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if opset < OLDEST_OPSET:
        raise ValueError(f"Unsupported ONNX opset version: {opset}")
    args = (args,) if isinstance(args, (torch.Tensor, dict)) else tuple(args)
    if not args and kwargs is None and hasattr(model, "example_arguments"):  # the model is an `ExportableModule`
        exportable: Any = model
        args, kwargs = exportable.example_arguments()
        args = tuple(args)
        dynamic_shapes = exportable.dynamic_shapes() if dynamic_shapes is None else dynamic_shapes
        input_names, output_names = input_names or exportable.input_names(), output_names or exportable.output_names()
    dynamic_shapes = _with_dims(dynamic_shapes, {})
    if args and isinstance(args[-1], dict) and kwargs is None and isinstance(model, nn.Module):
        *positional, last = args
        if not last or _are_kwargs(model, last):  # an empty last dict marks the dict before it as an input
            args, kwargs = tuple(positional), last
    if isinstance(model, ExportedProgram):
        program = model
    else:
        if dynamic_axes and dynamic_shapes is None:
            dynamic_shapes = _shapes_by_axes(model, args, kwargs or {}, dynamic_axes, input_names)
        _exporting = True
        try:
            program = export_program(model, args, kwargs, dynamic_shapes=dynamic_shapes)
        finally:
            _exporting = False
    proto = translate(
        program,
        max(opset, OLDEST_TRANSLATED),
        input_names or (),
        output_names or (),
        custom_translation_table,
        symbolic=not dynamo,
    )
    result = ONNXProgram(_convert_version(proto, opset) if opset < OLDEST_TRANSLATED else proto, program)
    if verbose:
        print(result)
    if verify:
        _verify(result)
    if f is not None:
        result.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data,
        )
    return result


def _convert_version(model: Any, opset: int) -> Any:
    """Convert the model to an older opset version."""
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, opset)
    except Exception as error:  # the converter is C++ code that can raise anything
        raise OnnxExporterError(f"the model cannot be converted to opset version {opset}: {error}") from error


def _are_kwargs(model: nn.Module, named: dict[str, Any]) -> bool:
    """Whether a dictionary as the last argument contains keyword arguments, as in older versions of the API."""
    import inspect

    parameters = inspect.signature(model.forward).parameters
    return bool(named) and all(isinstance(key, str) and key in parameters for key in named)


def _with_dims(shapes: Any, dims: dict[str, Dim]) -> Any:
    """Replace size names in `dynamic_shapes` by `Dim`s."""
    if isinstance(shapes, str):
        return dims.setdefault(shapes, Dim(_identifier(shapes)))
    if isinstance(shapes, dict):
        return {key: _with_dims(value, dims) for key, value in shapes.items()}
    return type(shapes)(_with_dims(value, dims) for value in shapes) if type(shapes) in (list, tuple) else shapes


def _shapes_by_axes(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], axes: Mapping[str, Any], names: Sequence[str] | None
) -> Any:
    """Convert `dynamic_axes` to `dynamic_shapes`."""
    named = arguments_by_name(model, args, kwargs)
    leaves, structure = pytree.tree_flatten(named)
    tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    labels = dict(zip(tensors, names or (), strict=False))
    if not names:
        labels = dict(zip(tensors, named, strict=False)) if len(tensors) == len(named) else {}
    dims: dict[str, Dim] = {}
    shapes: list[Any] = [None] * len(leaves)
    for place, label in labels.items():
        said = axes.get(label)
        if said is None:
            continue
        pairs = said.items() if isinstance(said, Mapping) else ((axis, f"{label}_dim_{axis}") for axis in said)
        rank = leaves[place].dim()
        shapes[place] = {axis % rank: dims.setdefault(name, Dim(_identifier(name))) for axis, name in pairs}
    if not dims and not any(label in axes for label in labels.values()):
        raise ValueError(f"dynamic_axes names {list(axes)}, but the inputs are {list(labels.values()) or list(named)}")
    return pytree.tree_unflatten(shapes, structure)


def _identifier(name: str) -> str:
    cleaned = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in str(name))
    return cleaned if cleaned.isidentifier() else f"dim_{cleaned}"


def _verify(program: ONNXProgram) -> None:
    examples = program.exported_program.example_inputs
    if examples is None:
        raise OnnxExporterError("verify=True requires a program with example inputs")
    args, kwargs = examples
    expected = pytree.tree_leaves(program.exported_program.module()(*args, **kwargs))
    for name, result, wanted in zip(program.output_names, program(*args, **kwargs), expected, strict=True):
        label = functools.partial("{}: {}".format, name)
        torch.testing.assert_close(result, wanted.detach().cpu(), rtol=1e-4, atol=1e-5, msg=label)
