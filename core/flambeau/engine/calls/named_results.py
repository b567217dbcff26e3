"""Named tuples for operations with several results, printed as PyTorch prints them: the classes of `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import cache
from typing import Any

from ..devices.aliases import aliased_name

__all__ = ["CLASSES", "filled", "make", "rebuild"]

CLASSES: dict[str, Any] = {}  # the named tuple classes created so far, by name


@cache
def make(name: str, fields: tuple[str, ...]) -> Any:
    """Return the class `torch.return_types.name`, whose constructor takes an iterable of the fields' values.  Cached."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # fields are not known statically

    def __new__(cls: Any, values: Iterable[Any], unnamed: Any = None) -> Any:  # pickles of PyTorch pass `{}` as `unnamed`
        return tuple.__new__(cls, values)

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return type(self), (tuple(self), {})

    members: dict[str, Any] = {"__new__": __new__, "__repr__": __repr__, "__reduce__": __reduce__, "__slots__": ()}
    members |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    result_class = type(name, (base,), {**members, "__module__": aliased_name("flambeau.return_types", "torch")})
    CLASSES[name] = result_class
    return result_class


def filled(results: type, out: Iterable[Any]) -> Any:
    """Return the tensors in `out` as a tuple, or as a named tuple `NAME_out` if `results` is a named tuple class `NAME`."""
    fields = getattr(results, "_fields", None)
    return tuple(out) if fields is None else rebuild(f"{results.__name__}_out", fields, tuple(out))


def rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return make(name, fields)(values)
