"""Writing an exported program as one file of Python, which needs NumPy alone, and one of weights."""

from __future__ import annotations

import ast
import inspect
import operator
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy

import flambeau as torch
from flambeau.utils import pytree

from ...fx.node import Node, map_arg
from ...python_operators import ARITHMETIC, COMPARISONS
from .._decomposing import without_writes
from .._functionalizing import operator_name
from .._tracing import TensorSpec
from ..exported_program import ExportedProgram
from ..graph_signature import InputKind, OutputKind
from . import functions
from .expressions import EXPRESSIONS, FUNCTIONS, Code, numpy_dtype, written

__all__ = ["save_numpy", "source_of"]

_INFIX = ARITHMETIC | COMPARISONS | {operator.and_: "and", operator.or_: "or"}


def save_numpy(program: ExportedProgram, folder: str | os.PathLike[str], name: str = "model") -> tuple[Path, Path]:
    """Write a program as `NAME.py` and `NAME.npz`, which need NumPy alone.

    The class `Model` in the file takes arrays as the module takes tensors. What the file computes for the example inputs is
    compared with what the program computes, before anything is written.

    Args:
        program: what `torch.export.export` gave back; the module in evaluation mode.
        folder: is made if it is not there. Files of these names are replaced, each as a whole.
        name: a Python identifier.

    Returns:
        The paths of both files.

    Raises:
        RuntimeError: an operator has no expression in NumPy, the program draws random numbers, or the results differ.

    As in ::

        program = torch.export.export(model.eval(), (torch.randn(1, 3, 224, 224),))
        save_numpy(program, "out")
    """
    source, weights = source_of(program, name)
    for tensor in weights.values():
        numpy_dtype(tensor.dtype)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {key: value.detach().cpu().numpy() for key, value in weights.items()}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        paths = [Path(scratch) / f"{name}.py", Path(scratch) / f"{name}.npz"]
        paths[0].write_text(source, encoding="utf-8")
        numpy.savez(paths[1], **arrays)
        _compare(program, paths[0])
        for path in reversed(paths):
            os.replace(path, folder / path.name)
    return folder / f"{name}.py", folder / f"{name}.npz"


def _compare(program: ExportedProgram, path: Path) -> None:
    """Run the written file on the example inputs."""
    if program.example_inputs is None:
        return
    names: dict[str, Any] = {"__file__": str(path), "__name__": path.stem}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().cpu().numpy().copy(), program.example_inputs)
    results = pytree.tree_leaves(names["Model"]()(*args, **kwargs))
    with torch.no_grad():
        given = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), program.example_inputs)
        expected = pytree.tree_leaves(program.module()(*given[0], **given[1]))
    for place, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        if not isinstance(wanted, torch.Tensor):
            continue
        found = torch.as_tensor(numpy.array(result))
        if found.dtype is not wanted.dtype or found.shape != wanted.shape:
            raise RuntimeError(
                f"the written file gives {found.dtype} {tuple(found.shape)} for output {place}, where the model gives "
                f"{wanted.dtype} {tuple(wanted.shape)}"
            )
        if not torch.allclose(found, wanted.cpu(), rtol=1e-3, atol=1e-4, equal_nan=True):
            raise RuntimeError(f"output {place} of the written file differs by {(found - wanted.cpu()).abs().max().item():.3g}")


def source_of(program: ExportedProgram, name: str = "model") -> tuple[str, dict[str, torch.Tensor]]:
    """The code of a program in NumPy, and the weights that it looks up by name.

    Args:
        program: the program.
        name: that of the files.
    """
    return _Writer(without_writes(program)).write(name)


