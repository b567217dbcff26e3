"""Generate the source of an operation's functions: the public function, its operators, and the function that records a call.

In the common case, plain tensors of one dispatch key, a call runs straight-line code (the fast path); anything else is passed to
`dispatch`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..values.promotion import ONE_KEY
from .codegen import NAMESPACE
from .nodes import make_node_class, wanted_by_rules
from .overriding import OPERATOR_METHODS, OPERATORS
from .record import Operation
from .results import result_type
from .signatures import with_numpy_names
from .tables import OPS
from .templates import (
    LIST_OF_RESULTS,
    ONE_RESULT,
    RECORD,
    RECORD_SEVERAL,
    SEQUENCE,
    SEQUENCE_FAST_PATH,
    SEVERAL_RESULTS,
    VIEW,
    fill,
)

__all__ = ["function_source", "record_source", "sequence_fast_path_source", "signature", "source"]


def signature(record: Operation, with_out: bool = True) -> inspect.Signature:
    """Return the public signature, for `inspect`, documentation and the stub files."""
    parameter_kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for part in (_full_declaration(record) if with_out else record.declaration).split(", "):
        name, has_default, _ = part.partition("=")
        if name == "*":
            parameter_kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = record.defaults.get(name) if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, parameter_kind, default=default))
    return inspect.Signature(parameters, __validate_parameters__=False)


def _full_declaration(record: Operation) -> str:
    """Return the parameters of the public function, as source code, including `out=` if it has one."""
    if not record.has_out:
        return record.declaration
    return record.declaration + (", out=None" if "*" in record.declaration else ", *, out=None")


def source(name: str) -> str:
    """Return the Python source generated for an operation's method; without a method, for its public function.

    >>> print(source("exp").splitlines()[0])
    def exp(input=REQUIRED, *, out=None, **numpy_names):
    """
    return function_source(OPS[name])


def function_source(record: Operation, dunder: str | None = None, native: bool = False) -> str:
    """Return the source of the public function, or of the operator `dunder`.

    With `native`, the function has a hidden first parameter `NATIVE`, which `_bound_to` in `wrappers.py` binds.  Like PyTorch's
    C++ functions, the bound function does not become a method when it is a class attribute.
    """
    name, tensors, params = record.name, record.tensor_names, record.param_names
    NAMESPACE[f"op_{name}"] = record
    has_out = record.has_out and not dunder
    is_published = not dunder and (record.public or record.method or name.startswith("special_"))
    declared = (_full_declaration(record) if has_out else record.declaration).split(", ")
    names = with_numpy_names(declared, f"op_{name}.function", name) if is_published and not record.variadic else None
    parameters = ", ".join([*(["NATIVE"] if native else []), *(names.declared if names else declared)])
    common = {
        "function": dunder or name,
        "name": name,
        "parameters": parameters,
        "params": _tuple(params),
        "out": str("out" if has_out else None),
        "dispatch": "dispatch_method" if record.method and not native and not dunder else "dispatch",
    }
    if record.variadic:
        return fill(SEQUENCE, **common)
    operands = [tensor for tensor in tensors if tensor != record.primary and tensor in record.number_names]
    conditions = _fast_path_conditions(record, operands, has_out)
    if names:
        conditions += [f"{param} is not REQUIRED" for param in names.required if param in params]
        conditions += ["not numpy_names"] * names.catches_all
    shape = _shape(record)
    return fill(
        shape,
        **common,
        primary=record.primary,
        tensors=_tuple(tensors),
        operands=[line for tensor in operands for line in _operand_lines(record, tensor)],
        is_fast=" and ".join(conditions),
        arrays=", ".join([*(_array_of(record, tensor) for tensor in tensors), *record.kernel_params]),
        order=_order_lines(record),
        record=_record_lines(record, shape),
        count=str(len(record.results)),
        originals=[f"{tensor} = original({tensor})" for tensor in operands],
        exceptions=_operator_lines(record, dunder) if dunder else names.lines if names else [],
    )


def _order_lines(record: Operation) -> list[str]:
    """Return the lines that give the result of several operands the memory order of the first, if they may be channels-last."""
    if not record.combines:
        return []
    first = record.tensor_names[0]
    return ["if array.ndim > 3:", f"    array = result_key.backend.in_order_of_first(array, {first}._array)"]


def _shape(record: Operation) -> str:
    """Return the template for the operation's kind of result."""
    if record.returns_list or (record.results and record.view):
        return LIST_OF_RESULTS
    if record.results:
        NAMESPACE[f"results_{record.name}"] = result_type(record)
        return SEVERAL_RESULTS
    return VIEW if record.view else ONE_RESULT


