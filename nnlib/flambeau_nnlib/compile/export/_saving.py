"""Save and load exported programs: a zip archive with the graph as JSON, and the tensors in the format of `torch.save`.

Loading never executes code from the file. A graph may refer only to operators of `torch.ops` and a few functions of
`operator`, and tensors are loaded without pickled code.
"""

from __future__ import annotations

import io
import itertools
import json
import keyword
import math
import operator
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import flambeau as torch
from flambeau import nn
from flambeau.extension.files import file_label, open_archive, reading
from flambeau.utils import pytree

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..python_operators import ARITHMETIC, COMPARISONS
from ._files import write_atomically
from ._sizes import SizeExpression, is_symbolic
from ._tracing import TensorSpec
from .dynamic_shapes import Constraint
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["load", "save"]

FORMAT = 1
_FUNCTIONS = {
    f"operator.{function.__name__}": function
    for function in (*ARITHMETIC, *COMPARISONS, operator.getitem, operator.neg, operator.pos, operator.abs, operator.not_)
}
_FUNCTIONS |= {f"math.{name}": getattr(math, name) for name in ["ceil", "floor", "trunc"]}
_FUNCTIONS |= {
    f"torch.sym_{name}": getattr(torch, f"sym_{name}") for name in ["float", "int", "ite", "max", "min", "not", "sqrt", "sum"]
}
_KINDS = frozenset({"placeholder", "call_function", "get_attr", "output"})
_FILE_OPERATORS = frozenset({"torch.ops.aten.from_file", "torch.ops.aten.save"})
_ARGUMENTS = {each.__name__: each for each in (TensorArgument, SymIntArgument, SymFloatArgument, SymBoolArgument)}
_NUMBERS = {each.__name__: each for each in (torch.SymInt, torch.SymFloat, torch.SymBool)}


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program to a file.

    Args:
        ep: the program.
        f: a path, conventionally `NAME.pt2`, or a binary file open for writing. A file at the path is replaced atomically.
        extra_files: additional files to store in the archive, by name.
        opset_version, pickle_protocol: accepted and ignored.

    Raises:
        TypeError: `ep` is not an `ExportedProgram`.
        RuntimeError: the graph contains a value that cannot be serialized.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),)), file)
    >>> _ = file.seek(0)
    >>> torch.export.load(file).module()(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("program.json", json.dumps(_program(ep)))
        contents = {"weights": dict(ep.state_dict), "constants": dict(ep.constants), "inputs": ep.example_inputs}
        for name, tensors in contents.items():
            content = io.BytesIO()
            torch.save(tensors, content)
            archive.writestr(f"{name}.pt", content.getvalue())
        for name, text in (extra_files or {}).items():
            archive.writestr(f"extra/{name}", text if isinstance(text, bytes) else str(text).encode())
    if isinstance(f, (str, os.PathLike)):
        write_atomically(Path(f), buffer.getvalue())
    else:
        f.write(buffer.getvalue())


def load(
    f: str | os.PathLike[str] | BinaryIO,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Load an exported program that was written by `save`.

    Args:
        f: a path, or a binary file open for reading.
        extra_files: a dictionary whose keys name additional files in the archive; their contents are stored as its values.
        expected_opset_version: accepted and ignored.

    Raises:
        RuntimeError: the file was not written by `save`, or its graph refers to a disallowed function.
        pickle.UnpicklingError: the file is damaged.
    """
    try:
        archive = open_archive(f)
        archive.getinfo("program.json")
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(f"{f} is not a file written by flambeau's torch.export.save: {error}") from error
    with archive, reading(file_label(f), "exported program", lambda: 0):
        described = json.loads(archive.read("program.json"))
        if described["format"] != FORMAT:
            raise RuntimeError(f"{f} has format version {described['format']}, but this version of flambeau reads {FORMAT}")
        tensors = {
            name: torch.load(io.BytesIO(archive.read(f"{name}.pt")), weights_only=True)
            for name in ("weights", "constants", "inputs")
        }
        texts = {name: archive.read(f"extra/{name}").decode() for name in extra_files or {}}
        program = _read_program(described, tensors)
    if extra_files:
        extra_files.update(texts)
    return program


# --- programs ---


def _program(ep: ExportedProgram) -> dict[str, Any]:
    call = ep._signature
    return {
        "format": FORMAT,
        "graph": _graph(ep.graph_module),
        "inputs": [
            [spec.kind.name, _argument(spec.arg), spec.target, spec.persistent] for spec in ep.graph_signature.input_specs
        ],
        "outputs": [[spec.kind.name, _argument(spec.arg), spec.target] for spec in ep.graph_signature.output_specs],
        "ranges": ep.range_constraints,
        "labels": ep._size_labels,
        "in_spec": pytree.treespec_dumps(call.in_spec),
        "out_spec": pytree.treespec_dumps(call.out_spec),
        "names": call.forward_arg_names,
        "modules": [entry.fqn for entry in ep.module_call_graph[1:]],
    }


def _read_program(described: dict[str, Any], tensors: dict[str, Any]) -> ExportedProgram:
    module = _read_graph(described["graph"])
    signature = ExportGraphSignature(
        [InputSpec(InputKind[kind], _read_argument(arg), *rest) for kind, arg, *rest in described["inputs"]],
        [OutputSpec(OutputKind[kind], _read_argument(arg), target) for kind, arg, target in described["outputs"]],
    )
    in_spec, out_spec = pytree.treespec_loads(described["in_spec"]), pytree.treespec_loads(described["out_spec"])
    _check_names(described["names"] or [], described["modules"], in_spec.children_specs[1].context)
    call = ModuleCallSignature([], [], in_spec, out_spec, described["names"])
    program = ExportedProgram(
        module, module.graph, signature, tensors["weights"],
        {name: Constraint(*limits) for name, limits in described["ranges"].items()},
        [ModuleCallEntry("", call), *map(ModuleCallEntry, described["modules"])],
        None if tensors["inputs"] is None else (tuple(tensors["inputs"][0]), tensors["inputs"][1]),
        tensors["constants"],
    )  # fmt: skip
    program._size_labels = described["labels"]
    return program


def _check_names(*several: Iterable[Any]) -> None:
    """Raise RuntimeError unless all names are identifiers or dotted paths: they become part of the generated code."""
    for name in itertools.chain(*several):
        if not isinstance(name, str) or not all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
            raise RuntimeError(f"the file contains the invalid name {name!r}")


def _argument(arg: Any) -> list[Any]:
    return [type(arg).__name__, arg.name, *([_to_json(arg.value)] if isinstance(arg, ConstantArgument) else [])]


def _read_argument(described: list[Any]) -> Any:
    kind, name, *value = described
    return ConstantArgument(name, _from_json(value[0], {})) if kind == "ConstantArgument" else _ARGUMENTS[kind](name)


# --- graphs ---


def _graph(module: GraphModule) -> dict[str, Any]:
    nodes = [
        {
            "op": node.op, "name": node.name, "target": _target(node), "args": _to_json(node.args),
            "kwargs": _to_json(node.kwargs),
            "val": _metadata(node.meta.get("val")), "trace": node.meta.get("stack_trace"), "view": node.meta.get("is_view"),
            "modules": list((node.meta.get("nn_module_stack") or {}).items()),
        }
        for node in module.graph.nodes
    ]  # fmt: skip
    return {
        "nodes": nodes,
        "inner": {name: _graph(child) for name, child in module.named_children() if isinstance(child, GraphModule)},
    }


def _read_graph(described: dict[str, Any]) -> GraphModule:
    graph, nodes = Graph(), dict[str, Node]()
    inner = {name: _read_graph(child) for name, child in described["inner"].items()}
    for each in described["nodes"]:
        if each["op"] not in _KINDS:
            raise RuntimeError(f"the file contains a node of kind {each['op']!r}, which exported programs do not have")
        args, kwargs = _from_json(each["args"], nodes), _from_json(each["kwargs"], nodes)
        _check_names([each["name"], each["target"]], kwargs)
        node = graph.create_node(each["op"], _read_target(each), args, kwargs, each["name"])
        if each["val"] is not None:
            node.meta["val"] = _read_metadata(each["val"])
        node.meta["stack_trace"], node.meta["is_view"] = each["trace"] or "", each["view"]
        node.meta["nn_module_stack"] = {key: tuple(entry) for key, entry in each["modules"]}
        nodes[each["name"]] = node
    return GraphModule(inner if inner else nn.Module(), graph)


def _target(node: Node) -> str:
    target: Any = node.target
    if isinstance(target, str):
        return target
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{target}"
    name = next((name for name, function in _FUNCTIONS.items() if function is target), None)
    if name is None:
        raise RuntimeError(f"torch.export.save: {target} is not an operator")
    return name


def _read_target(described: dict[str, Any]) -> Any:
    target = described["target"]
    if described["op"] != "call_function":
        return target
    if target in _FUNCTIONS:
        return _FUNCTIONS[target]
    if ".".join(target.split(".")[:4]) in _FILE_OPERATORS:
        raise RuntimeError(f"the file refers to {target}, which reads or writes files and is not allowed in a graph")
    parts = target.split(".")
    if parts[:2] != ["torch", "ops"] or not 4 <= len(parts) <= 5 or any(part.startswith("__") for part in parts):
        raise RuntimeError(f"the file refers to {target}, which is not allowed in a graph")
    found: Any = torch.ops
    for part in parts[2:]:
        found = getattr(found, part)
    if not isinstance(found, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        raise RuntimeError(f"the file refers to {target}, which is not an operator")
    return found


# --- values ---

_SETTINGS = {"dtype": torch.dtype, "device": torch.device, "layout": torch.layout, "memory_format": torch.memory_format}


def _to_json(value: Any) -> Any:
    """Convert an argument to JSON. A value of a type that JSON lacks becomes `{type: content}`, such as `{"tuple": [1, 2]}`."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        items = [_to_json(item) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[key, _to_json(item)] for key, item in value.items()]}
    if isinstance(value, slice):
        return {"slice": [_to_json(value.start), _to_json(value.stop), _to_json(value.step)]}
    for name, kind in _SETTINGS.items():
        if isinstance(value, kind):
            return {name: str(value).removeprefix("torch.")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise RuntimeError(f"torch.export.save: the argument {value!r} cannot be serialized")


def _from_json(value: Any, nodes: dict[str, Node]) -> Any:
    if isinstance(value, list):
        return [_from_json(item, nodes) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    readers: dict[str, Callable[[Any], Any]] = {
        "node": lambda name: nodes[name],
        "tuple": lambda items: tuple(_from_json(item, nodes) for item in items),
        "dict": lambda items: {key: _from_json(item, nodes) for key, item in items},
        "slice": lambda limits: slice(*(_from_json(limit, nodes) for limit in limits)),
        "complex": lambda parts: complex(*parts),
        "device": torch.device,
    }
    if kind in readers:
        return readers[kind](content)
    found = getattr(torch, content, None)
    if kind not in _SETTINGS or not isinstance(found, _SETTINGS[kind]):
        raise RuntimeError(f"the file contains the invalid argument {value}")
    return found


# --- metadata of values ---


class _NoRecorder:
    """Recorder for the symbolic sizes of loaded programs. It records nothing, because their graphs are complete."""

    def computed(self, function: Any, args: Any, value: Any) -> Any:
        return value

    def decided(self, number: Any) -> Any:
        return number.value


def _metadata(value: Any) -> Any:
    if isinstance(value, tuple):
        return {"several": [_metadata(item) for item in value]}
    if isinstance(value, TensorSpec):
        shape = [_metadata(size) if is_symbolic(size) else size for size in value.shape]
        return {"tensor": [shape, str(value.dtype).removeprefix("torch."), str(value.device), value.requires_grad]}
    if is_symbolic(value):
        form: SizeExpression = value.origin
        return {"number": [type(value).__name__, value.value, form.text, form.linear, form.is_data_dependent]}
    return None if value is None else {"plain": _to_json(value)}


def _read_metadata(described: Any) -> Any:
    ((kind, content),) = described.items()
    if kind == "several":
        return tuple(map(_read_metadata, content))
    if kind == "tensor":
        shape, dtype, device, requires_grad = content
        sizes = tuple(size if isinstance(size, int) else _read_metadata(size) for size in shape)
        return TensorSpec(sizes, getattr(torch, dtype), torch.device(device), requires_grad)
    if kind == "number":
        number, value, text, linear, data_dependent = content
        return _NUMBERS[number](_NoRecorder(), value, SizeExpression(text, linear, data_dependent))
    return _from_json(content, {})
