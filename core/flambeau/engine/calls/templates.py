"""Templates for the source of generated functions, one for each kind of call.

`fill` replaces the placeholders.  A placeholder alone on its line is replaced by zero or more lines.  Names in the code, such as
`PLAIN`, `recover` and `dispatch`, are defined in `codegen.NAMESPACE`.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "LIST_OF_RESULTS", "METHOD", "ONE_RESULT", "OVERRIDABLE", "RECORD", "RECORD_SEVERAL", "SEQUENCE", "SEQUENCE_FAST_PATH",
    "SEVERAL_RESULTS", "VIEW", "fill",
]  # fmt: skip


def fill(template: str, **parts: str | Sequence[str]) -> str:
    """Replace the placeholders of a template: by a string inside a line, or by a list of lines where one is alone on its line.

    >>> print(fill("def {name}():\\n    {body}\\n    return 1", name="f", body=["x = 2", "y = 3"]))
    def f():
        x = 2
        y = 3
        return 1
    <BLANKLINE>
    """
    lines = []
    for line in template.splitlines():
        text = line.strip()
        part = parts.get(text[1:-1]) if text.startswith("{") else None
        if part is None or isinstance(part, str):
            lines.append(line.format_map(parts))
        else:
            indent = line[: -len(text)]
            lines += [indent + inserted for inserted in part]
    return "\n".join(lines) + "\n"


# --- functions of operations --------------------------------------------------------------------------------------

ONE_RESULT = """\
def {function}({parameters}):
    {operands}
    if {is_fast}:
        try:
            kernel, result_key = {primary}._key.table[{name!r}]
            array = kernel({arrays})
        except Exception as error:
            return recover(error, op_{name}, {tensors}, {params})
        if type(array) is not result_key.array_type:
            array = result_key.backend.wrap(array)
        {order}
        {record}
        result = new(Tensor)
        result._array = array; result._key = result_key
        result._requires_grad = False; result._node = None; result._grad = None; result._storage = None; result._view = None
        if IN_INFERENCE:
            mark_inference(result)
        return result
    {originals}
    {exceptions}
    return {dispatch}(op_{name}, {tensors}, {params}, {out})
"""

VIEW = """\
def {function}({parameters}):
    {operands}
    if {is_fast}:
        try:
            kernel, result_key = {primary}._key.table[{name!r}]
            array = kernel({arrays})
        except Exception as error:
            return recover(error, op_{name}, {tensors}, {params})
        if type(array) is not result_key.array_type:
            array = result_key.backend.wrap(array)
        {record}
        result = view_of(array, result_key, op_{name}, {primary}, {params})
        if IN_INFERENCE:
            mark_inference(result)
        return result
    {originals}
    {exceptions}
    return {dispatch}(op_{name}, {tensors}, {params}, {out})
"""

SEVERAL_RESULTS = """\
def {function}({parameters}):
    {operands}
    if {is_fast}:
        try:
            kernel, result_key = {primary}._key.table[{name!r}]
            arrays = kernel({arrays})
        except Exception as error:
            return recover(error, op_{name}, {tensors}, {params})
        {record}
        keys = result_key if type(result_key) is tuple else (result_key,) * {count}
        results = []
        for array, result_key in zip(arrays, keys):
            if type(array) is not result_key.array_type:
                array = result_key.backend.wrap(array)
            result = new(Tensor)
            result._array = array; result._key = result_key
            result._requires_grad = False; result._node = None; result._grad = None; result._storage = None; result._view = None
            results.append(result)
        if IN_INFERENCE:
            mark_inference(results)
        return make_tuple(results_{name}, results)
    {originals}
    {exceptions}
    return {dispatch}(op_{name}, {tensors}, {params}, {out})
"""

LIST_OF_RESULTS = """\
def {function}({parameters}):
    {operands}
    if {is_fast}:
        try:
            kernel, result_key = {primary}._key.table[{name!r}]
            arrays = kernel({arrays})
        except Exception as error:
            return recover(error, op_{name}, {tensors}, {params})
        return several(op_{name}, arrays, result_key, {tensors}, {params})
    {originals}
    {exceptions}
    return {dispatch}(op_{name}, {tensors}, {params}, {out})
"""

SEQUENCE = """\
def {function}({parameters}):
    return {dispatch}(op_{name}, tuple_of_tensors(tensors, op_{name}), {params}, {out})
"""

SEQUENCE_FAST_PATH = """\
def {name}_fast_path({parameters}):
    if type(tensors) is not list and type(tensors) is not tuple:
        raise TypeError('not a sequence')
    key, arrays, tracked = None, [], False
    for tensor in tensors:
        if type(tensor) not in PLAIN or (tensor._key is not key and key is not None):
            raise TypeError('not plain tensors of one dispatch key')
        key = tensor._key
        arrays.append(tensor._array)
        if tensor._requires_grad:
            tracked = True
    kernel, result_key = key.table[{name!r}]
    array = kernel(*arrays, {options})
    if tracked:
        return record_{name}(array, result_key, tensors, {params})
    result = new(Tensor)
    result._array = array; result._key = result_key
    result._requires_grad = False; result._node = None; result._grad = None; result._storage = None; result._view = None
    if IN_INFERENCE:
        mark_inference(result)
    return result
"""

# --- functions that record a call for `backward` ------------------------------------------------------------------

RECORD = """\
def record_{name}({arguments}):
    {unpack}
    {wrap}
    if {is_untracked} or (IN_INFERENCE and in_inference_mode()):
        if IN_INFERENCE:
            mark_inference(result)
        return result
    node = new(node_{name})
    node.seq = next_seq(); node.hooks = node.outputs = None
    node.dispatch_key = result_key{materialized}; node.shape = array.shape
    node.edges = {edges}
    {saves}
    if state.observes_records:
        observe_record(node, result)
    result._node = node
    result._requires_grad = True
    return result
"""

RECORD_SEVERAL = """\
def record_{name}({arguments}):
    {unpack}
    result = [wrap(a, k) for a, k in zip(array, result_key)]
    if not grad_enabled() or (IN_INFERENCE and in_inference_mode()):
        return result  # `several` marks it
    node = new(node_{name})
    node.seq = next_seq(); node.hooks = node.outputs = None
    node.dispatch_key = result_key[0]{materialized}; node.shape = array[0].shape if array else ()
    node.outputs = tuple((k{materialized}, a.shape) for a, k in zip(array, result_key))
    node.edges = {edges}
    {saves}
    if state.observes_records:
        observe_record(node, result)
    attach_outputs(node, result)
    return result
"""

# --- wrappers of composites ---------------------------------------------------------------------------------------

OVERRIDABLE = """\
def {name}({parameters}):
    if {is_direct}:
        try:
            return {call}
        except Exception as error:
            if may_override({arguments}):
                return {offer}
            {check}
            refuse_size(error)
            raise
    {exceptions}
    {check_types}
    return {offer}
"""

METHOD = """\
def {name}({parameters}):
    {exceptions}
    try:
        {compute}
    except Exception as error:
        {offer}
        {check}
        refuse_size(error)
        raise
"""