def _is_optional(record: Operation, tensor: str) -> bool:
    """Whether this tensor argument may be None."""
    return record.defaults.get(tensor, 0) is None


def _fast_path_conditions(record: Operation, operands: Sequence[str], has_out: bool) -> list[str]:
    """Return the conditions of the fast path, as source code: plain tensors of one dispatch key, no `out`, no `dtype`.

    `as_operand` has converted `operands` to plain tensors or to objects whose key is None, so comparing their keys is enough.
    """
    conditions = []
    for tensor in record.tensor_names:
        if tensor not in operands:
            test = f"type({tensor}) in PLAIN"
            conditions.append(f"({tensor} is None or {test})" if _is_optional(record, tensor) else test)
    for tensor in record.tensor_names:
        if tensor != record.primary:
            attribute = "" if record.promote in ONE_KEY and tensor not in record.keeps_dtype else ".device"
            test = f"{tensor}._key{attribute} is {record.primary}._key{attribute}"
            conditions.append(f"({tensor} is None or {test})" if _is_optional(record, tensor) else test)
    conditions += ["out is None"] if has_out else []
    conditions += ["dtype is None"] if "dtype" in record.param_names else []
    return conditions + [f"type({flag}) is bool" for flag in record.flags]


def _operand_lines(record: Operation, tensor: str) -> list[str]:
    """Return source lines that convert an argument to a tensor if it is a Python number."""
    lines = [f"if type({tensor}) not in PLAIN:"]
    if record.check is not None:  # `check` can reject a bool, but not the tensor made of it
        lines += [f"    if type({tensor}) is bool:", f"        op_{record.name}.check({', '.join(record.tensor_names)})"]
    return [*lines, f"    {tensor} = as_operand({tensor}, {record.primary})"]


def _array_of(record: Operation, tensor: str) -> str:
    return f"(None if {tensor} is None else {tensor}._array)" if _is_optional(record, tensor) else f"{tensor}._array"


def _record_lines(record: Operation, shape: str) -> list[str]:
    """Return source lines that record the call if a tensor requires a gradient."""
    if not record.differentiable:
        return []
    tracked = " or ".join(
        f"{tensor} is not None and {tensor}._requires_grad" if _is_optional(record, tensor) else f"{tensor}._requires_grad"
        for tensor in record.edge_names
    )
    tensors, params = record.tensor_names, record.param_names
    if shape == SEVERAL_RESULTS:
        return [
            f"if {tracked}:",
            f"    return several(op_{record.name}, arrays, result_key, {_tuple(tensors)}, {_tuple(params)})",
        ]
    return [f"if {tracked}:", f"    return record_{record.name}({', '.join(['array', 'result_key', *tensors, *params])})"]


def _operator_lines(record: Operation, dunder: str) -> list[str]:
    """Return source lines that reject invalid operands of an operator, and call the `__torch_function__` of other operands."""
    if len(record.tensor_names) < 2:
        return []
    primary, other = record.primary, record.tensor_names[1]
    fallback = f"equals_array({', '.join(record.tensor_names)})" if dunder == "__eq__" else "NotImplemented"
    lines = [f"if not isinstance({primary}, Tensor):", f"    raise no_tensor({dunder!r}, {primary})"]
    lines += [f"if not can_operate({other}):", f"    return {fallback}"]
    if dunder in OPERATORS or dunder in OPERATOR_METHODS:
        method = "eq" if dunder == "__eq__" else OPERATOR_METHODS.get(dunder, dunder)
        lines += [
            f"if type({other}) not in DIRECT and may_override(({other}, )):",
            f"    return offer_operator({method!r}, ({primary}, {other}, ), {{}})",
        ]
    return lines


