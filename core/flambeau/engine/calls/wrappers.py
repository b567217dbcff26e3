"""Generate wrappers around functions written in Python, from one template.

A *composite* is a function made of operations.  Its wrapper handles NumPy's parameter names (`axis`), `out=`, 0-d tensors given
as numbers, `__torch_function__`, and PyTorch's error messages.  The source of the wrapper is generated at the first call, in one
of three forms:

- a method (`as_method`), or any function whose arguments are checked (`checked`);
- a function with an added `out=` (`with_out`);
- a function of a public namespace (`open_to_overrides`): its fast path only tests the types of the arguments; otherwise, it
  passes the call to a `__torch_function__`, if an argument or mode has one.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Container, Iterable, MutableMapping
from importlib import import_module
from itertools import count
from types import FunctionType, MethodType
from typing import Any, TypeVar, overload

from ..devices.aliases import aliased_name
from ..tensors.tensor import Tensor
from . import outputs
from .arguments import all_arguments, check_source, direct_conditions, exact_type_conditions, number_lines, types_of
from .codegen import NAMESPACE, lazy_function
from .facts import COMPILED, COMPILED_NAMESPACES, declare, facts_of
from .overriding import PUBLISHED, offer_function
from .record import Operation, Out
from .signatures import NUMPY_NAMES, add_out, declarations, packed, passed_on, signature_of, with_numpy_names
from .sources import function_source
from .tables import OPS
from .templates import METHOD, OVERRIDABLE, fill

__all__ = [
    "add_out_argument",
    "as_method",
    "checked",
    "is_native",
    "name_methods",
    "open_to_overrides",
    "with_out",
    "write_result",
]

C = TypeVar("C", bound=Callable[..., Any])
NO_RULES = Out(0)

_CHECKED_TYPES = {"Tensor", "Tensor | None", "bool", "bool | None", "str"}  # other annotations need no wrapper in methods
_numbers = count()  # suffixes that make the names in generated code unique


# --- the forms ----------------------------------------------------------------------------------------------------


def as_method(function: Any) -> Any:
    """Return a composite as a method; it is wrapped only if a parameter has a NumPy name or an annotation to check."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    has_names = {*NUMPY_NAMES.values()} & {*names} and not NUMPY_NAMES.keys() & names
    annotations = inspect.unwrap(function).__annotations__
    if function.__globals__ is NAMESPACE or not (has_names or _CHECKED_TYPES & {annotations.get(name) for name in names}):
        return function
    return checked(function)


def checked(function: Any) -> Any:
    """Wrap a composite in a function that checks the types of the arguments."""
    wrapper = _generated(function, function)
    return functools.update_wrapper(wrapper, function)


@overload
def with_out(function: C, **facts: Any) -> C: ...


@overload
def with_out(function: Out = ..., **facts: Any) -> Callable[[C], C]: ...


def with_out(function: Any = NO_RULES, **facts: Any) -> Any:
    """Decorate a composite to add an `out=` argument, with rules for it: `@with_out(Out.OWN_DTYPE)`.

    The other options are facts about the function: see `Facts`.
    """
    if not isinstance(function, Out):
        return add_out_argument(function, NO_RULES)
    add_out = functools.partial(add_out_argument, rules=function)
    return (lambda body: add_out(declare(**facts)(body))) if facts else add_out


def add_out_argument(function: Any, rules: Out) -> Any:
    """Wrap a composite to add an `out=` argument with these rules."""
    wrapper = _generated(function, function, out_rules=rules)
    functools.update_wrapper(wrapper, function)
    wrapper.__dict__["__without_out__"] = function
    wrapper.__dict__["__signature__"] = _with_out_parameter(inspect.signature(function))
    return wrapper


def overridable(function: Callable[..., Any], native_in: str = "") -> Callable[..., Any]:
    """Wrap a function so that the `__torch_function__` of arguments and modes can override its calls.

    If `native_in` is the name of a module, the function becomes a native function of it, which does not bind as a method.
    """
    body = getattr(function, "__without_out__", function)
    has_out = body is not function
    public: list[Callable[..., Any]] = []  # the function that `__torch_function__` receives
    wrapper = _generated(body, function, has_out=has_out, public=public, native=bool(native_in))
    functools.update_wrapper(wrapper, function)
    wrapper.__dict__["__body__"] = body
    public.append(_bound_to(native_in, wrapper, function) if native_in else wrapper)
    return public[0]


# --- the template -------------------------------------------------------------------------------------------------


