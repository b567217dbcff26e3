"""The protocol of objects with a state dict."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """Protocol of objects that `save` and `load` handle through `state_dict` and `load_state_dict`."""

    def state_dict(self) -> dict[str, Any]:
        """Return the object's state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the object's state."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
