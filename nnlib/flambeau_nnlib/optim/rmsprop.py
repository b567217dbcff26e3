"""The optimizer `RMSprop`, and its step as the function `rmsprop`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, add_, addcdiv_, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["RMSprop", "rmsprop"]


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0,
    momentum: float = 0,
    centered: bool = False,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `RMSprop` in place.

    `states` holds `step`, `square_avg` and, as the options need them, `grad_avg` and
    `momentum_buffer`.
    """
    grads = descent(params, grads, maximize, weight_decay)
    for param, grad, state in real_views(params, grads, states):
        state["step"].add_(1)
        variance = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = variance.addcmul(mean, mean, value=-1)
        deviation = variance.sqrt() + eps
        if momentum > 0:
            velocity = state["momentum_buffer"].mul_(momentum).addcdiv_(grad, deviation)
            add_(param, velocity, -lr)
        else:
            addcdiv_(param, grad, deviation, -lr)


class RMSprop(FirstOrder):
    """RMSprop: the gradient is divided by its running root mean square.

    With the running mean `v = alpha * v + (1 - alpha) * grad ** 2`, a step is `param -= lr * grad / (sqrt(v) + eps)`.
    With `momentum`, this quotient is accumulated in a velocity first.

    Hinton, [Neural Networks for Machine Learning, lecture
    6e](https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf), 2012.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        alpha: decay rate of the running mean, in [0, 1).
        eps: added to the denominator for numerical stability.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        momentum: decay rate of the velocity; 0 for no momentum.
        centered: divide by the standard deviation of the gradient instead of its root mean square, as in Graves,
            [Generating Sequences With Recurrent Neural Networks](https://arxiv.org/abs/1308.0850), 2013.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(rmsprop)

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check.lr(lr)
        check.not_negative(eps, "Invalid epsilon value")
        check.not_negative(momentum, "Invalid momentum value")
        check.not_negative(weight_decay, "Invalid weight_decay value")
        check.not_negative(alpha, "Invalid alpha value")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        state = {"step": scalar_state(0, param, group), "square_avg": torch.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = torch.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = torch.zeros_like(param)
        return state
