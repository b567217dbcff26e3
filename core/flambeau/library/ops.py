"""`torch.ops`: operators by namespace and name.  `aten` contains flambeau's operations; libraries define the others.

>>> torch.ops.aten.add(torch.ones(2), 1)
tensor([2., 2.])
>>> torch.ops.aten.add.Tensor
<OpOverload(op='aten.add', overload='Tensor')>
"""

from __future__ import annotations

import functools
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from ..engine.calls.facts import facts_of
from ..engine.calls.overriding import are_direct, handle_torch_function, has_torch_function, relevant, should_offer
from ..engine.calls.schema import FunctionSchema
from ..engine.calls.tables import OPS
from ..engine.devices.aliases import private_value
from ..extension.schemas import as_operator, missing_operator, namespace_of, operator_call, overload, schemas

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "ops"]

# Names of the overloads of PyTorch's operators.  In flambeau one function accepts the arguments of all overloads.
_ATEN_OVERLOADS = re.compile(
    r"default|msg|out|self|source|other|values|names|dimname|element_size|start|start_step|start_out|step|low|low_generator|generator|"
    r"range|using_ints|size|vec|stable|indices|sections|input|input_with_values|p|from|to|correction|unary|padding|pad_mode|"
    r"(dtype|device|prim_Device|prim_other|prim_dtype|other_layout|layout)(_layout)?|"
    r"(grad_input|weights|any|max|min|upper|Dimname|IntList|IntArrayRef|memory_format|decimals|mode|rounding|tensor)\w*|"
    r"(Tensor|Scalar|int|float|bool|complex|str|dim|dims|t|self|names|ScalarOpt|ScalarList|TensorList|List)(_\w+)*"
)

# {namespace: the module outside of the core that defines its operators}.
_NAMESPACE_MODULES = {
    "_c10d_functional": "flambeau_nnlib.distributed.operators",
    "c10d": "flambeau_nnlib.distributed.operators",
    "c10d_functional": "flambeau_nnlib.distributed.operators",
    "torchvision": "flambeau_vision.ops",
    "higher_order": "flambeau_nnlib.compile.higher_order",
    "prims": "flambeau.compat.primitives",
    "quantized_decomposed": "flambeau_nnlib.ao.quantization.decomposed",
    "symm_mem": "flambeau_nnlib.compat.symmetric_memory",
    "onednn": "flambeau_nnlib.ao.quantization.onednn",
    "profiler": "flambeau.autograd.profiler",
}


