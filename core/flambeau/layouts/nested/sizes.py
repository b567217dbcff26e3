"""`NestedInt`: the size of a dimension in which the items of a batch differ, such as `j1`."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from ...engine.tensors.tensor import Tensor
from ...engine.values.symbols import SymInt

__all__ = ["SYMBOLS", "NestedInt", "size_of"]


class NestedInt(SymInt):
    """The symbolic size of a ragged dimension, in which the items differ. It equals only itself, and is greater than 1.

    Args:
        number: the number in the printed name: 1 for `j1`.
        coeff: a factor: 2 for `2*j1`.
    """

    number: int
    coeff: int

    __slots__ = ("coeff", "number")

    def __init__(self, number: int, coeff: int = 1) -> None:
        self.number, self.coeff = number, coeff

    def nested_int(self) -> int:
        """Return the number in the printed name: 1 for `j1`."""
        return self.number

    @property
    def node(self) -> NestedInt:
        """Return this object, which also provides the methods of PyTorch's symbolic nodes."""
        return self

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coeff == 1 else f"{self.coeff}*j{self.number}"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.coeff) == (other.number, other.coeff)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]  # SymInt is not hashable
        return hash((self.number, self.coeff))

    def __mul__(self, other: Any) -> Any:
        return NestedInt(self.number, self.coeff * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def _at_least(self, other: Any, relation: str, strict: bool) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coeff > other.coeff or (not strict and self.coeff == other.coeff)
        if isinstance(other, int) and other <= (1 if strict else 2):
            return True
        raise ValueError(f"{relation}: relation is indeterminate")

    def __ge__(self, other: Any) -> bool:
        return self._at_least(other, "ge", strict=False)

    def __gt__(self, other: Any) -> bool:
        return self._at_least(other, "gt", strict=True)

    def __lt__(self, other: Any) -> bool:
        return not self._at_least(other, "lt", strict=False)

    def __le__(self, other: Any) -> bool:
        return not self._at_least(other, "le", strict=True)

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        raise TypeError(f"{self} cannot be converted to a number: the size of a ragged dimension differs between items")

    __index__ = __int__
    __float__: Any = __int__  # never returns

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(f"{self}: the size of a ragged dimension only supports comparison and multiplication")

    __add__ = _refuse
    __radd__ = _refuse
    __sub__ = _refuse
    __rsub__ = _refuse
    __neg__ = _refuse
    __floordiv__ = _refuse
    __truediv__ = _refuse
    __mod__ = _refuse
    __pow__ = _refuse


class _Symbols:
    """A dictionary from tensors of offsets or lengths, compared by identity, to their ragged sizes (NestedInt)."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[weakref.ref[Tensor], NestedInt]] = {}

    def get(self, tensor: Tensor, default: Any = None) -> Any:
        """Return the ragged size that is stored for `tensor`, or `default`."""
        found = self._by_id.get(id(tensor))
        return default if found is None or found[0]() is not tensor else found[1]

    def __getitem__(self, tensor: Tensor) -> NestedInt:
        symbol = self.get(tensor)
        if symbol is None:
            raise KeyError(tensor)
        return symbol  # type: ignore[no-any-return]  # `get` may return a default

    def __setitem__(self, tensor: Tensor, symbol: NestedInt) -> None:
        place = id(tensor)
        self._by_id[place] = weakref.ref(tensor, lambda _: self._by_id.pop(place, None)), symbol

    def __contains__(self, tensor: object) -> bool:
        return isinstance(tensor, Tensor) and self.get(tensor) is not None


SYMBOLS = _Symbols()
_numbers = itertools.count(1)


def size_of(source: Tensor) -> NestedInt:
    """Return the symbolic size of the ragged dimension with the offsets or lengths `source`; create it at the first call."""
    if source not in SYMBOLS:
        SYMBOLS[source] = NestedInt(next(_numbers))
    return SYMBOLS[source]
