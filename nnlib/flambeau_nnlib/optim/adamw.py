"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .adam import Adam
from .first_order import Scalar
from .optimizer import Params

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with weight decay applied directly to the parameters: `param *= 1 - lr * weight_decay` before each step.

    In `Adam`, the weight decay is added to the gradient, so it is divided by the gradient's root mean square and has
    less effect on elements with large gradients. Here all elements shrink at the same rate.

    Loshchilov and Hutter, [Decoupled Weight Decay Regularization](https://arxiv.org/abs/1711.05101), 2017.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        betas: decay rates of the running means of the gradient and of its square, each in [0, 1).
        eps: added to the denominator for numerical stability.
        weight_decay: factor of the decay, see above; 0 for none.
        amsgrad: divide by the maximum of all mean squares so far, as in Reddi, Kale and Kumar, [On the Convergence of
            Adam and Beyond](https://openreview.net/forum?id=ryQu7f-RZ), 2018.
        maximize: maximize the objective instead of minimizing it.
        foreach, fused: accepted for compatibility; they do not change the results. At most one of them may be True.
        capturable: count the steps on the device, so that a device graph can capture the step; not supported on the CPU.
        differentiable: record the step for autograd, for example to optimize hyperparameters.

    Raises:
        ValueError: an option is negative, or a beta is not in [0, 1).
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
        for group in self.param_groups:  # checkpoints of `Adam` have another value
            group["decoupled_weight_decay"] = True
