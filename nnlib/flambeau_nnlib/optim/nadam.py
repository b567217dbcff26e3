"""NAdam, Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import step_count

from . import check
from .first_order import FirstOrder, Scalar, addcdiv_, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["NAdam", "nadam"]


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0,
    momentum_decay: float = 4e-3,
    decoupled_weight_decay: bool = False,
    maximize: bool = False,
    capturable: bool = False,
    **_: Any,
) -> None:
    """Do one step of `NAdam` in place.

    `states` holds `step`, `mu_product`, `exp_avg` and `exp_avg_sq` of each parameter.
    """
    beta1, beta2 = betas
    grads = descent(params, grads, maximize, weight_decay, lr if decoupled_weight_decay else None)
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state, capturable)
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay))
        next_mu = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
        product = state["mu_product"].mul_(mu)
        if not capturable:
            product = step_count(product)
        mean, variance = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        variance.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = (variance / (1 - beta2**t)).sqrt() + eps
        addcdiv_(param, grad, denominator, -lr * (1 - mu) / (1 - product))
        addcdiv_(param, mean, denominator, -lr * next_mu / (1 - product * next_mu))


class NAdam(FirstOrder):
    """Adam with Nesterov momentum.

    The momentum of step t is `betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay))`. It increases from half of
    `betas[0]` to `betas[0]`.

    Dozat, [Incorporating Nesterov Momentum into Adam](https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ), 2016.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: decay rates of the running means of the gradient and of its square, each in [0, 1).
        eps: added to the denominator for numerical stability.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); see `decoupled_weight_decay`.
        momentum_decay: rate at which the momentum approaches `betas[0]`, see above.
        decoupled_weight_decay: apply the weight decay to the parameters instead of the gradient, as `AdamW` does.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative, or a beta is not in [0, 1).

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.NAdam([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step()
        >>> [round(x, 4) for x in w.tolist()]
        [0.4718, 1.4718]
    """

    rule = staticmethod(nadam)
    scalars = ("step", "mu_product")
    captured_names = "params, mu_products and state_steps"

    def __init__(
        self,
        params: Params,
        lr: Scalar = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check.not_negative(momentum_decay, "Invalid momentum_decay value")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": scalar_state(0, param, group),
            "mu_product": scalar_state(1, param, group),
            "exp_avg": torch.zeros_like(param),
            "exp_avg_sq": torch.zeros_like(param),
        }
