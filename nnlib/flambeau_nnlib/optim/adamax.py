"""Adamax, the variant of Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, addcdiv_, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Adamax", "adamax"]


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0,
    maximize: bool = False,
    capturable: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Adamax` in place.

    `states` holds `step`, `exp_avg` and `exp_inf` of each parameter.
    """
    beta1, beta2 = betas
    grads = descent(params, grads, maximize, weight_decay)
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state, capturable)
        mean, norm = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        norm.copy_(torch.maximum(norm * beta2, grad.abs() + eps))
        addcdiv_(param, mean, norm, -lr / (1 - beta1**t))


class Adamax(FirstOrder):
    """Adam with an exponentially weighted infinity norm instead of the root mean square.

    A step is `param -= lr * m / u` with the bias-corrected running mean `m` of the gradient and `u = max(betas[1] * u,
    |grad| + eps)`.

    Kingma and Ba, [Adam: A Method for Stochastic Optimization](https://arxiv.org/abs/1412.6980), 2014, section 7.1.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: decay rates of the running mean and of the infinity norm `u`, each in [0, 1).
        eps: added to the absolute value of the gradient.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.

    Raises:
        ValueError: an option is negative, or a beta is not in [0, 1).

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adamax([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(adamax)

    def __init__(
        self,
        params: Params,
        lr: Scalar = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check.lr(lr)
        check.not_negative(eps, "Invalid epsilon value")
        check.betas(betas)
        check.not_negative(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": scalar_state(0, param, group),
            "exp_avg": torch.zeros_like(param),
            "exp_inf": torch.zeros_like(param),
        }
