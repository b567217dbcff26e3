"""`torch.fx.experimental.meta_tracer`: trace with example inputs on `meta`, so that programs can read shapes and dtypes."""

from __future__ import annotations

import builtins
import functools
import warnings
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import func, nn

from .._patching import find_proxy
from .._symbolic_trace import Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_aggregate
from ..proxy import Proxy

__all__ = [
    "MetaAttribute", "MetaDeviceAttribute", "MetaProxy", "MetaTracer", "gen_constructor_wrapper", "manual_meta_overrides",
    "proxys_to_metas", "symbolic_trace",
]  # fmt: skip

# {function or module class: a function that computes its result on `meta`}. Empty, because all operations compute on `meta`.
manual_meta_overrides: dict[Callable[..., Any], Callable[..., Any]] = {}


def gen_constructor_wrapper(target: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a function that adds a node if an argument is a proxy, and else calls `target`; and `target` itself."""

    @functools.wraps(target)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        return target(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", target, args, kwargs)

    return wrapper, target


class MetaProxy(Proxy):
    """A proxy whose shape and dtype are known: those of a tensor on `meta`, unless computing it failed."""

    _tensor_meta: Any = None

    def install_tensor_meta(self, tensor_meta: Any) -> None:
        """Set the tensor on `meta`, or the number, that the proxy represents."""
        self._tensor_meta = tensor_meta

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of a dimension. Add a node if it is unknown."""
        args = () if dim is None else (dim,)
        if self._tensor_meta is not None:
            return self._tensor_meta.size(*args)
        return self.tracer.create_proxy("call_method", "size", (self, *args), {})

    def dim(self) -> Any:
        """Return the number of dimensions. Add a node if it is unknown."""
        return self._tensor_meta.dim() if self._tensor_meta is not None else self._call("dim")

    @property
    def shape(self) -> Any:
        """The shape, or a new node if it is unknown."""
        return self._tensor_meta.shape if self._tensor_meta is not None else self._read("shape")

    @property
    def dtype(self) -> Any:
        """The dtype, or a new node if it is unknown."""
        return self._tensor_meta.dtype if self._tensor_meta is not None else self._read("dtype")

    @property
    def device(self) -> MetaDeviceAttribute:
        """The device of the program's tensor; it is replaced by `meta` when metadata is computed."""
        return MetaDeviceAttribute(self, "device")

    def __getattr__(self, k: str) -> MetaAttribute:  # type: ignore[override]  # not an `Attribute`, as in PyTorch
        return MetaAttribute(self, k)

    def _call(self, method: str) -> Any:
        return self.tracer.create_proxy("call_method", method, (self,), {})

    def _read(self, attribute: str) -> Any:
        return self.tracer.create_proxy("call_function", builtins.getattr, (self, attribute), {})


class MetaAttribute(MetaProxy):
    """An attribute or a method of a proxy. A node that reads the attribute is added on first use, unless it is called.

    Args:
        root: the proxy.
        attr: the name of the attribute.
    """

    def __init__(self, root: MetaProxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # an attribute of Proxy
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", builtins.getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class MetaDeviceAttribute(MetaAttribute):
    """The device of a proxy."""


def proxys_to_metas(v: Any) -> Any:
    """Return the tensor on `meta` of a proxy, "meta" for the device of a proxy, and other values unchanged.

    Raises:
        AssertionError: the proxy has no metadata.
    """
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if isinstance(v, Proxy):
        assert isinstance(v, MetaProxy), f"Expected MetaProxy but got {type(v)}"
        assert v._tensor_meta is not None, "MetaProxy does not have an associated meta"
        return v._tensor_meta
    return v


class MetaTracer(Tracer):
    """Trace a program and compute each node on `meta`.

    >>> def f(x):
    ...     return x.reshape(x.shape[0] * x.shape[1])
    >>> print(symbolic_trace(f, {"x": torch.empty(2, 3, device="meta")}).code.strip())
    def forward(self, x):
        reshape = x.reshape(6);  x = None
        return reshape
    """

    allow_insert_stateless_mods = True  # whether modules without weights that are created in `forward` are added to the root
    _TORCH_METHODS_TO_PATCH = ("arange", "zeros", "ones", "full_like", "eye")
    _disable_module_getattr = False

    def proxy(self, node: Node) -> MetaProxy:
        """Return the proxy of a node."""
        return MetaProxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any, **named: Any
    ) -> Any:
        """Add a node and compute its metadata. Warn if that fails."""
        proxy = super().create_proxy(kind, target, args, kwargs, *rest, **named)
        if kind == "placeholder" and target in self.meta_args:
            proxy.install_tensor_meta(self.meta_args[target])
        elif kind in ("call_function", "call_method", "call_module", "get_attr"):
            if target in self.orig_fns and "device" in kwargs:
                kwargs = {**kwargs, "device": "meta"}
            try:
                proxy.install_tensor_meta(self._compute(kind, target, args, kwargs))
            except Exception as error:  # the program's own functions can raise anything
                warnings.warn(f"Could not compute metadata for {kind} target {target}: {error}")
        return proxy

    def _compute(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = map_aggregate(args, proxys_to_metas), map_aggregate(kwargs, proxys_to_metas)
        if kind == "call_function":
            return manual_meta_overrides.get(target, target)(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        self._disable_module_getattr = True
        try:
            if kind == "get_attr":
                return functools.reduce(builtins.getattr, target.split("."), self.root).to(device="meta")
            module = self.root.get_submodule(target)
            if type(module) in manual_meta_overrides:
                return manual_meta_overrides[type(module)](module, *args, **kwargs)
            weights = {name: value.to("meta") for name, value in [*module.named_parameters(), *module.named_buffers()]}
            with func._ReplacedState(module, weights, tie_weights=True, strict=False):
                return self.orig_forward(*args, **kwargs)
        finally:
            self._disable_module_getattr = False

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Handle access to a member of a module, as in `Tracer`, except while metadata is computed."""
        return attr_val if self._disable_module_getattr else super().getattr(attr, attr_val, parameter_proxy_cache)

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle a call of a module, as in `Tracer`."""
        self.orig_forward = forward
        return super().call_module(m, forward, args, kwargs)

    def path_of_module(self, mod: nn.Module) -> str:
        """Return the path of a module in the root. A module without weights that the root lacks is added to it."""
        try:
            return super().path_of_module(mod)
        except NameError:
            if not self.allow_insert_stateless_mods or [*mod.parameters(), *mod.buffers()]:
                raise
        path = self.get_fresh_qualname(f"{type(mod).__name__.lower()}_")
        self.root.add_module(path, mod)
        return path

    def trace(  # type: ignore[override]  # PyTorch's signature
        self, root: nn.Module | Callable[..., Any], meta_args: dict[str, torch.Tensor], concrete_args: Any = None
    ) -> Graph:
        """Trace a module or function.

        Args:
            root: the module or function.
            meta_args: the tensors on `meta` that the inputs have, by name.
            concrete_args: see `Tracer.trace`.
        """
        assert isinstance(meta_args, dict), f"Expected dict for meta_args, got {type(meta_args)}"
        self.meta_args = meta_args
        wrappers = {name: gen_constructor_wrapper(getattr(torch, name)) for name in self._TORCH_METHODS_TO_PATCH}
        self.orig_fns = {function for _, function in wrappers.values()}
        try:
            for name, (wrapper, _) in wrappers.items():
                setattr(torch, name, wrapper)
            graph = super().trace(root, concrete_args)
        finally:
            for name, (_, function) in wrappers.items():
                setattr(torch, name, function)
        graph._tracer_extras = {"meta_args": meta_args}
        return graph


def symbolic_trace(
    root: nn.Module | Callable[..., Any],
    meta_args: dict[str, torch.Tensor] | None = None,
    concrete_args: dict[str, Any] | None = None,
) -> GraphModule:
    """Trace a module or function to a `GraphModule`; see `MetaTracer.trace`."""
    tracer = MetaTracer()
    graph = tracer.trace(root, {} if meta_args is None else meta_args, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
