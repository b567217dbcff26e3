"""Write an exported program as a NumPy module: a Python file that imports only NumPy, and an `.npz` file of weights."""

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
from .._decomposing import functionalize_program
from .._functionalizing import operator_name
from .._tracing import TensorSpec
from ..exported_program import ExportedProgram
from ..graph_signature import InputKind, OutputKind
from . import functions
from .expressions import EXPRESSIONS, FUNCTIONS, Code, numpy_dtype, to_code

__all__ = ["numpy_source", "save_numpy"]

_INFIX = ARITHMETIC | COMPARISONS | {operator.and_: "and", operator.or_: "or"}


def save_numpy(program: ExportedProgram, folder: str | os.PathLike[str], name: str = "model") -> tuple[Path, Path]:
    """Write an exported program as `NAME.py` and `NAME.npz`, which require only NumPy.

    The class `Model` in `NAME.py` takes arrays where the module takes tensors. The written code first runs on the example
    inputs; the files are kept only if its outputs agree with those of the program.

    Args:
        program: the program, as returned by `torch.export.export` for a module in evaluation mode.
        folder: the folder of both files; it is created if missing. Existing files of the same names are replaced atomically.
        name: the name of both files without suffix, a Python identifier.

    Returns:
        The paths of both files.

    Raises:
        RuntimeError: an operator has no NumPy implementation, the program draws random numbers, or the outputs differ.

    Example::

        program = torch.export.export(model.eval(), (torch.randn(1, 3, 224, 224),))
        save_numpy(program, "out")
    """
    source, weights = numpy_source(program, name)
    for tensor in weights.values():
        numpy_dtype(tensor.dtype)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {key: value.detach().cpu().numpy() for key, value in weights.items()}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        paths = [Path(scratch) / f"{name}.py", Path(scratch) / f"{name}.npz"]
        paths[0].write_text(source, encoding="utf-8")
        numpy.savez(paths[1], **arrays)
        _compare(program, paths[0])
        for path in reversed(paths):
            os.replace(path, folder / path.name)
    return folder / f"{name}.py", folder / f"{name}.npz"


def _compare(program: ExportedProgram, path: Path) -> None:
    """Run the written file on the example inputs and raise a RuntimeError if its outputs differ from the program's."""
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
                f"output {place} of the NumPy file has dtype {found.dtype} and shape {tuple(found.shape)}, but the model returns "
                f"{wanted.dtype} and {tuple(wanted.shape)}"
            )
        if not torch.allclose(found, wanted.cpu(), rtol=1e-3, atol=1e-4, equal_nan=True):
            error = (found - wanted.cpu()).abs().max().item()
            raise RuntimeError(f"output {place} of the NumPy file differs from the model's by up to {error:.3g}")


