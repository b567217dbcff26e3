"""`torch.sparse._triton_ops_meta`: PyTorch's tables of parameters for Triton kernels, which flambeau does not have."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["get_meta", "minimize", "update"]

_known: dict[tuple[Any, ...], dict[str, Any]] = {}


def get_meta(op: str, key: Any, device_name: str | None = None, version: Any = None, exact: bool = False) -> Any:
    """Return the parameters that `update` has set for an operation and a key, or None."""
    return _known.get((op, device_name, version, key))


def update(op: str, device_name: str, version: Any, key: Any, value: dict[str, Any]) -> None:
    """Set the parameters of an operation for a device, a version and a key."""
    _known[op, device_name, version, key] = value


def minimize(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there are no Triton kernels whose parameters could be tuned."""
    raise NotImplementedError("flambeau has no Triton kernels to tune")
