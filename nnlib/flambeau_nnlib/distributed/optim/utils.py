"""Optimizers that receive gradients as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ... import optim
from ...optim import Optimizer

__all__ = ["as_functional_optim", "functional_optim_map", "register_functional_optim"]


class FunctionalOptimizer:
    """An optimizer that receives gradients as arguments, for one or for all parameters.

    Args:
        optim_cls: the optimizer class.
        params: the parameters that `step` updates.
        args, kwargs: arguments of the optimizer class.
    """

    def __init__(self, optim_cls: Any, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        self._cls, self._options = optim_cls, (args, kwargs)
        self.param_group: dict[str, Any] = {"params": list(params)}
        self._optimizers: dict[Tensor, Optimizer] = {}
        optim_cls([torch.zeros(1)], *args, **kwargs)  # only to raise an error for invalid options

    @property
    def state(self) -> dict[Tensor, Any]:
        """Return the optimizer states by parameter."""
        return {param: optimizer.state[param] for param, optimizer in self._optimizers.items()}

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Update one parameter with its gradient."""
        args, kwargs = self._options
        if param not in self._optimizers:
            self._optimizers[param] = self._cls([param], *args, **kwargs)
        before, param.grad = param.grad, grad
        try:
            self._optimizers[param].step()
        finally:
            param.grad = before

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Update all parameters. Raise ValueError unless `gradients` has one entry per parameter."""
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters!"
                f"Params length: {len(params)}. Gradients length: {len(gradients)}"
            )
        for param, grad in zip(params, gradients, strict=True):
            self.step_param(param, grad)


_KNOWN = (optim.Adagrad, optim.Adam, optim.AdamW, optim.SGD, optim.Adadelta, optim.RMSprop, optim.Rprop, optim.Adamax)
functional_optim_map: dict[Any, Any] = dict.fromkeys(_KNOWN, FunctionalOptimizer)


def register_functional_optim(key: Any, optim: Any) -> None:
    """Register `optim`, so that `as_functional_optim(key, ...)` returns `optim(params, ...)`."""
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return an optimizer that receives gradients as arguments: `step_param(param, grad)`.

    Args:
        optim_cls: a class of `torch.optim`.
        args, kwargs: arguments of the optimizer class.

    Raises:
        ValueError: the class has no functional counterpart.

    >>> x = torch.ones(2)
    >>> as_functional_optim(torch.optim.SGD, lr=0.5).step_param(x, torch.ones(2)); x
    tensor([0.5000, 0.5000])
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    functional = functional_optim_map[optim_cls]
    if functional is FunctionalOptimizer:
        return FunctionalOptimizer(optim_cls, [], *args, **kwargs)
    return functional([], *args, **kwargs, _allow_empty_param_list=True)
