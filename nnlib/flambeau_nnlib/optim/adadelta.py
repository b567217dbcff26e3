"""The optimizer `Adadelta`, and its step as the function `adadelta`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, add_, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Adadelta", "adadelta"]


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Adadelta` in place.

    `states` holds `step`, `square_avg` and `acc_delta` of each parameter.
    """
    grads = descent(params, grads, maximize, weight_decay)
    for param, grad, state in real_views(params, grads, states):
        state["step"].add_(1)
        square_grad, square_delta = state["square_avg"], state["acc_delta"]
        square_grad.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = ((square_delta + eps) / (square_grad + eps)).sqrt() * grad
        square_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_(param, delta, -lr)


class Adadelta(FirstOrder):
    """Adadelta: step sizes come from the sizes of recent updates, so the learning rate needs hardly any tuning.

    A step is `param -= lr * grad * sqrt(d + eps) / sqrt(v + eps)` with the running means `v` of the squared gradients
    and `d` of the squared updates.

    Zeiler, [ADADELTA: An Adaptive Learning Rate Method](https://arxiv.org/abs/1212.5701), 2012.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: factor of the updates, a number or a tensor of one element, not negative; 1 is the method as published.
        rho: decay rate of the running means, from 0 to 1.
        eps: added to the mean squares before their square root; the first steps depend on it.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        foreach: accepted for compatibility; it does not change the results.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative, or `rho` is not from 0 to 1.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adadelta([w])
        >>> w.sum().backward(); optimizer.step()
        >>> [round(x, 4) for x in w.tolist()]
        [0.9968, 1.9968]
    """

    rule = staticmethod(adadelta)

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check.lr(lr)
        check.that(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check.not_negative(eps, "Invalid epsilon value")
        check.not_negative(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": scalar_state(0, param, group),
            "square_avg": torch.zeros_like(param),
            "acc_delta": torch.zeros_like(param),
        }
