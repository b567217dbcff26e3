"""Public functions under their names in PyTorch's compiled modules: `torch._C._linalg.linalg_inv` is `torch.linalg.inv`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["compiled_names"]


def compiled_names(namespace: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for the compiled module of `linalg`, `fft` or `special`."""

    def __getattr__(name: str) -> Any:
        public = name.removeprefix(f"{namespace}_")
        if public == name or public not in import_module(f"flambeau.{namespace}").__all__:
            raise AttributeError(f"module 'torch._C._{namespace}' has no attribute {name!r}")
        return getattr(import_module(f"flambeau.{namespace}"), public)

    return __getattr__
