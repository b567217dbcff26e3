"""The source of an operation's functions: the public one, its operators, and the one that records a call.

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

__all__ = ["at_once_source", "function_source", "record_source", "signature", "source"]


def signature(record: Operation, with_out: bool = True) -> inspect.Signature:
    """The public signature, for `inspect`, documentation and the stub files."""
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
    """The parameters of the public function, with `out=` where it has that."""
    if not record.has_out:
        return record.declaration
    return record.declaration + (", out=None" if "*" in record.declaration else ", *, out=None")


def source(name: str) -> str:
    """The Python source generated for an operation's public function.

    >>> print(source("exp").splitlines()[0])
    def exp(input=UNSET, _=None, x=None, a=None, x1=None, *, out=None):
    """
    return function_source(OPS[name])


def function_source(record: Operation, dunder: str | None = None, native: bool = False) -> str:
    """The source of the public function, or of the operator `dunder`: the fast path, and a call of `dispatch` for the rest.

    With `native`, the source is of a function that does not bind as a method where a class holds it, as PyTorch's compiled
    functions do not: see `_bound_to` in `wrappers.py`, which fills its hidden first parameter.
    """
    name, tensors, params = record.name, record.tensor_names, record.param_names
    NAMESPACE[f"op_{name}"] = record
    signature = record.declaration if dunder else _full_declaration(record)
    has_out = record.has_out and not dunder
    is_published = not dunder and (record.public or record.method or name.startswith("special_"))
    if record.variadic:
        return _variadic_source(record, f"NATIVE, {signature}" if native else signature)
    primary, optional = record.primary, {tensor for tensor in tensors if record.defaults.get(tensor, 0) is None}
    operands = [tensor for tensor in tensors if tensor != primary and tensor in record.number_names]
    conditions = [
        f"({tensor} is None or type({tensor}) in FAST)" if tensor in optional else f"type({tensor}) in FAST"
        for tensor in tensors
        if tensor not in operands
    ]
    for tensor in tensors:
        if tensor != primary:
            attribute = "" if record.promote in ONE_KEY and tensor not in record.keeps_dtype else ".device"
            test = f"{tensor}._key{attribute} is {primary}._key{attribute}"
            conditions += [f"({tensor} is None or {test})" if tensor in optional else test]
    conditions += ["out is None"] if has_out else []
    conditions += ["dtype is None"] if "dtype" in params else []
    conditions += [f"type({flag}) is bool" for flag in record.flags]
    declaration, renaming_lines, late_lines = (
        with_numpy_names(name, signature.split(", "), tensors) if is_published else (signature, "", "")
    )
    hidden_parameter = "NATIVE, " if native else ""
    lines = [f"def {dunder or name}({hidden_parameter}{declaration}):", *renaming_lines.splitlines()]
    for tensor in operands:
        lines += [f"    if type({tensor}) not in FAST:"]
        if record.check is not None:  # a number may be refused where a tensor of the same value is not
            lines += [f"        if type({tensor}) is bool:", f"            op_{name}.check({', '.join(tensors)})"]
        lines += [f"        {tensor} = as_operand({tensor}, {primary})"]
    arrays = [
        f"(None if {tensor} is None else {tensor}._array)" if tensor in optional else f"{tensor}._array" for tensor in tensors
    ]
    lines += [
        f"    if {' and '.join(conditions)}:",
        "        try:",
        f"            kernel, result_key = {primary}._key.table[{name!r}]",
        f"            array = kernel({', '.join([*arrays, *record.kernel_params])})",
        "        except Exception as error:",
        f"            return recover(error, op_{name}, {_tuple(tensors)}, {_tuple(params)})",
    ]
    call = ", ".join(["array", "result_key", *tensors, *params])
    tracked = " or ".join(
        f"{tensor} is not None and {tensor}._requires_grad" if tensor in optional else f"{tensor}._requires_grad"
        for tensor in record.edge_names
    )
    if record.results or record.returns_list:
        several = f"return several(op_{name}, {', '.join(['array', 'result_key', _tuple(tensors), _tuple(params)])})"
        if record.view or record.returns_list:
            lines += [f"        {several}"]
        else:
            lines += [f"        if {tracked}:", f"            {several}"] if record.differentiable else []
            lines += _several_new_tensors(record)
    else:
        lines += ["        if type(array) is not result_key.array_type:", "            array = result_key.backend.wrap(array)"]
        if record.differentiable:
            lines += [f"        if {tracked}:", f"            return record_{name}({call})"]
        if record.view:
            lines += [f"        return view_of(array, result_key, op_{name}, {primary}, {_tuple(params)})"]
        else:
            lines += [*_new_tensor("        "), "        return result"]
    lines += [*(f"    {tensor} = original({tensor})" for tensor in operands), *late_lines.splitlines()]
    if dunder and len(tensors) > 1:
        lines += [f"    if not isinstance({primary}, Tensor):", f"        raise no_tensor({dunder!r}, {primary})"]
        fallback = f"equals_array({', '.join(tensors)})" if dunder == "__eq__" else "NotImplemented"
        lines += [f"    if not can_operate({tensors[1]}):", f"        return {fallback}"]
        if dunder in OPERATORS or dunder in OPERATOR_METHODS:
            method = "eq" if dunder == "__eq__" else OPERATOR_METHODS.get(dunder, dunder)
            lines += [
                f"    if type({tensors[1]}) not in DIRECT and may_override(({tensors[1]}, )):",
                f"        return offer_operator({method!r}, ({primary}, {tensors[1]}, ), {{}})",
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


def _several_new_tensors(record: Operation) -> list[str]:
    """Lines that return the arrays of several results as tensors."""
    NAMESPACE[f"results_{record.name}"] = result_type(record)
    return [
        f"        keys = result_key if type(result_key) is tuple else (result_key,) * {len(record.results)}",
        "        results = []",
        "        for array, result_key in zip(array, keys):",
        "            if type(array) is not result_key.array_type:",
        "                array = result_key.backend.wrap(array)",
        *_new_tensor("            "),
        "            results.append(result)",
        f"        return make_tuple(results_{record.name}, results)",
    ]


def _variadic_source(record: Operation, signature: str) -> str:
    """The source for an operation on a sequence of tensors, without the fast path: that is `at_once_source`."""
    name, params = record.name, _tuple(record.param_names)
    return (
        f"def {name}({signature}):\n"
        f"    return dispatch(op_{name}, tuple_of_tensors(tensors, op_{name}), {params}, {'out' if record.has_out else None})\n"
    )


def at_once_source(record: Operation) -> str:
    """The source of the fast path of an operation on a sequence of tensors: all in one loop, as sequences are short."""
    name = record.name
    NAMESPACE[f"op_{name}"] = record
    keywords = ", ".join(f"{param}={param}" for param in record.kernel_params)
    lines = [
        f"def {name}_at_once({record.declaration}):",
        "    if type(tensors) is not list and type(tensors) is not tuple:",
        "        raise TypeError('not a sequence')",
        "    key, arrays, tracked = None, [], False",
        "    for tensor in tensors:",
        "        if type(tensor) not in FAST or (tensor._key is not key and key is not None):",
        "            raise TypeError('not plain tensors of one dispatch key')",
        "        key = tensor._key",
        "        arrays.append(tensor._array)",
        "        if tensor._requires_grad:",
        "            tracked = True",
        f"    kernel, result_key = key.table[{name!r}]",
        f"    array = kernel(*arrays, {keywords})",
        "    if tracked:",
        f"        return record_{name}(array, result_key, tensors, {_tuple(record.param_names)})",
        *_new_tensor("    "),
        "    return result",
    ]
    return "\n".join(lines) + "\n"


def _tuple(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def record_source(record: Operation) -> str:
    """The source of `record_<name>`, which wraps the result of the kernel and, where grad mode is on, makes its node."""
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
        lines += ["    result = [wrap(a, k) for a, k in zip(array, result_key)]"]
    elif record.view:
        lines += [f"    result = view_of(array, result_key, op_{name}, {tensors[0]}, {_tuple(params)})"]
    else:
        lines += _new_tensor("    ")
    lines += ["    if not grad_enabled():", "        return result"]
    lines += [f"    node = new(node_{name})", "    node.seq = next_seq(); node.hooks = node.outputs = None"]
    if record.results or record.returns_list:
        lines += [
            f"    node.dispatch_key = result_key[0]{materialized}; node.shape = array[0].shape if array else ()",
            f"    node.outputs = tuple((k{materialized}, a.shape) for a, k in zip(array, result_key))",
        ]
    else:
        lines += [f"    node.dispatch_key = result_key{materialized}; node.shape = array.shape"]
    lines += _edges_source(record) + _saves_source(record)
    lines += ["    if state.observes_records:", "        observe_record(node, result)"]
    if record.results or record.returns_list:
        lines += ["    attach_outputs(node, result)", "    return result"]
    else:
        lines += ["    result._node = node", "    result._requires_grad = True", "    return result"]
    return "\n".join(lines) + "\n"


def _edges_source(record: Operation) -> list[str]:
    if record.variadic:
        return ["    node.edges = tuple([(tensor._node or tensor) if tensor._requires_grad else None for tensor in tensors])"]
    edges = []
    for name in record.edge_names:
        optional = f"{name} is not None and " if record.defaults.get(name, 0) is None else ""
        edges.append(f"({name}._node or {name}) if {optional}{name}._requires_grad else None")
    return [f"    node.edges = ({', '.join(edges)},)"]


def _saves_source(record: Operation) -> list[str]:
    """Lines that save on the node what the derivative rules ask for, where the arguments of those rules require a gradient."""
    lines = []
    for name, wanted_by in wanted_by_rules(record).items():
        condition = _any_requires(record, wanted_by)
        if name == "needs":
            continue
        if name in record.tensor_names:
            condition = f"{name} is not None and ({condition})" if record.defaults.get(name, 0) is None else condition
            lines += [f"    node.{name} = save({name}) if {condition} else None"]
        elif name == "out" and (record.results or record.returns_list):
            lines += [f"    node.out = tuple(save_output(output, i) for i, output in enumerate(result)) if {condition} else ()"]
        elif name == "out":
            lines += [f"    node.out = save_output(result, 0) if {condition} else None"]
        elif name in record.results:
            index = record.results.index(name)
            lines += [f"    node.{name} = save_output(result[{index}], {index}) if {condition} else None"]
        elif name.endswith("_shape") and name[: -len("_shape")] in record.tensor_names:
            tensor = name[: -len("_shape")]
            value = "[tensor._array.shape for tensor in tensors]" if record.variadic else f"{tensor}._array.shape"
            value = f"None if {tensor} is None else {value}" if record.defaults.get(tensor, 0) is None else value
            lines += [f"    node.{name} = {value}"]
        elif name in record.param_names:
            lines += [f"    node.{name} = {name}"]
        else:
            raise TypeError(f"op {record.name!r}: a derivative rule asks for {name!r}, which no call has")
    return lines


def _any_requires(record: Operation, names: Sequence[str]) -> str:
    """The condition under which one of the arguments requires a gradient."""
    if record.variadic or record.vjp:
        return "True"
    return " or ".join(
        f"{name}._requires_grad"
        if record.defaults.get(name, 0) is not None
        else f"({name} is not None and {name}._requires_grad)"
        for name in names
    )
