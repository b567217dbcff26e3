"""Named tuples for operations with several results, printed as PyTorch prints them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["filled", "make"]


@cache
def make(name: str, fields: tuple[str, ...]) -> Any:
    """The one class ``torch.return_types.name``; constructed from an iterable of its fields' values."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # fields are not known statically

    def __new__(cls: Any, values: Iterable[Any]) -> Any:
        return tuple.__new__(cls, values)

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return _rebuild, (name, fields, tuple(self))

    members = {"__new__": __new__, "__repr__": __repr__, "__reduce__": __reduce__, "__slots__": ()}
    made = type(name, (base,), {**members, "__module__": "flambeau.return_types"})
    globals()[name] = made
    return made


def filled(results: type, out: Iterable[Any]) -> Any:
    """``out``, after the results were written there: a tuple, or where they are a ``name``, a ``name_out``."""
    fields = getattr(results, "_fields", None)
    return tuple(out) if fields is None else _rebuild(f"{results.__name__}_out", fields, tuple(out))


def _rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return make(name, fields)(values)


def __getattr__(name: str) -> Any:
    """The classes that no operation has needed yet."""
    from .op import OPS, result_type

    if name.startswith("linalg_"):
        import_module("flambeau.linalg")
    record = OPS.get(f"{name}_dim") or OPS.get(name)
    if record is not None and record.results:
        return result_type(record)
    if name in globals():
        return globals()[name]
    raise AttributeError(f"module 'flambeau.return_types' has no attribute '{name}'")
