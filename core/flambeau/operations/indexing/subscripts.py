"""Read and write `x[index]`."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from ...engine.calls import overriding
from ...engine.calls.facts import Kind, Narrow
from ...engine.calls.inplace import check_tracked_write
from ...engine.calls.op import composite, op
from ...engine.calls.operands import filler
from ...engine.calls.outputs import check_memory, overlap_error
from ...engine.calls.overriding import DIRECT
from ...engine.calls.record import Out
from ...engine.calls.tables import OPS
from ...engine.calls.transform_hooks import hooks
from ...engine.devices.devices import DispatchKey, dispatch_key
from ...engine.devices.state import state
from ...engine.devices.warning import warn, warn_once
from ...engine.tape.fast_path import FAST
from ...engine.tape.grad_mode import is_grad_enabled
from ...engine.tape.node import rename_node
from ...engine.tape.tensor_class import RECORDED
from ...engine.tape.transforming import VMAP_WRITES_TO_ALL
from ...engine.tensors.tensor import Tensor, attach
from ...engine.values import dtypes
from ..views.views import wrap_dim
from .standard import getitem, put

# --- basic indexing: views ----------------------------------------------------------------------------------------


def _getitem(name: str, grad_fn: str, **facts: Any) -> Any:
    return op(
        name,
        lambda xp, input, /, index: getitem(xp, input, index),
        kind=Kind.VIEW,
        view=True,
        public=False,
        method=False,
        grad_fn=grad_fn,
        input=lambda F, g, input_shape, index: F.getitem_backward(g, input_shape, index),
        **facts,
    )


_selected, _sliced, _widened = (
    _getitem("getitem_select", "SelectBackward0"),
    _getitem("getitem_slice", "SliceBackward0"),
    _getitem("getitem_unsqueeze", "UnsqueezeBackward0"),
)
_getitem("getitem_alias", "AliasBackward0", operator="alias")


def _getitem_backward_forward(xp: Any, input: Any, /, shape: Any, index: Any) -> Any:
    return put(xp, xp.zeros(shape, dtype=input.dtype), index, input)


op(
    "getitem_backward", _getitem_backward_forward,
    kind=Kind.MOVEMENT, public=False, method=False, out=False,
    input=lambda F, g, index: F.getitem_slice(g, index),
)  # fmt: skip


# --- advanced indexing: copies ------------------------------------------------------------------------------------

indexed = op(
    "index", lambda xp, input, /, index: getitem(xp, input, index),
    kind=Kind.INDEXING, public=False, method=False, out=False, freed=("index",),
    input=lambda F, g, input_shape, index: F.index_backward(g, input_shape, index),
)  # fmt: skip


def index_backward_forward(xp: Any, input: Any, /, shape: Any, index: Any) -> Any:
    size = 1
    for n in shape:
        size *= n
    positions = xp.reshape(getitem(xp, xp.reshape(xp.arange(size), shape), index), (-1,))
    return xp.reshape(sum_at(xp, xp.reshape(input, (-1,)), positions, size), shape)


def sum_at(xp: Any, values: Any, positions: Any, size: int) -> Any:
    """Sum values by position without scattering.

    Unlike differences of cumulative sums, an infinity at one position does not affect other positions.
    """
    return reduce_at(xp, values, positions, size, xp.add, 0)


def reduce_at(xp: Any, values: Any, positions: Any, size: int, combine: Any, neutral: Any) -> Any:
    """Reduce values by position: sort by position, then combine each value with those 1, 2, 4, ... places before.

    Args:
        combine: an associative function of two arrays, such as `xp.add`
        neutral: the element that does not change others when it is combined with them; the result where there are no values
    """
    count, dtype = values.shape[0], values.dtype
    if not count:
        return xp.full((size,), neutral, dtype=dtype)
    if getattr(dtype, "itemsize", 4) == 2 and not xp.isdtype(dtype, "integral"):  # half precision is summed in float32
        values = xp.astype(values, xp.float32)
    order = xp.argsort(positions, stable=True)
    places, reduced = xp.take(positions, order, axis=0), xp.take(values, order, axis=0)
    absent, step = xp.asarray(neutral, dtype=reduced.dtype), 1
    while step < count:
        others = xp.where(places[step:] == places[:-step], reduced[:-step], absent)
        reduced = xp.concat([reduced[:step], combine(reduced[step:], others)])
        step *= 2
    targets = xp.arange(size, dtype=places.dtype)
    last = xp.clip(xp.astype(xp.searchsorted(places, targets, side="right"), xp.int64) - 1, 0, None)
    totals = xp.where(xp.take(places, last, axis=0) == targets, xp.take(reduced, last, axis=0), absent)
    return xp.astype(totals, dtype)


op(
    "index_backward", index_backward_forward,
    kind=Kind.SCATTER, public=False, method=False, out=False, freed=("index",),
    input=lambda F, g, index: F.index(g, index),
)  # fmt: skip


def _setitem_forward(xp: Any, input: Any, value: Any, /, index: Any) -> Any:
    return put(xp, input, index, value)


_set = op(
    "setitem", _setitem_forward,
    kind=Kind.SCATTER, narrow=Narrow.ALL, public=False, method=False, out=False, grad_fn="CopySlices", freed=("index",),
    input=lambda F, g, value_shape, index: F.setitem(g, F.zeros_of(g, ()), index),
    value=lambda F, g, index: F.index(g, index),
)  # fmt: skip


_SEQUENCES = (list, tuple, range)


def _is_legacy_tuple(index: Any) -> bool:
    """Whether a list is interpreted as a tuple with an index per dimension (deprecated)."""
    if not isinstance(index, list) or len(index) >= 32:
        return False
    for item in index:
        if item is None or item is Ellipsis or isinstance(item, (slice, *_SEQUENCES, Tensor)) or getattr(item, "ndim", 0) > 0:
            warn_once("Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)], not x[seq].")
            return True
    return False


def raw_index(tensor: Tensor, index: Any) -> tuple[tuple[Any, ...], bool, str]:
    """Convert an index for the backend.  Also return whether it is an advanced index, and the view operation of a basic one."""
    items = index if isinstance(index, tuple) else tuple(index) if _is_legacy_tuple(index) else (index,)
    raw: list[Any] = []
    advanced, operation = False, "getitem_alias"
    consumed = 0  # number of dimensions indexed so far
    for position, entry in enumerate(items):
        if entry is None:
            raw.append(None)
            operation = "getitem_unsqueeze"
        elif entry is Ellipsis:
            before, consumed = consumed, max(consumed, tensor._array.ndim - sum(map(_dims_used, items[position + 1 :])))
            if consumed > before:  # an ellipsis for no dimension is dropped: it would separate advanced indices
                raw.append(...)
        elif isinstance(entry, slice):
            raw.append(_raw_slice(entry))
            consumed += 1
            if entry != slice(None) or len(items) == 1:
                operation = "getitem_slice"
        elif isinstance(entry, bool):
            raw.append(_mask(entry, tensor))
            advanced = True
        elif isinstance(entry, Tensor):
            item, is_advanced, used = _tensor_item(entry, tensor, consumed)
            raw.append(item)
            advanced, consumed = advanced or is_advanced, consumed + used
            operation = "getitem_select"
        elif isinstance(entry, _SEQUENCES) or (hasattr(entry, "__array__") and getattr(entry, "ndim", 0) > 0):
            from ..creation.from_data import as_tensor

            item = _as_index(entry, tensor.device) if len(entry) else as_tensor([], dtype=dtypes.int64, device=tensor.device)
            raw.append(_tensor_item(item, tensor, consumed, force=True)[0])
            advanced, consumed = True, consumed + max(1, item.ndim if item.dtype is dtypes.bool_ else 1)
        elif hasattr(entry, "__index__"):
            raw.append(entry.__index__())
            consumed += 1
            operation = "getitem_select"
        else:
            error = TypeError if isinstance(entry, (str, bytes)) else IndexError
            raise error(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                f"indices (got {type(entry).__name__})"
            )
    if consumed > tensor._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {tensor._array.ndim}")
    if consumed == tensor._array.ndim and not advanced and ... not in raw:
        raw.append(...)  # the ellipsis makes the backend return an array, not a scalar
    return tuple(raw), advanced, operation


def _as_index(items: Any, place: Any) -> Tensor:
    """Convert a list or array of an index to a tensor.  Floats are truncated to integers, as in PyTorch."""
    from ..creation.from_data import as_tensor

    try:
        index = as_tensor(items, device=place)
    except ValueError as error:
        if "'str'" in str(error):
            raise TypeError("new(): invalid data type 'str'") from error
        raise
    return index.to(dtypes.int64) if index.dtype.category == dtypes.FLOATING else index


def _dims_used(item: Any) -> int:
    """Return the number of the tensor's dimensions that an item of an index applies to."""
    if item is None or isinstance(item, bool):
        return 0
    if isinstance(item, _SEQUENCES):
        from ..creation.from_data import as_tensor

        item = as_tensor(item)
    is_mask = getattr(item, "dtype", None) in (dtypes.bool_, dtypes.uint8) or str(getattr(item, "dtype", "")) == "bool"
    return item.ndim if is_mask else 1


