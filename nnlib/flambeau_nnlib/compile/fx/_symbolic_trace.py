"""Symbolic tracing: run a program on proxies and record its operations as a graph."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau import nn
from flambeau.extension import private_names
from flambeau.utils import pytree

from ._codegen import PyTreeCodeGen, PyTreeInfo
from ._names import public_module
from ._patching import Patcher, autowrap_globals, find_proxy, wrap_registered_functions, wrap_registered_methods
from ._wrapping import wrap
from .graph import Graph
from .node import Argument, base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

if TYPE_CHECKING:
    pass

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "wrap"]

__getattr__ = private_names(__name__)

_is_fx_tracing_flag = False
_orig_module_call, _orig_module_getattr = nn.Module.__call__, nn.Module.__getattr__  # custom tracers call them
wrap.__module__ = __name__  # generated code refers to `wrap` by PyTorch's module name
_proxyable_classes: dict[type, None] = {}
_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def is_fx_tracing() -> bool:
    """Whether a trace is running."""
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing() -> bool:
    """Whether a trace is running."""
    return _is_fx_tracing_flag


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction becomes a node if an argument is a proxy.

    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> def swap_and_double(x):
    ...     return Pair(x, x + 1)
    >>> [node.op for node in torch.fx.symbolic_trace(swap_and_double).graph.nodes]
    ['placeholder', 'call_function', 'call_function', 'output']
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes[cls] = None
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs) if _is_fx_tracing_flag else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """A value in `concrete_args` that marks an argument as an input of the graph."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A `PHBase` whose attributes are copied to the node of the input.

    Args:
        ph_key: a name for the input.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


