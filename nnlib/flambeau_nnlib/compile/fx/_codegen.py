"""Generate Python code from a graph."""

from __future__ import annotations

import enum
import itertools
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import flambeau as torch
from flambeau.utils import pytree

from ..python_operators import ARITHMETIC, COMPARISONS
from ._names import CUSTOM_BUILTINS, Namespace, qualified_name, torch_path, type_repr
from ._wrapping import wrap
from .node import Node, dtype_abbrs

__all__ = ["CodeGen", "PythonCode"]

TransformCodeFunc = Callable[[list[str]], list[str]]

reflectable_magic_methods = {
    **{function.__name__: f"{{}} {symbol} {{}}" for function, symbol in ARITHMETIC.items()},
    "div": "{} / {}", "getitem": "{}[{}]",
}  # fmt: skip
magic_methods = {
    **{function.__name__: f"{{}} {symbol} {{}}" for function, symbol in COMPARISONS.items()},
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    **{f"i{function.__name__.strip('_')}": f"{{}} {symbol}= {{}}" for function, symbol in ARITHMETIC.items()},
    "setitem": "{}[{}] = {}",
}
_COLORS = {"red": "\033[31m", "blue": "\033[34m", "dim": "\033[2m", "dim_blue": "\033[2m\033[34m", "dim_green": "\033[2m\033[32m"}


class PyTreeInfo(NamedTuple):
    """The pytree structure of a traced function's arguments and results."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


@dataclass
class PythonCode:
    """The generated code of a graph.

    Args:
        src: the source of a function.
        globals: the objects that the code refers to, by global name.

    >>> graph = torch.fx.Graph()
    >>> _ = graph.output(graph.placeholder("x"))
    >>> print(graph.python_code("self").src.strip())
    def forward(self, x):
        return x
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


@dataclass
class Options:
    """Which annotations generated code contains."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    additional_meta: list[str] = field(default_factory=list)

    def paint(self, color: str, text: str) -> str:
        """Color a text if `colored` is set."""
        return f"{_COLORS[color]}{text}\033[0m" if self.colored else text


class CodeGen:
    """Generate the function of a graph. Subclasses change its signature and return statement.

    >>> class ListCodeGen(torch.fx.CodeGen):
    ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
    ...         return f"def forward(self, args_list){maybe_return_annotation}:\\n    {', '.join(free_vars)}, = args_list"
    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> traced.graph.set_codegen(ListCodeGen())
    >>> _ = traced.recompile()
    >>> traced([torch.ones(1)])
    tensor([2.])
    """

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the first line of the function, given its parameter names and return annotation."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if not expanded_def:
            return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        return f"def {self._func_name}(\n{''.join(map(_parameter_line, free_vars))}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] | None = None) -> str:
        """Return the return statement."""
        shown = repr_fn or repr
        if descs is not None and isinstance(output_args, (list, tuple)):
            opening, closing = "()" if isinstance(output_args, tuple) else "[]"
            lines = (f"    {shown(value)},  # {note}\n" for value, note in zip(output_args, descs, strict=False))
            return f"return {opening}\n{''.join(lines)}{closing}"
        return f"return {shown(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Convert the arguments of the function to the values of the placeholders."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Convert the value of the output node to the return value of the function."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return pairs of name and object for additional globals of the code."""
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: Namespace, options: Options) -> PythonCode:
        return _Writer(self, root_module, namespace, options).write(list(nodes))


def _parameter_line(parameter: str) -> str:
    code, sign, comment = parameter.partition("#")
    return f"    {code.rstrip()},{'  # ' + comment.lstrip() if sign else ''}\n"


