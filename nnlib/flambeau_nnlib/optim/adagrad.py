"""The optimizer `Adagrad`, and its step as the function `adagrad`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, addcdiv_, count_step, descent, real_views, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Adagrad", "adagrad"]


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: Scalar,
    lr_decay: float = 0,
    weight_decay: float = 0,
    eps: float = 1e-10,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Adagrad` in place; `states` holds `step` and `sum` of each parameter."""
    if weight_decay != 0 and any(grad.is_sparse for grad in grads):
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    grads = descent(params, grads, maximize, weight_decay)
    if any(grad.is_sparse for grad in grads):
        for param, grad, state in zip(params, grads, states, strict=True):
            if grad.is_sparse:
                _sparse_step(param, grad.coalesce(), state, lr, lr_decay, eps)
            else:
                adagrad([param], [grad], [state], lr=lr, lr_decay=lr_decay, eps=eps)
        return
    for param, grad, state in real_views(params, grads, states):
        t = count_step(state)
        total = state["sum"].addcmul_(grad, grad)
        addcdiv_(param, grad, total.sqrt() + eps, -lr / (1 + (t - 1) * lr_decay))


def _sparse_step(param: Tensor, grad: Tensor, state: State, lr: Scalar, lr_decay: float, eps: float) -> None:
    """Update the elements that a sparse gradient contains."""
    t, places, values = count_step(state), tuple(grad.indices()), grad.values()
    total = state["sum"][places] + values * values
    state["sum"][places] = total
    param[places] -= lr / (1 + (t - 1) * lr_decay) * values / (total.sqrt() + eps)


class Adagrad(FirstOrder):
    """Adagrad: elements with large past gradients get smaller steps.

    With the sum `s` of all squared gradients so far, step t is `param -= lr / (1 + (t - 1) * lr_decay) * grad /
    (sqrt(s) + eps)`.

    Duchi, Hazan and Singer, [Adaptive Subgradient Methods for Online Learning and Stochastic
    Optimization](https://jmlr.org/papers/v12/duchi11a.html), 2011.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        lr_decay: decay of the learning rate, see the formula above; 0 for none.
        weight_decay: `weight_decay * param` is added to the gradient (an L2 penalty); 0 for none.
        initial_accumulator_value: initial value of the sums of squared gradients; larger values make the first steps
            smaller.
        eps: added to the denominator for numerical stability.
        foreach, fused: accepted for compatibility; they do not change the results. At most one of them may be True.
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative.
        RuntimeError: `fused` is True together with `foreach` or `differentiable`.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 1.5]
    """

    rule = staticmethod(adagrad)
    takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check.lr(lr)
        check.not_negative(lr_decay, "Invalid lr_decay value")
        check.not_negative(weight_decay, "Invalid weight_decay value")
        check.not_negative(initial_accumulator_value, "Invalid initial_accumulator_value value")
        check.not_negative(eps, "Invalid epsilon value")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check.fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self.init_state(param, group)

    def init_state(self, param: Tensor, group: Group) -> State:
        start = self.defaults["initial_accumulator_value"]
        return {
            "step": scalar_state(0, param, group),
            "sum": torch.full_like(param, complex(start, start) if param.is_complex() else start),
        }

    def share_memory(self) -> None:
        """Move the sums of squared gradients to shared memory, so that several processes can update them."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()
