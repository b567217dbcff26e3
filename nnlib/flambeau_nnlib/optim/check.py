"""Checks of optimizer options at construction, and of parameters in a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from flambeau import Tensor


def that(valid: bool | Tensor, message: str) -> None:
    """Raise ValueError with the message unless an option is valid."""
    if not valid:
        raise ValueError(message)


def not_negative(value: float | Tensor, message: str) -> None:
    that(0.0 <= value, f"{message}: {value}")  # noqa: SIM300 (a TypeError names the sides in this order)


def lr(value: float | Tensor, message: str = "Invalid learning rate") -> None:
    that(not isinstance(value, Tensor) or value.numel() == 1, "Tensor lr must be 1-element")
    not_negative(value, message)


def betas(values: Sequence[float | Tensor]) -> None:
    for i in (0, 1):
        that(0.0 <= values[i] < 1.0, f"Invalid beta parameter at index {i}: {values[i]}")


def fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


# Checks in a step

HOST = "cpu"
"""The device type that does not support `capturable`, because it has no device graphs."""


def fusable(params: Iterable[Tensor]) -> None:
    for param in params:
        if not param.is_floating_point():
            devices = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported "
                f"devices: {devices} but {param.dtype} and {param.device.type}"
            )


def capturable(params: Iterable[Tensor], names: str, xla: bool) -> None:
    """Raise AssertionError if any parameter is on the CPU; `names` is used in the message."""
    if any(param.device.type == HOST for param in params):
        devices = ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * xla
        raise AssertionError(f"If capturable=True, {names} must be on supported devices: {devices}.")


def no_sparse(name: str) -> NoReturn:
    """Raise RuntimeError: the optimizer `name` does not support sparse gradients."""
    name = "Adam" if name == "AdamW" else name
    hint = ", please consider SparseAdam instead" if name == "Adam" else ""
    raise RuntimeError(f"{name} does not support sparse gradients{hint}")