class PyTreeCodeGen(CodeGen):
    """Generate a function with nested arguments and results: it flattens its arguments and unflattens its results."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        parameters = self.pytree_info.orig_args
        if parameters and parameters[0] == "self":
            free_vars.insert(0, "self")
        definition = super().gen_fn_def(parameters[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return definition
        annotated = [variable for variable in free_vars if ":" in variable]
        if annotated:
            definition += "\n    " + "".join(f"{variable}; " for variable in annotated) + "\n"
        names = ", ".join(re.split("[:#]", variable)[0] for variable in free_vars)
        return f"{definition}\n    {names}, = fx_pytree.tree_flatten_spec([{', '.join(parameters)}], self._in_spec)"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] | None = None) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({(repr_fn or repr)(output_args)}, self._out_spec)"


class _Writer:
    """Generate the code of a single graph."""

    def __init__(self, codegen: CodeGen, root_module: str, namespace: Namespace, options: Options) -> None:
        self.codegen, self.root_module, self.namespace, self.options = codegen, root_module, namespace, options
        self.globals: dict[str, Any] = {}
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.returns = ""
        self.last_summary = ""

    def write(self, nodes: list[Node]) -> PythonCode:
        """Return the code of all nodes."""
        for name, (_, value) in CUSTOM_BUILTINS.items():
            self.add_global(name, value)
        released = last_uses(nodes)
        for number, node in enumerate(nodes):
            if self.options.verbose:
                self.summarize_origin(node)
            self.body.append(f"# COUNTER: {number}\n")
            self.body.append(self.statement(node))
            self.body.append(self.release(node, released.get(node, [])))
        body = self.body or ["pass\n"]
        wraps = ""
        if self.wrapped:
            wrap_name = self.add_global("wrap", wrap)
            wraps = "\n".join(f'{wrap_name}("{name}")' for name in self.wrapped)
        if self.codegen._body_transformer:
            body = self.codegen._body_transformer(body)
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        flags = {"expanded_def": True} if self.options.expanded_def else {}
        prologue = self.codegen.gen_fn_def(self.parameters, self.returns, **flags)
        code, line_numbers = _without_counters("".join(body), first_line=prologue.count("\n") + 1)
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{code}", self.globals, line_numbers, wraps.count("\n") + 4)

    # --- names ------------------------------------------------------------------------------------------------------

    def add_global(self, hint: str, value: Any) -> str:
        """Return the name of an object in the code; register it as a global if necessary."""
        path = None if value is torch.device else torch_path(value)
        if path is not None:
            return path
        name = self.namespace.create_name(hint, value)
        if name in self.globals and self.globals[name] != value:
            raise AssertionError(f"Global name {name} already assigned to different object")
        self.globals[name] = value
        return name

    def type(self, value: Any) -> str:
        """Convert a type annotation to code."""
        if value == ():
            return "()"
        written = type_repr(value)
        if isinstance(value, types.UnionType) and "|" in written:
            return "|".join(map(self.type, typing.get_args(value)))
        origin = getattr(value, "__origin__", None)
        if origin is None:
            return self.add_global(written, value)
        if isinstance(value, typing._GenericAlias):  # type: ignore[attr-defined]  # as typing.List[int] is
            origin = _TYPING_NAMES.get(origin, origin)
        outer = self.add_global(type_repr(origin), origin)
        inside = getattr(value, "__args__", ())
        return f"{outer}[{','.join(map(self.type, inside))}]" if inside else outer

    def value(self, value: Any) -> str:
        """Convert an argument to code."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.add_global(qualified_name(type(value)), type(value))}{self.value(tuple(value))}"
        if isinstance(value, enum.Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, torch.Tensor):
            return f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).split('.')[-1]})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.value, value))}{',' * (len(value) == 1)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self.value(entry)}' for key, entry in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.value, (value.start, value.stop, value.step)))})"
        return self.options.paint("blue", repr(value))

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Convert arguments to the code between the parentheses of a call."""
        return ", ".join([*map(self.value, args), *(f"{key} = {self.value(value)}" for key, value in kwargs.items())])

    # --- statements -------------------------------------------------------------------------------------------------

    def statement(self, node: Node) -> str:
        """Return the statement for a node, without `; x = None` at its end. Return "" for a parameter that keeps its name."""
        annotation = "" if node.type is None else f" : {self.type(node.type)}"
        if self.options.verbose:
            annotation = self.shape_annotation(node) or annotation
        if node.op == "placeholder":
            return self.parameter(node, annotation)
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type(node.type)}"
            return self.output(node)
        if node.op == "call_function":
            return self.function_call(node, f"{node!r}{annotation}")
        called = {
            "call_method": lambda: (
                f"{_format_target(self.value(node.args[0]), node.target)}({self.arguments(node.args[1:], node.kwargs)})"
            ),
            "call_module": lambda: f"{_format_target(self.root_module, node.target)}({self.arguments(node.args, node.kwargs)})",
            "get_attr": lambda: _format_target(self.root_module, node.target),
        }
        if node.op not in called:
            raise NotImplementedError(f"node: {node.op} {node.target}")
        return f"{node!r}{annotation} = {called[node.op]()}"

    def parameter(self, node: Node, annotation: str) -> str:
        default = f" = {self.value(node.args[0])}" if node.args else ""
        note = f"  # {node.meta['desc']}" if self.options.expanded_def and node.meta.get("desc") is not None else ""
        self.parameters.append(f"{node.target}{annotation}{default}{note}")
        name = node.target.replace("*", "")
        return "" if name == repr(node) else f"{node!r} = {name}\n"

    def output(self, node: Node) -> str:
        descriptions = node.meta.get("desc") if self.options.expanded_def else None
        try:
            return self.codegen.generate_output(node.args[0], descs=descriptions, repr_fn=self.value)
        except TypeError:  # a subclass overrides `generate_output` without these keyword parameters
            return self.codegen.generate_output(node.args[0])

    def function_call(self, node: Node, assigned: str) -> str:
        name, module = getattr(node.target, "__name__", ""), getattr(node.target, "__module__", "")
        if module == "_operator" and name in magic_methods:
            return f"{assigned} = {magic_methods[name].format(*map(self.value, node.args))}"
        if module == "_operator" and name in inplace_methods:
            written = inplace_methods[name].format(*map(self.value, node.args))
            return f"{written};  {assigned} = {self.value(node.args[0])}"
        name = self.add_global(qualified_name(node.target), node.target)
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{assigned} = {_format_target(self.value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{assigned} = {name}({self.arguments(node.args, node.kwargs)})"

    def release(self, node: Node, values: list[Node]) -> str:
        """Return the end of a node's line: `; x = None` for each value `x` that is not used afterwards."""
        if node.op == "placeholder":
            return ""
        if node.op != "output" and not node.users:
            values = [*values, node]
        if node.op == "output" or not values:
            return "\n"
        return f";  {self.options.paint('dim', ' = '.join([*map(repr, values), 'None']))}\n"

    # --- annotations ---

    def summarize_origin(self, node: Node) -> None:
        if node.op in ("placeholder", "output"):
            return
        extra = ", ".join(f"{key}: {node.meta[key]}" for key in self.options.additional_meta if key in node.meta)
        summary = f"{f'# {extra} ' if extra else ''}# {_innermost_frame(node.stack_trace)}"
        if summary != self.last_summary:
            self.last_summary = summary
            self.body.append(f"\n{self.options.paint('dim', summary)}\n")

    def shape_annotation(self, node: Node) -> str:
        value: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return ""
        paint = self.options.paint
        text = paint("red", dtype_abbrs[value.dtype]) + paint("blue", str(list(value.shape)))
        if isinstance(value, torch.Tensor):
            text += paint("dim_blue", str(list(value.stride()))) if self.options.include_stride else ""
            text += paint("dim_green", str(value.device)) if self.options.include_device else ""
        return f': "{text}"'


