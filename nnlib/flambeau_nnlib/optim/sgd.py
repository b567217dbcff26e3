"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import fused_step

from . import check
from .first_order import FirstOrder, Scalar, can_fuse, descent
from .optimizer import Group, Params, State

__all__ = ["SGD", "sgd"]


def sgd(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    momentum: float = 0,
    dampening: float = 0,
    weight_decay: Scalar = 0,
    nesterov: bool = False,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `SGD` in place.

    `states` holds a dict with the `momentum_buffer` of each parameter, and may be empty without momentum.
    """
    options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
    if can_fuse("sgd_step", params, False, options):
        items = zip(params, grads, states or [{}] * len(params), strict=True)
        flags = {"nesterov": nesterov, "maximize": maximize}
        unfused = [(param, grad, state) for param, grad, state in items if not _fused(param, grad, state, **options, **flags)]
        params, grads = [param for param, _, _ in unfused], [grad for _, grad, _ in unfused]
        states = [state for _, _, state in unfused]
    grads = descent(params, grads, maximize, weight_decay)
    if momentum != 0:
        grads = [_velocity(*pair, momentum, dampening, nesterov) for pair in zip(grads, states, strict=True)]
    step_size = -lr
    if isinstance(lr, Tensor):
        for param, grad in zip(params, grads, strict=True):
            param.addcmul_(grad, step_size)
    else:
        for param, grad in zip(params, grads, strict=True):
            param.add_(grad, alpha=step_size)


def _fused(param: Tensor, grad: Tensor, state: State, **options: Any) -> bool:
    """Do one step by a fused kernel, which initializes the velocity in the first step. Return False if no kernel exists."""
    if grad.is_sparse:
        return False
    velocity = state.get("momentum_buffer")
    first = velocity is None and options["momentum"] != 0
    if first:
        velocity = torch.empty_like(param)
    done = fused_step("sgd_step", param, grad, velocity, **options, first=first)
    if done and first:
        state["momentum_buffer"] = velocity
    return done


def _velocity(grad: Tensor, state: State, momentum: float, dampening: float, nesterov: bool) -> Tensor:
    velocity = state.get("momentum_buffer")
    if velocity is None:
        velocity = state["momentum_buffer"] = grad.detach().clone()
    else:
        velocity.mul_(momentum).add_(grad, alpha=1 - dampening)
    return grad.add(velocity, alpha=momentum) if nesterov else velocity


class SGD(FirstOrder):
    """Stochastic gradient descent, optionally with momentum.

    A step is `param -= lr * v`. Without momentum, the velocity `v` is the gradient. With momentum, `v = momentum * v +
    (1 - dampening) * grad`, starting with `v = grad`; `nesterov` replaces `v` in the step by `grad + momentum * v`.

    Sutskever, Martens, Dahl and Hinton, [On the importance of initialization and momentum in deep
    learning](https://proceedings.mlr.press/v28/sutskever13.html), 2013. Their velocity includes the learning rate. Here
    it does not, so a change of `lr` takes effect immediately.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        momentum: decay rate of the velocity, usually 0.9; 0 for no momentum.
        dampening: the gradient is multiplied by `1 - dampening` before it is added to the velocity.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        nesterov: use Nesterov momentum; requires `momentum` above 0 and `dampening` 0.
        maximize: maximize the objective instead of minimizing it.
        foreach, fused: accepted for compatibility; they do not change the results. At most one of them may be True.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative, or `nesterov` is set without momentum or with dampening.
        RuntimeError: `fused` is True together with `foreach` or `differentiable`.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(sgd)
    kernel = "sgd_step"
    flattens = False
    takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Scalar = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check.that(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check.that(not lr < 0.0, f"Invalid learning rate: {lr}")
        check.that(not momentum < 0.0, f"Invalid momentum value: {momentum}")
        check.that(not weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}")
        check.that(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check.fused(fused, foreach, differentiable)

    def _check(self, params: list[Tensor], group: Group) -> None:
        if group["fused"]:
            check.fusable(params)

    def _states(self, params: list[Tensor], group: Group) -> list[State]:
        return super()._states(params, group) if group["momentum"] != 0 else []