class _Writer:
    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.weights: dict[str, torch.Tensor] = {}
        self.functions: set[str] = set()
        self.reserved = {"np", "math", "weights", "self", *_HELPERS}
        self.methods: list[str] = []
        self.modules: list[Any] = [program.graph_module]

    def write(self, name: str) -> tuple[str, dict[str, torch.Tensor]]:
        body = self._main()
        parts = [self._heading(name), *self._helpers()]
        source = "\n\n\n".join(
            [*parts, f"# --- the model ---\n\n\n{_CLASS}\n{body}" + "".join(f"\n{each}" for each in self.methods)]
        )
        return source + "\n", self.weights

    # --- the file ---

    def _heading(self, name: str) -> str:
        inputs = self._inputs()
        described = ", ".join(f"{node.name}: {_described(node.meta.get('val'))}" for node in inputs)
        return _HEADING.format(
            title=self._title(), name=name, inputs=", ".join(node.name for node in inputs), described=described
        )

    def _title(self) -> str:
        for node in self.program.graph.nodes:
            for _, (path, cls) in (node.meta.get("nn_module_stack") or {}).items():
                if not path:
                    return str(cls.rpartition(".")[2])
        return "a program"

    def _helpers(self) -> list[str]:
        """The functions that are used, with those that they call, in the order in which they stand in their file."""
        wanted, waiting = set(), set(self.functions)
        while waiting:
            name = waiting.pop()
            wanted.add(name)
            called = {node.id for node in ast.walk(ast.parse(_HELPERS[name])) if isinstance(node, ast.Name)}
            waiting |= (called & _HELPERS.keys()) - wanted
        return [source for name, source in _HELPERS.items() if name in wanted]

    def _inputs(self) -> list[Node]:
        specs = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        placeholders = [node for node in self.program.graph.nodes if node.op == "placeholder"]
        return [node for node in placeholders if specs[node.name].kind is InputKind.USER_INPUT]

    def _main(self) -> str:
        signature = self.program.graph_signature
        call = self.program._signature
        specs = {spec.arg.name: spec for spec in signature.input_specs}
        names: dict[Node, Any] = {}
        for node in self.program.graph.nodes:
            if node.op == "placeholder" and specs[node.name].kind is not InputKind.USER_INPUT:
                target = str(specs[node.name].target)
                names[node] = Code(f'weights["{target}"]', node.meta.get("val"))
        from ..exported_program import parameters_of_call

        parameters = parameters_of_call(call)
        leaves = iter(self._inputs())
        count = len(call.in_spec.children_specs[0].children_specs)
        unpacked: list[str] = []
        for place, parameter in enumerate(parameters):
            children = call.in_spec.children_specs[0 if place < count else 1].children_specs
            child = children[place if place < count else place - count]
            own = [next(leaves) for _ in range(child.num_leaves)]
            for node in own:
                known = node.meta.get("val")
                names[node] = Code(self._variable(node), known) if isinstance(known, TensorSpec) else known
            if child.type is not None:
                unpacked.append(f"        {_pattern(child, [self._variable(node) for node in own])} = {parameter}")
        by_name = ["*"] * (len(parameters) > count) + [f"{each}=None" for each in parameters[count:]]
        head = f"    def __call__({', '.join(['self', *parameters[:count], *by_name])}):\n        weights = self.weights\n"
        lines, results = self._body(self.program.graph, names)
        outputs = [
            value for spec, value in zip(signature.output_specs, results, strict=True) if spec.kind is OutputKind.USER_OUTPUT
        ]
        structure = pytree.tree_unflatten([_Raw(written(value)) for value in outputs], call.out_spec)
        body = "\n".join([*unpacked, *lines, f"        return {_nested(structure)}"])
        for match in re.finditer(r'weights\["([^"]+)"\]', body + "".join(self.methods)):
            self.weights[match.group(1)] = self.program.tensor_named(match.group(1))
        return head + body + "\n"

    # --- graphs as lines ---

    def _variable(self, node: Node) -> str:
        name = str(node.target) if node.op == "placeholder" else node.name
        return f"{name}_" if name in self.reserved else name

    def _body(self, graph: Any, names: dict[Node, Any]) -> tuple[list[str], list[Any]]:
        """The lines of a graph, and the code of its results."""
        lines: list[str] = []
        origin = ""
        for node in graph.nodes:
            if node.op in ("placeholder", "output"):
                continue
            if node.op == "get_attr":
                names[node] = Code(self._method(str(node.target)))
                continue
            if "_assert" in operator_name(node):
                continue
            expression = self._expression(node, names)
            if not node.users:
                continue
            known = node.meta.get("val")
            if re.fullmatch(r"[\w.]+|weights\[\"[^\"]+\"\]", expression):  # only another name for the same
                names[node] = Code(expression, known if isinstance(known, TensorSpec) else None)
                continue
            where = _origin(node)
            if where and where != origin:
                lines.append(f"        # {where}")
                origin = where
            names[node] = Code(self._variable(node), known if isinstance(known, TensorSpec) else None)
            lines.append(f"        {names[node]} = {expression}")
        results = map_arg(graph.output_node().args[0], names.__getitem__)
        return lines, list(results)

    def _expression(self, node: Node, names: dict[Node, Any]) -> str:
        args, kwargs = map_arg(node.args, names.__getitem__), map_arg(node.kwargs, names.__getitem__)
        name, target = operator_name(node), node.target
        if target is operator.getitem:
            return f"{args[0]}[{args[1]}]"
        if target in _INFIX:
            return f" {_INFIX[target]} ".join(written(arg) for arg in args)
        if target is operator.neg:
            return f"-{written(args[0])}"
        if target is operator.not_:
            return f"not {written(args[0])}"
        if name == "cond":
            operands = ", ".join(written(each) for each in args[3])
            return f"{args[1]}({operands}) if {args[0]} else {args[2]}({operands})"
        if name == "while_loop":
            return f"self.repeat({args[0]}, {args[1]}, {written(tuple(args[2]))}, {written(tuple(args[3]))})"
        known = node.meta.get("val")
        dtype = known.dtype if isinstance(known, TensorSpec) else None
        if name in EXPRESSIONS:
            text = EXPRESSIONS[name](dtype, *args, **_without_devices(kwargs))
        elif name in FUNCTIONS:
            given = [*map(written, args), *(f"{key}={written(value)}" for key, value in _without_devices(kwargs).items())]
            text = f"{FUNCTIONS[name]}({', '.join(given)})"
        else:
            raise RuntimeError(f"{target} has no expression in NumPy; it comes from here:\n{node.stack_trace}")
        self.functions |= {called for called in re.findall(r"\b(\w+)\(", text) if called in _HELPERS}
        return text

    def _method(self, target: str) -> str:
        """A graph inside the graph, as a method."""
        module = getattr(self.modules[-1], target)
        self.modules.append(module)
        names: dict[Node, Any] = {
            node: Code(self._variable(node), node.meta.get("val")) for node in module.graph.nodes if node.op == "placeholder"
        }
        parameters = ", ".join(["self", *names.values()])
        lines, results = self._body(module.graph, names)
        self.modules.pop()
        self.methods.append(
            "\n".join([f"    def {target}({parameters}):", *lines, f"        return {written(tuple(results))}", ""])
        )
        if "while_loop" in target and not any("def repeat" in method for method in self.methods):
            self.methods.append(_REPEAT)
        return f"self.{target}"