class Tracer(TracerBase):
    """Record graphs of modules and functions. Subclasses decide which modules are traced into and which calls become nodes.

    Args:
        autowrap_modules: modules whose functions become nodes if an argument is a proxy.
        autowrap_functions: additional functions that become nodes if an argument is a proxy.
        param_shapes_constant: return the actual shapes of parameters, instead of proxies.

    >>> class Whole(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> [node.op for node in Whole().trace(torch.nn.ReLU()).nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        members = chain.from_iterable(vars(module).items() for module in autowrap_modules)
        self._autowrap_function_ids = {id(value) for name, value in members if not name.startswith("_") and callable(value)}
        self._autowrap_function_ids |= {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    # --- what subclasses override -----------------------------------------------------------------------------------

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of a module become nodes, instead of being traced into. By default: `torch.nn` modules except
        `Sequential`.

        Args:
            m: the module.
            module_qualified_name: the path of the module in the root.
        """
        module = public_module(type(m).__module__)
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, nn.Sequential)

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle a call of a module: if `is_leaf_module` is True, add a node, else trace into `forward`.

        Nodes call the `forward` of scripted modules, whose control flow may depend on values.

        Args:
            m: the module.
            forward: a function that calls the module while tracing.
            args, kwargs: the arguments.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            key = f"{scope.module_path}@{count}" if count else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            elif isinstance(m, torch.jit.ScriptModule):
                result = self.create_proxy("call_method", "forward", (self.create_proxy("get_attr", path, (), {}), *args), kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem(last=True)
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Handle access to a parameter, buffer or submodule: parameters become nodes.

        Args:
            attr: the name of the attribute.
            attr_val: its value.
            parameter_proxy_cache: the proxies of parameters accessed before, by path.
        """
        if isinstance(attr_val, nn.Parameter):
            return self._attribute_proxy(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            return self._attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _attribute_proxy(self, value: Any, members: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Any:
        path = next((path for path, member in members if member is value), None)
        if path is None:
            return value
        if path not in cache:
            options: dict[str, Any] = {}
            if self.param_shapes_constant and isinstance(value, nn.Parameter):
                options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, path, value)
            cache[path] = self.create_proxy("get_attr", path, (), {}, **options)
        return cache[path]

    def create_arg(self, a: Any) -> Argument:
        """Convert an argument to a node argument, as in `TracerBase`. Parameters, buffers, modules and constants become
        `get_attr` nodes.

        Args:
            a: the argument.

        Raises:
            NameError: a parameter does not belong to the root module.
            NotImplementedError: a graph cannot hold arguments of this type.
        """
        members: Iterable[tuple[str, Any]] = ()
        if isinstance(a, nn.Parameter):
            members = self.root.named_parameters()
        elif isinstance(a, torch.Tensor):
            members = self.root.named_buffers()
        elif isinstance(a, nn.Module):
            members = self.root.named_modules()
        for path, member in members:
            if a is member:
                return self.create_node("get_attr", path, (), {})
        if isinstance(a, nn.Parameter):
            raise NameError("parameter is not a member of this module")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(element) for element in a), {})
        if isinstance(a, torch.Tensor):
            if a not in self.tensor_attrs:
                self.tensor_attrs[a] = self._keep_constant(a, "_tensor_constant")
            return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        if type(a) in _proxyable_classes:
            return self.create_node("get_attr", self._keep_constant(a, f"_{type(a).__name__}_constant_"), (), {})
        return super().create_arg(a)

    def _keep_constant(self, value: Any, prefix: str) -> str:
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return an attribute name that is unused in the root module: the prefix with a number."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def path_of_module(self, mod: nn.Module) -> str:
        """Return the path of a module in the root.

        Raises:
            NameError: the root does not contain the module.
        """
        paths = self.submodule_paths or {module: name for name, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    # --- inputs -----------------------------------------------------------------------------------------------------

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """Add a placeholder for each parameter. Return the function to run and its arguments.

        Args:
            root_fn: the traced function.
            is_module: whether the function is a method of the root module.
            concrete_args: see `symbolic_trace`.
        """
        written = inspect.unwrap(root_fn)
        code: CodeType = written.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        if is_module and count == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        names = list(code.co_varnames[len(args) : count])
        if isinstance(concrete_args, tuple):
            if concrete_args and code.co_flags & _VARIADIC and count == 1:
                inputs = [self._input(f"input_{number}", value) for number, value in enumerate(concrete_args)]
                return root_fn, [*args, *inputs]
            if len(names) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names, concrete_args, strict=True))
        signature = inspect.signature(written)
        args += [self._placeholder(name, concrete_args or {}, signature, written) for name in names]
        if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
            rest = iter(code.co_varnames[count:])
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._placeholder(stars + next(rest), {}, signature, written))
            root_fn = _all_positional(root_fn, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if all(child.type is None for child in spec.children_specs):
            return root_fn, args
        return self._flattened(root_fn, list(code.co_varnames[:count]), spec), leaves

    def _flattened(self, function: Callable[..., Any], names: list[str], spec: Any) -> Callable[..., Any]:
        """Return a function of the flat argument leaves that calls `function`; generated code will take nested arguments."""
        codegen = PyTreeCodeGen(PyTreeInfo(names, spec, None))
        self.graph.set_codegen(codegen)

        def on_leaves(*args: Any) -> Any:
            result = function(*pytree.tree_unflatten(list(args), spec))
            leaves, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return leaves

        on_leaves.__annotations__ = {}  # the generated code has the annotations
        return on_leaves

    def _input(self, name: str, given: Any = PH, default: tuple[Any, ...] = ()) -> Proxy:
        proxy = self.create_proxy("placeholder", name, default, {})
        if isinstance(given, PHWithMeta):
            for attribute, value in vars(given).items():
                if not hasattr(proxy.node, attribute):
                    setattr(proxy.node, attribute, value)
        return proxy

    def _placeholder(self, name: str, concrete: dict[str, Any], signature: inspect.Signature, function: Any) -> Any:
        default: tuple[Any, ...] = ()
        if not name.startswith("*") and signature.parameters[name].default is not inspect.Parameter.empty:
            default = (signature.parameters[name].default,)
        if name not in concrete:
            return self.create_proxy("placeholder", name, default, {}, type_expr=_annotations(function).get(name))
        count = 0

        def specialized(value: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self._input(f"{name}_{count}", value, default)
            if isinstance(value, PHBase):
                return proxy
            self._check_specialized(name, value, proxy)
            return value

        return pytree.tree_map(specialized, concrete[name])

    def _check_specialized(self, name: str, value: Any, proxy: Proxy) -> None:
        """Add an assertion that an argument equals the value that the graph is specialized to."""
        if value is None:
            message = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        elif isinstance(value, base_types) and not isinstance(value, torch.Tensor):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", torch._assert, (proxy == value, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the "
                "user to make sure that your inputs match the inputs you specialized the function with."
            )

    # --- the trace --------------------------------------------------------------------------------------------------

    def trace(self, root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Trace a module or function.

        Args:
            root: the module or function.
            concrete_args: values of parameters that become constants of the graph.

        Returns:
            The graph. Its paths are relative to `self.root`.
        """
        global _is_fx_tracing_flag
        former, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            function = self._begin(root)
            function_globals = function.__globals__
            runnable, args = self.create_args_for_root(function, isinstance(root, nn.Module), concrete_args)
            with Patcher() as patcher:
                self._patch_modules(patcher)
                wrap_registered_functions(patcher)
                wrap_registered_methods(patcher)
                for names in (function_globals, *map(vars, self._autowrap_search)):
                    autowrap_globals(patcher, names, self._autowrap_function_ids)
                returned = _annotations(inspect.unwrap(runnable)).get("return")
                result = self.create_arg(runnable(*args))
                self.create_node("output", "output", (result,), {}, type_expr=returned)
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = former
        return self.graph

    def _begin(self, root: nn.Module | Callable[..., Any]) -> Any:
        if isinstance(root, nn.Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            self.root = root
            function: Any = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function = nn.Module(), root
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        self.graph = Graph(tracer_cls=type(self))
        code = function.__code__
        self.graph._co_fields = {name: getattr(code, name) for name in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs: dict[Any, str] = {
            value: f"{path}.{name}" if path else name
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter) and name not in module._buffers
        }
        return function

    def _patch_modules(self, patcher: Patcher) -> None:
        """Route calls of modules, and access to their attributes, to the tracer."""
        cache: dict[str, Proxy] = {}
        call, look_up, look_up_late = nn.Module.__call__, nn.Module.__getattribute__, nn.Module.__getattr__

        @functools.wraps(call)
        def traced_call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            names = getattr(getattr(module, "forward", module), "__globals__", {})
            autowrap_globals(patcher, names, self._autowrap_function_ids)
            return self.call_module(module, functools.partial(call, module), args, kwargs)

        def traced_look_up(module: nn.Module, name: str) -> Any:
            value = look_up(module, name)
            if isinstance(value, (torch.Tensor, nn.Module)) and _is_member(module, name):
                return self.getattr(name, value, cache)
            return value

        def traced_late_look_up(module: nn.Module, name: str) -> Any:
            return self.getattr(name, look_up_late(module, name), cache)

        patcher.patch_method(nn.Module, "__call__", traced_call)
        patcher.patch_method(nn.Module, "__getattribute__", traced_look_up)
        patcher.patch_method(nn.Module, "__getattr__", traced_late_look_up)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            copied.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return copied


def _annotations(function: Any) -> dict[str, Any]:
    """Return the annotations of a function as types. String annotations are evaluated if possible."""
    found = inspect.get_annotations(function)
    if any(isinstance(annotation, str) for annotation in found.values()):
        try:
            found = inspect.get_annotations(function, eval_str=True)
        except Exception:  # evaluating the user's annotations can raise anything
            found = {name: annotation for name, annotation in found.items() if not isinstance(annotation, str)}
    return {name: annotation for name, annotation in found.items() if annotation is not Any}


def _is_member(module: nn.Module, name: str) -> bool:
    members = module.__dict__
    return any(name in members.get(kind, ()) for kind in ("_parameters", "_buffers", "_modules"))


def _all_positional(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a copy of the function with `args` and `kwargs` instead of `*args` and `**kwargs`, so that both can be proxies."""
    inner: Any = function.__func__ if isinstance(function, MethodType) else function
    code = inner.__code__.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=inner.__code__.co_flags & ~_VARIADIC
    )
    changed = FunctionType(code, inner.__globals__, inner.__name__, inner.__defaults__, inner.__closure__)
    changed.__annotations__ = inner.__annotations__
    return changed


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)
