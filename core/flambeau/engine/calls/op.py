"""Define operations: one record per operation, from which everything else is generated.

`op()` takes a forward function, written against an array-API namespace `xp`, and one derivative rule per differentiable tensor
argument, written against a namespace `F`.  It registers the record and returns the public function.  It also generates the
`Tensor` method, the in-place `name_`, `out=`, aliases, promotion, the signature and the node class.

The Python source of the public function is generated, once, when the function is first called: straight-line code for the
common case (plain tensors of one dispatch key), and a call of `dispatch` for everything else.  `source(name)` shows it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar, overload

from ..devices.state import state
from ..tape.fast_path import FAST, IN_INFERENCE, PLAIN
from ..tape.grad_mode import grad_flag, is_inference_mode_enabled
from ..tape.node import next_seq, rename_node
from ..tape.saved import SAVE_HOOKS
from ..tape.tensor_class import RECORDED
from ..tensors.tensor import Tensor, new, wrap
from ..values.dtypes import FLOATING
from . import arguments, facts, overriding, resolve  # noqa: F401 (`resolve` registers how dispatch keys find their kernels)
from .codegen import NAMESPACE, lazy_function
from .dispatch import dispatch, dispatch_method, explain, refuse_size, tuple_of_tensors
from .inplace import in_place, kernel_caller
from .node_names import with_grad_fn
from .nodes import attach_outputs, observe_record, save, save_output
from .operands import as_operand, can_operate, no_tensor, original
from .record import OPTIONS, Operation, Out
from .results import mark_inference, several, view_of
from .signatures import REQUIRED, call_with_torch_names
from .sources import function_source, record_source, sequence_fast_path_source, signature, source
from .tables import FORMULAS, OPS, PUBLIC
from .wrappers import add_out_argument, as_method

__all__ = ["composite", "formula", "no_slope", "not_implemented", "op", "sequence_fast_path", "source"]


@overload
def op(name: str, forward: Callable[..., Any], *, results: Sequence[str], **options: Any) -> Callable[..., Any]: ...


@overload
def op(name: str, forward: Callable[..., Any], *, returns_list: Literal[True], **options: Any) -> Callable[..., Any]: ...


@overload
def op(name: str, forward: Callable[..., Any], **options: Any) -> Callable[..., Tensor]: ...


def op(name: str, forward: Callable[..., Any], **options_and_rules: Any) -> Callable[..., Any]:
    """Define an operation and return its public function.

    Args:
        name: the public name.
        forward: `(xp, tensors..., /, parameters...)`; without a slash every argument is a tensor.  `*tensors` takes a sequence of
            tensors.
        **options_and_rules: the options of `Operation`, the facts of `Facts`, and the derivative rule `(F, g, names...)` of each
            differentiable tensor argument, under the argument's name.

    Raises:
        TypeError: an option is neither in `Operation` nor in `Facts`, or a rule is for a name that is not an argument.
    """
    code = forward.__code__
    arguments = {*code.co_varnames[1 : code.co_argcount], "tensors"}
    rules = {key: value for key, value in options_and_rules.items() if key in arguments}
    options = {key: value for key, value in options_and_rules.items() if key not in arguments}
    declared = {key: options.pop(key) for key in facts.OPTIONS & options.keys()}
    if unknown := options.keys() - OPTIONS:
        raise TypeError(f"op {name!r}: unknown options or arguments {sorted(unknown)}; the arguments are {sorted(arguments)}")
    record = OPS[name] = Operation(name=name, forward=forward, rules=rules, **options)
    function = lazy_function(name, lambda: function_source(record))
    function.__doc__ = record.doc
    function.__signature__ = signature(record)  # type: ignore[attr-defined]  # a function has attributes
    recorder = lazy_function(f"record_{name}", lambda: record_source(record)) if record.differentiable else None
    record.complete(function, recorder)
    _publish(name, function, public=record.public, method=record.method, aliases=record.aliases)
    _publish_dunders(record)
    if record.inplace:
        _publish_inplace(name, function, record.aliases)
    facts.register(name, declared, aliases=record.aliases, operators=record.dunders, inplace=record.inplace)
    return function


def sequence_fast_path(name: str) -> Callable[..., Tensor]:
    """Return the fast path of an operation on a sequence of tensors.

    The fast path raises an exception of any type if the tensors are not plain tensors of one dispatch key, if the kernel fails,
    or if the kernel has not been looked up yet. The caller then calls the operation itself.
    """
    return lazy_function(f"{name}_fast_path", lambda: sequence_fast_path_source(OPS[name]))


C = TypeVar("C", bound=Callable[..., Any])


@overload
def composite(
    function: C,
    *,
    inplace: bool = False,
    method: bool = True,
    out: bool | Out = False,
    aliases: Sequence[str] = (),
    public: bool = True,
    grad_fn: str | None = None,
    operators: Sequence[str] = (),
    **declared: Any,
) -> C: ...


@overload
def composite(
    *,
    inplace: bool = False,
    method: bool = True,
    out: bool | Out = False,
    aliases: Sequence[str] = (),
    public: bool = True,
    grad_fn: str | None = None,
    operators: Sequence[str] = (),
    **declared: Any,
) -> Callable[[C], C]: ...


def composite(
    function: Any = None,
    *,
    inplace: bool = False,
    method: bool = True,
    out: bool | Out = False,
    aliases: Sequence[str] = (),
    public: bool = True,
    grad_fn: str | None = None,
    operators: Sequence[str] = (),
    **declared: Any,
) -> Any:
    """Publish a function made of other operations as a function of `torch` and a method of Tensor.

    Options add an in-place form (`name_`) and an `out=` argument (`out` is True or the rules for it).  The first parameter of the
    function becomes `self` in the method.  If PyTorch has a single operation for the function, give the name of its node as
    `grad_fn`: results then show that node.  `operators` are the operator methods that call the function.  Further options are
    facts about it: see `Facts`.
    """
    facts.check_options("composite()", declared)
    if grad_fn is not None:
        declared.setdefault("single_operator", True)

    def publish(decorated: Any) -> Any:
        published = _publish_composite(decorated, inplace, method, out, aliases, public, grad_fn)
        facts.register(_name_of(decorated), declared, aliases=aliases, operators=operators, inplace=inplace)
        return published

    return publish if function is None else publish(function)


def _name_of(function: Any) -> str:
    name: str = function.__name__
    return name.rstrip("_") if name.endswith("__") else name


def _publish_composite(
    function: Any, inplace: bool, method: bool, out: bool | Out, aliases: Sequence[str], public: bool, grad_fn: str | None
) -> Any:
    if grad_fn is not None:
        function = with_grad_fn(grad_fn)(function)
    name = _name_of(function)
    published = add_out_argument(function, out if isinstance(out, Out) else Out(0)) if out else function
    _publish(name, published, public=public, method=method, aliases=aliases)
    if inplace:
        _publish_inplace(name, as_method(published), aliases)
    return published


def _publish(name: str, function: Any, *, public: bool, method: bool, aliases: Sequence[str]) -> None:
    for public_name in (name, *aliases):
        setattr(RECORDED, public_name, function)
        if public:
            PUBLIC[public_name] = function
        if method:
            setattr(Tensor, public_name, as_method(function))


def _publish_inplace(name: str, function: Any, aliases: Sequence[str]) -> None:
    method = in_place(name, function)
    for public_name in (name, *aliases):
        setattr(Tensor, public_name + "_", method)


_COMMUTING = ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


def _publish_dunders(record: Operation) -> None:
    """Define the operator methods: they call the function, but return `NotImplemented` for operands of unknown types."""
    for dunder in record.dunders:
        if dunder.startswith("__i") and dunder != "__invert__":
            setattr(Tensor, dunder, _inplace_operator(record, dunder))
        elif dunder.startswith("__r") and dunder != "__rshift__" and record.name not in _COMMUTING:
            setattr(Tensor, dunder, _reflected_operator(record, dunder))
        else:
            operator = lazy_function(dunder, lambda name=dunder: function_source(record, name))  # type: ignore[misc]  # mypy infers no type of a default in a lambda
            operator.__signature__ = signature(record, with_out=False)  # type: ignore[attr-defined]  # a function has attributes
            setattr(Tensor, dunder, operator)


def _inplace_operator(record: Operation, name: str) -> Callable[..., Any]:
    method, call_kernel = in_place(record.name, record.function), kernel_caller(record.name, record.function)

    @functools.wraps(method)
    def operator(self: Tensor, other: Any, **kwargs: Any) -> Any:
        if call_kernel(self, (other,), kwargs):
            return self
        if type(other) not in FAST:
            if not can_operate(other):
                return NotImplemented
            if overriding.may_override((other,)):
                return overriding.offer_operator(operator.__name__, (self, other), kwargs)
        return method(self, other, **kwargs)

    if record.name.startswith("bitwise"):
        operator.__name__ = name  # the name of the function that `__torch_function__` receives
    return operator


def _reflected_operator(record: Operation, name: str) -> Callable[..., Any]:
    node_name = record.overload_node_name

    def operator(self: Tensor, other: Any) -> Any:
        if type(other) is bool and record.check is not None:
            record.check(other, self)
        operand = as_operand(other, self)
        if type(operand) in PLAIN:
            result = record.function(operand, self)
            return result if result._node is None or node_name is None else rename_node(result, node_name)
        if not isinstance(self, Tensor) or not can_operate(other):
            return NotImplemented
        if overriding.may_override((other,)):
            return overriding.offer_operator(name, (self, other), {})
        return dispatch(record, (other, self), ())

    operator.__name__ = operator.__qualname__ = name
    return operator


# --- what generated code calls ------------------------------------------------------------------------------------


def recover(error: Exception, record: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Handle an exception of the fast path: retry on the general path if that may succeed, else raise PyTorch's error.

    The general path may succeed if the kernel had not been looked up yet, if a parameter is a tensor instead of a number or has
    a `__torch_function__`, or if the array library is set to raise floating-point errors, such as overflow.
    """
    not_looked_up = type(error) is KeyError and error.args == (record.name,)
    backend = next(tensor for tensor in tensors if tensor is not None)._key.backend
    if not (not_looked_up or overriding.has_tensor_parameter(params)) and not isinstance(error, backend.arithmetic_errors):
        explain(error, record, tensors, params)
    if not_looked_up and record.promote == "float":
        _cache_integer_kernel(record, tensors)
    try:
        return dispatch(record, tensors, params)
    except Exception as failure:
        _remove_context(error, failure)
        raise


