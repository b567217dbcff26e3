"""`Node`: an operation in a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau.extension import names

from ._names import qualified_name as _get_qualified_name
from ._names import torch_path
from ._names import type_repr as _type_repr
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph
    from .operator_schemas import ArgsKwargsPair

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any  # None, numbers, strings, dtypes, tensors, nodes, and tuples, lists, dicts, slices and ranges of them
BaseArgumentTypes = (
    str | int | float | bool | complex | torch.dtype | torch.Tensor | torch.device | torch.memory_format | torch.layout
)
base_types = BaseArgumentTypes.__args__

_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])

_side_effectful_functions: set[Callable[..., Any]] = {torch._assert, operator.setitem}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as having side effects, so that calls stay in a graph even without users. It can be used as a
    decorator.

    Args:
        fn: the function.

    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


def has_side_effects(function: Any) -> bool:
    """Whether a function was marked by `has_side_effect`, or is an operator of a library that writes to its arguments."""
    if function in _side_effectful_functions:
        return True
    schema = None if getattr(function, "namespace", "aten") == "aten" else getattr(function, "_schema", None)
    return schema is not None and schema.is_mutable


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        shown = ", ".join(_format_arg(item) for i, item in enumerate(arg) if i < max_list_len)
        rest = "" if len(arg) <= max_list_len else f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{shown}{rest}]"
        return f"({shown}{',' * (len(arg) == 1)}{rest})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """An operation in a graph: an input, a call, an attribute access, or the output.

    | `op` | `target` | `args`, `kwargs` |
    |---|---|---|
    | `placeholder` | name of the parameter | the default value, if any |
    | `get_attr` | path of a parameter, buffer or module from the root | none |
    | `call_function` | the function | its arguments |
    | `call_module` | path of the module from the root | its arguments |
    | `call_method` | name of the method | the object, then its arguments |
    | `output` | `"output"` | the value that the graph returns |

    Nodes are created with the methods of `Graph`, such as `Graph.create_node`.

    Args:
        graph: the graph that contains the node.
        name: the name of the node's variable in generated code.
        op: one of the kinds above.
        target: the function, name or path, see above.
        args: positional arguments. Nodes in them, also inside tuples, lists, dicts and slices, represent their values.
        kwargs: keyword arguments.
        return_type: the type of the value, used as an annotation in generated code.

    Raises:
        ValueError: the target is neither a callable (for `call_function`) nor a string (for the others).

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> graph.call_function(torch.relu, (x,)).args
    (x,)
    """

    # With slots, the class itself has these attributes, as in PyTorch.
    __slots__ = ("__dict__", "__weakref__", "graph", "meta", "op", "type", "users")

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        needed = "Callable" if op == "call_function" else "str"
        if not (callable(target) if needed == "Callable" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                f"but a {needed} is expected"
            )
        self.graph = graph
        self._name = name
        self.op = op
        self._target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._erased = False
        self._prev = self._next = self
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._update_args_kwargs(args, kwargs)

    # --- attributes ---

    @property
    def name(self) -> str:
        """The name of the node's variable in generated code."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            for user in self.users:
                hook(old=self, new=name, user=user)
        self._name = name

    @property
    def target(self) -> Any:
        """The function, method name or path that the node refers to."""
        return self._target

    @target.setter
    def target(self, target: Target) -> None:
        self._target = target

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments. Assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    def _update_args_kwargs(self, args: Iterable[Argument], kwargs: dict[str, Argument]) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def register(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), register)
        self._kwargs = map_arg(dict(kwargs), register)

    @property
    def all_input_nodes(self) -> list[Node]:
        """All nodes in the arguments, without duplicates, in order."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """The location in the traced program, with the innermost frame last, or None if it was not recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # --- position ---

    @property
    def next(self) -> Node:
        """The next node; after the last node, the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The previous node; before the first node, the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node directly before this one.

        Args:
            x: a node of the same graph.
        """
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move a node directly after this one.

        Args:
            x: a node of the same graph.
        """
        self._next.prepend(x) if self._next is not x else None

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._reordered()

    def __lt__(self, other: Node) -> bool:
        return self.graph._position(self) < self.graph._position(other)

    def __gt__(self, other: Node) -> bool:
        return self.graph._position(self) > self.graph._position(other)

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # --- modification ---

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace a positional argument.

        Args:
            idx: the index of the argument.
            arg: the new value.
        """
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument.

        Args:
            idx: the index of the new argument.
            arg: its value.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set a keyword argument.

        Args:
            key: the name of the argument.
            arg: its value.
        """
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replace this node by another in the arguments of its users.

        Args:
            replace_with: the new node.
            delete_user_cb: returns whether a user should be changed; by default all are changed.
            propagate_meta: copy this node's `meta` to the new node, whose `meta` must be empty.

        Returns:
            The changed users.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace a node in the arguments of this node by another.

        Args:
            old_input: the node to replace.
            new_input: the replacement.
        """
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        namespace = self.graph._graph_namespace
        self.name = namespace.create_name(candidate, None)
        namespace.rename(self, self.name)

    # --- properties ---

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node has side effects and must stay in the graph even without users.

        Args:
            impure_random: treat functions that draw random numbers as impure.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False))
        if self.op == "call_method":
            return _writes(self.target) or (impure_random and self.target in names(random=True))
        if self.op == "call_function":
            packet = getattr(self.target, "overloadpacket", self.target)
            name = getattr(packet, "__name__", "")
            ours = hasattr(packet, "overloads") or torch_path(packet) is not None
            if ours and (_writes(name) or self.kwargs.get("inplace") is True or self.kwargs.get("out") is not None):
                return True
            if getattr(packet, "namespace", "") == "profiler" or has_side_effects(self.target):
                return True
            return bool(impure_random and ours and name in names(random=True))
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """Return the arguments, bound to the parameters of the called function, with defaults filled in.

        Args:
            root: the module that paths are relative to.
            arg_types, kwarg_types: the types of the arguments; see `normalize_function`.
            normalize_to_only_use_kwargs: return all arguments as keyword arguments.

        Returns:
            The arguments, or None if the node is not a call or its parameters are unknown.
        """
        from .operator_schemas import normalize_function, normalize_module

        given = (self.target, self.args, self.kwargs)
        if self.op == "call_function":
            return normalize_function(*given, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, *given, normalize_to_only_use_kwargs)
        return None

    # --- printing ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
        if name is not None and module in ("builtins", "_operator"):
            return f"{'builtins' if module == 'builtins' else 'operator'}.{name}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return a one-line description, as printed by `print(graph)`.

        Args:
            placeholder_names: if given, a placeholder is appended to this list instead of being described.
            maybe_return_typename: if given, its single element is set to the annotated type of the output.
            include_tensor_metadata: include dtype, shape, strides and device of the tensor in `meta["val"]`.
        """
        typed = f"{_type_repr(self.type)} " if self.type is not None else ""
        uses = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(self.target + (f"{self.target}: {_type_repr(self.type)}" if self.type else ""))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {typed if self.type else ''}{uses} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {typed}{uses} = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        value = self.meta.get("val", self.meta.get("tensor_meta", self.meta.get("example_value")))
        if include_tensor_metadata and isinstance(value, torch.Tensor):
            strides = list(value.stride())
            typed = f'Tensor "{dtype_abbrs[value.dtype]}{list(value.shape)}{strides}{value.device}"'
        return (
            f"%{self.name} : {typed}{uses} = {self.op}[target={self._pretty_print_target(self.target)}]("
            f"args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def map_arg(a: Any, fn: Callable[[Node], Argument]) -> Any:
    """Apply a function to each node in an argument, also inside tuples, lists, dicts and slices.

    Args:
        a: an argument, or a collection of arguments.
        fn: returns the replacement of a node.

    >>> x = torch.fx.Graph().placeholder("x")
    >>> torch.fx.map_arg([x, (1, x)], lambda node: node.name)
    ['x', (1, 'x')]
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function to each value in an argument. The returned collections are immutable.

    Args:
        a: an argument, or a collection of arguments.
        fn: returns the replacement of a value.

    >>> map_aggregate({"a": (1, 2)}, lambda value: value + 1)
    {'a': (2, 3)}
    """
    if isinstance(a, tuple):
        values = tuple(map_aggregate(value, fn) for value in a)
        return type(a)(*values) if hasattr(a, "_fields") else values
    if isinstance(a, list):
        return immutable_list([map_aggregate(value, fn) for value in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(value, fn) for value in (a.start, a.stop, a.step)))
    return fn(a)


dtype_abbrs = {
    torch.bfloat16: "bf16",
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "b8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
}
