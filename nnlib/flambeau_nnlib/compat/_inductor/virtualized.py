"""`torch._inductor.virtualized`: the state of PyTorch's compiler back end while it compiles, which never happens here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["V"]


class _Virtualized:
    """The current graph, kernel and handlers of a compilation."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"V.{name} exists while PyTorch's back end compiles; flambeau has its own compiler")


V = _Virtualized()