def _cache_integer_kernel(record: Operation, tensors: tuple[Any, ...]) -> None:
    """Look up and cache the kernel for the dispatch key of these integer tensors, for later calls on the fast path.

    The current call continues on the general path, which promotes integers to floats and so caches the float kernel only.
    """
    key = next(tensor for tensor in tensors if tensor is not None)._key
    if key.dtype.category < FLOATING:
        with suppress(NotImplementedError):
            key[record.name]


def _remove_context(error: Exception, failure: BaseException) -> None:
    """Remove `error` from the exception chain (`__context__`) of `failure`, as it is not the cause of `failure`."""
    while failure.__context__ is not None:
        if failure.__context__ is error:
            failure.__context__ = error.__context__
            return
        failure = failure.__context__


NAMESPACE.update(
    PLAIN=PLAIN, IN_INFERENCE=IN_INFERENCE, in_inference_mode=is_inference_mode_enabled, mark_inference=mark_inference,
    Tensor=Tensor, new=new, wrap=wrap,
    dispatch=dispatch, dispatch_method=dispatch_method,
    explain=explain, as_operand=as_operand, original=original,
    make_tuple=tuple.__new__, refuse_size=refuse_size,
    recover=recover, several=several, view_of=view_of, grad_enabled=grad_flag.get, next_seq=next_seq, SAVE_HOOKS=SAVE_HOOKS,
    save=save, save_output=save_output, attach_outputs=attach_outputs, state=state, observe_record=observe_record,
    tuple_of_tensors=tuple_of_tensors, check_arguments=arguments.check, as_python=arguments.as_python, NUMBERS=arguments.NUMBERS,
    can_operate=can_operate, no_tensor=no_tensor, REQUIRED=REQUIRED, call_with_torch_names=call_with_torch_names,
    may_override=overriding.may_override, offer_method=overriding.offer_method, offer_operator=overriding.offer_operator,
    DIRECT=overriding.DIRECT, are_direct=overriding.are_direct,
)  # fmt: skip