def sequence_fast_path_source(record: Operation) -> str:
    """Return the source of the fast path of an operation on a sequence of tensors; it loops over the tensors only once."""
    NAMESPACE[f"op_{record.name}"] = record
    options = ", ".join(f"{param}={param}" for param in record.kernel_params)
    params = _tuple(record.param_names)
    return fill(SEQUENCE_FAST_PATH, name=record.name, parameters=record.declaration, options=options, params=params)


def _tuple(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def record_source(record: Operation) -> str:
    """Return the source of `record_<name>`, which wraps the kernel's result and, in grad mode, creates its node."""
    name, tensors, params = record.name, record.tensor_names, record.param_names
    NAMESPACE[f"node_{name}"] = make_node_class(record)
    NAMESPACE[f"op_{name}"] = record
    wrap = [
        "result = new(Tensor)",
        "result._array = array; result._key = result_key",
        "result._requires_grad = False; result._node = None; result._grad = None; result._storage = None; result._view = None",
    ]
    return fill(
        RECORD_SEVERAL if record.results or record.returns_list else RECORD,
        name=name,
        arguments=", ".join(["array", "result_key", *(["tensors", "params"] if record.variadic else (*tensors, *params))]),
        unpack=[f"{_tuple(params)} = params"] if record.variadic and params else [],
        wrap=[f"result = view_of(array, result_key, op_{name}, {tensors[0]}, {_tuple(params)})"] if record.view else wrap,
        is_untracked="not grad_enabled() or result._inference" if record.view else "not grad_enabled()",
        materialized=".materialized" if record.view else "",
        edges=_edges_source(record),
        saves=_saves_source(record),
    )


def _edges_source(record: Operation) -> str:
    if record.variadic:
        return "tuple([(tensor._node or tensor) if tensor._requires_grad else None for tensor in tensors])"
    edges = []
    for name in record.edge_names:
        optional = f"{name} is not None and " if _is_optional(record, name) else ""
        edges.append(f"({name}._node or {name}) if {optional}{name}._requires_grad else None")
    return f"({', '.join(edges)},)"


def _saves_source(record: Operation) -> list[str]:
    """Return source lines that save the values that a rule takes on the node, if the rule's argument requires a gradient."""
    lines = []
    for name, wanted_by in wanted_by_rules(record).items():
        condition = _any_requires(record, wanted_by)
        if name == "needs":
            continue
        if name in record.tensor_names:
            condition = f"{name} is not None and ({condition})" if _is_optional(record, name) else condition
            lines += [f"node.{name} = save({name}) if {condition} else None"]
        elif name == "out" and (record.results or record.returns_list):
            lines += [f"node.out = tuple(save_output(output, i) for i, output in enumerate(result)) if {condition} else ()"]
        elif name == "out":
            lines += [f"node.out = save_output(result, 0) if {condition} else None"]
        elif name in record.results:
            index = record.results.index(name)
            lines += [f"node.{name} = save_output(result[{index}], {index}) if {condition} else None"]
        elif name.endswith("_shape") and name[: -len("_shape")] in record.tensor_names:
            tensor = name[: -len("_shape")]
            value = "[tensor._array.shape for tensor in tensors]" if record.variadic else f"{tensor}._array.shape"
            value = f"None if {tensor} is None else {value}" if _is_optional(record, tensor) else value
            lines += [f"node.{name} = {value}"]
        elif name in record.param_names:
            lines += [f"node.{name} = {name}"]
        else:
            raise TypeError(
                f"op {record.name!r}: a derivative rule takes {name!r}; it may only take tensor arguments, "
                "parameters and results of the operation, 'out', 'needs' and '<argument>_shape'"
            )
    return lines


def _any_requires(record: Operation, names: Sequence[str]) -> str:
    """Return a condition, as source code, that is true if one of the arguments requires a gradient."""
    if record.variadic or record.vjp:
        return "True"
    return " or ".join(
        f"({name} is not None and {name}._requires_grad)" if _is_optional(record, name) else f"{name}._requires_grad"
        for name in names
    )
