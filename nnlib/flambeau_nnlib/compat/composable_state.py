"""`torch.distributed._composable_state`: the state that `fully_shard` attaches to a module."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def _get_module_state(module: Any) -> Any:
    """Return the state of a module, or None if no function such as `fully_shard` was applied to it."""
    return module.__dict__.get("_fsdp_state")