def _raw_slice(item: slice) -> slice:
    start, stop, step = item.start, item.stop, item.step
    try:
        if type(start) is not int and start is not None:
            start = start.__index__()
        if type(stop) is not int and stop is not None:
            stop = stop.__index__()
        if type(step) is not int and step is not None:
            step = step.__index__()
    except AttributeError as error:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from error
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


def _mask(value: bool, tensor: Tensor) -> Any:
    key = dispatch_key(dtypes.bool_, tensor.device)
    return key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0)


_INDICES = frozenset({dtypes.int64, dtypes.int32, dtypes.uint8, dtypes.bool_})


def _tensor_item(item: Tensor, tensor: Tensor, dim: int, force: bool = False) -> tuple[Any, bool, int]:
    """Convert a tensor in an index to a raw item for the backend.

    Also return whether it is an advanced index, and the number of dimensions that it indexes.
    """
    category = item.dtype.category
    if category > dtypes.INTEGER or (item.ndim and item.dtype not in _INDICES):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if item.dtype is dtypes.uint8:
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        item = item.bool()
    if item.dtype is dtypes.bool_:
        expected = tensor._array.shape[dim : dim + item.ndim]
        if item._array.shape != expected:
            for offset, (mask_size, size) in enumerate(zip(item._array.shape, expected, strict=False)):
                if mask_size != size:
                    raise IndexError(
                        f"The shape of the mask {list(item.shape)} at index {offset} does not match the shape of "
                        f"the indexed tensor {list(tensor.shape)} at index {dim + offset}"
                    )
            raise IndexError(f"too many indices for tensor of dimension {tensor.ndim}")
        if not tensor._key.backend.has_data and item._key.backend.has_data:
            return item._key.backend.to_host(item._array), True, item.ndim  # the mask's data determine the result's size
        return item.to(tensor.device)._array, True, item.ndim
    if type(item._key) is not DispatchKey:  # the index is batched by `vmap`
        if not set(item._key.levels) <= set(tensor._key.levels):
            raise NeedsLevels(item._key.levels)
        return hooks.batches.lift(item, tensor._key.levels)._array, True, 1
    if not item.ndim and not force:
        return int(item.item()), False, 1
    return item.to(tensor.device)._array, True, 1


