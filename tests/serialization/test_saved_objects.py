"""`save` and `load`: functions, named results, generators, and strings that Python 2 wrote."""

from __future__ import annotations

import copy
import io
import pickle
import re

import pytest

import flambeau as torch


def saved(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    return file.getvalue()


def loaded(data, **options):
    return torch.load(io.BytesIO(data), weights_only=False, **options)


def round_trip(obj):
    return loaded(saved(obj))


@pytest.mark.parametrize("new_format", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        torch.tanh, torch.einsum, torch.nn.functional.gelu, torch.nn.functional.celu_, torch.nn.functional.logsigmoid,
        torch.linalg.svd, torch.fft.rfft2, torch.special.i1, torch.Tensor.view, torch.Tensor.item,
    ],
    ids=lambda function: function.__qualname__,
)  # fmt: skip
def test_functions_are_saved_by_name(function, new_format):
    data = saved(function, _use_new_zipfile_serialization=new_format)
    assert loaded(data) == function
    assert b"flambeau" not in data


def test_modules_that_hold_a_function():
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", batch_first=True).eval()
    x = torch.randn(2, 3, 4)
    assert torch.equal(round_trip(layer)(x), layer(x))


def test_named_results_and_generators():
    for found in (torch.ones(2, 3).max(1), torch.linalg.qr(torch.eye(2)), torch.aminmax(torch.ones(2))):
        for copied in (round_trip(found), pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert type(copied) is type(found) and torch.equal(copied[0], found[0])
    generator = torch.Generator().manual_seed(3)
    restored = round_trip(generator)
    assert torch.equal(torch.rand(3, generator=restored), torch.rand(3, generator=generator))


@pytest.mark.parametrize(("encoding", "text"), [("ascii", "a"), ("latin1", "a"), ("bytes", b"a")])
def test_strings_that_python_2_wrote(encoding, text):
    data = saved([torch.ones(3), "a"], _use_new_zipfile_serialization=False)
    data = re.sub(rb"X(.)\x00\x00\x00", rb"U\1", data)
    tensor, found = loaded(data, encoding=encoding)
    assert tensor.tolist() == [1, 1, 1] and found == text


def test_all_dtypes_load_with_weights_only(tmp_path):
    """torchao saves `torch.int4` with its tensors."""
    names = ["float32", "bool", "uint64", "float8_e4m3fn", *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8))]
    saved = [getattr(torch, name) for name in names]
    torch.save(saved, tmp_path / "dtypes.pt")
    assert torch.load(tmp_path / "dtypes.pt", weights_only=True) == saved


class Coded(torch.nn.Parameter):
    """A parameter whose state contains its properties, as that of bitsandbytes."""

    def __getstate__(self):
        return {**self.__dict__, "data": self.data, "requires_grad": self.requires_grad}


def test_properties_in_the_state_of_a_parameter_are_set():
    weight = Coded(torch.tensor([1.0, 2.0]), requires_grad=False)
    weight.scheme = "nf4"
    copied = pickle.loads(pickle.dumps(weight))
    assert copied.__dict__.keys() == weight.__dict__.keys()
    assert (copied.tolist(), copied.requires_grad, copied.scheme) == ([1.0, 2.0], False, "nf4")
    copied.data = torch.tensor([3.0])
    assert copied.tolist() == [3.0]
