"""Tensors that show memory conjugated, or negated: what `conj()` gives, and the imaginary part of that.

Such a tensor is an ordinary one of a `LazyKind`, and its array is the memory as it is.  The kind has kernels for views alone,
so that any other operation goes the general way, where the tensor is first *settled*: given what it shows as memory of its own.
What reads or writes elements without an operation asks the kind's backend, which knows how the memory is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..calls.record import Operation
from ..calls.results import view_of
from ..calls.tables import OPS, PUBLIC
from ..calls.transform_hooks import hooks
from ..runtime.devices import Kernels, Kind, device
from ..runtime.state import state
from ..tape.fast_path import FAST
from ..tensors.tensor import Tensor, attach, wrap
from ..values import dtypes

__all__ = ["LazyKind", "conj", "show"]


class LazyBackend:
    """A backend whose arrays are meant otherwise than they are."""

    inplace_kernels: Mapping[str, Any] = {}
    all_inplace_kernels: Mapping[str, Any] = {}

    def __init__(self, inner: Any, turned: Callable[[Any], Any]) -> None:
        self.inner, self.turned = inner, turned

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def asarray(self, *args: Any, **kwargs: Any) -> Any:
        return self.turned(self.inner.asarray(*args, **kwargs))

    def write(self, array: Any, value: Any) -> None:
        self.inner.write(array, self.turned(value))


def _of_what_is_shown(name: str) -> Callable[..., Any]:
    def method(self: LazyBackend, array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.inner, name)(self.turned(array), *args, **kwargs)

    return method


for _name in ("astype", "extremes", "item", "to_host", "tolist", "truth"):
    setattr(LazyBackend, _name, _of_what_is_shown(_name))


class LazyKind(Kind):
    """The kind of tensors whose memory is meant conjugated (`turn` is "conj") or negated ("neg")."""

    __slots__ = ("plain", "turn", "turned")

    def __init__(self, plain: Kind, turn: str) -> None:
        self.plain, self.turn = plain, turn
        self.turned = turned = plain[turn][0]
        place = device(plain.device.type, plain.device.index)  # another object, so that nobody takes it for the same at a glance
        super().__init__(plain.dtype, place, LazyBackend(plain.backend, turned), _writing(plain.F, turned))  # type: ignore[arg-type]  # it is as good as a Backend

    def __missing__(self, name: str) -> tuple[Callable[..., Any], Any]:
        if not self.shows(name):
            raise KeyError(name)
        kernel, kind = self.plain[name]
        if name == "imag":
            kind = lazy(kind, "neg")
        elif name != "real":
            kind = self
        entry = self[name] = self.table[name] = kernel, kind
        return entry

    def shows(self, name: str) -> bool:
        """Whether the operation looks at the memory, or writes there, without looking at what it is."""
        return name == "view_scatter" or (OPS[name].view and name not in ("view_as_real", "view_as_complex", "view_dtype"))

    @property
    def settled(self) -> Kind:
        return self.plain

    @property
    def no_numpy(self) -> str:
        bit = "conjugate" if self.turn == "conj" else "negative"
        return f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{self.turn}().numpy() instead."

    def settle(self, tensor: Any) -> Any:
        made = wrap(self.turned(tensor._array), self.plain)
        made._node, made._requires_grad = tensor._node, tensor._requires_grad
        if state.forward_levels:
            hooks.forward.copy(tensor, made)
        return made

    def stored(self, array: Any) -> Any:
        return self.turned(array)

    def to(self, dtype: Any) -> Kind:
        return self if dtype is self.dtype else self.plain.to(dtype)

    def on(self, place: device) -> Kind:
        return self.plain.on(place)

    def __repr__(self) -> str:
        return f"LazyKind({self.plain!r}, {self.turn!r})"


def _writing(plain: Kernels, turned: Callable[[Any], Any]) -> Kernels:
    """The raw operations, of which those that write get what is to be in memory."""
    F = Kernels("kernels")
    F.__dict__.update(
        __getattr__=lambda name: getattr(plain, name),
        setitem=lambda input, value, index: plain.setitem(input, turned(value), index),
        setitem_in_place=lambda input, value, index: plain.setitem_in_place(input, turned(value), index),
    )
    return F


_kinds: dict[tuple[Kind, str], LazyKind] = {}


def lazy(plain: Kind, turn: str) -> LazyKind:
    """The one kind of these."""
    found = _kinds.get((plain, turn))
    if found is None:
        found = _kinds[plain, turn] = LazyKind(plain, turn)
    return found


def settled_for(op: Operation, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an operation, settled unless it is a look at the memory."""
    lead = tensors[0]._kind if isinstance(tensors[0], Tensor) else None
    if isinstance(lead, LazyKind) and lead.shows(op.name):
        return tensors
    return tuple([each._kind.settle(each) if isinstance(each, Tensor) else each for each in tensors])


def show(tensor: Tensor, turn: str) -> Tensor:
    """A view of the tensor, conjugated or negated."""
    kind, record = tensor._kind, OPS[f"{turn}_view"]
    shown = kind.plain if type(kind) is LazyKind and kind.turn == turn else lazy(kind, turn)
    if tensor._requires_grad:
        made: Tensor = record.record(tensor._array, shown, tensor)
    else:
        made = view_of(tensor._array, shown, record, tensor, ())
    if not kind.backend.mutable:
        assert made._storage is not None
        made._storage.link(made, tensor)  # it has the same memory, whatever it shows
    return made


def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view that shares memory with the tensor; a real tensor itself.

    Nothing is computed before the elements are used: see `resolve_conj`.

    >>> import flambeau as torch
    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().mul_(1j), x, x.conj().is_conj()
    (tensor([2.+1.j]), tensor([2.-1.j]), True)
    """
    if input._kind.dtype.category != dtypes.COMPLEX:
        return input
    if type(input) not in FAST or input._kind.levels:  # somebody else wants to see an operation
        computed: Tensor = OPS["conj"].function(input)
        return computed
    return show(input, "conj")


PUBLIC["conj"] = conj  # F.conj, in derivative rules, computes at once
attach(conj=conj)
hooks.settle = settled_for
