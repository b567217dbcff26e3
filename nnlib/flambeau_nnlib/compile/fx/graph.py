"""`Graph`: a program as a list of nodes in execution order."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import flambeau as torch

from ... import nn
from ._codegen import (
    CodeGen,
    Options,
    PythonCode,
    TransformCodeFunc,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from ._codegen import PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import PyTreeInfo as _PyTreeInfo
from ._codegen import _format_target as _format_target
from ._names import Namespace as _Namespace
from ._names import is_magic as _is_magic
from ._names import snake_case as _snake_case
from .node import Argument, Node, Target, _legal_ops, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode", "inplace_methods", "magic_methods", "reflectable_magic_methods"]
_ = (_PyTreeCodeGen, _PyTreeInfo)  # libraries import these from here, under PyTorch's private names


class _NodeList:
    """The nodes of a graph. Nodes may be added and erased during iteration."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = self.graph._root
        while True:
            node = node._prev if self.backwards else node._next  # also works if the loop erased `node`: it keeps its links
            if node.op == "root":
                return
            if not node._erased:
                yield node

    def __reversed__(self) -> Iterator[Node]:
        return iter(_NodeList(self.graph, not self.backwards))


class Graph:
    """A program as a list of nodes, in execution order.

    Args:
        owning_module: the `GraphModule` that the graph belongs to.
        tracer_cls: the class of the tracer that recorded the graph.
        tracer_extras: additional arguments for the tracer when the graph is unpickled.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> doubled = graph.call_function(torch.mul, (x, 2))
    >>> _ = graph.output(doubled)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %mul : [num_users=1] = call_function[target=torch.mul](args = (%x, 2), kwargs = {})
        return mul
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._order: dict[Node, int] | None = None
        self._len = 0
        self._owning_module = owning_module
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    # --- inspection ---

    @property
    def owning_module(self) -> GraphModule | None:
        """The `GraphModule` that the graph belongs to."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _NodeList:
        """The nodes in order; `reversed(graph.nodes)` is supported."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """Return the output node.

        Raises:
            AssertionError: the last node is not an output node.
        """
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"Expected output node, got op={last.op}")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes with a given `op` and `target`.

        Args:
            op: the kind of node, such as `"call_module"`.
            target: the target; by default any. It is required for `call_function`.
            sort: accepted; nodes are always in graph order.
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def _reordered(self) -> None:
        self._order = None

    def _position(self, node: Node) -> int:
        if self._order is None:
            self._order = {node: number for number, node in enumerate(self.nodes)}
        return self._order[node]

    # --- adding nodes -----------------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Insert a node at the current insertion point: at the end, unless set by `inserting_before` or `inserting_after`.

        Args:
            op: the kind of node, see `Node`.
            target: the function, name or path that the node refers to, see `Node`.
            args: positional arguments.
            kwargs: keyword arguments.
            name: a name for the node; a number is appended if it is taken.
            type_expr: the type of the node's value.
        """
        if args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            name = target.__name__
        else:
            name = target[2:-2] if _is_magic(target) else target
        return _snake_case(name)

    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = inspect.Signature.empty) -> Node:
        """Insert an input.

        Args:
            name: the name of the parameter; `*name` and `**name` collect arguments as in Python.
            type_expr: the type of the input.
            default_value: the default value of the parameter.
        """
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Insert a node that reads a parameter, buffer, module or other attribute of the root.

        Args:
            qualified_name: the path of the attribute, such as `"layers.0.weight"`.
            type_expr: the type of the attribute.

        Warns:
            UserWarning: the owning module has no such attribute.
        """
        if self.owning_module is not None and not _has_path(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Insert a call of a module.

        Args:
            module_name: the path of the module in the root.
            args, kwargs: the arguments of the call.
            type_expr: the type of the result.

        Warns:
            UserWarning: the owning module has no such module.
        """
        if self.owning_module is not None and not _has_path(self.owning_module, module_name):
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule"
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Insert a call of a method.

        Args:
            method_name: the name of the method.
            args: the object, followed by the positional arguments.
            kwargs: the keyword arguments.
            type_expr: the type of the result.
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Insert a call of a function.

        Args:
            the_function: the function.
            args, kwargs: the arguments of the call.
            type_expr: the type of the result.
            name: a name for the node.
        """
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Insert the output node.

        Args:
            result: the value to return: a node, or nested tuples, lists and dicts of nodes and constants.
            type_expr: the type of the result.
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def create_size_node(self, node: Node, dim: int, *, name: str | None = None) -> Node:
        """Insert `node.size(dim)`."""
        return self.create_node("call_method", "size", (node, dim), name=name)

    def create_stride_node(self, node: Node, dim: int, *, name: str | None = None) -> Node:
        """Insert `node.stride(dim)`."""
        return self.create_node("call_method", "stride", (node, dim), name=name)

    def create_storage_offset_node(self, node: Node, *, name: str | None = None) -> Node:
        """Insert `node.storage_offset()`."""
        return self.create_node("call_method", "storage_offset", (node,), name=name)

    def materialize_symint(self, value: Any) -> Any:
        """Return the value unchanged: sizes are plain integers here."""
        return value

    def materialize_symints(self, values: Any) -> Any:
        """Return the values unchanged: sizes are plain integers here."""
        return values

    # --- copying ----------------------------------------------------------------------------------------------------

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Insert a copy of a node from another graph.

        Args:
            node: the node to copy.
            arg_transform: maps the nodes in its arguments to nodes of this graph.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Insert copies of all nodes of another graph, except its output.

        Args:
            g: the graph to copy.
            val_map: maps nodes of `g` to nodes of this graph; it is extended by the copies. Nodes that it already contains
                are not copied.
            return_output_node: also return the output node of `g`.

        Returns:
            The value in this graph that corresponds to the output of `g`, or None.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda argument: val_map[argument])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda argument: val_map[argument])
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        found = copied.graph_copy(self, {} if memo is None else memo, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            result, old_output = found
            copied.output(result, old_output.type).meta = copy.copy(old_output.meta)
        return copied

    # --- modification ---

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node from the graph.

        Args:
            to_erase: the node to remove.

        Raises:
            RuntimeError: the node still has users, or belongs to another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda _: None), map_arg(to_erase.kwargs, lambda _: None))

    def inserting_before(self, n: Node | None = None) -> AbstractContextManager[None]:
        """Set the insertion point before a node. As a context manager, restore it on exit.

        Args:
            n: the node; by default the beginning of the graph.
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> AbstractContextManager[None]:
        """Set the insertion point after a node. As a context manager, restore it on exit.

        Args:
            n: the node; by default the end of the graph.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes without users and without side effects.

        Args:
            is_impure_node: returns whether a node has side effects; by default `Node.is_impure`.

        Returns:
            Whether any node was erased.
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        if self.owning_module is not None:
            used = {node.target for node in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                if name in used and isinstance(getattr(child, "graph", None), Graph):
                    changed |= child.graph.eliminate_dead_code()
                    child.recompile()
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # --- checks -----------------------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check that the graph is well formed.

        Raises:
            RuntimeError: a node is used before it is defined, belongs to another graph, has the same name as another, or
                refers to an attribute that the owning module does not have.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                self._check_use(used, node, seen)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._check_target(node, self.owning_module)

    def _check_use(self, used: Node, user: Node, seen: set[Node]) -> None:
        if used.graph is not self:
            raise RuntimeError(
                f"Argument '{used}' of Node '{user}' does not belong to this Graph, but was used as an argument! If you are "
                f"copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
            )
        if used not in seen:
            raise RuntimeError(
                f"Argument '{used}' of Node '{user}' was used before it has been defined! Please check that Nodes in the "
                f"graph are topologically ordered\n{self}"
            )

    @staticmethod
    def _check_target(node: Node, root: nn.Module) -> None:
        needed = "Callable" if node.op == "call_function" else "str"
        if not (callable(node.target) if needed == "Callable" else isinstance(node.target, str)):
            raise ValueError(
                f"Node {node} target {node.target} has type {torch.typename(node.target)} but a {needed} is expected"
            )
        if node.op not in ("get_attr", "call_module"):
            return
        found: Any = root
        names = node.target.split(".")
        for number, name in enumerate(names):
            found = getattr(found, name, None)
            place = ".".join(names[:number])
            if found is None:
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of {place}")
            if node.op == "call_module" and not isinstance(found, nn.Module):
                raise RuntimeError(f"Node {node} target {node.target} {name} of {place} does not reference an nn.Module")

    # --- code -------------------------------------------------------------------------------------------------------

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """Generate the Python code of the graph.

        Args:
            root_module: the variable that holds the root module in the code, such as `"self"`.
            verbose: add comments with source lines, and known dtypes and shapes.
            include_stride, include_device: add strides and devices to the shapes.
            colored: use ANSI colors.
            expanded_def: write each parameter on a separate line.
            additional_meta: names of entries of `Node.meta` to include.
        """
        options = Options(verbose, include_stride, include_device, colored, expanded_def, additional_meta or [])
        namespace = _Namespace()

        def in_namespace(node: Node) -> str:
            return namespace.create_name(node.name, node)

        saved = {node: node._repr_fn for node in self.nodes}
        try:
            for node in saved:
                node._repr_fn = in_namespace
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, options)
        finally:
            for node, function in saved.items():
                node._repr_fn = function

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set the `CodeGen` that generates the code."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Convert the arguments of the generated function to the values of the placeholders."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Convert the value of the output node to the return value of the generated function."""
        return self._codegen.process_outputs(out)

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> AbstractContextManager[None]:
        """Set a transformation of the lines of generated code.

        Args:
            make_transformer: a function that takes the current transformation, or None, and returns the new one. A
                transformation maps a list of lines to a list of lines.

        Returns:
            A context manager that restores the previous transformation on exit. Without `with`, the new one stays.
        """
        former = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(former)

        @contextmanager
        def restoring() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = former

        return restoring()

    # --- printing ---------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        placeholders: list[str] = []
        lines = [node.format_node(placeholders) for node in self.nodes]
        return "\n    ".join([f"graph({', '.join(placeholders)}):", *(line for line in lines if line)])

    def print_tabular(self) -> None:
        """Print the nodes in a table.

        >>> torch.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        headers = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(field) for field in (node.op, node.name, node.target, node.args, node.kwargs)] for node in self.nodes]
        widths = [max([len(name) + 2, *(len(row[column]) for row in rows)]) for column, name in enumerate(headers)]
        for row in [headers, ["-" * width for width in widths], *rows]:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


class _InsertPoint(AbstractContextManager[None]):
    """Sets the insertion point of a graph when created. As a context manager, restores the previous one on exit."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.former, graph._insert = graph._insert, insert

    def __exit__(self, *exception: object) -> None:
        self.graph._insert = self.former


def _has_path(root: nn.Module, path: str) -> bool:
    """Whether a dotted path leads to an attribute."""
    found: Any = root
    for name in path.split("."):
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True
