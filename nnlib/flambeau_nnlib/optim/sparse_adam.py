"""SparseAdam, the variant of Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import check
from .first_order import FirstOrder, Scalar
from .optimizer import Group, Params, State

__all__ = ["SparseAdam", "sparse_adam"]


def sparse_adam(
    params: list[Tensor],
    grads: list[Tensor],
    states: list[State],
    /,
    *,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    maximize: bool = False,
    **_: Any,
) -> None:
    """Do one step of `SparseAdam` in place; `states` holds `step`, `exp_avg` and `exp_avg_sq` of each parameter."""
    beta1, beta2 = betas
    for param, grad, state in zip(params, grads, states, strict=True):
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state["step"] += 1
        grad = grad.coalesce()
        places, values = tuple(grad.indices()), -grad.values() if maximize else grad.values()
        mean = state["exp_avg"][places].lerp(values, 1 - beta1)
        square = state["exp_avg_sq"][places].lerp(values * values, 1 - beta2)
        state["exp_avg"][places], state["exp_avg_sq"][places] = mean, square
        rate = lr * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        param[places] -= rate * mean / (square.sqrt() + eps)


class SparseAdam(FirstOrder):
    """Lazy `Adam` for embeddings: updates only the rows that the sparse gradient contains, and their running means.

    All gradients must be sparse, such as those of `Embedding(sparse=True)`.

    Args:
        params: the tensors, named tensors or groups to optimize; see `Optimizer`.
        lr: learning rate, a number or a tensor of one element, above 0.
        betas: decay rates of the running means of the gradient and of its square, each in [0, 1).
        eps: added to the denominator for numerical stability; above 0.
        maximize: maximize the objective instead of minimizing it.

    Raises:
        ValueError: an option is out of range, or a parameter is complex or sparse.
        RuntimeError: in `step`, a gradient is dense.

    Example:
        >>> words = torch.nn.Embedding(3, 2, sparse=True)
        >>> before, optimizer = words.weight.detach().clone(), torch.optim.SparseAdam(words.parameters())
        >>> words(torch.tensor([1])).sum().backward(); optimizer.step(); (words.weight != before).any(1).tolist()
        [False, True, False]
    """

    rule = staticmethod(sparse_adam)
    flattens = False
    takes_sparse = True
    scalars = ()

    def __init__(
        self,
        params: Params,
        lr: Scalar = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check.that(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check.that(0.0 < lr, f"Invalid learning rate: {lr}")  # noqa: SIM300 (a TypeError names the sides in this order)
        check.that(0.0 < eps, f"Invalid epsilon value: {eps}")  # noqa: SIM300
        check.betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        groups = list(enumerate(self.param_groups))
        places = [[i, j] for i, group in groups for j, param in enumerate(group["params"]) if param.is_complex()]
        sparse = [[i, j] for i, group in groups for j, param in enumerate(group["params"]) if param.is_sparse]
        check.that(not sparse, f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        check.that(not places, f"Complex params at indices {places}: SparseAdam does not support complex parameters")

    def init_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "exp_avg": torch.zeros_like(param), "exp_avg_sq": torch.zeros_like(param)}
