"""Muon, momentum orthogonalized by Newton-Schulz iterations."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar
from .optimizer import Group, Params, State

__all__ = ["Muon", "muon"]

Coefficients = tuple[float, float, float]


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: float,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
    ns_coefficients: Coefficients = (3.4445, -4.775, 2.0315),
    eps: float = 1e-7,
    ns_steps: int = 5,
    adjust_lr_fn: str | None = None,
    **_: Any,
) -> None:
    """Do one step of `Muon` in place; `states` holds the `momentum_buffer` of each matrix."""
    for param, grad, state in zip(params, grads, states, strict=True):
        check.that(grad.ndim == 2, "Param gradient must be a 2D matrix")
        velocity = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = orthogonalize(grad.lerp(velocity, momentum) if nesterov else velocity, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-lr * _lr_factor(adjust_lr_fn, *param.shape))


def orthogonalize(matrix: Tensor, coefficients: Coefficients, steps: int, eps: float) -> Tensor:
    """Return an approximation, in bfloat16, of the orthogonal matrix closest to `matrix`.

    The coefficients of the quintic iteration maximize its slope at zero. It brings all singular values near 1, not to
    exactly 1.
    """
    check.that(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    check.that(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _lr_factor(adjust_lr_fn: str | None, rows: int, columns: int) -> float:
    """Return the factor that makes the root mean square of updates independent of the matrix shape."""
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


class Muon(FirstOrder):
    """Muon: the update of a matrix is its momentum, approximately orthogonalized.

    The update therefore has about the same length in all directions. Muon is for the matrices of hidden layers;
    optimize embeddings, biases and other parameters with another optimizer such as `AdamW`.

    Jordan et al., [Muon: An optimizer for hidden layers in neural
    networks](https://kellerjordan.github.io/posts/muon/), 2024.

    Args:
        params: the matrices, named matrices or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, not negative.
        weight_decay: parameters are multiplied by `1 - lr * weight_decay` in each step.
        momentum: decay rate of the running mean of the gradient.
        nesterov: use Nesterov momentum.
        ns_coefficients: the three coefficients of the Newton-Schulz polynomial, which brings the singular values near 1.
        eps: lower bound of the norm by which a matrix is divided.
        ns_steps: the number of Newton-Schulz iterations, below 100.
        adjust_lr_fn: factor of the learning rate for a matrix of shape `(n, m)`. `"original"` or None: `sqrt(max(1, n /
            m))`. `"match_rms_adamw"`: `0.2 * sqrt(max(n, m))`, so that learning rates for `AdamW` can be used, as in
            Liu et al., [Muon is Scalable for LLM Training](https://arxiv.org/abs/2502.16982), 2025.

    Raises:
        ValueError: an option is out of range, or a parameter is not a matrix.
        RuntimeError: from `step`, for a complex parameter.

    Example:
        >>> w = torch.nn.Parameter(torch.zeros(2, 3))
        >>> optimizer = torch.optim.Muon([w], lr=0.5)
        >>> w.sum().backward(); optimizer.step(); bool((w < 0).all())
        True
    """

    rule = staticmethod(muon)
    flattens = False
    scalars = ()

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Coefficients = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check.lr(lr, "Learning rate should be >= 0 but is")
        check.not_negative(momentum, "momentum should be >= 0 but is")
        check.not_negative(weight_decay, "weight decay should be >= 0 but is")
        check.that(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                check.that(
                    p.ndim == 2,
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}",
                )

    def init_state(self, param: Tensor, group: Group) -> State:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": torch.zeros_like(param)}