_TYPING_NAMES = {
    list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple,  # noqa: UP006
}  # fmt: skip


def last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Map each node to those of its arguments that no later node uses."""
    released: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for user in reversed(nodes):
        for used in user._input_nodes:
            if used not in seen:
                seen.add(used)
                released.setdefault(user, []).append(used)
    return released


def _innermost_frame(trace: str | None) -> str:
    lines = (trace or "").strip().split("\n")
    for line, code in reversed(list(itertools.pairwise(lines))):
        matched = re.match(r'^File "(.+)", line (\d+), in (.+)$', line.strip())
        if matched:
            return f"File: {matched[1]}:{matched[2]} in {matched[3]}, code: {code.strip()}"
    return "No stacktrace found for following nodes"


def _without_counters(body: str, first_line: int) -> tuple[str, dict[int, int | None]]:
    """Remove the comments with node numbers. Return the code, and the node number of each line."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    current: int | None = None
    for line in body.split("\n"):
        counter = re.search(r"# COUNTER: (\d+)", line)
        if counter:
            current = int(counter[1])
        else:
            numbers[len(lines) + first_line] = current
            lines.append(line)
    code = "\n".join(lines).lstrip("\n")
    return "\n".join(f"    {line}" for line in code.split("\n")), numbers


def _format_target(base: str, target: str) -> str:
    """Return the code for a nested attribute, such as `self.layer.weight`."""
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base