class OpOverload:
    """One overload of an operator: its function and its schema."""

    def __init__(self, packet: OpOverloadPacket, overload: str, call: Callable[..., Any], schema: FunctionSchema | None) -> None:
        self._packet, self._overloadname, self._call, self._schema_object = packet, overload, call, schema
        self.namespace: str = packet.namespace
        self.__name__: str = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{packet.namespace}"  # as in PyTorch: programs print it
        self.__doc__ = call.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = relevant([*args, *kwargs.values()])
        direct = are_direct(given)
        if not direct and should_offer(given, name=self.__name__):
            return handle_torch_function(self, given, *args, **kwargs)
        if "out" in kwargs and self._has_no_out():
            schema = self._schema
            raise RuntimeError(f"Unknown keyword argument 'out' for operator '{schema.name}'. Schema: {schema}")
        try:
            return self._call(*args, **kwargs)
        except TypeError as error:  # the arguments do not fit; in PyTorch, no schema matches
            if self.namespace != "aten" or not direct:  # or a program's override has raised it
                raise
            raise RuntimeError(f"aten::{error}") from error

    def _has_no_out(self) -> bool:
        """Whether the schema has no output argument. The overload "default" may represent all overloads of its operator."""
        schema = self._schema_object
        return (
            self._overloadname != "default"
            and schema is not None
            and not any(argument.writes and argument.kwarg_only for argument in schema.arguments)
        )

    @property
    def op(self) -> Callable[..., Any]:
        """The function that computes the overload."""
        return self._call

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator with all its overloads."""
        return self._packet

    _overloadpacket = overloadpacket  # programs with a `__torch_dispatch__` use PyTorch's private name

    @property
    def _schema(self) -> FunctionSchema:
        if self._schema_object is None:
            raise AttributeError(f"{self} has no schema")
        return self._schema_object

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the overload if PyTorch implements it by other operators; else return NotImplemented.

        >>> torch.ops.aten.relu.default.decompose(torch.ones(2))
        NotImplemented
        """
        facts = facts_of(self._packet.__name__)
        is_single = self._packet.__name__ in OPS or (facts is not None and facts.single_operator)
        if self.namespace == "aten" and is_single and (facts is None or facts.dispatches is None):
            return NotImplemented
        return self._call(*args, **kwargs)

    def name(self) -> str:
        """Return `namespace::name.overload`, or `namespace::name` for the overload "default"."""
        overload = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._packet.__name__}{overload}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __hash__(self) -> int:
        return hash((self.namespace, self.__name__))

    def __reduce__(self) -> Any:
        return _lookup, (self.namespace, self._packet.__name__, self._overloadname)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class HigherOrderOperator(ABC):
    """Base class of operators that take functions, or other arguments that a schema cannot declare.

    The `__call__` of a subclass defines the parameters and passes them to `super().__call__`.  That calls the
    `__torch_function__` of an argument if it has one, else the function that `py_impl` registered first.

    Args:
        name: the name in `torch.ops.higher_order`.
        cacheable: no effect.
    """

    __name__: str

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.__module__ = "torch.ops.higher_order"
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        setattr(ops.higher_order, name, self)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a function as the implementation for a dispatch key."""
        return lambda function: self.py_kernels.setdefault(key, function)

    def name(self) -> str:
        """Return the name in `torch.ops.higher_order`."""
        return self._name

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        values = relevant([*args, *kwargs.values()])
        if has_torch_function(values):
            return handle_torch_function(self, values, *args, **kwargs)
        if not self.py_kernels:
            raise NotImplementedError(f"could not find kernel for HigherOrderOperator {self._name}: register one by py_impl")
        return next(iter(self.py_kernels.values()))(*args, **kwargs)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<HigherOrderOperator(op='{self._name}')>"


class OpOverloadPacket:
    """An operator.  A call uses its default overload; attributes are its overloads, as in `torch.ops.aten.add.Tensor`.

    Calls of operators of `aten` raise RuntimeError if the arguments do not fit.
    """

    namespace: str
    __name__: str

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.__name__ = namespace, name
        self.__module__ = f"torch._ops.{namespace}"
        self.__qualname__ = name
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def add(self, overload: str, call: Callable[..., Any], schema: FunctionSchema | None) -> OpOverload:
        """Add an overload that the function `call` computes.  The empty name means "default"."""
        self._overloads[overload or "default"] = form = OpOverload(self, overload or "default", call, schema)
        return form

    @property
    def op(self) -> Callable[..., Any]:
        """The function of the default overload."""
        return self._default.op

    @property
    def _default(self) -> OpOverload:
        return self._overloads.get("default") or next(iter(self._overloads.values()))

    def _overload_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
        """Return the first overload whose schema accepts the arguments; the default one if it is the only one."""
        if len(self._overloads) == 1 or any(form._schema_object is None for form in self._overloads.values()):
            return self._default
        errors = []
        for form in self._overloads.values():
            try:
                form._schema.bind(args, kwargs)
            except RuntimeError as error:
                errors.append(str(error))
            else:
                return form
        reasons = "\n\n".join(errors)
        raise RuntimeError(f"Overloaded torch operator invoked from Python failed to match any schema:\n{reasons}")

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._overloads)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        form = self._default if self.namespace == "aten" else self._overload_for(args, kwargs)
        return form(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        forms = self.__dict__.get("_overloads", {})
        if name in forms:
            return forms[name]
        # An overload of PyTorch without a schema here.
        if forms and self.namespace in ("aten", "quantized_decomposed") and _ATEN_OVERLOADS.fullmatch(name):
            return self.add(name, forms["default"].op, None)
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __reduce__(self) -> Any:
        return _lookup, (self.namespace, self.__name__, None)

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self


class _OpNamespace(ModuleType):
    """A namespace of operators, such as `torch.ops.aten`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self._dir: list[str] = []

    def packet(self, name: str) -> OpOverloadPacket:
        """Return the operator called `name`; if it does not exist, create one without overloads."""
        found: OpOverloadPacket | None = self.__dict__.get(name)
        if found is None:
            found = OpOverloadPacket(self.name, name)
            setattr(self, name, found)
            self._dir.append(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, name: str) -> Any:
        function = None if name.startswith("__") else self._function(name)
        if name in self.__dict__:  # the module of the namespace defines it by a `torch.library.Library`
            return self.__dict__[name]
        if function is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = self.packet(name)
        for schema in schemas(name) if self.name in ("aten", "flambeau") else ():
            packet.add(schema.overload_name, function, schema)
        if "default" not in packet.overloads():
            packet.add("default", function, next(iter(packet._overloads.values()))._schema_object if packet._overloads else None)
        return packet

    def _private_function(self, name: str) -> Any:
        """Return a function of PyTorch's namespace `torch` that only libraries use, such as `_int_mm`, or None."""
        function = private_value(name) if self.name == "aten" else None
        return function if callable(function) and not isinstance(function, type) else None

    def _function(self, name: str) -> Any:
        """Return flambeau's function for an operator of this namespace, or None.

        A function that raises NotImplementedError represents an operator of PyTorch that flambeau lacks: wrapper subclasses
        register implementations of such operators.
        """
        if self.name in ("aten", "flambeau"):
            found = (as_operator(name) if namespace_of(name) == self.name else None) or self._private_function(name)
            return found or (missing_operator(name) if self.name == namespace_of(name) == "aten" else None)
        if self.name in _NAMESPACE_MODULES:
            return getattr(import_module(_NAMESPACE_MODULES[self.name]), name, None)
        return None


