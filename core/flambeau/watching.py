"""Methods and attributes of Tensor, seen by modes.

A method that is no operation of the table, as ``norm``, or an attribute, as ``shape``, is a plain Python function, and asks
nobody when it is called.  While a mode is open that wants to see it, its code is exchanged for code that offers the call.  The
function remains the object that it was, so that a mode is given what users know.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from . import overrides
from ._tensor import Tensor
from .op import OPS, STAND_INS
from .operands import can_operate

__all__ = ["begin", "end", "offer"]


class Watched:
    """A function whose calls are offered: as what (``public``), and what computes it (``plain``)."""

    def __init__(self, function: FunctionType, public: Any, name: str) -> None:
        self.function, self.public, self.name = function, public, name
        self.plain = _copied(function)
        self.is_operator = name.startswith("__") and name not in overrides.OFFERED_DUNDERS
        self.wanted = 0  # by how many kinds of modes

    def exchange(self) -> None:
        self.wanted += 1
        if self.wanted == 1:
            self.plain = STAND_INS[self.function] = _copied(self.function)
            self.function.__code__ = self.offering

    def restore(self) -> None:
        self.wanted -= 1
        if self.wanted:
            return
        plain = STAND_INS.pop(self.function)
        self.function.__defaults__, self.function.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
        self.function.__code__ = plain.__code__

    @functools.cached_property
    def offering(self) -> CodeType:
        """The code that offers a call, for a function with as many free variables."""
        names = [f"free_{position}" for position in range(len(self.function.__closure__ or ()))]
        uses = f"        if False: {', '.join(names)}\n" if names else ""
        text = (f"def outer({', '.join(names)}):\n    def inner(*args, **kwargs):\n{uses}"
                f"        from flambeau.watching import offer\n        return offer({_number(self)}, args, kwargs)\n"
                "    return inner\n")  # fmt: skip
        scope: dict[str, Any] = {}
        exec(text, scope)
        made: FunctionType = scope["outer"](*names)
        return made.__code__.replace(co_name=self.name)


def _copied(function: FunctionType) -> FunctionType:
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    return made


_watched: dict[FunctionType, Watched] = {}
_numbered: list[Watched] = []  # where the code finds what it belongs to
_open: Counter[bool | frozenset[str]] = Counter()  # how many modes are open, in all threads, by what they want to see
_lock = threading.Lock()


def _number(watched: Watched) -> int:
    _numbered.append(watched)
    return len(_numbered) - 1


def begin(seen: bool | frozenset[str]) -> None:
    """Let methods and attributes be seen, all or those of these names, until ``end`` has been called as often."""
    with _lock:
        _open[seen] += 1
        if _open[seen] == 1:
            for watched in _those(seen):
                watched.exchange()


def end(seen: bool | frozenset[str]) -> None:
    with _lock:
        _open[seen] -= 1
        if not _open[seen]:
            for watched in _those(seen):
                watched.restore()


@functools.cache
def _those(seen: bool | frozenset[str]) -> list[Watched]:
    """What a mode wants to see: nothing if it is False."""
    for function, public, name in _functions():
        if function not in _watched:
            _watched[function] = Watched(function, public, name)
    return [each for each in _watched.values() if seen is True or (seen and each.name in seen)]


def _functions() -> Iterator[tuple[FunctionType, Any, str]]:
    """The functions whose code is exchanged, with what a mode is given in their place, and their names."""
    by_dispatch = {record.function for record in OPS.values()}
    for name, attribute in vars(Tensor).items():
        if not overrides.is_offered(name, attribute):
            continue
        if isinstance(attribute, property):
            for accessor, public in ((attribute.fget, attribute.__get__), (attribute.fset, attribute.__set__)):
                if isinstance(accessor, FunctionType):
                    yield accessor, public, "__get__" if accessor is attribute.fget else "__set__"
        elif isinstance(attribute, FunctionType) and attribute not in by_dispatch:
            known_as = vars(Tensor).get(attribute.__name__)
            yield attribute, known_as if isinstance(known_as, FunctionType) else attribute, attribute.__name__


def offer(number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer a call to whoever wants to see it; compute it if there is nobody."""
    watched = _numbered[number]
    foreign = watched.is_operator and len(args) == 2 and not can_operate(args[1])  # for Python to look elsewhere
    relevant = overrides.relevant([*args, *kwargs.values()])
    if foreign or not overrides.wanted(relevant, name=watched.name):
        return watched.plain(*args, **kwargs)
    return overrides.handle_torch_function(watched.public, relevant, *args, **kwargs)
