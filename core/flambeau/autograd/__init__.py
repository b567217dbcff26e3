"""Automatic differentiation: `backward`, `grad`, gradient modes, custom functions, hooks."""

from __future__ import annotations

from typing import Any

from ..engine.tape.anomaly import detect_anomaly, set_detect_anomaly
from ..engine.tape.grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from ..engine.tape.node import current_task
from . import forward_ad, graph  # noqa: F401  # modules of PyTorch
from .backward import backward, grad
from .function import Function, NestedIOFunction
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad", "enforce_grad_layout_policy", "grad",
    "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
    "is_multithreading_enabled", "kineto_available", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]  # fmt: skip


def variable(*args: Any, **kwargs: Any) -> None:
    """Raise RuntimeError, because `torch.tensor` has replaced this function."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]  # the function shadows the submodule `variable`, which defines it


def kineto_available() -> bool:
    """Return False: PyTorch's tracing library Kineto is not used."""
    return False


def is_checkpoint_valid() -> bool:
    """Whether the running backward pass, if any, may recompute a reentrant checkpoint: it computes all gradients."""
    task = current_task.get()
    return task is None or task.targets is None


def __getattr__(name: str) -> Any:
    if name in ("anomaly_mode", "functional", "grad_mode", "profiler", "profiler_util"):  # imported on first use
        from importlib import import_module

        return import_module(f"flambeau.autograd.{name}")
    if name == "_is_checkpoint_valid":
        return is_checkpoint_valid
    if name in ("_disable_profiler", "_profiler_enabled"):
        from importlib import import_module

        return getattr(import_module("flambeau.autograd.profiler"), name)
    if name in ("DeviceType", "ProfilerActivity"):
        from importlib import import_module

        return getattr(import_module("flambeau.profiler"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
