"""Every public name that PyTorch also has is compared with PyTorch in some test of this folder."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # imported by PyTorch's `common_methods_invocations`

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import families  # noqa: E402

SPACES = [
    "",
    "Tensor",
    "linalg",
    "fft",
    "special",
    "func",
    "autograd",
    "autograd.functional",
    "autograd.forward_ad",
    "autograd.graph",
    "masked",
    "signal.windows",
    "overrides",
    "Size",
    "Generator",
    "random",
]
BY_TABLE = {name for table in families().values() for name in {each.name for each in table}}  # compared in test_samples.py
BY_OPERATOR = {name for op in op_db for name in (op.name, *(each.name for each in op.aliases))}  # compared in test_operators.py


def names_used_in(path):
    """Return the names that a file's code uses: attributes, and words in strings other than docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explanations = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explanations:
            found.update(re.findall(r"\w+", node.value))
    return found


BY_PROGRAM = set().union(*(names_used_in(path) for path in Path(__file__).parent.glob("*.py") if path != Path(__file__)))
OPERATORS = {
    f"__{prefix}{name}__"
    for prefix in ("", "i", "r")
    for name in (  # compared in test_settings_and_types.py
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "matmul",
        "neg",
        "pos",
        "abs",
        "invert",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
    )
}
PROTOCOLS = {  # test_settings_and_types.py calls these through Python's functions and statements
    "__bool__", "__complex__", "__contains__", "__deepcopy__", "__float__", "__index__", "__int__", "__iter__", "__len__", "__reversed__",
    "__repr__", "__str__", "__format__", "__getitem__", "__setitem__", "__delitem__", "__hash__", "__dir__", "__reduce__",
    "__reduce_ex__", "__setstate__", "__getnewargs__", "__class_getitem__", "__array__", "__dlpack__", "__new__", "__init__",
}  # fmt: skip
NOT_COMPARED = {
    "Event Stream record_stream": "need a device with streams: tests/devices/test_cuda.py",
    "__torch_dispatch__ __array_wrap__ redispatch_function enable_reentrant_dispatch": "are PyTorch's own machinery, or NumPy's",
    "quantize_per_channel quantize_per_tensor": "raise an error: flambeau has no quantized tensors",
    "DeviceObjType FileCheck FloatType TensorType Value PyTorchFileReader PyTorchFileWriter ScriptFunction ScriptModule kineto_available": "belong to TorchScript, files and the profiler, whose tests compare them through public functions",
    "indices_copy view_as_complex_copy view_as_real_copy": "are made like the other copies of views; PyTorch has no first for sparse tensors",
    "symeig graphsafe_set_state": "PyTorch removed the one, and has the other for CUDA alone",
    "__getattr__ __torch_function__ RemovableHandle": "are not called by name: test_overrides.py, test_autograd.py",
    "map2_ reinforce storage_type debug_unwrap NestedIOFunction": "PyTorch no longer has them, or has them for itself",
}


def public(space):
    """Return the public names, except modules, that a namespace has in both libraries."""
    assert ours.amp  # importing `amp` adds names
    owners = [functools.reduce(getattr, filter(None, space.split(".")), torch) for torch in (ours, theirs)]
    names = [name for name in dir(owners[1]) if (name[0] != "_" or name.endswith("__")) and name in dir(owners[0])]
    mine = {name: getattr(owners[0], name, None) for name in names if not hasattr(object, name)}
    return [
        name
        for name, each in mine.items()
        if callable(each) and not (getattr(each, "__module__", None) or "").startswith(("typing", "collections"))
    ]


@pytest.mark.parametrize("space", SPACES)
def test_every_name_is_compared(space):
    excused = {name for names in NOT_COMPARED for name in names.split()} | OPERATORS | PROTOCOLS
    missing = [name for name in public(space) if not is_compared(space, name) and name not in excused]
    assert not missing


def is_compared(space, name):
    path = f"{space}.{name}" if space not in ("", "Tensor") else name
    paths = {path, f"nn.functional.{name}" if not space else path}
    if space == "Tensor":  # methods and in-place methods are compared together with the function
        paths |= {f"Tensor.{name}", name.rstrip("_"), f"nn.functional.{name.rstrip('_')}"}
    stem = name.removesuffix("Tensor").removesuffix("Storage")  # tests build names such as FloatTensor from "Float"
    return bool(paths & (BY_TABLE | BY_OPERATOR)) or name in BY_PROGRAM or (stem != name and stem in BY_PROGRAM)
