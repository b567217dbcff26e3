"""RAdam, Adam with a rectified adaptive learning rate."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, add_, addcdiv_, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["RAdam", "radam"]


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0,
    decoupled_weight_decay: bool = False,
    maximize: bool = False,
    capturable: bool = False,
    **_: Any,
) -> None:
    """Do one step of `RAdam` in place.

    `states` holds `step`, `exp_avg` and `exp_avg_sq` of each parameter.
    """
    beta1, beta2 = betas
    longest = 2 / (1 - beta2) - 1  # length of a simple moving average equivalent to the running mean
    grads = descent(params, grads, maximize, weight_decay, lr if decoupled_weight_decay else None)
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state, capturable)
        mean, variance = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        variance.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1**t)
        correction = 1 - beta2**t
        length = longest - 2 * t * beta2**t / correction
        if capturable:
            adaptive = (correction * _rectifier(length, longest)).sqrt() / (variance.sqrt() + eps)
            param.sub_(step_size * mean * torch.where(length > 5, adaptive, torch.ones_like(adaptive)))
        elif length > 5:
            scale = (correction * _rectifier(length, longest)) ** 0.5
            addcdiv_(param, mean, variance.sqrt() + eps, -step_size * scale)
        else:  # too few gradients to estimate the variance
            add_(param, mean, -step_size)


def _rectifier(length: Scalar, longest: float) -> Scalar:
    return (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)


class RAdam(FirstOrder):
    """Adam with a built-in warm-up: early steps do not divide by a mean square of too few gradients.

    The first steps, about five, are plain momentum steps. Later ones are those of Adam, scaled down while the estimate
    of the mean square is uncertain.

    Liu et al., [On the Variance of the Adaptive Learning Rate and Beyond](https://arxiv.org/abs/1908.03265), 2019.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: decay rates of the running means of the gradient and of its square, each in [0, 1).
        eps: added to the denominator for numerical stability.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); see `decoupled_weight_decay`.
        decoupled_weight_decay: apply the weight decay to the parameters instead of the gradient, as `AdamW` does.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative, or a beta is not in [0, 1).

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.RAdam([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(radam)

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": scalar_state(0, param, group),
            "exp_avg": torch.zeros_like(param),
            "exp_avg_sq": torch.zeros_like(param),
        }
