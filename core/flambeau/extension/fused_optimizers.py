"""Fused optimizer steps: one kernel call updates a parameter and its optimizer state.

The kernel comes from the backend or a kernel pack.  For immutable arrays, where each write to a parameter creates a new array,
the formulas in this file are used, compiled if the library can compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from ..backend import Backend
from ..engine.devices.interceptor import intercepts, read_number, real_backend, wrapped_kernel
from ..engine.tape.fast_path import FAST
from ..engine.tape.grad_mode import is_grad_enabled
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes

__all__ = ["evaluate", "fused_step", "has_step", "is_mutable", "step_count"]


def is_mutable(tensor: Tensor) -> bool:
    """Whether a write to a tensor changes its array in-place; if not, the tensor and its views get new arrays.

    >>> is_mutable(torch.ones(1))
    True
    """
    return tensor._key.backend.mutable


def has_step(name: str, param: Tensor) -> bool:
    """Whether the parameter's backend has a kernel called `name`, such as `"adam_step"`.

    >>> has_step("no_such_step", torch.ones(1))
    False
    """
    backend = param._key.backend
    return name in backend.all_kernels or (not backend.mutable and name in FORMULAS)


def fused_step(name: str, param: Tensor, grad: Tensor, *states: Tensor | None, **options: Any) -> bool:
    """Update a parameter and its optimizer state by the kernel called `name`; return False if that is not possible.

    The kernel gets contiguous library arrays, all float32 or all float64: the parameter, its gradient, the states (None for a
    missing one), and then the options by name.  It writes to all arrays except the gradient.  With immutable arrays, it returns
    new ones for the parameter and all states.
    """
    key, shape = param._key, param._array.shape
    written = [param, *[state for state in states if state is not None]]
    if key.dtype not in (dtypes.float32, dtypes.float64) or is_grad_enabled() or type(param) not in FAST:
        return False
    for tensor in (grad, *written):
        if tensor._key is not key or tensor._array.shape != shape:
            return False
    is_contiguous = key.backend.is_contiguous
    for tensor in written:
        if not is_contiguous(tensor._array):
            return False
    arrays = [None if state is None else state._array for state in states]
    kernel = key.backend.all_kernels.get(name) or _kernel_of_formula(name, key.backend)
    results = kernel(param._array, grad.contiguous()._array, *arrays, **options)
    if not key.backend.mutable:
        for tensor, array in zip(written, results, strict=True):
            (tensor._storage or tensor._own_storage()).replace(tensor, array)
    for tensor in written:
        tensor._bump_version()
    return True


def step_count(step: Tensor) -> float:
    """Return the value of a 0-d step counter. When `torch.compile` replays a step, the counter is read again.

    >>> step_count(torch.tensor(3.0))
    3.0
    """
    backend = step._key.backend
    count: float = read_number(backend, step._array) if intercepts(backend) else step.item()
    return count


def evaluate(params: Sequence[Tensor]) -> None:
    """Mark the end of an optimizer step: a backend with lazy arrays now computes all parameters in one evaluation.

    >>> evaluate([torch.ones(1)])
    """
    params[0]._key.backend.evaluate([param._array for param in params if param._key.backend is params[0]._key.backend])


# --- update formulas for immutable arrays -------------------------------------------------------------------------


def _kernel_of_formula(name: str, backend: Backend) -> Callable[..., Any]:
    prepare, _ = FORMULAS[name]
    compiled = wrapped_kernel(name, _compiled_formula(name, real_backend(backend)), backend)
    return lambda *arrays, **options: compiled(*arrays, **prepare(**options))


@cache
def _compiled_formula(name: str, backend: Backend) -> Callable[..., Any]:
    return backend.compile_forward(name, partial(FORMULAS[name][1], backend.forward_xp))


def _adam_options(
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: int, decoupled: bool, maximize: bool
) -> dict[str, Any]:
    """Return the scalars of the Adam formula. Only the booleans among them change which operations are computed."""
    correction = (1 - beta2**step) ** 0.5  # bias correction of the denominator; `eps` and `lr` are scaled instead of an array
    return {
        "mean_weight": 1 - beta1,
        "square_weight": 1 - beta2,
        "eps": eps * correction,
        "step_size": lr / (1 - beta1**step) * correction,
        "decay": 0.0 if decoupled else float(weight_decay),
        "shrink": 1 - lr * weight_decay if decoupled else 1.0,
        "decays": bool(weight_decay),
        "maximize": maximize,
    }


def _adam(
    xp: Any,
    param: Any,
    grad: Any,
    mean: Any,
    square: Any,
    largest: Any = None,
    *,
    mean_weight: float,
    square_weight: float,
    eps: float,
    step_size: float,
    decay: float,
    shrink: float,
    decays: bool,
    maximize: bool,
) -> tuple[Any, ...]:
    """Compute a step of Adam, or of AdamW if `shrink` is not 1; `largest` is the running maximum of AMSGrad."""
    grad = -grad if maximize else grad
    if decays:
        param, grad = param * shrink, grad + decay * param
    mean = mean + mean_weight * (grad - mean)
    square = square + square_weight * (grad * grad - square)
    largest = None if largest is None else xp.maximum(largest, square)
    param = param - step_size * (mean / (xp.sqrt(square if largest is None else largest) + eps))
    return (param, mean, square) if largest is None else (param, mean, square, largest)


def _sgd_options(lr: float, momentum: float, dampening: float, weight_decay: float, **flags: bool) -> dict[str, Any]:
    numbers = {"lr": lr, "momentum": momentum, "weight": 1 - dampening, "decay": weight_decay}
    return {name: 1.0 * number for name, number in numbers.items()} | {"decays": bool(weight_decay)} | flags


def _sgd(
    xp: Any,
    param: Any,
    grad: Any,
    velocity: Any = None,
    *,
    lr: float,
    momentum: float,
    weight: float,
    decay: float,
    decays: bool,
    nesterov: bool,
    first: bool,
    maximize: bool,
) -> tuple[Any, ...]:
    """Compute a step of SGD; the first step sets the velocity to the gradient."""
    grad = -grad if maximize else grad
    if decays:
        grad = grad + decay * param
    if velocity is None:
        return (param - lr * grad,)
    velocity = grad if first else momentum * velocity + weight * grad
    return param - lr * (grad + momentum * velocity if nesterov else velocity), velocity


FORMULAS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., tuple[Any, ...]]]] = {
    "adam_step": (_adam_options, _adam),
    "sgd_step": (_sgd_options, _sgd),
}
"""For each kernel name, a function that converts the options to scalars, and the update formula on arrays."""
