"""`torch._foreach_*`: apply one operation to each tensor of a list.

Optimizers, moving averages and gradient clipping written for PyTorch call these functions.  Each calls the operation for a
single tensor, and has its derivatives, dtypes and errors.  `torch` looks up names that begin with `_foreach_` in this module,
which generates functions of a single list on demand.

>>> parameters, steps = [torch.ones(2), torch.zeros(3)], [torch.ones(2), torch.ones(3)]
>>> torch._foreach_add_(parameters, steps, alpha=-0.5)
[tensor([0.5000, 0.5000]), tensor([-0.5000, -0.5000, -0.5000])]
>>> torch._foreach_norm(parameters)
(tensor(0.7071), tensor(0.8660))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple

from ..engine.calls.dispatch import result_dtype
from ..engine.calls.facts import Kind, facts_of, names, register
from ..engine.calls.inplace import in_place
from ..engine.calls.overriding import handle_torch_function, relevant, should_offer
from ..engine.calls.tables import PUBLIC
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.from_data import tensor
from .linalg.norms import vector_norm
from .matrix import mm

__all__: list[str] = []  # `torch._foreach_add` and so on are private names

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # the functions generated so far, by name

# --- the table ----------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A foreach function with operands: the operation on one tensor, and the overloads for the last operand."""

    compute: Callable[..., Any]
    forms: dict[str, tuple[str, str]]
    """For each overload: the name of the last operand, and the suffix of the result's `grad_fn` name."""
    lists: tuple[str, ...] = ()
    """Names of the lists of tensors between `self` and the last operand."""
    default: Any = None
    """Default of the last operand; None if it is required."""
    alpha: bool = False
    """Whether the overloads with a tensor or a list of tensors accept `alpha`."""
    keeps_tensor: bool = False
    """Whether a 0-d tensor operand is treated as a tensor, not as a number, in dtype promotion."""


def _maximum(input: Tensor, other: Any) -> Any:
    return PUBLIC["maximum"](input, _as_tensor_like(input, other))


def _minimum(input: Tensor, other: Any) -> Any:
    return PUBLIC["minimum"](input, _as_tensor_like(input, other))


def _as_tensor_like(input: Tensor, other: Any) -> Tensor:
    """Convert a number to a tensor with the result's dtype; return a tensor unchanged."""
    return other if isinstance(other, Tensor) else tensor(other, dtype=result_dtype([input, other]), device=input.device)


def _pow(input: Tensor | complex, exponent: Any) -> Any:
    return PUBLIC["pow"](input, exponent)


def _addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Any:
    return PUBLIC["addcmul"](input, tensor1, tensor2, value=value)


def _addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Any:
    return PUBLIC["addcdiv"](input, tensor1, tensor2, value=value)


def _operand(scalar: str, of_list: str, of_scalars: str, of_tensor: str = "") -> dict[str, tuple[str, str]]:
    """Return the overloads of a binary function; the arguments are the suffix of the `grad_fn` name for each overload."""
    forms = {"Scalar": ("scalar", scalar), "List": ("other", of_list), "ScalarList": ("scalars", of_scalars)}
    return {**forms, "Tensor": ("other", of_tensor)} if of_tensor else forms


def _factor() -> dict[str, tuple[str, str]]:
    return {"Scalar": ("value", "0Scalar"), "ScalarList": ("scalars", "0ScalarList"), "Tensor": ("scalars", "0Tensor")}


_TABLE = {
    "add": _Row(PUBLIC["add"], _operand("1Scalar", "0List", "1ScalarList", "0Tensor"), alpha=True),
    "sub": _Row(PUBLIC["sub"], _operand("1Scalar", "0List", "1ScalarList"), alpha=True),
    "mul": _Row(PUBLIC["mul"], _operand("1Scalar", "0List", "1ScalarList", "0Tensor"), keeps_tensor=True),
    "div": _Row(PUBLIC["div"], _operand("1Scalar", "0", "1ScalarList", "0Tensor"), keeps_tensor=True),
    "clamp_max": _Row(PUBLIC["clamp_max"], _operand("0Scalar", "1List", "0ScalarList")),
    "clamp_min": _Row(PUBLIC["clamp_min"], _operand("0Scalar", "1List", "0ScalarList")),
    "maximum": _Row(_maximum, _operand("0", "0List", "1")),
    "minimum": _Row(_minimum, _operand("0", "0List", "1")),
    "pow": _Row(_pow, {"Scalar": ("exponent", "0Scalar"), "List": ("exponent", "0"), "ScalarList": ("exponent", "1")}),
    "lerp": _Row(
        PUBLIC["lerp"],
        {"Scalar": ("weight", "0Scalar"), "List": ("weights", "1List"), "ScalarList": ("weight", "0ScalarList")},
        lists=("tensors1",),
    ),
    "addcmul": _Row(_addcmul, _factor(), lists=("tensor1", "tensor2"), default=1, keeps_tensor=True),
    "addcdiv": _Row(_addcdiv, _factor(), lists=("tensor1", "tensor2"), default=1, keeps_tensor=True),
}

