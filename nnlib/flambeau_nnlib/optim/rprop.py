"""Rprop, resilient backpropagation."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Rprop", "rprop"]


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    etas: tuple[float, float] = (0.5, 1.2),
    step_sizes: tuple[float, float] = (1e-6, 50),
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Rprop` in place.

    `states` holds `step`, `prev` and `step_size` of each parameter.
    """
    slower, faster = etas
    grads = descent(params, grads, maximize)
    for param, grad, state in real_views(params, grads, states):
        state["step"].add_(1)
        agreement = grad * state["prev"]
        sign_changed = agreement < 0
        growth = torch.ones_like(grad).masked_fill_(agreement > 0, faster).masked_fill_(sign_changed, slower)
        step_size = state["step_size"].mul_(growth).clamp_(*step_sizes)
        grad = grad.masked_fill(sign_changed, 0)
        param.addcmul_(grad.sign(), step_size, value=-1)
        state["prev"].copy_(grad)


class Rprop(FirstOrder):
    """Resilient backpropagation: it uses only the signs of the gradient, and a separate step size for every element.

    A step size grows while the sign of the gradient stays, and shrinks, with a pause of one step, when the sign
    changes. Rprop requires gradients of the entire data set, because the signs of small batches change too often.

    Riedmiller and Braun, [A direct adaptive method for faster backpropagation learning: the RPROP
    algorithm](https://doi.org/10.1109/ICNN.1993.298623), 1993.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: initial step size, a number or a tensor of one element, not negative.
        etas: factors by which a step size shrinks (between 0 and 1) and grows (above 1).
        step_sizes: minimum and maximum step size.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: `lr` is negative, or `etas` are out of range.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Rprop([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(rprop)

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check.lr(lr)
        check.that(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        lr = float(group["lr"])
        return {
            "step": scalar_state(0, param, group),
            "prev": torch.zeros_like(param),
            "step_size": torch.full_like(param, complex(lr, lr) if param.is_complex() else lr),
        }
