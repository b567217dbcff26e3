"""Run the examples of PyTorch's docstrings in both libraries and compare their output up to rounding."""

import contextlib
import doctest
import functools
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau as ours

theirs = pytest.importorskip("torch")

RUNNER = Path(__file__).with_name("docstring_examples.py")
NAMESPACES = [
    "", "Tensor", "Generator", "Size", "autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "linalg", "fft", "special",
    "func", "masked", "signal.windows", "overrides", "random", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.prune",
    "nn.utils.parametrize", "nn.utils.parametrizations", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions", "utils.checkpoint",
    "utils.dlpack", "testing", "sparse",
]  # fmt: skip
EXCEPTIONS = {
    **dict.fromkeys(
        ["empty", "empty_strided", "Tensor.new_empty", "Tensor.new_empty_strided", "nn.utils.skip_init"], "uninitialised memory"
    ),
    **dict.fromkeys(
        ["Generator.seed", "seed", "random.seed", "Generator.initial_seed", "initial_seed"], "a seed that nobody knows"
    ),
    **dict.fromkeys(
        ["linalg.lu_solve", "linalg.solve", "linalg.solve_triangular", "cholesky_inverse", "fft.hfft2", "fft.hfftn"],
        "asks whether rounding is small, or how small, of a matrix that makes it large",
    ),
    "Tensor.view": "shows the last bits of random numbers",
    "sort": "the order of equal elements, which PyTorch leaves open",
    "set_default_dtype": "needs complex32",
    "func.functionalize": "needs torch.fx",
    "overrides.get_testing_overrides": "shows a signature, where flambeau's have types",
    **dict.fromkeys(["Event", "sparse_coo_tensor"], "PyTorch's text for a build without CUDA"),
}
NUMBER = re.compile(r"[+-]?\d+\.?\d*(?:e[+-]?\d+)?")


def resolve(library, namespace):
    """Return a module or class of the library by its dotted name."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(f"{library.__name__}.{namespace}".rstrip("."))
    return functools.reduce(getattr, filter(None, namespace.split(".")), library)


def documents(namespace):
    """Return the docstrings with examples, by name, of functions and classes that both libraries have."""
    there, here = (resolve(library, namespace) for library in (theirs, ours))
    made = {}
    for name in dir(there):
        text = getattr(getattr(there, name, None), "__doc__", None) if not name.startswith("_") and hasattr(here, name) else None
        if isinstance(text, str) and ">>>" in text and f"{namespace}.{name}".lstrip(".") not in EXCEPTIONS:
            try:
                doctest.DocTestParser().get_examples(text)
            except ValueError:
                continue  # not valid doctest syntax
            made[name] = text
    return made


def run(command, given):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command, RUNNER], input=json.dumps(given), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout[done.stdout.index("{") :])


def is_error(text):
    return re.match(r"\w+(Error|Exception|Warning): ", text) is not None


def alike(there, here):
    """Whether two outputs have the same text and nearly equal numbers. Errors are compared by type."""
    if is_error(there) or is_error(here):
        return there.partition(":")[0] == here.partition(":")[0]
    here = here.replace("flambeau_nnlib.", "torch.").replace("flambeau.", "torch.")
    there, here = (re.sub(r"<(?:built-in method|function|bound method) (\w+)[^>]*>+", r"<\1>", each) for each in (there, here))
    texts = [re.sub(r"\s+", "", NUMBER.sub("#", each)) for each in (there, here)]
    numbers = [[float(number) for number in NUMBER.findall(each)] for each in (there, here)]
    return texts[0] == texts[1] and all(abs(a - b) <= 2e-3 * max(1e-2, abs(a)) for a, b in zip(*numbers, strict=True))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_examples(namespace):
    given = documents(namespace)
    there, here = run([], given), run(["-m", "flambeau"], given)
    for name, examples in there.items():
        for (source, wanted), (_, got) in zip(examples, here[name], strict=True):
            if is_error(wanted) and "CUDA" in wanted:
                break  # later examples depend on this one
            if "masked._ops" in source:
                continue  # uses a private module and an undefined name
            assert alike(wanted, got), f"{namespace}.{name}\n>>> {source}\nPyTorch:  {wanted}\nflambeau: {got}"
