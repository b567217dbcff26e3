"""Checks in optimizer steps: unsupported gradients, options and uninitialized subclasses."""

from __future__ import annotations

import inspect

import pytest

import flambeau as torch
from flambeau import optim

OPTIMIZERS = [each for each in vars(optim).values() if inspect.isclass(each) and issubclass(each, optim.Optimizer)]


def accepting(*names):
    return [each for each in OPTIMIZERS if set(names) <= inspect.signature(each).parameters.keys()]


def stepping(cls, dtype=torch.float32, **options):
    param = torch.nn.Parameter(torch.ones(3, 2, dtype=dtype))
    param.grad = torch.ones_like(param)
    return cls([param], **options).step


@pytest.mark.parametrize("cls", accepting("capturable"))
def test_steps_of_a_cpu_are_not_captured(cls):
    with pytest.raises(AssertionError, match="If capturable=True, params.* must be on supported devices: "):
        stepping(cls, capturable=True)()


@pytest.mark.parametrize("cls", accepting("fused"))
def test_fused_steps_are_of_real_numbers(cls):
    with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors .* but torch.complex64 and cpu"):
        stepping(cls, torch.complex64, fused=True)()
    stepping(cls, torch.complex64, fused=False)()
    stepping(cls, torch.bfloat16, fused=True)()


@pytest.mark.parametrize("cls", accepting("foreach", "differentiable"))
def test_gradients_do_not_flow_through_joined_steps(cls):
    with pytest.raises(RuntimeError if cls is optim.SGD else AssertionError, match=r"_foreach ops don't support|in-place"):
        stepping(cls, foreach=True, differentiable=True)()


def test_a_learning_rate_that_became_a_tensor_is_not_for_joined_steps():
    optimizer = optim.AdamW([torch.ones(2, requires_grad=True)], foreach=True)
    optimizer.param_groups[0]["lr"] = torch.tensor(0.1)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
        optimizer.step()


def test_the_number_of_steps_is_a_constant():
    param = torch.ones(2, requires_grad=True)
    param.grad = torch.ones(2)
    optimizer = optim.Adam([param], differentiable=True)
    optimizer.state[param] = {"step": torch.tensor(1.0, requires_grad=True)}
    with pytest.raises(RuntimeError, match="`requires_grad` is not supported for `step`"):
        optimizer.step()


def test_sparse_adam_takes_real_parameters():
    params = [torch.ones(2), torch.ones(2, dtype=torch.complex64)]
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 1\]\]"):
        optim.SparseAdam(params)


def test_a_wrapper_can_have_its_steps_hooked():
    class Wrapper(optim.Optimizer):
        """An optimizer wrapper that does not call `super().__init__`."""

        def __init__(self, inner):
            self.inner = inner
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    seen = []
    wrapper = Wrapper(optim.SGD([torch.nn.Parameter(torch.ones(1))]))
    wrapper.register_step_post_hook(lambda optimizer, args, kwargs: seen.append(optimizer))
    assert wrapper.step(lambda: 7) == 7 and seen == [wrapper]


def test_weight_decay_of_adam_is_declared_as_a_float():  # hydra-zen converts 0 to 0.0 because of it
    for optimizer in (torch.optim.Adam, torch.optim.AdamW):
        assert inspect.signature(optimizer).parameters["weight_decay"].annotation in ("float", float)