class NeedsLevels(RuntimeError):
    """Raised if the index is batched by `vmap` but the indexed tensor is not."""

    def __init__(self, levels: Any) -> None:
        super().__init__(VMAP_WRITES_TO_ALL)
        self.levels = levels

    def lifted(self, tensor: Tensor) -> Tensor:
        return hooks.batches.lift(tensor, self.levels)


def _explain_bounds(index: Any, error: Exception) -> None:
    """Raise PyTorch's error in place of a library's error about bounds or broadcasting; do nothing for other errors."""
    if isinstance(error, IndexError) and "out of bounds" in str(error):
        words = str(error).split()
        details = {words[i]: words[i + 1] for i in range(len(words) - 1)}
        value, dim, size = details.get("index", "?"), details.get("axis", "0"), words[-1]
        raise IndexError(f"index {value} is out of bounds for dimension {dim} with size {size}") from None
    if isinstance(error, IndexError) and "broadcast" in str(error):
        shapes = ", ".join(str(list(item.shape)) for item in index if hasattr(item, "shape"))
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None


def _is_ordinary(index: Any) -> bool:
    """Whether no item of the index can override the operation; of a long list, only the first items are checked."""
    index_type = type(index)
    return index_type in DIRECT and (index_type not in (tuple, list) or DIRECT.issuperset(map(type, index[:8])))


