"""`Proxy`: represents a value during symbolic tracing and records the operations on it."""

from __future__ import annotations

import collections
import copy
import enum
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType, TracebackType
from typing import Any

import flambeau as torch

from ._call_syntax import as_written, current_instruction, frame_above, is_operator
from ._codegen import magic_methods, reflectable_magic_methods
from .graph import Graph
from .node import Argument, Node, Target, base_types, map_aggregate, map_arg
from .traceback import get_current_meta, has_preserved_node_meta

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError", "TracerBase",
    "assert_fn",
]  # fmt: skip


class Scope:
    """The module that is being traced.

    Args:
        module_path: the path of the module in the root.
        module_type: its class.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Context manager that sets `scope` to `current_scope` and restores it on exit.

    Args:
        scope: the scope to modify.
        current_scope: its temporary value.
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._former = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._scope.module_path, self._scope.module_type = self._former.module_path, self._former.module_type


class TraceError(ValueError):
    """The traced program depends on a value that is unknown during tracing."""


# Methods by which libraries test whether an object is a number or an array. Proxies must not have these methods.
_PROTOCOLS = frozenset({
    "__array__", "__array_interface__", "__array_namespace__", "__array_priority__", "__array_struct__", "__complex__",
    "__cuda_array_interface__", "__dlpack__", "__dlpack_device__", "__float__", "__index__", "__int__",
})  # fmt: skip


def assert_fn(x: Any) -> None:
    """Raise an AssertionError if `x` is false; traced `assert` statements become calls of this function."""
    if not x:
        raise AssertionError("Assertion failed")


class TracerBase:
    """Base class of tracers, which add nodes to `graph`.

    Attributes:
        graph: the graph.
        record_stack_traces: store the source location in each node.
        check_mutable_operations: raise an error for functions that modify their arguments.
        trace_asserts: record `assert` of a proxy as a node.
        proxy_buffer_attributes: access buffers in the graph, like parameters, instead of treating them as constants.
        traced_func_name: the name of the traced method of modules.
    """

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Insert a node, see `Graph.create_node`. Override it to inspect or change new nodes."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if has_preserved_node_meta():
            node.meta.update(get_current_meta())
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _user_stack()
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node. Override it to use a custom proxy class."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Insert a node whose arguments may contain proxies, and return its proxy.

        Args:
            kind, target: the kind and target of the node, see `Node`.
            args, kwargs: the arguments.
            name: a name for the node.
            type_expr: the type of the node's value.
            proxy_factory_fn: creates the proxy, instead of `self.proxy`.
        """
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Convert an argument to a node argument: replace proxies by nodes, also inside tuples, lists, dicts, slices and
        dataclasses.

        Args:
            a: the argument.

        Raises:
            NotImplementedError: a graph cannot hold arguments of this type.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            values = [self.create_arg(element) for element in a]
            return type(a)(*values) if hasattr(a, "_fields") else tuple(values) if type(a) is torch.Size else type(a)(values)
        if isinstance(a, list):
            return [self.create_arg(element) for element in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            values_by_name = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), values_by_name)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_key(self, key: Any) -> Any:
        def refuse(node: Node) -> Argument:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")

        return key if isinstance(key, str) else map_arg(self.create_arg(key), refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Return the truth value of a proxy. Override it to support control flow.

        Raises:
            TraceError: by default always, because the value is unknown.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Iterate over a proxy. Override it to support iteration.

        Raises:
            TraceError: by default always, because the length is unknown.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
            "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
            "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy, for `**proxy`. By default, return a proxy of the result of `obj.keys()`."""
        return Attribute(obj, "keys")()


def _user_stack() -> str | None:
    """Return the stack trace, starting at the outermost `forward`, without frames of this package."""
    frames = traceback.extract_stack(frame_above(3))
    first = next((number for number, frame in enumerate(frames) if frame.name == "forward"), None)
    if first is None:
        return None
    package = __file__.rpartition("proxy.py")[0]
    return "".join(
        frame for frame in traceback.format_list([summary for summary in frames[first:] if package not in summary.filename])
    ).strip()


class GraphAppendingTracer(TracerBase):
    """Record operations on proxies in a given graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """Represents the value of a node during tracing. Operations on it are added to the graph.

    Functions of `torch`, methods, attributes, operators and indexing become nodes. Operations that depend on the value (`if`,
    loops, `len`, `int`) raise an error; use `wrap` for functions that contain them.

    Args:
        node: the node.
        tracer: the tracer that inserts nodes; by default one that inserts them into the node's graph.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (x + 1).relu()
    Proxy(relu)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in _PROTOCOLS:
            raise AttributeError(f"a Proxy has no {k}, because its value is unknown during tracing")
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        copied = Proxy.__new__(Proxy)
        copied.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        instruction = current_instruction(sys._getframe(1))
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return (self[number] for number in range(instruction.argval))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_assertion(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Any:
        """Return the keys, see `TracerBase.keys`."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tracer = _tracer_of(orig_method, args, kwargs)
        name = orig_method.__name__
        frame = frame_above(2)
        if torch.overrides.is_tensor_method_or_property(orig_method) or is_operator(frame):
            name = {"__matmul__": "matmul", "__rmatmul__": "matmul"}.get(name, name)
            return tracer.create_proxy("call_method", name, args, kwargs)
        args, kwargs = as_written(orig_method, frame, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(name))


def _tracer_of(function: Any, args: Any, kwargs: Any) -> TracerBase:
    """Return the tracer of the proxies in the arguments."""
    tracers: dict[TracerBase, None] = {}

    def find(value: Any) -> None:
        if isinstance(value, Proxy):
            tracers[value.tracer] = None

    map_aggregate((args, kwargs), find)
    if len(tracers) != 1:
        raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {function}")
    return next(iter(tracers))


def _is_assertion(frame: FrameType) -> bool:
    """Whether a frame evaluates a truth value in an `assert` statement."""
    import dis

    listed = list(dis.get_instructions(frame.f_code))
    here = next((i for i, instruction in enumerate(listed) if instruction.offset == frame.f_lasti), None)
    if here is None:
        return False
    while here < len(listed) and listed[here].opname in ("TO_BOOL", "UNARY_NOT", "NOT_TAKEN"):
        here += 1
    if here + 1 >= len(listed) or not listed[here].opname.startswith("POP_JUMP") or "TRUE" not in listed[here].opname:
        return False
    following = next(
        (instruction for instruction in listed[here + 1 :] if instruction.opname not in ("NOT_TAKEN", "CACHE")), None
    )
    return following is not None and (
        following.opname == "LOAD_ASSERTION_ERROR" or following.argval in ("AssertionError", AssertionError)
    )


class Attribute(Proxy):
    """An attribute of a proxy. Calling it records a method call; any other use records a `getattr` node.

    Args:
        root: the proxy.
        attr: the name of the attribute.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The `getattr` node, inserted at the first access."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter. Its shape is known.

    Args:
        tracer: the tracer.
        node: the node.
        name: the path of the parameter.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: torch.nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> torch.Size:
        """The shape of the parameter."""
        return self.param.shape

    def size(self) -> torch.Size:
        """Return the shape of the parameter."""
        size: torch.Size = self.param.size()
        return size

    def dim(self) -> int:
        """Return the number of dimensions of the parameter."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parameter."""
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements of the parameter."""
        return self.param.numel()

    nelement = numel


def _add_operator(name: str) -> None:
    target = getattr(operator, name, None)
    if target is None:  # `operator.div` does not exist in Python 3
        return

    def compute(*args: Any, **kwargs: Any) -> Proxy:
        proxy: Proxy = args[0]
        return proxy.tracer.create_proxy("call_function", target, args, kwargs)

    def compute_reflected(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    compute.__name__ = name
    setattr(Proxy, f"__{name.strip('_')}__", compute)
    if name in reflectable_magic_methods:
        compute_reflected.__name__ = f"__r{name.strip('_')}__"
        setattr(Proxy, compute_reflected.__name__, compute_reflected)


for _name in magic_methods:
    _add_operator(_name)
