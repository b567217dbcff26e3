"""Lazy views: tensors whose memory holds the conjugate or the negative of their elements, such as the result of `conj()`.

Such a tensor is an ordinary tensor with a `LazyKey`; its array is the memory as stored, without the conjugation.  A `LazyKey`
has kernels for views only, so any other operation takes the general path, where the tensor is first *materialized*: its
elements are computed into new memory.  Code that reads or writes elements without an operation uses the backend of the
dispatch key.  It is a `LazyBackend`, which applies the conjugation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..engine.calls.record import Operation
from ..engine.calls.results import view_of
from ..engine.calls.tables import OPS, PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.devices.devices import DispatchKey, Kernels, device
from ..engine.devices.state import state
from ..engine.tape.fast_path import FAST
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values import dtypes

__all__ = ["LazyKey", "conj", "lazy_keys", "show"]


class LazyBackend:
    """A backend whose arrays store the conjugate (or negative) of the elements.  Reads and writes convert the elements."""

    inner: Any
    resolved: Callable[[Any], Any]

    all_inplace_kernels: Mapping[str, Any] = {}

    def __init__(self, inner: Any, resolved: Callable[[Any], Any]) -> None:
        self.inner, self.resolved = inner, resolved

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def asarray(self, *args: Any, **kwargs: Any) -> Any:
        return self.resolved(self.inner.asarray(*args, **kwargs))

    def write(self, array: Any, value: Any) -> None:
        self.inner.write(array, self.resolved(value))


def _of_resolved(name: str) -> Callable[..., Any]:
    """Return a method that calls the inner backend's method `name` with the resolved array."""

    def method(self: LazyBackend, array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.inner, name)(self.resolved(array), *args, **kwargs)

    return method


for _name in ("astype", "extremes", "item", "to_host", "tolist", "truth"):
    setattr(LazyBackend, _name, _of_resolved(_name))


class LazyKey(DispatchKey):
    """The dispatch key of tensors whose memory holds the conjugate (`lazy_op` "conj") or the negative ("neg") of the elements."""

    plain: DispatchKey
    lazy_op: str
    resolved: Callable[..., Any]

    __slots__ = ("lazy_op", "plain", "resolved")

    def __init__(self, plain: DispatchKey, lazy_op: str) -> None:
        self.plain, self.lazy_op = plain, lazy_op
        self.resolved = resolved = plain[lazy_op][0]
        place = device(plain.device.type, plain.device.index)  # a new object, because comparisons of devices test identity first
        super().__init__(plain.dtype, place, LazyBackend(plain.backend, resolved), _writing(plain.F, resolved))  # type: ignore[arg-type]  # it is as good as a Backend

    def renew(self) -> None:
        """Update the values derived from the plain key after its kernels have been replaced."""
        self.clear()
        LazyKey.__init__(self, self.plain, self.lazy_op)

    def __missing__(self, name: str) -> tuple[Callable[..., Any], Any]:
        if not self.shows(name):
            raise KeyError(name)
        kernel, key = self.plain[name]
        if name == "imag":
            key = lazy(key, "neg")
        elif name != "real":
            key = self
        entry = self[name] = self.table[name] = kernel, key
        return entry

    def shows(self, name: str) -> bool:
        """Whether the operation only moves elements, so that it can run on elements that are not conjugated or negated yet."""
        return name == "view_scatter" or (OPS[name].view and OPS[name].facts.moves)

    @property
    def materialized(self) -> DispatchKey:
        return self.plain

    @property
    def no_numpy(self) -> str:
        bit = "conjugate" if self.lazy_op == "conj" else "negative"
        return f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{self.lazy_op}().numpy() instead."

    def materialize(self, tensor: Any) -> Any:
        result = wrap(self.resolved(tensor._array), self.plain)
        result._node, result._requires_grad = tensor._node, tensor._requires_grad
        if state.forward_levels:
            hooks.forward.copy(tensor, result)
        return result

    def stored(self, array: Any) -> Any:
        return self.resolved(array)

    def to(self, dtype: Any) -> DispatchKey:
        return self if dtype is self.dtype else self.plain.to(dtype)

    def on(self, place: device) -> DispatchKey:
        return self.plain.on(place)

    def __repr__(self) -> str:
        return f"LazyKey({self.plain!r}, {self.lazy_op!r})"


def _writing(plain: Kernels, resolved: Callable[[Any], Any]) -> Kernels:
    """Return the kernels on raw arrays; kernels that write first convert the value to its stored form."""
    F = Kernels("kernels")
    F.__dict__.update(
        __getattr__=lambda name: getattr(plain, name),
        setitem=lambda input, value, index: plain.setitem(input, resolved(value), index),
        setitem_in_place=lambda input, value, index: plain.setitem_in_place(input, resolved(value), index),
    )
    return F


_keys: dict[tuple[DispatchKey, str], LazyKey] = {}


def lazy(plain: DispatchKey, lazy_op: str) -> LazyKey:
    """Return the only `LazyKey` of the dispatch key `plain` and the operation `lazy_op`."""
    key = _keys.get((plain, lazy_op))
    if key is None:
        key = _keys.setdefault((plain, lazy_op), LazyKey(plain, lazy_op))
    return key


def lazy_keys() -> list[LazyKey]:
    """Return all existing lazy keys."""
    return list(_keys.values())


def materialized_for(op: Operation, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of an operation.  Lazy tensors are materialized, unless the operation is a view that accepts them."""
    key = tensors[0]._key if isinstance(tensors[0], Tensor) else None
    if isinstance(key, LazyKey) and key.shows(op.name):
        return tensors
    return tuple([tensor._key.materialize(tensor) if isinstance(tensor, Tensor) else tensor for tensor in tensors])


def show(tensor: Tensor, lazy_op: str) -> Tensor:
    """Return a conjugated or negated lazy view of the tensor."""
    key, record = tensor._key, OPS[f"{lazy_op}_view"]
    shown = key.plain if type(key) is LazyKey and key.lazy_op == lazy_op else lazy(key, lazy_op)
    if tensor._requires_grad:
        view: Tensor = record.record(tensor._array, shown, tensor)
    else:
        view = view_of(tensor._array, shown, record, tensor, ())
    if not key.backend.mutable:
        assert view._storage is not None
        view._storage.link(view, tensor)  # immutable arrays: register that the view shares memory
    return view


def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate as a lazy view that shares memory with the tensor, or a real tensor itself.

    The elements are conjugated when they are used; see `resolve_conj`.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj().mul_(1j), x, x.conj().is_conj()
    (tensor([2.+1.j]), tensor([2.-1.j]), True)
    """
    if input._key.dtype.category != dtypes.COMPLEX:
        return input
    if type(input) not in FAST or input._key.levels:  # subclasses, modes and transforms must see the operation `conj`
        computed: Tensor = OPS["conj"].function(input)
        return computed
    return show(input, "conj")


PUBLIC["conj"] = conj  # `torch.conj` is lazy, but `F.conj` in derivative rules is not