def _getitem_method(self: Tensor, index: Any) -> Tensor:
    if type(self) not in FAST and overriding.should_offer((self,), name="__getitem__"):
        return overriding.handle_torch_function(Tensor.__getitem__, (self,), self, index)  # type: ignore[no-any-return]  # an override may return anything
    if not self._array.ndim and type(index) is int and index == 0:
        return self.item()  # type: ignore[return-value]  # a number, as for `loss.data[0]` in PyTorch 0.2
    raw: tuple[Any, ...]
    if type(index) is int:
        raw, advanced, operation = (
            (index, ...),
            False,
            "getitem_select",
        )  # the ellipsis makes the backend return an array, not a scalar
    elif type(index) is slice and self._array.ndim:
        raw, advanced, operation = (_raw_slice(index),), False, "getitem_slice"
    else:
        if not _is_ordinary(index):
            if overriding.may_override((index,)):
                relevant = overriding.relevant((self, index))
                return overriding.handle_torch_function(Tensor.__getitem__, relevant, self, index)  # type: ignore[no-any-return]  # an override may return anything
            if state.dispatching and any(type(item) in overriding.DISPATCHING for item in overriding.relevant((index,))):
                indices = list(index) if isinstance(index, tuple) else [index]
                result = hooks.call_aten_operator("index", (self, indices), {})
                return hooks.record_index(self, indices, result) if is_grad_enabled() and self._requires_grad else result  # type: ignore[no-any-return]  # what a class returns
        try:
            raw, advanced, operation = raw_index(self, index)
        except NeedsLevels as need:
            return _getitem_method(need.lifted(self), index)
    try:
        if not advanced:
            return OPS[operation].function(self, raw)  # type: ignore[no-any-return]  # the table holds functions of all sorts
        return indexed(*_integers_first(self, raw))
    except IndexError as error:
        _explain_bounds(raw, error)
        raise


