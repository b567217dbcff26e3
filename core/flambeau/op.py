"""The heart: one record per operation, from which everything else is generated.

``op()`` takes a forward, written against an array-API namespace, and beside it one derivative rule per differentiable
tensor argument, written against a namespace ``F``.  It registers the record and returns the public function; the
``Tensor`` method, the in-place ``name_``, ``out=``, aliases, promotion, the signature and the node class come with it.

The Python source of the public function is generated, once, when the function is first called: straight-line code for the
common case (plain tensors of one kind), and a call of ``dispatch`` for everything else.  ``source(name)`` shows it.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Literal, TypeVar, overload

from . import arguments, dtypes, overrides
from ._tensor import Tensor, alias, new, wrap
from .aliasing import Storage
from .autograd.grad_mode import _grad
from .autograd.node import RELEASED, Node, Output, next_seq, remember_trace, shown_as
from .autograd.saved import SAVE_HOOKS, anomaly, refuse_inference, saved_members
from .autograd.unfolding import naming
from .declared import UNSET, as_method, named, too_many, with_numpy_names
from .devices import Kind
from .operands import FAST, are_of_one_kind, as_operand, can_operate, no_tensor, original
from .promotions import COMMON, ONE_KIND

__all__ = ["OPS", "Op", "composite", "op", "source"]


class Op:
    """One operation: its forward, its derivative rules, and how dtypes go through it."""

    def __init__(self, name: str, forward: Callable[..., Any], options: dict[str, Any], rules: dict[str, Any]) -> None:
        self.name = name
        self.forward = forward
        self.promote: str = options.get("promote", "same")
        self.view: bool = options.get("view", False)
        self.has_face: bool = options.get("face", True)  # whether the public function of its name takes all that it takes
        self.results: tuple[str, ...] | None = options.get("results")  # names of the results, where there are several
        self.result_promotions: tuple[str, ...] = options.get("result_promotions", ())
        self.many: bool = options.get("many", False)  # returns a list of results
        self.has_out: bool = options.get("out", not self.view and not self.many)
        self.real_is_identity: bool = options.get("real_is_identity", False)  # leaves real arrays as they are
        self.by_columns: tuple[str, ...] = options.get("by_columns", ())  # results that lie in memory by columns, as LAPACK's do
        self.requires: str | None = options.get("requires")  # an optional part of the array API
        self.apart: tuple[str, ...] = options.get("apart", ())  # tensors that keep their own dtype: masks, indices
        self.check: Callable[..., None] | None = options.get("check")
        self.joint: Callable[..., Any] | None = options.get("joint")
        self.unfold: Callable[[Node], None] | None = options.get("unfold")
        self.rules: dict[str, Callable[..., Any]] = rules
        self.differentiable = bool(rules) or self.joint is not None
        code = forward.__code__
        names = code.co_varnames[1 : code.co_argcount]
        self.variadic = bool(code.co_flags & inspect.CO_VARARGS)  # takes a sequence of tensors
        count = code.co_posonlyargcount - 1 if code.co_posonlyargcount else len(names)
        self.tensor_names: tuple[str, ...] = ("tensors",) if self.variadic else names[:count]
        keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.param_names: tuple[str, ...] = keyword_only if self.variadic else names[count:] + keyword_only
        self.lead: str = next(each for each in self.tensor_names if each not in self.apart)
        fixed = options.get("fixed", ()) if self.joint or self.variadic else {*self.tensor_names} - rules.keys()
        self.edge_names = tuple(each for each in self.tensor_names if each not in fixed)  # what a node has edges to
        # ``dtype=`` is served before the kernel is called: the input is cast to it
        self.kernel_params = tuple(each for each in self.param_names if each != "dtype")
        self.defaults = _defaults(forward, names, keyword_only)
        self.flags = tuple(each for each in self.param_names if type(self.defaults.get(each)) is bool)
        self.signature: str = options.get("signature") or self._default_signature(names[count:], keyword_only)
        self.backward_name: str = options.get("backward_name") or _camel(name) + "Backward0"
        self.backward_name_reflected: str | None = options.get("backward_name_reflected")  # of ``number - tensor``
        self.backward_name_along: str | None = options.get("backward_name_along")  # where ``dim`` is given
        self.scalars = self._scalars(options.get("scalars", True))  # the tensor arguments that a Python number may stand for
        self.numbers_alone: bool = options.get("numbers_alone", False)  # whether they may stand for all of them
        self.takes: str = options.get("takes", "all")
        self.exact: bool = options.get("exact", False)  # takes a number beside half precision as it is
        self.function: Callable[..., Any]
        self.record: Callable[..., Any]
        self.node: type[Node]

    def _default_signature(self, params: Sequence[str], keyword_only: Sequence[str]) -> str:
        parts = [self._declare(name) for name in (*self.tensor_names, *(keyword_only if self.variadic else params))]
        if keyword_only and not self.variadic:
            parts += ["*", *map(self._declare, keyword_only)]
        return ", ".join(parts)

    def _declare(self, name: str) -> str:
        return f"{name}={self.defaults[name]!r}" if name in self.defaults else name

    def _scalars(self, given: bool | Sequence[str]) -> tuple[str, ...]:
        if self.promote not in COMMON or len(self.tensor_names) == 1 or not given:
            return ()
        return tuple(each for each in self.tensor_names if each not in self.apart and (given is True or each in given))


def _defaults(forward: Callable[..., Any], names: Sequence[str], keyword_only: Sequence[str]) -> dict[str, Any]:
    positional: tuple[Any, ...] = forward.__defaults__ or ()
    found = dict(zip(names[len(names) - len(positional) :], positional, strict=True))
    return found | (forward.__kwdefaults__ or {})


def _camel(name: str) -> str:
    """As PyTorch writes it: ``log1p`` is ``Log1P``."""
    return name.title().replace("_", "")


# --- the tables ---------------------------------------------------------------------------------------------------

OPS: dict[str, Op] = {}  # every record, by name
PUBLIC: dict[str, Callable[..., Any]] = {}  # every function of the ``torch`` namespace, records and composites
RECORDED: Any = SimpleNamespace()  # the ``F`` of a differentiable backward: the same functions, as attributes


# --- definition ---------------------------------------------------------------------------------------------------


@overload
def op(name: str, forward: Callable[..., Any], *, results: Sequence[str], **options: Any) -> Callable[..., Any]: ...


@overload
def op(name: str, forward: Callable[..., Any], *, many: Literal[True], **options: Any) -> Callable[..., Any]: ...


@overload
def op(name: str, forward: Callable[..., Any], **options: Any) -> Callable[..., Tensor]: ...


def op(
    name: str,
    forward: Callable[..., Any],
    *,
    doc: str = "",
    inplace: bool = False,
    public: bool = True,
    method: bool = True,
    aliases: Sequence[str] = (),
    dunders: Sequence[str] = (),
    promote: str = "same",
    **options_and_rules: Any,
) -> Callable[..., Any]:
    """Define an operation and return its public function.

    Args:
        name: the public name.
        forward: ``(xp, tensors..., /, parameters...)``; without a slash every argument is a tensor.  ``*tensors`` takes
            a sequence of them.
        promote: a key of ``PROMOTIONS``.
        inplace: whether there is a ``name_``.
        public, method: whether there is a function, and a method, of that name.
        aliases, dunders: further names, of function and method, and of the method alone.
        view: the result shares memory with the first argument.
        results: names of the results, where there are several; ``result_promotions`` gives a promotion for each.
        many: the forward returns a list of arrays of the input's kind.
        out: whether there is ``out=``.
        by_columns: those of the results (``("out",)`` where there is one) that lie in memory by columns, as LAPACK writes them.
        signature: the public signature, where the parameters come in another order than in ``forward``.
        apart: tensor arguments that keep their own dtype, such as masks and indices.
        requires: the optional part of the array API that the forward needs, such as ``"linalg.svd"``; the CPU computes for
            backends that do not have it.
        scalars: whether a Python number may stand for one of several tensors that are brought to a common dtype, or for which.
        numbers_alone: whether Python numbers may stand for all of the tensors, as in ``torch.mul(2, 3)``.
        face: whether the public function of that name, if it is another, takes all that this one does; overrides are given it.
        takes: the dtypes that there is a kernel for: a key of ``TAKES``.
        exact: whether a Python number beside half precision is taken as it is, not rounded to half precision first.
        check: raises where PyTorch refuses the arguments' dtypes; called with them before a cast, and after an error.
        joint: one rule that returns the gradients of all tensor arguments but those that are ``fixed``, for when they share work.
        unfold: turns the node into those that PyTorch has, where somebody looks.
        **rules: by tensor argument, ``(F, g, names...)``.  The names a rule asks for are what a call saves: a tensor
            argument, ``out``, one of the ``results``, a parameter, ``<argument>_shape``, or ``needs`` (which gradients
            are wanted).
    """
    code = forward.__code__
    arguments = set(code.co_varnames[1 : code.co_argcount]) | {"tensors"}
    rules = {key: options_and_rules.pop(key) for key in list(options_and_rules) if key in arguments}
    unknown = options_and_rules.keys() - _OPTIONS
    if unknown:
        raise TypeError(f"op {name!r}: unknown options or arguments {sorted(unknown)}")
    record = OPS[name] = Op(name, forward, {"promote": promote, **options_and_rules}, rules)
    made = record.function = _lazy(name, lambda: _function_source(record))
    made.__doc__ = doc
    made.__signature__ = _signature(record)  # type: ignore[attr-defined]  # a function has attributes
    if record.differentiable:
        record.record = _lazy(f"record_{name}", lambda: _record_source(record))
    _publish(name, made, public=public, method=method, aliases=aliases)
    _publish_dunders(record, dunders)
    if inplace:
        _publish_inplace(name, made, aliases)
    return made


_OPTIONS = {
    "apart",
    "exact",
    "takes",
    "face",
    "by_columns",
    "check",
    "scalars",
    "numbers_alone",
    "real_is_identity",
    "view",
    "results",
    "result_promotions",
    "many",
    "out",
    "signature",
    "joint",
    "fixed",
    "unfold",
    "requires",
    "backward_name",
    "backward_name_along",
    "backward_name_reflected",
}


C = TypeVar("C", bound=Callable[..., Any])


@overload
def composite(
    function: C, *, inplace: bool = False, method: bool = True, out: bool = False, aliases: Sequence[str] = (),
    public: bool = True, grad_fn: str | None = None,
) -> C: ...  # fmt: skip


@overload
def composite(
    *, inplace: bool = False, method: bool = True, out: bool = False, aliases: Sequence[str] = (),
    public: bool = True, grad_fn: str | None = None,
) -> Callable[[C], C]: ...  # fmt: skip


def composite(
    function: Any = None,
    *,
    inplace: bool = False,
    method: bool = True,
    out: bool = False,
    aliases: Sequence[str] = (),
    public: bool = True,
    grad_fn: str | None = None,
) -> Any:
    """Publish a function made of other operations: as function, method and, if asked, ``name_`` and ``out=``.

    The first parameter is the tensor that is ``self`` in the method.  ``grad_fn`` is what the result's node is called, where
    PyTorch has one operation for it.
    """
    if function is None:
        return lambda each: _publish_composite(each, inplace, method, out, aliases, public, grad_fn)
    return _publish_composite(function, inplace, method, out, aliases, public, grad_fn)


def _publish_composite(
    function: Any, inplace: bool, method: bool, out: bool, aliases: Sequence[str], public: bool, grad_fn: str | None
) -> Any:
    if grad_fn is not None:
        function = naming(function, grad_fn)
    name = function.__name__.rstrip("_") if function.__name__.endswith("__") else function.__name__
    made = with_out(function) if out else function
    _publish(name, made, public=public, method=method, aliases=aliases)
    if inplace:
        _publish_inplace(name, as_method(made), aliases)
    return made


def _publish(name: str, made: Any, *, public: bool, method: bool, aliases: Sequence[str]) -> None:
    for each in (name, *aliases):
        setattr(RECORDED, each, made)
        if public:
            PUBLIC[each] = made
        if method:
            setattr(Tensor, each, as_method(made))


def _publish_inplace(name: str, made: Any, aliases: Sequence[str]) -> None:
    function = in_place(name, made)
    for each in (name, *aliases):
        setattr(Tensor, each + "_", function)


_COMMUTING = ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


def _publish_dunders(record: Op, dunders: Sequence[str]) -> None:
    """Operators: like the function, but they give way (``NotImplemented``) to a type that they do not know."""
    for dunder in dunders:
        if dunder.startswith("__i") and dunder != "__invert__":
            setattr(Tensor, dunder, _augmented(record, dunder))
        elif dunder.startswith("__r") and dunder != "__rshift__" and record.name not in _COMMUTING:
            setattr(Tensor, dunder, _reflected(record, dunder))
        else:
            operator = _lazy(dunder, lambda name=dunder: _function_source(record, name))  # type: ignore[misc]  # mypy infers no type of a default in a lambda
            operator.__signature__ = _signature(record, with_out=False)  # type: ignore[attr-defined]  # a function has attributes
            setattr(Tensor, dunder, operator)


def _augmented(record: Op, name: str) -> Callable[..., Any]:
    method, at_once = in_place(record.name, record.function), kernel_caller(record.name, record.function)

    @functools.wraps(method)
    def operator(self: Tensor, other: Any, **kwargs: Any) -> Any:
        if at_once(self, (other,), kwargs):
            return self
        if type(other) not in FAST:
            if not can_operate(other):
                return NotImplemented
            if operator.__name__ == name and overrides.may_override((other,)):
                return overrides.offer_method(name, (self, other), kwargs)
        return method(self, other, **kwargs)

    if record.name.startswith("bitwise"):
        operator.__name__ = name  # as overrides know it
    return operator


def _reflected(record: Op, name: str) -> Callable[..., Any]:
    shown = record.backward_name_reflected

    def operator(self: Tensor, other: Any) -> Any:
        if type(other) is bool and record.check is not None:
            record.check(other, self)
        operand = as_operand(other, self)
        if type(operand) in FAST:
            made = record.function(operand, self)
            return made if made._node is None or shown is None else shown_as(made, shown)
        if not isinstance(self, Tensor) or not can_operate(other):
            return NotImplemented
        if overrides.may_override((other,)):
            return overrides.offer_method(name, (self, other), {})
        return dispatch(record, (other, self), ())

    operator.__name__ = operator.__qualname__ = name
    return operator


def _signature(record: Op, with_out: bool = True) -> inspect.Signature:
    """The public signature, for ``inspect``, documentation and the stub files."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = []
    for part in (_declaration(record) if with_out else record.signature).split(", "):
        name, has_default, _ = part.partition("=")
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = record.defaults.get(name) if has_default else inspect.Parameter.empty
        made.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(made, __validate_parameters__=False)