def numpy_source(program: ExportedProgram, name: str = "model") -> tuple[str, dict[str, torch.Tensor]]:
    """Return the NumPy code of a program, and the weights that the code uses, by name.

    Args:
        program: the program.
        name: the name of the files without suffix, for the example in the docstring of the code.
    """
    return _Writer(functionalize_program(program)).write(name)


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
        described = ", ".join(f"{node.name}: {_describe(node.meta.get('val'))}" for node in inputs)
        return _HEADING.format(
            title=self._title(), name=name, inputs=", ".join(node.name for node in inputs), described=described
        )

    def _title(self) -> str:
        for node in self.program.graph.nodes:
            for _, (path, cls) in (node.meta.get("nn_module_stack") or {}).items():
                if not path:
                    return str(cls.rpartition(".")[2])
        return "an exported program"

    def _helpers(self) -> list[str]:
        """Return the source of the used functions and the functions that they call, in the order of `functions.py`."""
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
                unpacked.append(f"        {_unpacking_target(child, [self._variable(node) for node in own])} = {parameter}")
        by_name = ["*"] * (len(parameters) > count) + [f"{each}=None" for each in parameters[count:]]
        head = f"    def __call__({', '.join(['self', *parameters[:count], *by_name])}):\n        weights = self.weights\n"
        lines, results = self._body(self.program.graph, names)
        outputs = [
            value for spec, value in zip(signature.output_specs, results, strict=True) if spec.kind is OutputKind.USER_OUTPUT
        ]
        structure = pytree.tree_unflatten([_Raw(to_code(value)) for value in outputs], call.out_spec)
        body = "\n".join([*unpacked, *lines, f"        return {_output_code(structure)}"])
        for match in re.finditer(r'weights\["([^"]+)"\]', body + "".join(self.methods)):
            self.weights[match.group(1)] = self.program.tensor_named(match.group(1))
        return head + body + "\n"

    # --- translation of graphs ---

    def _variable(self, node: Node) -> str:
        name = str(node.target) if node.op == "placeholder" else node.name
        return f"{name}_" if name in self.reserved else name

    def _body(self, graph: Any, names: dict[Node, Any]) -> tuple[list[str], list[Any]]:
        """Return the lines of code of a graph, and the code of each of its results."""
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
            if re.fullmatch(r"[\w.]+|weights\[\"[^\"]+\"\]", expression):  # only a name: no assignment needed
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
            return f" {_INFIX[target]} ".join(to_code(arg) for arg in args)
        if target is operator.neg:
            return f"-{to_code(args[0])}"
        if target is operator.not_:
            return f"not {to_code(args[0])}"
        if name == "cond":
            operands = ", ".join(to_code(each) for each in args[3])
            return f"{args[1]}({operands}) if {args[0]} else {args[2]}({operands})"
        if name == "while_loop":
            return f"self.while_loop({args[0]}, {args[1]}, {to_code(tuple(args[2]))}, {to_code(tuple(args[3]))})"
        known = node.meta.get("val")
        dtype = known.dtype if isinstance(known, TensorSpec) else None
        if name in EXPRESSIONS:
            text = EXPRESSIONS[name](dtype, *args, **_without_devices(kwargs))
        elif name in FUNCTIONS:
            given = [*map(to_code, args), *(f"{key}={to_code(value)}" for key, value in _without_devices(kwargs).items())]
            text = f"{FUNCTIONS[name]}({', '.join(given)})"
        else:
            raise RuntimeError(f"{target} has no expression in NumPy; the model calls it here:\n{node.stack_trace}")
        self.functions |= {called for called in re.findall(r"(?<![\w.])(\w+)\(", text) if called in _HELPERS}
        return text

    def _method(self, target: str) -> str:
        """Write the subgraph named `target` as a method, and return the code that refers to it."""
        module = getattr(self.modules[-1], target)
        self.modules.append(module)
        names: dict[Node, Any] = {
            node: Code(self._variable(node), node.meta.get("val")) for node in module.graph.nodes if node.op == "placeholder"
        }
        parameters = ", ".join(["self", *names.values()])
        lines, results = self._body(module.graph, names)
        self.modules.pop()
        self.methods.append(
            "\n".join([f"    def {target}({parameters}):", *lines, f"        return {to_code(tuple(results))}", ""])
        )
        if "while_loop" in target and not any("def while_loop(" in method for method in self.methods):
            self.methods.append(_WHILE_LOOP)
        return f"self.{target}"


_HEADING = '''"""NumPy implementation of {title}; the weights are in {name}.npz.

    from {name} import Model
    model = Model()
    result = model({inputs})

Inputs: {described}. Named sizes may differ from call to call.
A comment gives the line of the original model that the code below it comes from.
"""

import math
from pathlib import Path

import numpy as np'''
_CLASS = '''class Model:
    """The model: call it with NumPy arrays.

    Args:
        path: the `.npz` file of weights.
    """

    def __init__(self, path=Path(__file__).with_suffix(".npz")):
        with np.load(path) as file:
            self.weights = {name: file[name] for name in file.files}
'''
_WHILE_LOOP = '''    def while_loop(self, condition, body, carried, constants):
        """Call `body` on its own results while `condition` returns True."""
        while condition(*carried, *constants)[0]:
            carried = body(*carried, *constants)
        return carried
'''


class _Raw:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _output_code(value: Any) -> str:
    """Return the code of the outputs; containers other than dict, list and tuple become tuples of their leaves."""
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_output_code(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_output_code, value))}]"
    items = list(value) if isinstance(value, tuple) else pytree.tree_leaves(value)
    return f"({', '.join(map(_output_code, items))}{',' * (len(items) == 1)})"


def _unpacking_target(spec: Any, names: list[str]) -> str:
    """Return the left side of the assignment that unpacks a nested tuple or list argument into `names`."""
    if spec.type is dict:
        raise RuntimeError("NumPy files do not support dictionary arguments: pass each array as a separate argument")
    parts = []
    for child in spec.children_specs:
        own, names = names[: child.num_leaves], names[child.num_leaves :]
        parts.append(own[0] if child.type is None else _unpacking_target(child, own))
    return f"({', '.join(parts)},)"


def _without_devices(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory", "dtype", "memory_format")
    }


def _describe(known: Any) -> str:
    if not isinstance(known, TensorSpec):
        return repr(known)
    return f"{str(known.dtype).removeprefix('torch.')}[{', '.join(map(str, known.shape))}]"


def _origin(node: Node) -> str:
    """Return the source line in the user's code that a node comes from, and the path of the submodule called there."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n(?:    (.*)\n)?', node.stack_trace or "")
    own = [frame for frame in frames if "flambeau_nnlib" not in frame[0]] or frames
    if not own:
        return ""
    file, line, _, code = own[-1]
    path = next((path for path, _ in reversed(list((node.meta.get("nn_module_stack") or {}).values()))), "")
    return f"{Path(file).name}:{line}  {code}" + (f"  [{path}]" if path else "")


_HELPERS = {name: inspect.getsource(value).rstrip() for name, value in vars(functions).items() if inspect.isfunction(value)}
