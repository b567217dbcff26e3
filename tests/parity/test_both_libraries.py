"""PyTorch and flambeau in one process: tensors are shared by DLPack, and functions refuse the other library's tensors."""

from __future__ import annotations

import pytest

import flambeau

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8", "bool"])
@pytest.mark.parametrize(("library", "other"), [(torch, flambeau), (flambeau, torch)])
def test_dlpack(library, other, dtype):
    x = library.tensor([0, 1, 2]).to(getattr(library, dtype))
    y = other.from_dlpack(x)
    assert y.dtype is getattr(other, dtype) and y.tolist() == x.tolist() and y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "call",
    [
        lambda ours, other: flambeau.exp(other),
        lambda ours, other: flambeau.mul(ours, other),
        lambda ours, other: ours + other,
        lambda ours, other: other + ours,
        lambda ours, other: torch.mul(other, ours),
        lambda ours, other: flambeau.nn.functional.linear(other, ours),
    ],
)
def test_tensors_of_the_other_library(call):
    with pytest.raises(TypeError):
        call(flambeau.ones(2, 2), torch.ones(2, 2))
