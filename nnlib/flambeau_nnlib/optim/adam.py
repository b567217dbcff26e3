"""Adam and AMSGrad."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import fused_step

from . import check
from .first_order import FirstOrder, Scalar, addcdiv_, can_fuse, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Adam", "adam"]


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    betas: tuple[Scalar, Scalar] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: Scalar = 0,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled_weight_decay: bool = False,
    capturable: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Adam` in place.

    `states` holds `step`, `exp_avg`, `exp_avg_sq` and, for `amsgrad`, `max_exp_avg_sq` of each
    parameter.
    """
    beta1, beta2 = betas
    options = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": weight_decay}
    fuses = can_fuse("adam_step", params, capturable, options)
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state, capturable)
        mean, variance = state["exp_avg"], state["exp_avg_sq"]
        largest = state["max_exp_avg_sq"] if amsgrad else None
        if fuses and fused_step(
            "adam_step",
            param,
            grad,
            mean,
            variance,
            largest,
            **options,
            step=t,
            decoupled=decoupled_weight_decay,
            maximize=maximize,
        ):
            continue
        [grad] = descent([param], [grad], maximize, weight_decay, lr if decoupled_weight_decay else None)
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor):
            variance.lerp_(grad.square(), 1 - beta2)
        else:
            variance.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if largest is not None:
            variance = largest.copy_(torch.maximum(largest.clone(), variance))
        # Bias correction of the scalar step size, rather than of the denominator, saves a pass over the parameter.
        correction = (1 - beta2**t) ** 0.5
        step_size = lr / (1 - beta1**t) * correction
        addcdiv_(param, mean, variance.sqrt() + eps * correction, -step_size)


class Adam(FirstOrder):
    """Adam: each step is the running mean of the gradient divided by its running root mean square.

    With the running means `m = betas[0] * m + (1 - betas[0]) * grad` and `v = betas[1] * v + (1 - betas[1]) * grad **
    2`, both bias-corrected for their start at zero, a step is `param -= lr * m / (sqrt(v) + eps)`. Its length is about
    `lr`, whatever the scale of the gradient.

    Kingma and Ba, [Adam: A Method for Stochastic Optimization](https://arxiv.org/abs/1412.6980), 2014.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: decay rates of the running means of the gradient and of its square, each in [0, 1).
        eps: added to the denominator for numerical stability.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); see `decoupled_weight_decay`.
        amsgrad: divide by the maximum of all mean squares so far, as in Reddi, Kale and Kumar, [On the Convergence of
            Adam and Beyond](https://openreview.net/forum?id=ryQu7f-RZ), 2018.
        foreach, fused: accepted for compatibility; they do not change the results. At most one of them may be True.
        maximize: maximize the objective instead of minimizing it.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        differentiable: record the step for autograd, for example to optimize hyperparameters.
        decoupled_weight_decay: apply the weight decay to the parameters instead of the gradient, as `AdamW` does.

    Raises:
        ValueError: an option is negative, or a beta is not in [0, 1).
        RuntimeError: `fused` is True together with `foreach` or `differentiable`.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adam([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(adam)
    kernel = "adam_step"

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        betas: tuple[Scalar, Scalar] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        unsupported = "as a Tensor is not supported for capturable=False and foreach=True"
        check.that(not (isinstance(lr, Tensor) and foreach and not capturable), f"lr {unsupported}")
        check.lr(lr)
        check.not_negative(eps, "Invalid epsilon value")
        check.betas(betas)
        check.not_negative(weight_decay, "Invalid weight_decay value")
        check.that(
            all(isinstance(beta, float) for beta in betas) or all(isinstance(beta, Tensor) for beta in betas),
            "betas must be either both floats or both Tensors",
        )
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                check.that(capturable or not foreach, f"betas[{i}] {unsupported}")
                check.that(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": tuple(beta.squeeze() if isinstance(beta, Tensor) else beta for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check.fused(fused, foreach, differentiable)

    def _check(self, params: list[Tensor], group: Group) -> None:
        if isinstance(group["lr"], Tensor) and group["foreach"] and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        super()._check(params, group)

    def init_state(self, param: Tensor, group: Group) -> State:
        state = {
            "step": scalar_state(0, param, group),
            "exp_avg": torch.zeros_like(param),
            "exp_avg_sq": torch.zeros_like(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = torch.zeros_like(param)
        return state
