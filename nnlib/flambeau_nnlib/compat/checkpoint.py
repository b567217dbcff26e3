"""Private functions of `torch.utils.checkpoint`."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.utils.pytree import tree_leaves

__all__: list[str] = []


def _infer_device_type(*args: Any) -> str:
    """Return the type of the device, other than the CPU, that the tensors in the arguments are on; else the default type."""
    types = [leaf.device.type for leaf in tree_leaves(args) if isinstance(leaf, Tensor) and leaf.device.type != "cpu"]
    return next((kind for kind in types if kind != "meta"), types[0]) if types else "cuda"


def _get_device_module(device: str = "cuda") -> Any:
    """Return the module of a device type, such as `torch.cuda`; the device itself for `meta`."""
    return torch.device("meta") if device == "meta" else getattr(torch, device)


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the arguments of `torch.autocast` that restore its present state, for a device type and for the CPU."""

    def state(kind: str) -> dict[str, Any]:
        return {
            "enabled": torch.is_autocast_enabled(kind),
            "dtype": torch.get_autocast_dtype(kind),
            "cache_enabled": torch.is_autocast_cache_enabled(),
        }

    return state(device_type) if torch.amp.is_autocast_available(device_type) else None, state("cpu")
