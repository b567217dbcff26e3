"""Registry of flash attention implementations from other libraries, activated by name.

>>> from flambeau.nn.attention import implementations
>>> "none" in implementations.list_flash_attention_impls()
False
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

__all__ = [
    "activate_flash_attention_impl", "current_flash_attention_impl", "list_flash_attention_impls",
    "register_flash_attention_impl", "restore_flash_attention_impl",
]  # fmt: skip

_logger = logging.getLogger(__name__)


class _Handle(Protocol):
    """The handle that `register_fn` returns on activation: `remove()` deactivates the implementation."""

    def remove(self) -> None: ...


_registered: dict[str, Callable[[], _Handle | None]] = {}
_active: tuple[str, _Handle] | None = None


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Register an implementation of flash attention under a name.

    Args:
        impl: the name.
        register_fn: activates the implementation (by `torch.library`, for example) and returns None or an object whose
            `remove()` deactivates it.

    >>> from flambeau.nn import attention
    >>> attention.register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> "mine" in attention.list_flash_attention_impls()
    True
    """
    _registered[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Activate a registered implementation, and deactivate the previous one.

    Args:
        impl: the name of a registered implementation.

    Raises:
        ValueError: no implementation is registered under this name.
    """
    global _active
    restore_flash_attention_impl(_raise_warn=False)
    register = _registered.get(impl)
    if register is None:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = register()
    if handle is not None:
        _active = (impl, handle)


def list_flash_attention_impls() -> list[str]:
    """Return the sorted names of registered implementations; flambeau's own implementation has no name."""
    return sorted(_registered)


def current_flash_attention_impl() -> str | None:
    """Return the name of the active implementation; None for flambeau's own."""
    return None if _active is None else _active[0]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Activate flambeau's own implementation; a warning is logged if it is already active."""
    global _active
    if _active is not None:
        _active[1].remove()
    elif _raise_warn:
        _logger.warning("Trying to restore default FA2 impl when no custom impl was activated")
    _active = None