# {operator: ndim of its arguments in PyTorch}.  flambeau also calls them with other ndim, where PyTorch calls `matmul`.
_PRODUCT_NDIM = {"mm": 2, "bmm": 3}


def operator_of(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpOverload:
    """Return the `aten` overload that PyTorch would pass to `__torch_dispatch__` for an operation and its arguments.

    `function` computes the operation with these arguments.  Without it, an operator called `name` must exist.
    """
    facts = facts_of(name)
    aten = facts.operator if facts is not None and facts.operator else name
    if aten in _PRODUCT_NDIM and any(arg.ndim != _PRODUCT_NDIM[aten] for arg in args):
        aten = "matmul"
    if aten == "adjoint" and args[0].ndim == 2 and not args[0].is_complex():
        aten = "t"
    form = "out" if "out" in kwargs else overload(aten, args, kwargs)
    namespace = namespace_of(aten)
    known: Any = as_operator(aten) or (private_value(aten) if aten.startswith("_") else None)
    if known is None or (
        function is not None and aten == name and function is not known and not _have_same_parameters(function, known)
    ):
        packet = OpOverloadPacket(namespace, aten)
        return packet.add(form, function or known, None)
    return getattr(getattr(getattr(ops, namespace), aten), form)  # type: ignore[no-any-return]  # what `__getattr__` finds


def dispatched_call(
    name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
    """Return the operator that `__torch_dispatch__` receives, and its arguments in the form and order of its schema.

    The parameters are those of `operator_of`; the arguments are those of `function`.
    """
    operator = operator_of(name, function, args, kwargs)
    is_known = getattr(ops.aten, operator._packet.__name__, None) is operator._packet if operator.namespace == "aten" else False
    if not is_known or function is None or "out" in kwargs:
        return operator, args, kwargs
    call = operator_call(operator._packet.__name__, function, args, kwargs)
    if call is None:
        return operator, args, kwargs
    return getattr(operator._packet, call.schema.overload_name or "default"), tuple(call.args), call.kwargs


@functools.cache
def _have_same_parameters(function: Any, known: Any) -> bool:
    """Whether two functions have the same parameters after the first.  A shape parameter may have different names."""
    theirs, ours = ([*inspect.signature(f).parameters][1:] for f in (known, function))
    takes_a_shape = theirs[:1] in (["size"], ["shape"], ["dims"]) and ours in (["shape"], ["dims"])
    return takes_a_shape or theirs[: len(ours)] == ours


def _lookup(namespace: str, name: str, overload: str | None) -> Any:
    packet = getattr(getattr(ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


_found = _lookup  # pickles of earlier versions contain this name


class _Ops(ModuleType):
    """The type of `torch.ops`, whose attributes are namespaces of operators."""

    __file__: str = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'_Ops' object has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str) -> None:
        """Raise OSError: operators compiled for PyTorch use its C++ classes.

        Raises:
            OSError: always.
        """
        raise OSError(f"{path}: operators compiled for PyTorch need its C++ library, which flambeau does not have")

    def import_module(self, module: str) -> None:
        """Import a module that may define operators."""
        import_module(module)


ops: _Ops = _Ops()
