"""Interceptors whose wrapped kernels are also called for conjugate views and inside `vmap`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self

from ...backend import Backend
from ...engine.devices.interceptor import Interceptor
from ..batching.keys import other_kernels
from ..conjugate_views import lazy_keys

__all__ = ["TransformInterceptor"]


class TransformInterceptor(Interceptor):
    """An interceptor that also renews the keys of conjugate views and of `vmap`, which cache kernels of plain keys."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        super().__init__(backends)
        self._batched = other_kernels()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self._renew_lazy_keys)
            super().__enter__()
            undo.callback(super().__exit__, None, None, None)
            self._batched.__enter__()
            undo.callback(self._batched.__exit__, None, None, None)
            self._renew_lazy_keys()
            undo.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._batched.__exit__(None, None, None)
        self._renew_lazy_keys()

    def _renew_lazy_keys(self) -> None:
        for key in lazy_keys():
            if self.intercepts(key.plain):
                key.renew()
