"""Adafactor, Adam with a factored second moment."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar, count_step, descent, scalar_state
from .optimizer import Group, Params, State

__all__ = ["Adafactor", "adafactor"]


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: float,
    beta2_decay: float = -0.8,
    eps: tuple[float | None, float] = (None, 1e-3),
    d: float = 1.0,
    weight_decay: float = 0.0,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `Adafactor` in place.

    `states` holds `step` and `variance` for each vector, and `step`, `row_var` and `col_var` for each
    matrix.
    """
    grads = descent(params, grads, maximize)
    for param, grad, state in zip(params, grads, states, strict=True):
        t = count_step(state)
        eps1 = torch.finfo(param.dtype).eps if eps[0] is None else eps[0]
        step_size = _rms(param).clamp(min=eps[1]) * min(lr, t**-0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        variance = _factored_variance if grad.dim() > 1 else _plain_variance
        update = grad * variance(grad, state, t**beta2_decay, eps1).clamp_(min=eps1 * eps1).rsqrt_()
        param.sub_(update.mul_(step_size / (_rms(update) / d).clamp(min=1)))


def _rms(x: Tensor) -> Tensor:
    """Return the root mean square as a tensor, at least in float32. Unlike a number, it avoids waiting for the device."""
    rms: Tensor = x.norm() / max(x.numel(), 1) ** 0.5
    return rms.to(torch.promote_types(x.dtype, torch.float32))


def _plain_variance(grad: Tensor, state: State, novelty: Scalar, eps: float) -> Tensor:
    variance: Tensor = state["variance"].lerp_(grad.square(), novelty)
    return variance.clone()


def _factored_variance(grad: Tensor, state: State, novelty: Scalar, eps: float) -> Tensor:
    """Update the means of the squared gradient per row and column; return their outer product over the overall mean."""
    square = grad.square()
    rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), novelty)
    columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), novelty)
    variance: Tensor = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=eps))
    return variance


class Adafactor(FirstOrder):
    """Adafactor: Adam with mean squares factored into row and column means, which saves memory.

    It has no running mean of the gradient. The length of an update is relative to the root mean square of the
    parameter, with factor `min(lr, 1 / sqrt(t))` in step t.

    Shazeer and Stern, [Adafactor: Adaptive Learning Rates with Sublinear Memory
    Cost](https://arxiv.org/abs/1804.04235), 2018.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: maximum relative step size; a number or a tensor of one element.
        beta2_decay: in step t, new squared gradients have the weight `t ** beta2_decay` in their running mean; at most
            0.
        eps: two lower bounds: of the root mean squared gradient (None: the dtype's epsilon), and of the root mean
            square of the parameter, so that parameters initialized to zero change.
        d: root mean square at which updates are clipped, at least 1.
        weight_decay: parameters are multiplied by `1 - lr * weight_decay` in each step; 0 for none.
        foreach: accepted for compatibility; it does not change the results.
        maximize: maximize the objective instead of minimizing it.

    Raises:
        ValueError: an option is out of range.
        RuntimeError: from `step`, for a complex parameter.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
        >>> optimizer = torch.optim.Adafactor([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); w.tolist()
        [0.5, 0.5]
    """

    rule = staticmethod(adafactor)
    flattens = False

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check.lr(lr, "Learning rate should be >= 0 but is")
        check.that(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check.not_negative(eps[0], "epsilon1 should be >= 0 but is")
        check.not_negative(eps[1], "epsilon2 should be >= 0 but is")
        check.that(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check.not_negative(weight_decay, "weight_decay should be >= 0 but is")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def init_state(self, param: Tensor, group: Group) -> State:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        step = scalar_state(0, param, group)
        if param.dim() < 2:
            return {"step": step, "variance": torch.zeros_like(param)}
        *stack, rows, columns = param.shape
        return {
            "step": step,
            "row_var": param.new_zeros((*stack, rows, 1)),
            "col_var": param.new_zeros((*stack, 1, columns)),
        }