def _integers_first(tensor: Tensor, raw: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
    """If integers in an advanced index are separated from the index arrays, apply them first, as a view.

    Return the view and the remaining items.  NumPy would treat such integers as arrays and move the arrays' dimensions to the
    front; PyTorch does not.
    """
    places = [n for n, item in enumerate(raw) if type(item) is int or hasattr(item, "dtype")]
    integers = sum(type(raw[n]) is int for n in places)
    if not integers or places[-1] - places[0] + 1 == len(places):
        return tensor, raw
    view: list[Any] = []
    for item in raw:
        if type(item) is int or item is ...:
            view.append(item)
        elif item is not None:
            view += [slice(None)] * (item.ndim if str(getattr(item, "dtype", "")).endswith("bool") else 1)
    view += [] if ... in view else [...]
    return OPS["getitem_select"].function(tensor, tuple(view)), tuple(item for item in raw if type(item) is not int)


def _setitem_method(self: Tensor, index: Any, value: Any) -> None:
    from ...engine.calls.inplace import (
        assign,
        check_batch,
        check_writable,
        give_history,
        is_plain,
        may_overlap,
        snapshot,
        write_by_dispatch,
        write_changes,
    )

    if type(self) not in FAST or type(value) not in DIRECT or not _is_ordinary(index):
        relevant = overriding.relevant((self, index, value))
        if overriding.should_offer(relevant, name="__setitem__"):
            overriding.handle_torch_function(Tensor.__setitem__, relevant, self, index, value)
            return
        indices = overriding.relevant((index,))
        if state.dispatching and any(type(item) in overriding.DISPATCHING for item in indices):
            from ..creation.from_data import as_tensor

            value = as_tensor(value, dtype=self.dtype, device=self.device)
            items = list(index) if isinstance(index, tuple) else [index]
            if write_by_dispatch("index_put_", self, [*indices, value], (self, items, value)):
                return
    raw, advanced, _ = raw_index(self, index)
    if advanced:
        self, raw = _integers_first(self, raw)
    node_name = _node_name_of_write(raw, isinstance(value, Tensor))
    check_writable(self, part=node_name == "CopySlices")
    key = self._key
    if isinstance(value, (bool, int, float, complex)):
        value = filler(value, key.materialized, alone=True)
    elif not isinstance(value, Tensor):
        from ..creation.from_data import tensor

        value = tensor(value, dtype=key.dtype, device=key.device)
    elif value._key is not key or type(key) is not DispatchKey:
        check_batch(key, value._key)
        if advanced and value.dtype is not key.dtype and not (value.numel() == 1 and _is_mask(raw)):
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{key.dtype.legacy_name} for the destination and {value.dtype.legacy_name} for the source."
            )
        value = value._key.materialize(value).to(key.device, key.dtype)
        value = value if type(key) is DispatchKey else hooks.batches.lift(value, key.levels)
    value = _drop_leading_ones(key, value, self._array, raw)
    if value._storage is not None and value._storage is self._storage:
        _check_separate(self, index, raw, advanced, value)
    if not advanced and self._view is not None and may_overlap(self):
        self[index].copy_(value)  # several elements of the tensor share memory, so a write to one may change others
        return
    before = snapshot(self)
    if state.forward_levels:
        assign(self, OPS["setitem"].function(before, value, raw))
        return
    tracked = is_grad_enabled() and (self._requires_grad or value._requires_grad)
    if tracked:
        check_tracked_write(self)
    storage = self._storage or self._own_storage()
    try:
        if key.backend.mutable:
            key.F.setitem_in_place(self._array, value._array, raw)
        else:
            storage.replace(self, key.F.setitem(self._array, value._array, raw))
    except (IndexError, ValueError) as error:
        if not advanced or "read-only" not in str(error) or not is_plain(self) or value._requires_grad:
            _explain_write(self, raw, value, error)
        name = "masked_fill" if value.numel() == 1 and _is_mask(raw) else "index_put"
        write_changes(self, key.F.setitem(self._array, value._array, raw), name)
    storage.version += 1
    if tracked:
        recorded = OPS["setitem"].record(self._array, key.materialized, before, value, raw)
        give_history(self, rename_node(recorded, node_name), storage)


def _check_separate(self: Tensor, index: Any, raw: tuple[Any, ...], advanced: bool, value: Tensor) -> None:
    """Raise RuntimeError if `self[index] = value`, an `index_put_`, `masked_fill_` or `copy_`, reads memory that it changes."""
    if advanced:
        if value.numel() > 1 or not _is_mask(raw):
            check_memory(Out.DISJOINT, self, (value,))
    elif value._array.ndim and not _is_item(value, self, raw):
        check_memory(Out(0), self[index], (value,))


def _is_item(view: Tensor, tensor: Tensor, raw: tuple[Any, ...]) -> bool:
    """Whether a view is the item `raw` of a tensor, as in `x[1:] += 1`, which assigns `x[1:]` to itself."""
    if view._view is None or view._view[0] is not tensor or not view._view[1].name.startswith("getitem"):
        return False
    items = [made[:-1] if made and made[-1] is ... else made for made in (raw, view._view[2][0])]
    return bool(items[0] == items[1])


def _node_name_of_write(index: tuple[Any, ...], is_tensor: bool) -> str:
    """Return PyTorch's name for the autograd node of an assignment to the whole tensor, to an index tensor, or to a view."""
    chosen = [item for item in index if item is not Ellipsis and not (isinstance(item, slice) and item == slice(None))]
    if not chosen:
        return "CopyBackwards" if is_tensor else "FillBackward3"
    return "IndexPutBackward0" if all(getattr(item, "ndim", 0) for item in chosen) else "CopySlices"