def _declaration(record: Op) -> str:
    if not record.has_out:
        return record.signature
    return record.signature + (", out=None" if "*" in record.signature else ", *, out=None")


# --- generated source ---------------------------------------------------------------------------------------------


def _stub(*args: Any, **kwargs: Any) -> Any:
    return materialize("INDEX", args, kwargs)  # type: ignore[arg-type]  # replaced in the copies


NAMESPACE: dict[str, Any] = {"__name__": "flambeau.ops", "__builtins__": __builtins__}
_pending: list[tuple[FunctionType, Callable[[], str]]] = []
STAND_INS: dict[FunctionType, FunctionType] = {}  # what computes a function while a mode has its calls offered


def _lazy(name: str, write: Callable[[], str]) -> FunctionType:
    """A function that writes and compiles itself when it is first called; its identity stays."""
    consts = tuple(len(_pending) if each == "INDEX" else each for each in _stub.__code__.co_consts)
    code: CodeType = _stub.__code__.replace(co_consts=consts, co_name=name, co_qualname=name)
    function = FunctionType(code, NAMESPACE, name)
    function.__module__ = "flambeau"
    _pending.append((function, write))
    if name.startswith("record_"):
        NAMESPACE[name] = function
    return function


def materialize(index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Give a lazy function its real code, and call it."""
    function, write = _pending[index]
    name, text = function.__name__, write()
    scope: dict[str, Any] = {}
    exec(_compiled(text, name), NAMESPACE, scope)
    (real,), function = scope.values(), STAND_INS.get(function, function)
    function.__defaults__, function.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
    function.__code__ = real.__code__
    return function(*args, **kwargs)


def _compiled(text: str, name: str) -> CodeType:
    """Compile generated source so that tracebacks and debuggers show it."""
    filename = f"<flambeau.{name}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    return compile(text, filename, "exec")


def source(name: str) -> str:
    """The Python source generated for an operation's public function.

    >>> import flambeau as torch
    >>> print(torch.op.source("exp").splitlines()[0])
    def exp(input=UNSET, _=None, x=None, a=None, x1=None, *, out=None):
    """
    return _function_source(OPS[name])


def _function_source(record: Op, dunder: str | None = None) -> str:
    """The public function, or an operator: the common case in straight line, the rest by ``dispatch``."""
    name, tensors, params = record.name, record.tensor_names, record.param_names
    NAMESPACE[f"op_{name}"] = record
    signature = record.signature if dunder else _declaration(record)
    has_out = record.has_out and not dunder
    if record.variadic:
        return _variadic_source(record, signature)
    lead, optional = record.lead, {each for each in tensors if record.defaults.get(each, 0) is None}
    operands = [each for each in tensors if each != lead and each in record.scalars]
    conditions = [f"({each} is None or type({each}) in FAST)" if each in optional else f"type({each}) in FAST"
                  for each in tensors if each not in operands]  # fmt: skip
    for each in tensors:
        if each != lead:
            same = "" if record.promote in ONE_KIND and each not in record.apart else ".device"
            test = f"{each}._kind{same} is {lead}._kind{same}"
            conditions += [f"({each} is None or {test})" if each in optional else test]
    conditions += ["out is None"] if has_out else []
    conditions += ["dtype is None"] if "dtype" in params else []
    conditions += [f"type({each}) is bool" for each in record.flags]
    declaration, renamed, late = (signature, "", "") if dunder else with_numpy_names(name, signature.split(", "), tensors)
    lines = [f"def {dunder or name}({declaration}):", *renamed.splitlines()]
    for each in operands:
        lines += [f"    if type({each}) not in FAST:"]
        if record.check is not None:  # a number may be refused where a tensor of the same value is not
            lines += [f"        if type({each}) is bool:", f"            op_{name}.check({', '.join(tensors)})"]
        lines += [f"        {each} = as_operand({each}, {lead})"]
    raw = [f"(None if {each} is None else {each}._array)" if each in optional else f"{each}._array" for each in tensors]
    lines += [
        f"    if {' and '.join(conditions)}:",
        "        try:",
        f"            kernel, kind = {lead}._kind.table[{name!r}]",
        f"            array = kernel({', '.join([*raw, *record.kernel_params])})",
        "        except Exception as error:",
        f"            return recover(error, op_{name}, {_tuple(tensors)}, {_tuple(params)})",
    ]
    call = ", ".join(["array", "kind", *tensors, *params])
    if record.results or record.many:
        lines += [f"        return several(op_{name}, {', '.join(['array', 'kind', _tuple(tensors), _tuple(params)])})"]
    else:
        lines += ["        if type(array) is not kind.array_type:", "            array = kind.backend.wrap(array)"]
        if record.differentiable:
            tracked = " or ".join(
                f"{each} is not None and {each}._requires_grad" if each in optional else f"{each}._requires_grad"
                for each in record.edge_names
            )  # fmt: skip
            lines += [f"        if {tracked}:", f"            return record_{name}({call})"]
        if record.view:
            lines += [f"        return view_of(array, kind, op_{name}, {lead}, {_tuple(params)})"]
        else:
            lines += [*_new_tensor("        "), "        return result"]
    lines += [*(f"    {each} = original({each})" for each in operands), *late.splitlines()]
    if dunder and len(tensors) > 1:
        lines += [f"    if not isinstance({lead}, Tensor):", f"        raise no_tensor({dunder!r}, {lead})"]
        way_out = f"equals_array({', '.join(tensors)})" if dunder == "__eq__" else "NotImplemented"
        lines += [f"    if not can_operate({tensors[1]}):", f"        return {way_out}"]
        if dunder in overrides.OPERATORS and dunder != "__eq__":
            lines += [f"    if may_override(({tensors[1]}, )):",
                      f"        return offer_method({dunder!r}, ({lead}, {tensors[1]}, ), {{}})"]  # fmt: skip
    lines += [f"    return dispatch(op_{name}, {_tuple(tensors)}, {_tuple(params)}, {'out' if has_out else None})"]
    return "\n".join(lines) + "\n"


def _new_tensor(indent: str) -> list[str]:
    fields = "result._requires_grad = False; result._node = result._grad = result._storage = result._view = None"
    return [
        indent + "result = new(Tensor)",
        indent + "result._array = array; result._kind = kind",
        indent + fields,
    ]


def _variadic_source(record: Op, signature: str) -> str:
    """An operation on a sequence of tensors: straight on where they are plain and of one kind."""
    name, params = record.name, _tuple(record.param_names)
    named = ", ".join(f"{each}={each}" for each in record.kernel_params)
    return (
        f"def {name}({signature}):\n"
        f"    if are_of_one_kind(tensors){' and out is None' if record.has_out else ''}:\n"
        f"        try:\n"
        f"            kernel, kind = tensors[0]._kind.table[{name!r}]\n"
        f"            array = kernel(*[each._array for each in tensors], {named})\n"
        f"        except Exception as error:\n"
        f"            return recover(error, op_{name}, tuple(tensors), {params})\n"
        f"        for each in tensors:\n"
        f"            if each._requires_grad:\n"
        f"                return record_{name}(array, kind, tensors, {params})\n"
        f"        return wrap(array, kind)\n"
        f"    return dispatch(op_{name}, tuple_of_tensors(tensors, op_{name}), {params}, {'out' if record.has_out else None})\n"
    )


def _tuple(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def _record_source(record: Op) -> str:
    """``record_name``: wrap the result and, where recording is on, make its node."""
    name, tensors, params = record.name, record.tensor_names, record.param_names
    node = record.node = make_node_class(record)
    NAMESPACE[f"node_{name}"] = node
    NAMESPACE[f"op_{name}"] = record
    arguments = ["array", "kind", *(["tensors", "params"] if record.variadic else (*tensors, *params))]
    settled = ".settled" if record.view else ""
    lines = [f"def record_{name}({', '.join(arguments)}):"]
    if record.variadic:
        lines += [f"    {_tuple(params)} = params"] if params else []
    if record.results or record.many:
        lines += ["    result = [wrap(each, k) for each, k in zip(array, kind)]"]
    elif record.view:
        lines += [f"    result = view_of(array, kind, op_{name}, {tensors[0]}, {_tuple(params)})"]
    else:
        lines += _new_tensor("    ")
    lines += ["    if not grad_enabled():", "        return result"]
    lines += [f"    node = new(node_{name})", "    node.seq = next_seq(); node.hooks = node.outputs = None"]
    if record.results or record.many:
        lines += [f"    node.kind = kind[0]{settled}; node.shape = array[0].shape if array else ()",
                  f"    node.outputs = tuple((k{settled}, each.shape) for each, k in zip(array, kind))"]  # fmt: skip
    else:
        lines += [f"    node.kind = kind{settled}; node.shape = array.shape"]
    lines += _edges_source(record) + _saves_source(record)
    lines += ["    if anomaly['enabled']:", "        remember_trace(node)"]
    if record.results or record.many:
        lines += ["    attach_outputs(node, result)", "    return result"]
    else:
        lines += ["    result._node = node", "    result._requires_grad = True", "    return result"]
    return "\n".join(lines) + "\n"


def _edges_source(record: Op) -> list[str]:
    if record.variadic:
        return ["    node.edges = tuple([(each._node or each) if each._requires_grad else None for each in tensors])"]
    edges = []
    for each in record.edge_names:
        optional = f"{each} is not None and " if record.defaults.get(each, 0) is None else ""
        edges.append(f"({each}._node or {each}) if {optional}{each}._requires_grad else None")
    return [f"    node.edges = ({', '.join(edges)},)"]


def _saves_source(record: Op) -> list[str]:
    """Save what the rules of the arguments that want a gradient ask for."""
    lines = []
    for name, wanted_by in _wanted(record).items():
        condition = _any_requires(record, wanted_by)
        if name == "needs":
            continue
        if name in record.tensor_names:
            given = f"{name} is not None and ({condition})" if record.defaults.get(name, 0) is None else condition
            lines += [f"    node.{name} = save({name}) if {given} else None"]
        elif name == "out" and (record.results or record.many):
            lines += [f"    node.out = tuple(save_output(each, i) for i, each in enumerate(result)) if {condition} else ()"]
        elif name == "out":
            lines += [f"    node.out = save_output(result, 0) if {condition} else None"]
        elif name in (record.results or ()):
            index = record.results.index(name)  # type: ignore[union-attr]  # not None: the name was found in it
            lines += [f"    node.{name} = save_output(result[{index}], {index}) if {condition} else None"]
        elif name.endswith("_shape") and name[: -len("_shape")] in record.tensor_names:
            tensor = name[: -len("_shape")]
            value = "[each._array.shape for each in tensors]" if record.variadic else f"{tensor}._array.shape"
            value = f"None if {tensor} is None else {value}" if record.defaults.get(tensor, 0) is None else value
            lines += [f"    node.{name} = {value}"]
        elif name in record.param_names:
            lines += [f"    node.{name} = {name}"]
        else:
            raise TypeError(f"op {record.name!r}: a derivative rule asks for {name!r}, which no call has")
    return lines


def _any_requires(record: Op, names: Sequence[str]) -> str:
    if record.variadic or record.joint:
        return "True"
    return " or ".join(
        f"{each}._requires_grad" if record.defaults.get(each, 0) is not None
        else f"({each} is not None and {each}._requires_grad)" for each in names
    )  # fmt: skip


def _wanted(record: Op) -> dict[str, list[str]]:
    """For each thing that a rule asks for, the arguments whose rules ask for it."""
    wanted: dict[str, list[str]] = {}
    rules = record.rules if not record.joint else {record.tensor_names[0]: record.joint}
    for argument, rule in rules.items():
        for name in _asked(rule):
            wanted.setdefault(name, []).append(argument)
    return wanted


def _asked(rule: Callable[..., Any]) -> tuple[str, ...]:
    return rule.__code__.co_varnames[2 : rule.__code__.co_argcount]


def make_node_class(record: Op) -> type[Node]:
    """The node class of an operation, with slots for what it saves and ``apply`` written out."""
    fields = [name for name in _wanted(record) if name != "needs"]
    tensors = [name for name in fields if name in record.tensor_names or name in (record.results or ()) or name == "out"]
    many = {"out"} if record.results or record.many else set()
    many |= {"tensors"} if record.variadic else set()

    def load(name: str) -> str:
        if name == "needs":
            return "tuple(edge is not None for edge in self.edges)"
        if name in many:
            return f"unpack_all(self.{name}, self, unpack)"
        return f"unpack(self.{name}, self)" if name in tensors else f"self.{name}"

    def call(rule: str, function: Callable[..., Any]) -> str:
        return f"{rule}({', '.join(['F', 'g', *map(load, _asked(function))])})"

    scope: dict[str, Any] = {f"rule_{key}": rule for key, rule in record.rules.items()}
    if record.joint or record.variadic:
        function = record.joint or record.rules["tensors"]
        scope["rule"] = function
        body = f"return {call('rule', function)}"
    else:
        parts = [f"None if self.edges[{i}] is None else {call(f'rule_{each}', record.rules[each])}"
                 for i, each in enumerate(record.edge_names)]  # fmt: skip
        body = f"return ({', '.join(parts)},)"
    text = f"def apply(self, F, g, unpack):\n    {body}\n"
    if tensors:
        text += f"def release(self):\n    {' = '.join(f'self.{each}' for each in tensors)} = RELEASED\n"
    exec(_compiled(text, record.backward_name), {**scope, "unpack_all": unpack_all, "RELEASED": RELEASED}, scope)
    members = {"__slots__": tuple(fields), "saves": tuple(tensors), "apply": scope["apply"], "__module__": "flambeau"}
    if tensors:
        members["release"] = scope["release"]
    if record.unfold is not None:
        members["unfold"] = record.unfold
    if record.backward_name_along:
        members["along"] = record.backward_name_along
    for each in fields:
        members |= saved_members(each, each in tensors)
    return type(record.backward_name, (Node,), members)


# --- what generated code calls ------------------------------------------------------------------------------------


def save(tensor: Tensor) -> Any:
    """A tensor as a node keeps it: the tensor, its array now, and its version now."""
    storage = tensor._storage
    if tensor._inference:
        refuse_inference()
    if SAVE_HOOKS:
        return SAVE_HOOKS[-1].pack(tensor)
    return tensor, tensor._array, (0 if storage is None else storage.version)


def save_output(result: Tensor, index: int) -> Any:
    """A result as its own node keeps it: by an alias without history, so that no reference cycle arises."""
    holder = alias(result)
    holder._storage = result._storage or result._own_storage()
    holder.__dict__["_output_of"] = index
    return save(holder)


def unpack_all(saved: Any, node: Node, unpack: Callable[[Any, Node], Any]) -> Any:
    if saved and saved[0] == "released":
        return unpack(saved, node)
    return [unpack(each, node) for each in saved]


def attach_outputs(node: Node, results: Sequence[Tensor]) -> None:
    for index, result in enumerate(results):
        if result._kind.dtype.category >= dtypes.FLOATING:
            result._node = Output(node, index)
            result._requires_grad = True


def view_of(array: Any, kind: Kind, record: Op, base: Tensor, params: tuple[Any, ...]) -> Tensor:
    """A tensor that shares memory with ``base``."""
    result = wrap(array, kind)
    storage = base._storage or base._own_storage()
    result._storage = storage
    result._view = (base, record, params, _grad.get())
    storage.add_view(result)
    return result


def recover(error: Exception, record: Op, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """After an exception on the straight path: go the general way where that helps, else explain.

    It does where all that was missing is to look the kernel up, where a parameter is a tensor that stands for a number or something
    that overrides calls, and where the library's user wants to hear of infinities.
    """
    unknown = type(error) is KeyError and error.args == (record.name,)
    backend = next(each for each in tensors if each is not None)._kind.backend
    if not (unknown or overrides.may_matter(params)) and not isinstance(error, backend.arithmetic_errors):
        explain(error, record, tensors, params)
    try:
        return dispatch(record, tensors, params)
    except Exception as failure:
        _leave_out(error, failure)
        raise


def _leave_out(error: Exception, failure: BaseException) -> None:
    """Let a failure not have come about while ``error``, which says nothing of it, was handled."""
    while failure.__context__ is not None:
        if failure.__context__ is error:
            failure.__context__ = error.__context__
            return
        failure = failure.__context__


def several(record: Op, arrays: Sequence[Any], kinds: Any, tensors: Sequence[Tensor], params: tuple[Any, ...]) -> Any:
    """Wrap the results of an operation that has several."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,) * len(arrays)
    arrays = [each if type(each) is kind.array_type else kind.backend.wrap(each)
              for each, kind in zip(arrays, kinds, strict=True)]  # fmt: skip
    tracked = record.differentiable and any(each is not None and each._requires_grad for each in tensors)
    if tracked:
        results = record.record(arrays, kinds, *tensors, *params)
    else:
        results = [wrap(each, kind) for each, kind in zip(arrays, kinds, strict=True)]
    if record.view:
        storage = tensors[0]._storage or tensors[0]._own_storage()
        for number, each in enumerate(results):
            each._storage = storage
            each._view = (tensors[0], None, (record.name, number, params), _grad.get())
            if tracked or storage.__class__ is not Storage or not each._kind.backend.mutable:
                storage.add_view(each)
    return result_type(record)(results)


_result_types: dict[str, Any] = {}


def result_type(record: Op) -> Any:
    """What wraps several results: a tuple, or a named tuple that prints as PyTorch's."""
    if not record.results:
        return tuple
    found = _result_types.get(record.name)
    if found is None:
        from .return_types import make

        found = _result_types[record.name] = make(record.name.removesuffix("_dim"), record.results)
    return found


from .dispatch import dispatch, explain, tuple_of_tensors  # noqa: E402 (needs the above)
from .inplace import in_place, kernel_caller, with_out  # noqa: E402

NAMESPACE.update(
    FAST=FAST, Tensor=Tensor, new=new, wrap=wrap, dispatch=dispatch, explain=explain, as_operand=as_operand, original=original,
    recover=recover,
    several=several, view_of=view_of, grad_enabled=_grad.get, next_seq=next_seq, SAVE_HOOKS=SAVE_HOOKS, save=save,
    save_output=save_output,
    attach_outputs=attach_outputs, anomaly=anomaly, remember_trace=remember_trace, materialize=materialize,
    tuple_of_tensors=tuple_of_tensors, check_arguments=arguments.check, as_python=arguments.as_python, NUMBERS=arguments.NUMBERS,
    can_operate=can_operate, no_tensor=no_tensor, are_of_one_kind=are_of_one_kind, UNSET=UNSET, named=named,
    too_many=too_many, may_override=overrides.may_override, offer_method=overrides.offer_method, DIRECT=overrides.DIRECT,
)  # fmt: skip
