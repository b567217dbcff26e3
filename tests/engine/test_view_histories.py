"""Histories of views made in inference mode or under `no_grad`, and of parts that are no views."""

from __future__ import annotations

import pytest

import flambeau as torch


@pytest.mark.parametrize("requires_grad", [True, False])
def test_views_of_normal_tensors_made_in_inference_mode(requires_grad):
    base = torch.ones(2, 3, requires_grad=requires_grad).clone()
    with torch.inference_mode():
        view = base.view(-1)
        part = base.split(1)[0]
        base.add_(1)
        later = base.view(-1)
    assert not view.is_inference()
    assert view.is_leaf
    assert [tensor.requires_grad for tensor in (view, part, later, view * 2)] == [requires_grad] * 4
    if requires_grad:
        with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
            view.add_(1)
    else:
        assert view.add_(1).tolist() == [3] * 6


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_views_whose_base_is_transposed_in_place(mode):
    base = torch.ones(2, 3, requires_grad=True).clone()
    with mode():
        view = base.view(-1)
    base.transpose_(0, 1)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view.grad_fn


def test_views_of_inference_tensors_have_no_history():
    with torch.inference_mode():
        leaf = torch.ones(2, 2, requires_grad=True)
    assert leaf.requires_grad
    for view in (leaf.view(-1), leaf[0], leaf.T, leaf.expand(3, 2, 2), *leaf.split(1), *leaf.unbind()):
        assert view.is_inference() and view.is_leaf and not view.requires_grad
        assert view._base is None


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_views_that_a_write_to_their_base_leaves_without_history(mode):
    base = torch.ones(2, requires_grad=True).clone()
    with mode():
        view = base.view(-1)
    base.mul_(2)
    assert view.requires_grad
    assert "grad_fn=<Invalid>" in repr(view)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view.grad_fn
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        (view * 2).sum().backward()


SPLITS = {
    "unsafe_split": lambda x: x.unsafe_split(1),
    "unsafe_split_with_sizes": lambda x: x.unsafe_split_with_sizes((1, 1)),
    "unsafe_chunk": lambda x: x.unsafe_chunk(2),
}


@pytest.mark.parametrize("name", SPLITS)
def test_parts_that_autograd_does_not_treat_as_views(name):
    x = torch.tensor([[1.0], [3.0]], requires_grad=True)
    base = x * 1
    first, second = SPLITS[name](base)
    first.mul_(second)  # the saved values of both parts stay valid
    first.sum().backward()
    assert x.grad.tolist() == [[3], [1]]
    assert not first._is_view()
    assert base.tolist() == [[3], [3]]
    assert base._version == second._version == 0
