"""flambeau on mylibrary.  This template uses array-api-strict: replace it by your library."""

from __future__ import annotations

from typing import Any

import array_api_strict as mylibrary
import numpy

from flambeau.backend import Backend, hookimpl

__all__ = ["MyBackend"]


class MyBackend(Backend):
    name = "mylibrary"  # for FLAMBEAU_BACKEND=mylibrary; also the name of the entry point
    device_type = "mylibrary"  # torch.device("mylibrary")
    xp = mylibrary  # a namespace that follows the array API standard
    array_type = type(mylibrary.zeros(()))

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array)


_backend = MyBackend()


@hookimpl
def flambeau_backend(name: str) -> Backend | None:
    return _backend if name == "mylibrary" else None
