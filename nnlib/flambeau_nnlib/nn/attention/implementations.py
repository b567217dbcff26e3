"""Other implementations of flash attention, which libraries bring and programs choose by name.

>>> from flambeau.nn.attention import implementations
>>> "mine" in implementations.list_flash_attention_impls()
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
    """What an implementation returns when it has put itself in place: `remove()` takes it away again."""

    def remove(self) -> None: ...


_registered: dict[str, Callable[[], _Handle | None]] = {}
_active: tuple[str, _Handle] | None = None


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Make an implementation known by a name.

    Args:
        impl: the name.
        register_fn: puts the implementation in place (by `torch.library`, for example) and returns an object whose `remove()`
            takes it away again, or None.

    >>> from flambeau.nn import attention
    >>> attention.register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> "mine" in attention.list_flash_attention_impls()
    True
    """
    _registered[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Put an implementation in place, instead of the one before.

    Args:
        impl: a name that was registered.

    Raises:
        ValueError: there is no implementation of this name.
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
    """The names of the implementations that are registered, sorted; flambeau has none but its own, which has no name."""
    return sorted(_registered)


def current_flash_attention_impl() -> str | None:
    """The name of the implementation in place; None for flambeau's own."""
    return None if _active is None else _active[0]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Go back to flambeau's own implementation; a warning is logged where it is in place already."""
    global _active
    if _active is not None:
        _active[1].remove()
    elif _raise_warn:
        _logger.warning("Trying to restore default FA2 impl when no custom impl was activated")
    _active = None
