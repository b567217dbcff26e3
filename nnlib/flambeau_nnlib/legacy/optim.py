"""Optimizers as functions, in the style of Lua Torch.

Each is called as `x, losses = sgd(closure, x, config, state)`. The closure takes the parameters, one flat
tensor, and returns the loss and its gradient; `x` is updated in place. The configuration is a dict of
options; what has to be remembered from step to step goes into `state`, which is the configuration itself
where none is given.

>>> import flambeau as torch
>>> x, config = torch.tensor([4.0]), {"learningRate": 0.25}
>>> for _ in range(2):
...     x, losses = torch.legacy.optim.sgd(lambda x: ((x**2).sum(), 2 * x), x, config)
>>> x, losses
(tensor([1.]), [tensor(4.)])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "lbfgs", "rmsprop", "rprop", "sgd"]

Closure = Callable[[Tensor], tuple[Any, Tensor]]

_ARGUMENTS = {
    "learningRate": "lr",
    "weightDecay": "weight_decay",
    "epsilon": "eps",
    "maxIter": "max_iter",
    "maxEval": "max_eval",
    "tolFun": "tolerance_grad",
    "tolX": "tolerance_change",
    "nCorrection": "history_size",
}
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("stepsizemin", "stepsizemax"),
}


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the optimizer class for options by their Lua names."""
    arguments = {_ARGUMENTS.get(name, name): value for name, value in options.items()}
    for name, parts in _PAIRS.items():
        if parts[0] in arguments:
            arguments[name] = tuple(arguments.pop(part) for part in parts)
    if arguments.get("dampening", 0) is None:
        arguments["dampening"] = arguments["momentum"]
    return arguments


def _function(optimizer: str, **defaults: Any) -> Callable[..., tuple[Tensor, list[Any]]]:
    """`torch.optim.<optimizer>` as a function."""

    def step(opfunc: Closure, x: Tensor, config: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
        state = config if state is None else state
        if "optimizer" not in state:
            options = {name: config.get(name, default) for name, default in defaults.items()}
            state["optimizer"] = getattr(torch.optim, optimizer)([x], **_arguments(options))
            state["evalCounter"] = 0
        decay = 1 + state["evalCounter"] * config.get("learningRateDecay", 0)
        state["optimizer"].param_groups[0]["lr"] = config.get("learningRate", defaults["learningRate"]) / decay
        losses = []

        def closure() -> Any:
            loss, x.grad = opfunc(x)
            losses.append(loss)
            return loss

        state["optimizer"].step(closure)
        state["evalCounter"] += 1
        x.grad = None
        return x, losses

    step.__name__ = step.__qualname__ = optimizer.lower()
    shown = ", ".join(f"`{name}`" for name in defaults)
    step.__doc__ = f"One step of `torch.optim.{optimizer}`, with the options {shown} and `learningRateDecay`."
    return step


sgd = _function("SGD", learningRate=1e-3, weightDecay=0, momentum=0, dampening=None, nesterov=False)
adam = _function("Adam", learningRate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, weightDecay=0)
adamax = _function("Adamax", learningRate=2e-3, beta1=0.9, beta2=0.999, epsilon=1e-38, weightDecay=0)
adagrad = _function("Adagrad", learningRate=1e-3, weightDecay=0)
adadelta = _function("Adadelta", learningRate=1, rho=0.9, eps=1e-6, weightDecay=0)
rmsprop = _function("RMSprop", learningRate=1e-2, alpha=0.99, epsilon=1e-8, weightDecay=0)
rprop = _function("Rprop", learningRate=0.1, etaminus=0.5, etaplus=1.2, stepsizemin=1e-6, stepsizemax=50)
asgd = _function("ASGD", learningRate=1e-4, lambd=1e-4, alpha=0.75, t0=1e6, weightDecay=0)
lbfgs = _function("LBFGS", learningRate=1, maxIter=20, maxEval=None, tolFun=1e-5, tolX=1e-9, nCorrection=100)
