"""User-defined backends of `torch.compile`: functions that compile the graph of a function or module."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import facts_of, is_inplace
from flambeau.overrides import TorchFunctionMode, is_tensor_method_or_property, resolve_name
from flambeau.utils.pytree import tree_iter

from ... import nn
from ...compat._dynamo import config
from ..fx._names import READS_VALUES
from ..fx._patching import find_proxy
from ..fx._symbolic_trace import Tracer
from ..fx.graph import inplace_methods
from ..fx.graph_module import GraphModule
from ..fx.node import Node, base_types
from ..fx.proxy import ParameterProxy, Proxy
from .errors import Unsupported

__all__ = ["WithBackend"]

_PLAIN = frozenset({bool, int, float, str, type(None)})
_READS = READS_VALUES | {"item", "numpy", "tolist"}
_CALLS = ("__call__", "_call_impl", "forward")  # methods of a module that call its `forward`


class WithBackend:
    """A function or module that is traced to a graph, which a user-defined backend compiles.

    It is traced once for each signature of the arguments and each state of its modules (see `_state_of`). If tracing fails, or
    after `torch._dynamo.config.recompile_limit` states, it runs eagerly, and a warning gives the reason.

    Args:
        model: the function or module.
        backend: takes a `GraphModule` and the tensors in the arguments, and returns a function.
        name: the name of the function in messages.
        fullgraph: raise `Unsupported` if the function cannot be traced, instead of running it eagerly.
        signature: returns the tensors in the arguments, and a hashable description of the arguments.
    """

    def __init__(
        self, model: Callable[..., Any], backend: Callable[..., Any], name: str, fullgraph: bool, signature: Callable[..., Any]
    ) -> None:
        self.model, self.backend, self.name, self.fullgraph, self.signature = model, backend, name, fullgraph, signature
        self.modules: list[nn.Module] = []  # modules whose code was traced
        self.compiled: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors, signature = self.signature(args, kwargs)
        function = self.compiled.get((signature, self._state()))
        if function is None:
            if sum(known == signature for known, _ in self.compiled) >= config.recompile_limit:
                warnings.warn(f"torch.compile: {self.name} runs eagerly: its modules have changed too often", stacklevel=3)
                return self.model(*args, **kwargs)
            function = self._compile(tensors, args, kwargs)
            self.compiled[signature, self._state()] = function
        return function(*args, **kwargs)

    def _state(self) -> tuple[Any, ...]:
        return tuple(map(_state_of, self.modules))

    def _compile(self, tensors: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        root, method = _root(self.model)
        tracer = _Tracer(method)
        try:
            function = getattr(root, method) if isinstance(root, nn.Module) else root
            tracer.inputs = _bound(function, args, kwargs)
            with _RecordingCalls(tracer):
                graph = tracer.trace(root)
        except Exception as error:  # the code of the program ran with proxies, and can raise anything
            if self.fullgraph:
                raise Unsupported(f"torch.compile: {self.name}: {error}") from error
            warnings.warn(f"torch.compile: {self.name} runs eagerly: {error}", stacklevel=4)
            return self.model
        known = {id(module) for module in self.modules} | ({id(tracer.root)} if tracer.adopts else set())
        self.modules += [module for module in tracer.root.modules() if id(module) not in known]
        traced = GraphModule(tracer.root, graph, getattr(root, "__name__", type(root).__name__))
        compiled: Callable[..., Any] = self.backend(traced, tensors)
        return compiled


def _state_of(module: nn.Module) -> tuple[Any, ...]:
    """Return what a trace of a module's code depends on: its plain attributes, such as `training`, and what its members are."""
    plain = [(name, type(value), value) for name, value in vars(module).items() if type(value) in _PLAIN]
    tensors = [
        None if tensor is None else (id(tensor), tensor.dtype, tensor.device, tensor.shape)
        for tensor in (*module._parameters.values(), *module._buffers.values())
    ]
    return (*plain, *tensors, *map(id, module._modules.values()))


