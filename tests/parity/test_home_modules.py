"""`__module__` and `__qualname__` of all public classes, and `__module__` of functions, are PyTorch's under the launcher."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import warnings

import pytest

theirs = pytest.importorskip("torch")

pytestmark = pytest.mark.slow

LEFT_OUT = (  # private or optional parts of PyTorch, scripts, and modules that flambeau does not have
    "torch.contrib", "torch.distributed.benchmarks", "torch.testing._internal", "torch.utils.benchmark.examples",
    "torch.utils.tensorboard",
)  # fmt: skip

# Names whose module or qualified name differs, by reason.
DIFFERENT = {
    "one class, or one function, with two names; PyTorch has two": {
        "torch.Future", "torch.ScriptModule", "torch.compiler.compile", "torch.distributed.GroupMember", "torch.distributed.group",
        "torch.distributed.ProcessGroupGloo", "torch.distributed.distributed_c10d.ProcessGroupGloo",
        "torch.distributed.distributed_c10d.group",
    },
    "a name that nobody can import in PyTorch, which therefore cannot pickle the object": {
        "torch.ScriptFunction", "torch.backends.cuda.SDPAParams", "torch.jit.ScriptFunction", "torch.nn.attention.SDPBackend",
        "torch.nn.functional.ScalingType", "torch.nn.functional.SwizzleType",
    },
    "a method of a built-in object, for speed: PyTorch's is a built-in function": {
        "torch.is_grad_enabled", "torch.is_inference_mode_enabled",
    },
    "private names of compiled functions": {
        "torch.nested.to_padded_tensor", "torch.nn.functional.has_torch_function", "torch.overrides.has_torch_function",
        "torch.sparse.addmm", "torch.sparse.log_softmax", "torch.sparse.mm", "torch.sparse.softmax", "torch.to_dlpack",
    },
    "a class with a public name": {"torch.utils.data._DatasetKind"},
    "a module with the name of its function: importing it would replace the function": {"torch.package.is_from_package"},
}  # fmt: skip
EXCEPTIONS = frozenset().union(*DIFFERENT.values())

PROGRAM = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")

def shown(module, name):
    try:
        value = getattr(importlib.import_module(module), name)
    except Exception:
        return None
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return None
    return [isinstance(value, type), value.__module__, value.__qualname__]

print(json.dumps([shown(module, name) for module, name in json.load(sys.stdin)]))
"""


def public_names():
    """Return (module, name) of the names in `__all__` of the public modules."""
    found = []
    modules = [theirs]
    while modules:
        module = modules.pop()
        found += [(module.__name__, name) for name in getattr(module, "__all__", ()) if isinstance(name, str)]
        for part in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
            if not part.name.rpartition(".")[2].startswith("_") and not part.name.startswith(LEFT_OUT):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        modules.append(importlib.import_module(part.name))
                    except Exception:
                        continue  # requires a package that is not installed
    return found


def described(command, names):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, *command, "-c", PROGRAM], input=json.dumps(names), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_modules_and_qualified_names():
    names = public_names()
    differences, compared = [], 0
    for (module, name), there, here in zip(names, described([], names), described(["-m", "flambeau"], names), strict=True):
        if there is None or here is None or there[0] != here[0] or f"{module}.{name}" in EXCEPTIONS or module == "torch.special":
            continue  # functions of `special` are those of `torch`, where both exist
        compared += 1
        if there[: 3 if there[0] else 2] != here[: 3 if there[0] else 2]:
            differences.append(f"{module}.{name}: {there[1:]} in PyTorch, {here[1:]} here")
    assert differences == []
    assert compared > 2500
