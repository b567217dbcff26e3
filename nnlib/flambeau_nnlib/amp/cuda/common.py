"""Helpers of the deprecated namespaces `torch.cuda.amp` and `torch.cpu.amp`."""

from __future__ import annotations

import warnings

import flambeau as torch

__all__ = ["amp_definitely_not_available", "deprecate"]


def deprecate(device_type: str, name: str, instead: str) -> None:
    warnings.warn(
        f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


def amp_definitely_not_available() -> bool:
    """Whether CUDA is unavailable."""
    return not torch.cuda.is_available()
