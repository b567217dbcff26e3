"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .adam import Adam
from .first_order import Scalar
from .optimizer import Params

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters by themselves: `param *= 1 - lr * weight_decay` before each step.

    In `Adam` the weight decay enters the gradient and so is divided by the gradient's size, which makes it weak
    where gradients are large. Here all parameters shrink at the same rate.

    Loshchilov and Hutter, [Decoupled Weight Decay Regularization](https://arxiv.org/abs/1711.05101), 2017.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: the shares of the running means of the gradient and of its square that stay from step to step, each from 0
            to below 1.
        eps: added to the denominator, so that elements with tiny gradients do not leap.
        weight_decay: the rate at which parameters shrink, relative to `lr`; 0 for none.
        amsgrad: divide by the largest mean square so far, as in Reddi, Kale and Kumar, [On the Convergence of Adam and
            Beyond](https://openreview.net/forum?id=ryQu7f-RZ), 2018.
        maximize: go up the objective, not down.
        foreach, fused: accepted, for the results do not depend on them; at most one of them may be True.
        capturable: count the steps on the device, so that a device graph can capture the step; not on a CPU.
        differentiable: let gradients flow through the step, for optimizing what it depends on.

    Raises:
        ValueError: an option is negative, or a beta is not from 0 to below 1.
        RuntimeError: `fused` is True together with `foreach` or `differentiable`.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=1.0)
        >>> w.sum().backward(); optimizer.step(); [round(x, 4) for x in w.tolist()]
        [0.0, 0.5]
    """

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        betas: tuple[Scalar, Scalar] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints written by an Adam too
            group["decoupled_weight_decay"] = True