# --- building the functions ---------------------------------------------------------------------------------------


def _rename_nodes(name: str, ending: str, results: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Rename the autograd nodes of the results as in PyTorch, such as `ForeachAddBackward0List`."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    node = f"Foreach{camel.replace('1p', '1P')}Backward{ending}"
    return tuple(rename_node(result, node) for result in results)


def _register(name: str, function: Callable[..., Any], doc: str, *arguments: str) -> None:
    """Publish a function as `torch._foreach_NAME`, which modes and tensor subclasses can override by `__torch_function__`.

    `arguments` has a string for each overload, such as "List: Tensor[] other": the overload's name, and the arguments after the
    first one in the schema.
    """
    public = f"_foreach_{name}"
    first, returns = ("Tensor(a!)[] self", "()") if name.endswith("_") else ("Tensor[] self", "Tensor[]")
    parts = [text.rpartition(":") for text in arguments or ("",)]
    register(public, {"schema": tuple(
        f"{public}{'.' * bool(overload)}{overload}({first}{',' * bool(rest)}{rest}) -> {returns}" for overload, _, rest in parts
    )})  # fmt: skip
    function.__name__ = function.__qualname__ = public  # this name appears in Python's error messages about wrong arguments

    @wraps(function)
    def offered(*args: Any, **kwargs: Any) -> Any:
        values = relevant((*args, *kwargs.values()))
        if should_offer(values, name=public):
            return handle_torch_function(offered, values, *args, **kwargs)
        return function(*args, **kwargs)

    offered.__module__, offered.__doc__ = "flambeau", doc
    FUNCTIONS[public] = offered


def _check_list(function: str, parameter: str, position: int, tensors: Any) -> None:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{function}(): argument '{parameter}' (position {position + 1}) must be tuple of Tensors, not {_name_of(tensors)}"
        )
    for index, element in enumerate(tensors):
        if not isinstance(element, Tensor):
            raise TypeError(f"expected Tensor as element {index} in argument {position}, but got {type(element).__name__}")


def _check_first(tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _check_lengths(tensors: Sequence[Tensor], *others: Sequence[Tensor]) -> None:
    _check_first(tensors)
    for other in others:
        if len(other) != len(tensors):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")


def _name_of(value: Any) -> str:
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


# --- functions of one list ----------------------------------------------------------------------------------------


def find(name: str) -> Callable[..., Any] | None:
    """Return the function `torch._foreach_...` of this name, or None.

    It is generated for every element-wise operation on one tensor that has an in-place form, including operations defined
    later.
    """
    operation = name.removeprefix("_foreach_").removesuffix("_")
    if name not in FUNCTIONS and _is_unary(operation):
        _add_unary(operation)
    return FUNCTIONS.get(name)


def _is_unary(name: str) -> bool:
    facts = facts_of(name)
    if facts is None or facts.name != name or facts.kind is not Kind.POINTWISE:
        return False
    if name not in PUBLIC or not hasattr(Tensor, f"{name}_"):
        return False
    parameters = signature(PUBLIC[name]).parameters.values()
    return sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in parameters) == 1


