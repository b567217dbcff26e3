"""The source of an operation's functions: the public one, its operators, and the one that records a call.

The common case, plain tensors of one dispatch key, is straight-line code; everything else is a call of `dispatch`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..values.promotion import ONE_KEY
from .codegen import NAMESPACE
from .nodes import make_node_class, wanted_by_rules
from .overriding import OPERATORS
from .record import Operation
from .signatures import with_numpy_names
from .tables import OPS

__all__ = ["function_source", "record_source", "signature", "source"]


def signature(record: Operation, with_out: bool = True) -> inspect.Signature:
    """The public signature, for `inspect`, documentation and the stub files."""
    parameter_kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = []
    for part in (_declaration(record) if with_out else record.declared).split(", "):
        name, has_default, _ = part.partition("=")
        if name == "*":
            parameter_kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = record.defaults.get(name) if has_default else inspect.Parameter.empty
        made.append(inspect.Parameter(name, parameter_kind, default=default))
    return inspect.Signature(made, __validate_parameters__=False)


def _declaration(record: Operation) -> str:
    if not record.has_out:
        return record.declared
    return record.declared + (", out=None" if "*" in record.declared else ", *, out=None")


def source(name: str) -> str:
    """The Python source generated for an operation's public function.

    >>> print(source("exp").splitlines()[0])
    def exp(input=UNSET, _=None, x=None, a=None, x1=None, *, out=None):
    """
    return function_source(OPS[name])


def function_source(record: Operation, dunder: str | None = None, native: bool = False) -> str:
    """The function, or an operator: the common case in straight line, the rest by `dispatch`.

    That of a namespace is `native`, and does not bind as a method: it has a first parameter that nobody sees.
    """
    name, tensors, params = record.name, record.tensor_names, record.param_names
    NAMESPACE[f"op_{name}"] = record
    signature = record.declared if dunder else _declaration(record)
    has_out = record.has_out and not dunder
    if record.variadic:
        return _variadic_source(record, f"NATIVE, {signature}" if native else signature)
    lead, optional = record.primary, {each for each in tensors if record.defaults.get(each, 0) is None}
    operands = [each for each in tensors if each != lead and each in record.number_names]
    conditions = [
        f"({each} is None or type({each}) in FAST)" if each in optional else f"type({each}) in FAST"
        for each in tensors
        if each not in operands
    ]
    for each in tensors:
        if each != lead:
            same = "" if record.promote in ONE_KEY and each not in record.keeps_dtype else ".device"
            test = f"{each}._key{same} is {lead}._key{same}"
            conditions += [f"({each} is None or {test})" if each in optional else test]
    conditions += ["out is None"] if has_out else []
    conditions += ["dtype is None"] if "dtype" in params else []
    conditions += [f"type({each}) is bool" for each in record.flags]
    declaration, renamed, late = (signature, "", "") if dunder else with_numpy_names(name, signature.split(", "), tensors)
    hidden = "NATIVE, " if native else ""
    lines = [f"def {dunder or name}({hidden}{declaration}):", *renamed.splitlines()]
    for each in operands:
        lines += [f"    if type({each}) not in FAST:"]
        if record.check is not None:  # a number may be refused where a tensor of the same value is not
            lines += [f"        if type({each}) is bool:", f"            op_{name}.check({', '.join(tensors)})"]
        lines += [f"        {each} = as_operand({each}, {lead})"]
    raw = [f"(None if {each} is None else {each}._array)" if each in optional else f"{each}._array" for each in tensors]
    lines += [
        f"    if {' and '.join(conditions)}:",
        "        try:",
        f"            kernel, result_key = {lead}._key.table[{name!r}]",
        f"            array = kernel({', '.join([*raw, *record.kernel_params])})",
        "        except Exception as error:",
        f"            return recover(error, op_{name}, {_tuple(tensors)}, {_tuple(params)})",
    ]
    call = ", ".join(["array", "result_key", *tensors, *params])
    if record.results or record.returns_list:
        lines += [f"        return several(op_{name}, {', '.join(['array', 'result_key', _tuple(tensors), _tuple(params)])})"]
    else:
        lines += ["        if type(array) is not result_key.array_type:", "            array = result_key.backend.wrap(array)"]
        if record.differentiable:
            tracked = " or ".join(
                f"{each} is not None and {each}._requires_grad" if each in optional else f"{each}._requires_grad"
                for each in record.edge_names
            )
            lines += [f"        if {tracked}:", f"            return record_{name}({call})"]
        if record.view:
            lines += [f"        return view_of(array, result_key, op_{name}, {lead}, {_tuple(params)})"]
        else:
            lines += [*_new_tensor("        "), "        return result"]
    lines += [*(f"    {each} = original({each})" for each in operands), *late.splitlines()]
    if dunder and len(tensors) > 1:
        lines += [f"    if not isinstance({lead}, Tensor):", f"        raise no_tensor({dunder!r}, {lead})"]
        way_out = f"equals_array({', '.join(tensors)})" if dunder == "__eq__" else "NotImplemented"
        lines += [f"    if not can_operate({tensors[1]}):", f"        return {way_out}"]
        if dunder in OPERATORS and dunder != "__eq__":
            lines += [
                f"    if may_override(({tensors[1]}, )):",
                f"        return offer_method({dunder!r}, ({lead}, {tensors[1]}, ), {{}})",
            ]
    lines += [f"    return dispatch(op_{name}, {_tuple(tensors)}, {_tuple(params)}, {'out' if has_out else None})"]
    return "\n".join(lines) + "\n"


def _new_tensor(indent: str) -> list[str]:
    fields = "result._requires_grad = False; result._node = result._grad = result._storage = result._view = None"
    return [
        indent + "result = new(Tensor)",
        indent + "result._array = array; result._key = result_key",
        indent + fields,
    ]


def _variadic_source(record: Operation, signature: str) -> str:
    """An operation on a sequence of tensors: straight on where they are plain and of one dispatch key."""
    name, params = record.name, _tuple(record.param_names)
    named = ", ".join(f"{each}={each}" for each in record.kernel_params)
    return (
        f"def {name}({signature}):\n"
        f"    if have_one_key(tensors){' and out is None' if record.has_out else ''}:\n"
        f"        try:\n"
        f"            kernel, result_key = tensors[0]._key.table[{name!r}]\n"
        f"            array = kernel(*[each._array for each in tensors], {named})\n"
        f"        except Exception as error:\n"
        f"            return recover(error, op_{name}, tuple(tensors), {params})\n"
        f"        for each in tensors:\n"
        f"            if each._requires_grad:\n"
        f"                return record_{name}(array, result_key, tensors, {params})\n"
        f"        return wrap(array, result_key)\n"
        f"    return dispatch(op_{name}, tuple_of_tensors(tensors, op_{name}), {params}, {'out' if record.has_out else None})\n"
    )


def _tuple(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def record_source(record: Operation) -> str:
    """`record_name`: wrap the result and, where recording is on, make its node."""
    name, tensors, params = record.name, record.tensor_names, record.param_names
    node = make_node_class(record)
    NAMESPACE[f"node_{name}"] = node
    NAMESPACE[f"op_{name}"] = record
    arguments = ["array", "result_key", *(["tensors", "params"] if record.variadic else (*tensors, *params))]
    materialized = ".materialized" if record.view else ""
    lines = [f"def record_{name}({', '.join(arguments)}):"]
    if record.variadic:
        lines += [f"    {_tuple(params)} = params"] if params else []
    if record.results or record.returns_list:
        lines += ["    result = [wrap(each, k) for each, k in zip(array, result_key)]"]
    elif record.view:
        lines += [f"    result = view_of(array, result_key, op_{name}, {tensors[0]}, {_tuple(params)})"]
    else:
        lines += _new_tensor("    ")
    lines += ["    if not grad_enabled():", "        return result"]
    lines += [f"    node = new(node_{name})", "    node.seq = next_seq(); node.hooks = node.outputs = None"]
    if record.results or record.returns_list:
        lines += [
            f"    node.key = result_key[0]{materialized}; node.shape = array[0].shape if array else ()",
            f"    node.outputs = tuple((k{materialized}, each.shape) for each, k in zip(array, result_key))",
        ]
    else:
        lines += [f"    node.key = result_key{materialized}; node.shape = array.shape"]
    lines += _edges_source(record) + _saves_source(record)
    lines += ["    if state.observes_records:", "        observe_record(node, result)"]
    if record.results or record.returns_list:
        lines += ["    attach_outputs(node, result)", "    return result"]
    else:
        lines += ["    result._node = node", "    result._requires_grad = True", "    return result"]
    return "\n".join(lines) + "\n"


def _edges_source(record: Operation) -> list[str]:
    if record.variadic:
        return ["    node.edges = tuple([(each._node or each) if each._requires_grad else None for each in tensors])"]
    edges = []
    for each in record.edge_names:
        optional = f"{each} is not None and " if record.defaults.get(each, 0) is None else ""
        edges.append(f"({each}._node or {each}) if {optional}{each}._requires_grad else None")
    return [f"    node.edges = ({', '.join(edges)},)"]


def _saves_source(record: Operation) -> list[str]:
    """Save what the rules of the arguments that want a gradient ask for."""
    lines = []
    for name, wanted_by in wanted_by_rules(record).items():
        condition = _any_requires(record, wanted_by)
        if name == "needs":
            continue
        if name in record.tensor_names:
            given = f"{name} is not None and ({condition})" if record.defaults.get(name, 0) is None else condition
            lines += [f"    node.{name} = save({name}) if {given} else None"]
        elif name == "out" and (record.results or record.returns_list):
            lines += [f"    node.out = tuple(save_output(each, i) for i, each in enumerate(result)) if {condition} else ()"]
        elif name == "out":
            lines += [f"    node.out = save_output(result, 0) if {condition} else None"]
        elif name in record.results:
            index = record.results.index(name)
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


def _any_requires(record: Operation, names: Sequence[str]) -> str:
    if record.variadic or record.vjp:
        return "True"
    return " or ".join(
        f"{each}._requires_grad"
        if record.defaults.get(each, 0) is not None
        else f"({each} is not None and {each}._requires_grad)"
        for each in names
    )
