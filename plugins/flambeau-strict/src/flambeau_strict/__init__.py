"""flambeau on array-api-strict: the device type `strict`, which supports nothing beyond the array API standard."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import array_api_strict
import numpy

from flambeau.backend import Backend, hookimpl

__all__ = ["StrictBackend"]

# Disable everything that the standard makes optional, so that tests use only what every library provides.
array_api_strict.set_array_api_strict_flags(boolean_indexing=False, data_dependent_shapes=False, enabled_extensions=())


class StrictBackend(Backend):
    """Backend for array-api-strict: arrays are `array_api_strict.Array`."""

    name = "strict"
    device_type = "strict"
    xp = array_api_strict
    array_type = type(array_api_strict.zeros(()))
    arithmetic_errors = (FloatingPointError, RuntimeWarning)  # array-api-strict computes with NumPy, which raises these

    def ignoring_arithmetic_errors(self) -> AbstractContextManager[Any]:
        return numpy.errstate(all="ignore")

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array)

    def report(self) -> str:
        return f"array-api-strict {array_api_strict.__version__}"


_backend = StrictBackend()


@hookimpl
def flambeau_backend(name: str) -> StrictBackend | None:
    return _backend if name == "strict" else None
