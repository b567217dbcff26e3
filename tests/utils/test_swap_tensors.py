"""`utils.swap_tensors`, and conversions of modules that use it (`torch.__future__`)."""

from __future__ import annotations

import pytest

import flambeau as torch


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_tensors_exchange_all_that_they_are():
    a, b = torch.nn.Parameter(torch.ones(2)), torch.tensor([1, 2, 3])
    a.note = "of a"
    (a * 2).sum().backward()
    torch.utils.swap_tensors(a, b)
    assert type(a) is torch.Tensor and type(b) is torch.nn.Parameter and a.tolist() == [1, 2, 3]
    assert b.note == "of a" and not hasattr(a, "note") and b.grad.tolist() == [2.0, 2.0] and a.grad is None
    assert b.requires_grad and not a.requires_grad


def test_tensors_that_others_refer_to_are_not_exchanged():
    import weakref

    a = torch.ones(3)
    reference = weakref.ref(a)
    with pytest.raises(RuntimeError, match="t2 because it has weakref"):
        torch.utils.swap_tensors(torch.ones(2), a)
    assert reference() is a


def test_modules_keep_their_parameters(swapping):
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    layer(torch.ones(1, 2)).sum().backward()
    grad = weight.grad
    layer.to(torch.float16)
    assert layer.weight is weight and weight.dtype is torch.float16
    assert weight.grad is grad and grad.dtype is torch.float16
    layer.to("meta")
    assert layer.weight is weight and weight.is_meta
    layer.load_state_dict({"weight": torch.eye(2), "bias": torch.zeros(2)}, assign=True)
    assert layer.weight is weight and weight.tolist() == [[1, 0], [0, 1]] and weight.requires_grad
    layer.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)})
    assert layer.weight is weight and weight.tolist() == [[1, 1], [1, 1]]


def test_modules_make_new_parameters():
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.to(torch.float16)
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight is not weight and weight.dtype is torch.float32 and layer.weight.dtype is torch.float16