def _generated(
    body: Callable[..., Any],
    function: Callable[..., Any],
    *,
    has_out: bool = False,
    out_rules: Out | None = None,
    public: list[Callable[..., Any]] | None = None,
    native: bool = False,
) -> FunctionType:
    """Generate a wrapper of `body`.  With `public`, it calls `__torch_function__`, or `function`, for calls off the fast path."""
    key = str(next(_numbers))
    NAMESPACE[f"body_{key}"] = body
    NAMESPACE[f"out_{key}"] = out_rules

    def source() -> str:
        has_out_argument = has_out or out_rules is not None
        if public is None:
            NAMESPACE[f"function_{key}"] = wrapper
            return _method_source(wrapper.__name__, body, key, has_out_argument)
        NAMESPACE[f"function_{key}"] = public[0]
        compute = function if has_out or not types_of(body) else checked(body)
        NAMESPACE[f"offer_{key}"] = functools.partial(offer_function, public[0], body, compute)
        return _overridable_source(wrapper.__name__, body, key, has_out_argument, native)

    wrapper = lazy_function(body.__name__, source)
    return wrapper


class _Parts:
    """The pieces of source code from which both kinds of wrappers are generated: methods and overridable functions."""

    def __init__(self, name: str, body: Callable[..., Any], key: str, has_out: bool) -> None:
        self.declared, self.positional, self.keywords, self.required = declarations(body, key, NAMESPACE)
        if has_out:
            add_out(self.declared)
        names = with_numpy_names(self.declared, f"function_{key}", name)
        self.numpy_name_lines = names.lines if names else []
        self.catches_names = names is not None and names.catches_all
        self.declared = names.declared if names else self.declared
        self.call = f"body_{key}({passed_on(self.positional, self.keywords)})"
        self.packed = packed(self.positional, self.keywords)
        self.arguments = all_arguments(body)
        self.check = check_source(body, key)
        NAMESPACE[f"types_{key}"] = types_of(body)


def _overridable_source(name: str, body: Callable[..., Any], key: str, has_out: bool, native: bool) -> str:
    parts = _Parts(name, body, key, has_out)
    exact_types = exact_type_conditions(body)
    conditions = [*([] if parts.required else ["DIRECT"]), *direct_conditions(body, parts.required), *exact_types]
    conditions += ["out is None"] * has_out + ["not numpy_names"] * parts.catches_names
    return fill(
        OVERRIDABLE,
        name=name,
        parameters=", ".join(["NATIVE"] * native + parts.declared),
        is_direct=" and ".join(conditions),
        call=parts.call,
        arguments=parts.arguments,
        offer=f"offer_{key}({parts.packed}, {'out' if has_out else None})",
        check=parts.check,
        exceptions=parts.numpy_name_lines,
        check_types=[parts.check] if exact_types and not _is_python_function(name) else [],
    )


def _is_python_function(name: str) -> bool:
    """Whether PyTorch implements the function in Python: it then offers calls before it checks the types of arguments."""
    facts = facts_of(name)
    return facts is not None and bool(facts.home) and facts.home not in COMPILED


def _method_source(name: str, body: Callable[..., Any], key: str, has_out: bool) -> str:
    parts = _Parts(name, body, key, has_out)
    is_method = hasattr(Tensor, name) and inspect.unwrap(getattr(Tensor, name)) is inspect.unwrap(body)
    offer = [f"if may_override({parts.arguments}):", f"    return offer_method({name!r}, {parts.packed})"] if is_method else []
    conditions = " and ".join([*direct_conditions(body, parts.required[1:]), *exact_type_conditions(body)])
    tests = ["numpy_names"] * parts.catches_names + [f"not ({conditions})"] * bool(conditions)
    exceptions = [*parts.numpy_name_lines, *([*offer, parts.check, *number_lines(body)] if conditions else [])]
    return fill(
        METHOD,
        name=name,
        parameters=", ".join(parts.declared),
        exceptions=[f"if {' or '.join(tests)}:", *(f"    {line}" for line in exceptions)] if tests else exceptions,
        compute=_lines_with_out(body, key, parts) if has_out else [f"return {parts.call}"],
        offer=offer,
        check=parts.check,
    )


def _lines_with_out(body: Callable[..., Any], key: str, parts: _Parts) -> list[str]:
    """Return source lines that return the result of a call, or write it into `out`."""
    modules = [module for module in body.__module__.split(".") if module in ("fft", "linalg")]
    name = "_".join([*modules, body.__name__])
    takes_dtype = "dtype" in parts.keywords and Out.SETS_DTYPE in NAMESPACE[f"out_{key}"]
    inputs = "".join(f"{positional.lstrip('*')}, " for positional in parts.positional)
    return [
        "if out is None:",
        f"    return {parts.call}",
        f"check_out({name!r}, out_{key}, out, ({inputs}))",
        *(["dtype = dtype or out.dtype"] if takes_dtype else []),
        f"return write_result({name!r}, out_{key}, {parts.call}, out)",
    ]


def write_result(name: str, rules: Out, result: Any, out: Any) -> Any:
    """Write the result, or the results, of a function into `out`."""
    results = (result,) if isinstance(result, Tensor) else result
    outputs.check_untracked(name, rules, any(tensor._requires_grad for tensor in results))
    return outputs.write(name, rules, out, result)


