"""Compiled functions depend on the containers that they read, on the hooks of modules, and on the settings of autocast."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn


class Registry(OrderedDict):
    """Creates an object at each look-up, like transformers' `ACT2FN`."""

    def __getitem__(self, key):
        return super().__getitem__(key)()


REGISTRY = Registry(tanh=nn.Tanh, relu=nn.ReLU)


def test_registries_that_create_objects_are_unchanged():
    compiled = torch.compile(lambda x: REGISTRY["tanh"](x) + 1)
    for number in range(5):
        x = torch.arange(3.0) + number
        np.testing.assert_allclose(compiled(x).numpy(), np.tanh(x.numpy()) + 1, rtol=1e-6)
    assert compiled.compiled.reason is None, compiled.compiled.reason
    (entries,) = compiled.compiled.entries.values()
    assert len(entries) == 1 and entries[0].verified


def test_reordered_registries_are_captured_again():
    registry = OrderedDict(first=2.0, second=3.0)
    compiled = torch.compile(lambda x: x * next(iter(registry.values())))
    for factor in (2.0, 2.0, 2.0, 3.0, 3.0, 2.0):
        if next(iter(registry.values())) != factor:
            registry.move_to_end(next(iter(registry)))
        assert compiled(torch.ones(2)).tolist() == [factor, factor]


@pytest.mark.parametrize("register", ["of a module", "of all modules"])
def test_hooks_that_come_and_go_are_run(register):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    compiled, x = torch.compile(model), torch.ones(1, 2)
    with torch.no_grad():
        expected = model(x).tolist()
        assert [compiled(x).tolist() for _ in range(3)] == [expected] * 3
        for _ in range(3):
            on = model[1].register_forward_hook if register == "of a module" else nn.modules.module.register_module_forward_hook
            handle = on(lambda module, args, output: output + 5)
            with_hook = model(x).tolist()
            assert with_hook != expected
            assert [compiled(x).tolist() for _ in range(3)] == [with_hook] * 3
            handle.remove()
            assert [compiled(x).tolist() for _ in range(3)] == [expected] * 3


def test_autocast_is_a_dependency_on_its_dtype():
    compiled = torch.compile(nn.Linear(2, 2).eval())
    with torch.no_grad():
        for dtype in (None, torch.bfloat16, torch.float16, torch.bfloat16, None):
            with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
                for _ in range(3):
                    assert compiled(torch.ones(1, 2)).dtype is (dtype or torch.float32)


def test_a_process_for_inference_frees_compiled_modules_and_imports_no_optimizers():
    program = """
import gc, sys, weakref
import flambeau as torch

def compiled():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    step = torch.compile(model)
    with torch.no_grad():
        for _ in range(4):
            step(torch.ones(1, 2))
    return weakref.ref(model)

models = [compiled() for _ in range(3)]
gc.collect()
print([model() for model in models], "flambeau_nnlib.optim" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[None, None, None] False\n"
