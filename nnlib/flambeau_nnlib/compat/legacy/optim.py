"""Optimizers as functions, in the style of Lua Torch.

Each is called as `x, losses = sgd(closure, x, config, state)`. The closure takes the parameters, one flat tensor, and returns
the loss and its gradient; `x` is updated in place. `config` is a dict of options. The optimizer's state is stored in the dict
`state`, or in `config` if no state is given.

>>> x, config = torch.tensor([4.0]), {"learningRate": 0.25}
>>> for _ in range(2):
...     x, losses = torch.legacy.optim.sgd(lambda x: ((x**2).sum(), 2 * x), x, config)
>>> x, losses
(tensor([1.]), [tensor(4.)])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "cg", "lbfgs", "nag", "rmsprop", "rprop", "sgd"]

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
    """Convert options with Lua names to the arguments of an optimizer class."""
    arguments = {_ARGUMENTS.get(name, name): value for name, value in options.items()}
    for name, parts in _PAIRS.items():
        if parts[0] in arguments:
            arguments[name] = tuple(arguments.pop(part) for part in parts)
    if arguments.get("dampening", 0) is None:
        arguments["dampening"] = arguments["momentum"]
    return arguments


def _function(optimizer: str, **defaults: Any) -> Callable[..., tuple[Tensor, list[Any]]]:
    """Return `torch.optim.<optimizer>` as a function."""

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


def nag(opfunc: Closure, x: Tensor, config: dict[str, Any], state: dict[str, Any] | None = None) -> tuple[Tensor, list[Any]]:
    """Take a step of Nesterov's accelerated gradient, with the gradient at the look-ahead point `x + momentum * velocity`.

    Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep learning", 2013.

    Args:
        opfunc: returns the loss and its gradient at a point.
        x: the parameters.
        config: the options `learningRate` (0.001), `learningRateDecay`, `weightDecay`, `momentum` (0.9), and
            `learningRates`, a factor for each parameter.
        state: the state between steps; `config` by default.

    Raises:
        ValueError: the momentum is not positive.

    >>> x, config = torch.tensor([4.0]), {"learningRate": 0.1, "momentum": 0.5}
    >>> for _ in range(2):
    ...     x, losses = nag(lambda x: ((x**2).sum(), 2 * x), x, config)
    >>> x, losses
    (tensor([2.2400]), [tensor(7.8400)])
    """
    state = config if state is None else state
    momentum, decay = config.get("momentum", 0.9), config.get("weightDecay", 0)
    if momentum <= 0:
        raise ValueError("Momentum must be positive for Nesterov Accelerated Gradient")
    if "dfdx" in state:
        state["dfdx"].mul_(momentum)
        x.add_(state["dfdx"])
    else:
        state["dfdx"], state["evalCounter"] = torch.zeros_like(x), 0
    loss, gradient = opfunc(x)
    gradient = gradient + decay * x if decay else gradient
    if config.get("learningRates") is not None:
        gradient = gradient * config["learningRates"]
    step = gradient * (config.get("learningRate", 1e-3) / (1 + state["evalCounter"] * config.get("learningRateDecay", 0)))
    x.sub_(step)
    state["dfdx"].sub_(step)
    state["evalCounter"] += 1
    return x, [loss]


def cg(opfunc: Closure, x: Tensor, config: dict[str, Any], state: dict[str, Any] | None = None) -> tuple[Tensor, list[Any], int]:
    """Minimize a function by conjugate gradients with polynomial line searches: Rasmussen's `minimize`.

    Args:
        opfunc: returns the loss and its gradient at a point.
        x: the starting point; it is moved to the best point found.
        config: the options `maxEval` (1.25 times `maxIter`), the maximum number of evaluations; `maxIter` (20), the maximum
            number of evaluations in one line search; `rho` (0.01) and `sig` (0.5), the constants of the Wolfe-Powell
            conditions; `int` (0.1) and `ext` (3), the limits of interpolation and extrapolation; `ratio` (100), the maximum
            ratio of two slopes.
        state: unused; no state is kept between calls.

    Returns:
        The point, the losses before and after each line search, and the number of evaluations.

    >>> x, losses, count = cg(lambda x: ((x**2).sum(), 2 * x), torch.tensor([4.0, -2.0]), {})
    >>> bool(losses[0] == 20), bool(x.abs().max() < 1e-6), count < 25
    (True, True, True)
    """
    max_iter, ratio = config.get("maxIter", 20), config.get("ratio", 100)
    max_eval = abs(config.get("maxEval", max_iter * 1.25))
    evaluations = 0

    def evaluate() -> tuple[float, Tensor]:
        nonlocal evaluations
        evaluations += 1
        loss, gradient = opfunc(x)
        return float(loss), gradient.clone()

    loss, gradient = evaluate()
    losses = [loss]
    direction = -gradient
    slope = -float(direction.dot(direction))
    step, has_failed = 1 / (1 - slope), False
    while evaluations < max_eval:
        start = x.clone()
        left = min(max_iter, max_eval - evaluations - 1)
        found, new_loss, new_gradient, length = _search_line(evaluate, x, direction, (loss, slope), step, left, config)
        if not found:
            x.copy_(start)
            if has_failed or evaluations > max_eval:
                break
            gradient = new_gradient  # like Rasmussen's `minimize`: the gradient of the last evaluated point
            direction = -gradient
            slope = -float(direction.dot(direction))
            step, has_failed = 1 / (1 - slope), True
            continue
        loss = new_loss
        losses.append(loss)
        # Use the Polak-Ribiere direction, or steepest descent if that is not a descent direction.
        factor = (new_gradient.dot(new_gradient) - new_gradient.dot(gradient)) / gradient.dot(gradient)
        gradient, direction, old_slope = new_gradient, direction * factor - new_gradient, slope
        slope = float(gradient.dot(direction))
        if slope > 0:
            direction = -gradient
            slope = -float(direction.dot(direction))
        if slope == 0:  # the gradient is zero, so `x` is a stationary point
            break
        step, has_failed = length * min(ratio, old_slope / slope), False
    return x, losses, evaluations


def _search_line(
    evaluate: Callable[[], tuple[float, Tensor]],
    x: Tensor,
    direction: Tensor,
    start: tuple[float, float],
    length: float,
    left: float,
    config: dict[str, Any],
) -> tuple[bool, float, Tensor, float]:
    """Move `x` along a direction until the loss and the slope satisfy the Wolfe-Powell conditions.

    Return whether such a point was found, the loss and the gradient at the last point, and its distance from the start.

    Args:
        evaluate: returns the loss and its gradient at `x`.
        x: the starting point, moved in place.
        direction: the search direction.
        start: the loss and the slope at the starting point.
        length: the initial step length.
        left: the maximum number of further evaluations.
        config: the options of `cg`.
    """
    rho, sig = config.get("rho", 0.01), config.get("sig", 0.5)
    inwards, outwards = config.get("int", 0.1), config.get("ext", 3.0)
    loss0, slope0 = start
    before, slope_before, distance = loss0, slope0, -length  # loss, slope, relative position of the last point
    limit = math.inf  # an upper bound for the position of the minimum on the line

    def move(by: float) -> tuple[float, Tensor, float]:
        x.add_(direction, alpha=by)
        loss, gradient = evaluate()
        return loss, gradient, float(gradient.dot(direction))

    def is_too_far() -> bool:
        return not (loss <= loss0 + length * rho * slope0 and slope <= -sig * slope0)

    loss, gradient, slope = move(length)
    while True:
        while is_too_far() and left > 0:
            limit = length
            if loss > loss0:  # go to the minimum of the quadratic through both points
                by = distance - 0.5 * slope_before * distance**2 / (slope_before * distance + loss - before)
            else:  # go to the minimum of the cubic through both points
                a, b = _cubic(loss, slope, before, slope_before, distance)
                by = (_root(b * b - a * slope * distance**2) - b) / a if a else math.nan
            by = by if math.isfinite(by) else distance / 2
            by = max(min(by, inwards * distance), (1 - inwards) * distance)
            length += by
            loss, gradient, slope = move(by)
            left -= 1
            distance -= by
        is_found = not is_too_far() and slope > sig * slope0
        if is_found or is_too_far() or left <= 0:
            return is_found, loss, gradient, length
        a, b = _cubic(loss, slope, before, slope_before, distance)
        divisor = b + _root(b * b - a * slope * distance**2)
        by = -slope * distance**2 / divisor if divisor else math.nan
        if not math.isfinite(by) or by < 0:
            by = length * (outwards - 1) if limit == math.inf else (limit - length) / 2
        elif by + length > limit:
            by = (limit - length) / 2
        elif limit == math.inf and by + length > length * outwards:
            by = length * (outwards - 1)
        elif by < -distance * inwards:
            by = -distance * inwards
        elif limit < math.inf and by < (limit - length) * (1 - inwards):
            by = (limit - length) * (1 - inwards)
        before, slope_before, distance = loss, slope, -by
        length += by
        loss, gradient, slope = move(by)
        left -= 1


def _cubic(loss: float, slope: float, before: float, slope_before: float, distance: float) -> tuple[float, float]:
    """Return the coefficients of the cubic through two points with the given losses and slopes."""
    a = 6 * (loss - before) / distance + 3 * (slope + slope_before)
    return a, 3 * (before - loss) - distance * (slope_before + 2 * slope)


def _root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan
