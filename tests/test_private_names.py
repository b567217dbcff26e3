"""Private names of PyTorch's that libraries use: each that `docs/private_names.md` lists is there, and does its work."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import flambeau as torch

DOCUMENT = Path(__file__).parents[1] / "docs/private_names.md"
NAMES = re.findall(r"^\| `([\w.]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_there(name):
    found, path = torch, "flambeau"
    for part in name.split("."):
        path += f".{part}"
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    assert found is not None


def test_what_is_not_there_is_said_not_to_be():
    assert not hasattr(torch._C, "_cuda_getDevice") and torch.torch is torch


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        (("cpu",), {}, (torch.device("cpu"), None, False, None)),
        ((torch.float32,), {}, (None, torch.float32, False, None)),
        (("cpu", torch.float32, True), {}, (torch.device("cpu"), torch.float32, True, None)),
        ((torch.ones(1, dtype=torch.int8),), {}, (torch.device("cpu"), torch.int8, False, None)),
        ((), {"dtype": torch.half, "memory_format": torch.channels_last}, (None, torch.half, False, torch.channels_last)),
        ((), {}, (None, None, False, None)),
    ],
)
def test_arguments_of_to(args, kwargs, expected):
    assert torch._C._nn._parse_to(*args, **kwargs) == expected
    with pytest.raises(RuntimeError, match="does not accept copy"):
        torch._C._nn._parse_to("cpu", copy=True)


def test_checks():
    torch._check(True)
    torch._assert_async(torch.tensor(1))
    for error, check in ((RuntimeError, torch._check), (ValueError, torch._check_value), (IndexError, torch._check_index)):
        with pytest.raises(error, match="as said"):
            check(False, lambda: "as said")
    with pytest.raises(RuntimeError, match="as said"):
        torch._assert_async(torch.tensor(0), "as said")


def test_batches_are_known():
    seen = []

    def look(x):
        seen.append(torch._C._functorch.is_batchedtensor(x))
        return x

    torch.vmap(look)(torch.ones(4, 2))
    assert seen == [True] and not torch._C._functorch.is_batchedtensor(torch.ones(1))


def test_activations_by_name():
    function = torch.nn.modules.transformer._get_activation_fn
    assert function("gelu") is torch.nn.functional.gelu
    with pytest.raises(RuntimeError, match="relu/gelu"):
        function("tanh")