NAMESPACE["check_out"], NAMESPACE["write_result"] = outputs.check, write_result


def _with_out_parameter(signature: inspect.Signature) -> inspect.Signature:
    parameters = list(signature.parameters.values())
    position = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    parameters.insert(position, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters, return_annotation=signature.return_annotation, __validate_parameters__=False)


# --- native functions ---------------------------------------------------------------------------------------------


class _Namespace:
    """A public module, to which its native functions are bound, so that they do not bind to an instance as methods do."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __repr__(self) -> str:
        return f"<module {self.module!r}>"

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["module"]
        return getattr(import_module(module), name.removeprefix(module.rpartition(".")[2] + "_"))

    def __reduce__(self) -> tuple[Any, ...]:
        shown = aliased_name(aliased_name(self.module, "flambeau"), "torch")
        if not shown.startswith("torch"):
            return _namespace, (self.module,)
        space = shown.removeprefix("torch.")  # PyTorch finds the function in its compiled module
        return import_module, (f"torch._C._{space}" if space in COMPILED_NAMESPACES else shown,)

    def __deepcopy__(self, memo: Any) -> _Namespace:
        return self


@functools.cache
def _namespace(module: str) -> _Namespace:
    return _Namespace(module)


def is_native(value: Any) -> bool:
    """Whether the value is a native function, which does not bind as a method."""
    return isinstance(value, MethodType) and type(value.__self__) is _Namespace


class _Hidden:
    """The `__wrapped__` of a native function.  Its signature has the hidden first parameter, which `inspect` drops."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function

    @property
    def __signature__(self) -> inspect.Signature:
        """The hidden first parameter, followed by the function's signature; built on demand, as few signatures are inspected."""
        signature = signature_of(self.__wrapped__)
        first = inspect.Parameter("NATIVE", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [first, *signature.parameters.values()]
        return inspect.Signature(parameters, return_annotation=signature.return_annotation, __validate_parameters__=False)


def _bound_to(module: str, code: Any, function: Callable[..., Any]) -> Any:
    """Return a bound method that calls `code` with the namespace object of `module` as the hidden first argument."""
    code.__wrapped__ = _Hidden(function)
    code.__dict__.pop("__signature__", None)  # copied from `function`: it lacks the hidden parameter
    return MethodType(code, _namespace(module))


_natives: dict[int, MethodType] = {}  # for each operation: its native function, by the id of its plain function


def _native_operation(record: Operation, module: str) -> Any:
    """Return the public function of an operation as a native function, which does not bind as a method."""
    method = _natives.get(id(record.function))
    if method is None:
        function: Any = lazy_function(record.name, lambda: function_source(record, native=True))
        function.__doc__ = record.function.__doc__
        method = _natives[id(record.function)] = _bound_to(module, function, record.function)
        method.__dict__["__body__"] = record.function
        record.function.__dict__["__public__"] = method
    return method


def open_to_overrides(
    namespace: MutableMapping[str, Any], names: Iterable[str], native: Container[str] = (), module: str = ""
) -> None:
    """Make the functions of a public namespace overridable.  Operations, which `op()` has defined, already are.

    The `__module__` of the functions becomes `module`, or the name of the namespace, where pickle finds them.  Functions in
    `native`, which PyTorch implements in C++, do not bind as methods: after `conv = torch.conv2d` in a class body,
    `self.conv(input, weight)` passes no `self`.
    """
    module = module or namespace.get("__name__", "flambeau")
    if module.startswith("flambeau."):
        module = aliased_name(module, "flambeau")  # such as `flambeau.linalg`, the name that pickles store
    operations = {id(record.function): record for record in OPS.values()}
    for name in names:
        function = namespace[name]
        if not isinstance(function, FunctionType) or "__body__" in function.__dict__:
            continue
        record = operations.get(id(function))
        if record is None or (name in native and name in record.aliases):  # the alias needs a separate function
            namespace[name] = function = overridable(function, module if name in native else "")
            record = None
        elif name in native:
            known = id(function) in _natives
            namespace[name] = function = _native_operation(record, module)
            if known:
                continue
        elif function.__name__ in PUBLISHED:
            continue
        function = getattr(function, "__func__", function)
        function.__module__, function.__qualname__ = sys.modules[module].__name__ if module in sys.modules else module, name
        if record is None and name in native and module == "flambeau":  # an alias keeps the alias as its name
            function.__name__ = name


def name_methods() -> None:
    """Rename methods and properties of Tensor that were defined under other names: `__name__` becomes the attribute's name."""
    for name, attribute in vars(Tensor).items():
        if isinstance(attribute, property) and attribute.fget is not None and name != "creator":  # another name of `grad_fn`
            attribute.fget.__name__ = name
        if isinstance(attribute, FunctionType) and attribute.__name__.startswith("_") and not attribute.__name__.startswith("__"):
            attribute.__name__ = attribute.__qualname__ = name