# --- derivative rules as formulas -------------------------------------------------------------------------------------


def formula(function: Callable[..., Any] | None = None, **declared: Any) -> Callable[..., Any]:
    """Define a helper for derivative rules, called as `F.name(...)`. A backend may provide a kernel of that name for it.

    In a plain backward, rules run on raw arrays and use the kernel, if any.  In a differentiable backward (`create_graph=True`),
    they run on Tensors and use the formula, and each operation in it is recorded.  The kernel takes the arguments of the formula
    without `F`.  The options are facts about the function: see `Facts`.
    """
    if function is None:
        return lambda decorated: formula(facts.declare(**declared)(decorated))
    name = function.__name__
    FORMULAS[name] = function
    setattr(RECORDED, name, functools.partial(function, RECORDED))

    @functools.wraps(function)
    def compute(F: Any, *args: Any) -> Any:
        return getattr(F, name)(*args)

    return compute


def no_slope(F: Any, g: Any) -> Any:
    """Derivative rule of a piecewise constant function: zero, even for an infinite or NaN incoming gradient."""
    return F.tied(F.zeros_of(g, tuple(g.shape)), g)


def not_implemented(what: str) -> Callable[..., Any]:
    """Return a derivative rule that raises NotImplementedError, for an argument such as "igamma: input"."""

    def rule(F: Any, g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return rule
