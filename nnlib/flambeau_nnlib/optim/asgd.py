"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import step_count

from . import check
from .first_order import FirstOrder, Scalar, add_, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["ASGD", "asgd"]


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    lambd: float = 1e-4,
    alpha: float = 0.75,
    t0: float = 1e6,
    weight_decay: float = 0,
    maximize: bool = False,
    capturable: bool = False,
    **_: Any,
) -> None:
    """Do one step of `ASGD` in place.

    `states` holds `step`, `eta`, `mu` and `ax` of each parameter.
    """
    grads = descent(params, grads, maximize, weight_decay)
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state, capturable)
        eta, mu, average = state["eta"], state["mu"], state["ax"]
        step_size, weight = (eta, mu) if capturable else (step_count(eta), step_count(mu))
        param.mul_(1 - lambd * step_size)
        add_(param, grad, -step_size)
        add_(average.mul_(1 - weight), param, weight)
        eta.fill_(lr / (1 + lambd * lr * t) ** alpha)
        mu.fill_(1 / (t - t0).clamp(min=1) if isinstance(t, Tensor) else 1 / max(1, t - t0))


class ASGD(FirstOrder):
    """Averaged stochastic gradient descent: decreasing steps, and a running mean of the parameters over the last steps.

    Step t is `param -= eta * grad` after `param *= 1 - lambd * eta`, with `eta = lr / (1 + lambd * lr * t) ** alpha`.
    The averages are in `optimizer.state[param]["ax"]`; copy them to the parameters after training.

    Polyak and Juditsky, [Acceleration of stochastic approximation by averaging](https://doi.org/10.1137/0330046), 1992.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: initial learning rate, a number or a tensor of one element, not negative.
        lambd: decay factor of the parameters and the learning rate, see above.
        alpha: exponent of the decay of the learning rate.
        t0: first step of the average; before it, the average equals the parameter.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.
        capturable: avoid synchronization with the device, so that a device graph can capture the step; not on a CPU.

    Raises:
        ValueError: `lr` or `weight_decay` is negative.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.ASGD([w], lr=0.5, lambd=0)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(asgd)
    captured_names = "params, mus, etas, and state_steps"
    scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check.lr(lr)
        check.not_negative(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": scalar_state(0, param, group, on_device=True),
            "eta": scalar_state(group["lr"], param, group, on_device=True),
            "mu": scalar_state(1, param, group, on_device=True),
            "ax": torch.zeros_like(param),
        }