def _add_unary(name: str) -> None:
    compute, write = PUBLIC[name], getattr(Tensor, f"{name}_")

    def function(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
        _check_list(f"_foreach_{name}", "self", 0, self)
        _check_first(self)
        return _rename_nodes(name, "0", map(compute, self))

    def function_(self: Any) -> Any:
        _check_list(f"_foreach_{name}_", "self", 0, self)
        _check_first(self)
        for t in self:
            write(t)
        return self

    _register(name, function, f"Return `{name}` of each tensor, as a tuple.")
    _register(f"{name}_", function_, f"Apply `{name}_` to each tensor.  Returns the list.")


# --- functions with operands --------------------------------------------------------------------------------------


def _add_from_row(name: str, row: _Row) -> None:
    method = getattr(Tensor, f"{name}_", None)
    write: Any = method if name not in ("addcmul", "addcdiv") and method is not None else in_place(name, row.compute)

    def function(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        if name == "pow" and args and _is_number(args[0]):  # the overload for a number raised to the power of each tensor
            exponents: Any = args[1] if len(args) > 1 else kwargs.get("exponent")
            _check_list("_foreach_pow", "exponent", 1, exponents)
            _check_first(exponents)
            return _rename_nodes(name, "2", (_pow(args[0], exponent) for exponent in exponents))
        form, tensors, operands, options = _parse_call(f"_foreach_{name}", row, args, kwargs)
        results = (row.compute(*each, **options) for each in zip(tensors, *operands, strict=True))
        return _rename_nodes(name, row.forms[form][1], results)

    def function_(*args: Any, **kwargs: Any) -> Any:
        _, tensors, operands, options = _parse_call(f"_foreach_{name}_", row, args, kwargs)
        for each in zip(tensors, *operands, strict=True):
            write(*each, **options)
        return tensors

    forms = ", ".join(_FORMS[form].described for form in row.forms)
    arguments = [_arguments(row, form) for form in row.forms]
    _register(name, function, f"Return `{name}` of each tensor and an operand ({forms}), as a tuple.", *arguments)
    _register(f"{name}_", function_, f"Apply `{name}_` to each tensor and an operand ({forms}).  Returns the list.", *arguments)


def _arguments(row: _Row, form: str) -> str:
    """Return the name of an overload and, from its schema, the arguments after the first one, as `_register` takes them."""
    lists = "".join(f" Tensor[] {name}," for name in row.lists)
    default = f"={row.default}" if row.default is not None and form == "Scalar" else ""
    alpha = ", *, Scalar alpha=1" if row.alpha and form in ("List", "Tensor") else ""
    return f"{form}:{lists} {_FORMS[form].type} {row.forms[form][0]}{default}{alpha}"


class _Form(NamedTuple):
    """An overload for the last operand: its description, its declaration in error messages, and its type in schemas."""

    described: str
    in_messages: str
    type: str


_FORMS = {
    "Scalar": _Form("a number", "Number {}", "Scalar"),
    "ScalarList": _Form("a list of numbers", "tuple of Scalars {}", "Scalar[]"),
    "Tensor": _Form("a tensor", "Tensor {}", "Tensor"),
    "List": _Form("a list of tensors", "tuple of Tensors {}", "Tensor[]"),
}


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.ndim and not value.requires_grad
    return isinstance(value, (bool, int, float, complex)) or (getattr(value, "shape", None) == () and hasattr(value, "item"))


def _parse_call(
    function: str, row: _Row, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str, Sequence[Tensor], list[Sequence[Any]], dict[str, Any]]:
    """Parse a call: return its overload, the tensors, a sequence for each operand, and `alpha` if given.

    Raises:
        TypeError: the arguments match no overload.
        RuntimeError: the lists are empty or of different lengths, or a tensor operand has a wrong shape.
    """
    names = ("self", *row.lists)
    values = dict(zip((*names, ""), args, strict=False))  # key "": the last operand; its name depends on the overload
    options = {}
    forms = dict(row.forms)
    excess = len(args) > len(names) + 1
    for key, value in kwargs.items():
        if key == "alpha" and row.alpha:
            options["alpha"] = value
            forms = {form: named for form, named in forms.items() if form in ("List", "Tensor")}
            continue
        slot = key if key in names else ""
        excess = excess or slot in values or (not slot and all(key != named for named, _ in row.forms.values()))
        if not slot:
            forms = {form: named for form, named in forms.items() if named[0] == key}
        values[slot] = value
    if row.default is not None and len(values) == len(names) and "" not in values:
        values[""] = row.default
    form = None if excess or len(values) <= len(names) else _match_form(values[""], forms, row.keeps_tensor)
    if form is None or any(not isinstance(values[name], (list, tuple)) for name in names):
        raise _mismatch(function, row, args, kwargs)
    for position, name in enumerate(names):
        _check_list(function, name, position, values[name])
    tensors, lists, last = values["self"], [values[name] for name in row.lists], values[""]
    if form == "List":
        _check_list(function, row.forms[form][0], len(names), last)
        _check_lengths(tensors, *lists, last)
        return form, tensors, [*lists, last], options
    _check_lengths(tensors, *lists)
    return form, tensors, [*lists, _repeat_last_operand(form, row, last, len(tensors))], options


def _match_form(last: Any, forms: Mapping[str, Any], keeps_tensor: bool) -> str | None:
    """Return the overload that the last operand matches, or None."""
    if isinstance(last, Tensor):
        choice = "Scalar" if _is_number(last) and "Scalar" in forms and not keeps_tensor else "Tensor"
    elif isinstance(last, (list, tuple)):
        numbers = not any(isinstance(element, Tensor) for element in last) and all(map(_is_number, last))
        choice = "ScalarList" if numbers and "ScalarList" in forms else "List"
    else:
        choice = "Scalar" if _is_number(last) else ""
    return choice if choice in forms else None


def _repeat_last_operand(form: str, row: _Row, last: Any, count: int) -> Sequence[Any]:
    """Return one operand for each tensor: a number is repeated, a list or vector must have one entry per tensor."""
    if form == "Scalar":
        return [last.item() if isinstance(last, Tensor) else last] * count
    if form == "ScalarList":
        if len(last) != count:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return list(last)
    if row.lists:  # `last` is a vector with one factor per tensor
        if last.ndim != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {last.ndim} instead.")
        if len(last) != count:
            raise RuntimeError(f"Expected length of scalars to match input of length {count} but got {len(last)} instead.")
        return list(last.tolist())
    if last.ndim:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {last.ndim} dimensions and {last.numel()} elements.")
    return [last] * count


def _mismatch(function: str, row: _Row, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TypeError:
    got = ", ".join([*map(_name_of, args), *(f"{key}={_name_of(value)}" for key, value in kwargs.items())])
    lines = []
    for form, (name, _) in row.forms.items():
        lists = "".join(f"tuple of Tensors {operand}, " for operand in row.lists)
        alpha = ", *, Number alpha = 1" if row.alpha and form in ("List", "Tensor") else ""
        lines.append(f" * (tuple of Tensors self, {lists}{_FORMS[form].in_messages.format(name)}{alpha})\n")
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({got}), but expected one of:\n{''.join(lines)}"
    )


# --- functions with special arguments -----------------------------------------------------------------------------


def _clone(self: Sequence[Tensor], *, memory_format: Any = None) -> tuple[Tensor, ...]:
    _check_list("_foreach_clone", "self", 0, self)
    _check_first(self)
    copies = (t.clone() if memory_format is None else t.clone(memory_format=memory_format) for t in self)
    return _rename_nodes("clone", "0", copies)


def _copy_(self: Any, src: Sequence[Tensor], non_blocking: bool = False) -> Any:
    _check_list("_foreach_copy_", "self", 0, self)
    _check_list("_foreach_copy_", "src", 1, src)
    _check_lengths(self, src)
    for target, source in zip(self, src, strict=True):
        target.copy_(source, non_blocking)
    return self


def _zero_(self: Any) -> Any:
    _check_list("_foreach_zero_", "self", 0, self)
    _check_first(self)
    for t in self:
        t.zero_()
    return self


def _max(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    _check_list("_foreach_max", "self", 0, self)
    _check_first(self)
    if not all(t.numel() for t in self):
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return _rename_nodes("max", "1", (t.max() for t in self))


def _mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> tuple[Tensor, ...]:
    _check_list("_foreach_mm", "self", 0, self)
    _check_list("_foreach_mm", "mat2", 1, mat2)
    if len(self) != len(mat2):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return tuple(mm(left, right) for left, right in zip(self, mat2, strict=True))


def _norm(self: Sequence[Tensor], ord: Any = 2, dtype: dtypes.dtype | None = None) -> tuple[Tensor, ...]:
    ord = _order("_foreach_norm", self, ord)
    if ord == math.inf and not all(t.numel() for t in self):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an identity"
        )
    return _rename_nodes("norm", "0", (vector_norm(t, ord, dtype=dtype) for t in self))


def _powsum(self: Sequence[Tensor], ord: Any = 2, dtype: dtypes.dtype | None = None) -> tuple[Tensor, ...]:
    ord = _order("_foreach_powsum", self, ord)
    return tuple(_sum_of_powers(t if dtype is None else t.to(dtype), ord) for t in self)


def _sum_of_powers(t: Tensor, ord: float) -> Tensor:
    if t.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{t.dtype.legacy_name}'")
    magnitudes = t.abs()
    wide = magnitudes.float() if magnitudes.dtype in dtypes.HALF else magnitudes
    return wide.pow(ord).sum().to(magnitudes.dtype)


def _order(function: str, tensors: Any, ord: Any) -> float:
    _check_list(function, "self", 0, tensors)
    if not _is_number(ord):
        raise TypeError(f"{function}(): argument 'ord' (position 2) must be Number, not {_name_of(ord)}")
    _check_first(tensors)
    if isinstance(ord, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return float(ord)


for _name in sorted(names(kind=Kind.POINTWISE) & PUBLIC.keys()):
    find(f"_foreach_{_name}")
for _name, _row in _TABLE.items():
    _add_from_row(_name, _row)
_ORDER = "Scalar: Scalar ord=2, ScalarType? dtype=None"
_register("clone", _clone, "Return a copy of each tensor.", " *, MemoryFormat? memory_format=None")
_register("copy_", _copy_, "Copy `src[i]` into `self[i]`.  Returns `self`.", " Tensor[] src, bool non_blocking=False")
_register("zero_", _zero_, "Fill each tensor with zeros.  Returns the list.")
_register("max", _max, "Return the largest element of each tensor.  Raises RuntimeError for an empty tensor.")
_register("mm", _mm, "Return the matrix products `self[i] @ mat2[i]`.", " Tensor[] mat2")
_register("norm", _norm, "Return the norm of order `ord` of each tensor's elements; see `torch.linalg.vector_norm`.", _ORDER)
_register("powsum", _powsum, "Return the sum of `abs(x) ** ord` over each tensor's elements.", _ORDER)
