"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .adam import Adam
from .first_order import Scalar
from .optimizer import Params

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters and leaves the running means alone, as in [Decoupled
    Weight Decay Regularization](https://arxiv.org/abs/1711.05101).

    The arguments are those of `Adam`, without `decoupled_weight_decay`.

    Example:
        >>> import flambeau as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=1.0)
        >>> w.sum().backward(); optimizer.step(); [round(each, 4) for each in w.tolist()]
        [0.0, 0.5]
    """

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        betas: tuple[Scalar, Scalar] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: Scalar = 1e-2,
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