def _is_mask(index: tuple[Any, ...]) -> bool:
    """Whether the only index is a mask, to whose elements a single value is assigned by `masked_fill_`."""
    return len(index) == 1 and str(getattr(index[0], "dtype", "")).endswith("bool")


def _drop_leading_ones(key: Any, value: Tensor, target: Any, index: Any) -> Tensor:
    """Drop leading dimensions of size 1 until `value` has no more dimensions than `target[index]`, as PyTorch does."""
    shape = value._array.shape
    if not shape or shape[0] != 1:
        return value
    ndim, extra = key.F.index(target, index).ndim, 0
    while len(shape) - extra > ndim and shape[extra] == 1:
        extra += 1
    return value.reshape(shape[extra:]) if extra else value


def _explain_write(tensor: Tensor, index: Any, value: Tensor, error: Exception) -> NoReturn:
    _explain_bounds(index, error)
    if isinstance(error, IndexError):
        raise error
    if "read-only" in str(error):
        raise overlap_error() from error
    place = list(tensor._key.F.index(tensor._array, index).shape)
    raise RuntimeError(
        f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {place}"
    ) from error


def _setitem_in_place(xp: Any, input: Any, value: Any, /, index: Any) -> Any:
    input[index] = value
    return input


op(
    "setitem_in_place",
    _setitem_in_place,
    kind=Kind.SCATTER,
    narrow=Narrow.ALL,
    public=False,
    method=False,
    out=False,
    writes=(0,),
)
attach(__getitem__=_getitem_method, __setitem__=_setitem_method)


def _delitem(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


attach(__delitem__=_delitem)


@composite(public=False)
def index(input: Tensor, positions: Any, dims: Any) -> Tensor:
    """Index the dimensions `positions` by the items of `dims`: integers, slices, tensors, lists or None.

    A tuple of dimensions in `positions` is indexed as if they were flattened into one.

    Args:
        positions: one dimension, or a sequence of dimensions.
        dims: one item, or a sequence with one item for each position.

    Raises:
        IndexError: a dimension or an index is out of bounds.
        TypeError: a position is not an integer, or `dims` and `positions` have different lengths.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> x.index(1, 2), x.index((0, 1), (1, torch.tensor([0, 2]))), x.index(((0, 1),), (4,))
    (tensor([2, 5]), tensor([3, 5]), tensor(4))
    """
    paired = isinstance(positions, (tuple, list)) and isinstance(dims, (tuple, list))
    places, indices = (list(positions), list(dims)) if paired else ([positions], [dims])
    if len(places) != len(indices):
        raise TypeError(f"dims ({len(places)}) and indices ({len(indices)}) must have the same length")
    groups = [_dims_of_position(place, input.ndim) for place in places]
    grouped = {dim for group in groups for dim in group}
    firsts = {group[0]: (group, item) for group, item in zip(groups, indices, strict=True)}
    order: list[int] = []
    shape, items = [], []
    for dim, length in enumerate(input.shape):
        if dim in grouped and dim not in firsts:
            continue
        group, item = firsts.get(dim, ((dim,), slice(None)))
        order += group
        shape.append(math.prod(input.shape[d] for d in group) if len(group) > 1 else length)
        items.append(item)
    flat = input.permute(order).reshape(shape) if len(shape) < input.ndim else input
    return flat[tuple(items)]


def _dims_of_position(position: Any, ndim: int) -> tuple[int, ...]:
    for dim in position if isinstance(position, (tuple, list)) else (position,):
        if not hasattr(dim, "__index__"):
            raise TypeError(f"expected a dimension specifyer but found {dim!r}")
    return tuple(wrap_dim(dim, ndim) for dim in (position if isinstance(position, (tuple, list)) else (position,)))


RECORDED.index = indexed  # so that `F.index` in derivative rules takes the same arguments as this operation