_HEADING = '''"""A model of {title}, in NumPy alone; {name}.npz holds its weights.

    from {name} import Model
    model = Model()
    result = model({inputs})

It takes {described}. Sizes with a name may differ from call to call.
Comments say which line of the model the code below them comes from.
"""

import math
from pathlib import Path

import numpy as np'''
_CLASS = '''class Model:
    """The model; call it with arrays.

    Args:
        path: the file of weights.
    """

    def __init__(self, path=Path(__file__).with_suffix(".npz")):
        with np.load(path) as file:
            self.weights = {name: file[name] for name in file.files}
'''
_REPEAT = '''    def repeat(self, condition, body, carried, additional):
        """Call `body` on its own results for as long as the condition holds."""
        while condition(*carried, *additional)[0]:
            carried = body(*carried, *additional)
        return carried
'''


class _Raw:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _nested(value: Any) -> str:
    """What is returned, as code: containers of Python's own, and others as tuples of what is in them."""
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_nested(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    items = list(value) if isinstance(value, tuple) else pytree.tree_leaves(value)
    return f"({', '.join(map(_nested, items))}{',' * (len(items) == 1)})"


def _pattern(spec: Any, names: list[str]) -> str:
    """The names of a nested argument's parts, as they stand on the left of an assignment."""
    if spec.type is dict:
        raise RuntimeError("a model without a framework takes no dictionaries: give each array as an argument of its own")
    parts = []
    for child in spec.children_specs:
        own, names = names[: child.num_leaves], names[child.num_leaves :]
        parts.append(own[0] if child.type is None else _pattern(child, own))
    return f"({', '.join(parts)},)"


def _without_devices(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory", "dtype", "memory_format")
    }


def _described(known: Any) -> str:
    if not isinstance(known, TensorSpec):
        return repr(known)
    return f"{str(known.dtype).removeprefix('torch.')}[{', '.join(map(str, known.shape))}]"


def _origin(node: Node) -> str:
    """The innermost line of the program that a node comes from, which is not in a layer, and the layer that it calls."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n(?:    (.*)\n)?', node.stack_trace or "")
    own = [frame for frame in frames if "flambeau_nnlib" not in frame[0]] or frames
    if not own:
        return ""
    file, line, _, code = own[-1]
    path = next((path for path, _ in reversed(list((node.meta.get("nn_module_stack") or {}).values()))), "")
    return f"{Path(file).name}:{line}  {code}" + (f"  [{path}]" if path else "")


_HELPERS = {name: inspect.getsource(value).rstrip() for name, value in vars(functions).items() if inspect.isfunction(value)}