def _root(model: Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """Return the module or function to trace, and the name of the traced method of a module."""
    owner, name = getattr(model, "__self__", model), getattr(model, "__name__", "forward")
    if not isinstance(owner, nn.Module):
        return model, "forward"
    return owner, "forward" if name in _CALLS else name


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


class _Tracer(Tracer):
    """Trace for one signature of the arguments: their shapes and the values of numbers are known.

    Parameters and buffers become nodes, also those of modules that a function uses from its closure.
    """

    trace_asserts = True
    proxy_buffer_attributes = True

    def __init__(self, method: str) -> None:
        super().__init__()
        self.traced_func_name = method
        self.inputs: dict[str, Any] = {}

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Any:
        self.adopts = not isinstance(root, nn.Module)  # whether `self.root` is new, so that modules can be added to it
        return super().trace(root, concrete_args)

    def proxy(self, node: Node) -> Proxy:
        return _MutableProxy(node, self)

    def path_of_module(self, mod: nn.Module) -> str:
        if self.adopts and all(mod is not module for module in self.root.modules()):
            self._keep_constant(mod, f"_{type(mod).__name__}_")
        return super().path_of_module(mod)

    def _attribute_proxy(self, value: Any, members: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Any:
        path = next((path for path, member in members if member is value), None)
        if path is None and not self.adopts:
            return value
        if path is None:
            if value not in self.tensor_attrs:
                self.tensor_attrs[value] = self._keep_constant(value, "_tensor_constant")
            path = self.tensor_attrs[value]
        if path not in cache:
            node = self.create_node("get_attr", path, (), {})
            cache[path] = _TensorProxy(self, node, path, value)
        return cache[path]

    def create_arg(self, a: Any) -> Any:
        if self.adopts and isinstance(a, nn.Parameter) and all(a is not parameter for parameter in self.root.parameters()):
            self._keep_constant(a, "_parameter")
        return super().create_arg(a)

    def _placeholder(self, name: str, concrete: dict[str, Any], signature: inspect.Signature, function: Any) -> Any:
        proxy = super()._placeholder(name, concrete, signature, function)
        value = self.inputs.get(name, proxy)
        if isinstance(value, Tensor):
            return _TensorProxy(self, proxy.node, name, value)
        return value if value is None or type(value) in base_types else proxy


class _RecordingCalls(TorchFunctionMode):
    """A context that also records functions without a proxy in their arguments, such as `rand(2)`, `zeros(2)` or operations on
    tensors of the closure.

    Otherwise their results would be constants: the graph would draw no new numbers, ignore later changes of the tensors, and
    write to the same new tensor at each call.
    """

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        if find_proxy(args, kwargs) is not None:
            return func(*args, **kwargs)
        if name in _READS:
            raise Unsupported(f"`{name}` reads a tensor that the function does not take as an argument")
        facts = facts_of(name)
        has_effect = is_inplace(name) or name == "__setitem__" or kwargs.get("out") is not None
        if has_effect or (facts is not None and facts.random):  # which must not run while tracing
            return self._record(func, name, args, kwargs)
        value = func(*args, **kwargs)
        if isinstance(value, Tensor):
            return _TensorProxy(self.tracer, self._record(func, name, args, kwargs).node, name, value)
        return self._record(func, name, args, kwargs) if any(isinstance(leaf, Tensor) for leaf in tree_iter(value)) else value

    def _record(self, func: Any, name: str, args: Any, kwargs: Any) -> Proxy:
        if name == "__get__":
            return self.tracer.create_proxy("call_function", getattr, (args[0], str(resolve_name(func)).split(".")[-2]), {})
        kind, target = ("call_method", name) if is_tensor_method_or_property(func) else ("call_function", func)
        return self.tracer.create_proxy(kind, target, args, kwargs)


class _MutableProxy(Proxy):
    """A proxy that records in-place operators and assignments to elements."""


def _in_place(function: Callable[..., Any]) -> Callable[..., Proxy]:
    return lambda self, *args: self.tracer.create_proxy("call_function", function, (self, *args), {})


for _name in inplace_methods:
    setattr(_MutableProxy, f"__{_name}__", _in_place(getattr(operator, _name)))


class _TensorProxy(_MutableProxy, ParameterProxy):
    """The proxy of a tensor whose shape, dtype and device are known."""

    param: Tensor  # type: ignore[assignment]  # of any tensor

    def __init__(self, tracer: Tracer, node: Node, name: str, value: Tensor) -> None:
        Proxy.__init__(self, node, tracer)
        self.param, self.name = value, name

    def __len__(self) -> int:
        return len(self.param)

    def size(self, dim: int | None = None) -> Any:
        return self.param.size(dim)

    @property
    def dtype(self) -> torch.dtype:
        return self.param.dtype

    @property
    def device(self) -> torch.device:
        return self.param.device
