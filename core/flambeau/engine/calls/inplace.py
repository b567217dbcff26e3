"""In-place operations, and the autograd history of tensors that share memory.

`y.add_(x)` computes `y + x` and writes it into the memory of `y`, whose `grad_fn` is then the node of that addition.  Where `y`
is a view, its base changes too: the base gets a node that scatters the new values of the view into the old values of the base,
and all other views of the base are recorded again, as views of the base with its new history.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from threading import local
from typing import Any

from ...backend import is_mutable
from ..devices.devices import DispatchKey
from ..devices.state import state
from ..devices.warning import warn
from ..tape.fast_path import FAST
from ..tape.grad_mode import grad_flag
from ..tape.node import Node, Output, StaleView, next_seq
from ..tape.saved import SAVE_HOOKS, check_inference, short_name
from ..tape.transforming import VMAP_WRITES_TO_ALL, refuse_captured
from ..tensors.storage import IN_CUSTOM_FUNCTION, IN_INFERENCE_MODE, Storage
from ..tensors.tensor import Tensor, alias, attach
from ..values import dtypes
from . import overriding
from .dispatch import result_dtype
from .facts import Kind, Overlap, facts_of
from .operands import constant
from .out_rules import Out
from .outputs import check_memory, is_expanded, overlap_error
from .signatures import inplace_doc
from .tables import OPS
from .transform_hooks import hooks

__all__ = [
    "assign", "check_tracked_write", "check_writable", "give_history", "in_place", "is_plain", "kernel_caller", "may_overlap",
    "rebase", "regenerate", "snapshot", "write_by_dispatch", "write_elements",
]  # fmt: skip


def in_place(name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return the in-place method `name_` of a function."""
    fast = kernel_caller(name, function)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if fast(self, args, kwargs):
            return self
        if "out" in kwargs:
            raise TypeError(f"{name}_() got an unexpected keyword argument 'out'")
        if type(self) not in FAST or kwargs or not overriding.are_direct(args):  # the call may be overridden
            values = overriding.relevant([self, *args, *kwargs.values()])
            if overriding.should_offer(values, name=method.__name__):
                return overriding.handle_torch_function(method, values, self, *args, **kwargs)  # type: ignore[no-any-return]  # an override may return anything
            if self._key.wraps:
                return hooks.write_wrapper(method.__name__, self, args, kwargs)
            if state.dispatching and write_by_dispatch(f"{name}_", self, values, (self, *args), kwargs):
                return self
        check_writable(self)
        check_separate(self, args, kwargs, name, function)
        before, first = snapshot(self), next_seq()
        outer = _overwritten.by_snapshot
        try:
            _overwritten.by_snapshot = (before, self) if _may_write(name, self, before) else None
            result = function(before, *args, **kwargs)
        except NotImplementedError:
            _check_cast(self, args)
            raise
        finally:
            _overwritten.by_snapshot = outer
        if result._node is not None:
            _save_original(result._node, before, first)
        return assign(self, result, name)

    method.__name__ = method.__qualname__ = name + "_"
    method.__module__ = "flambeau"
    method.__doc__ = inplace_doc(name, function.__doc__)
    method.__wrapped__ = getattr(function, "__without_out__", function)  # type: ignore[attr-defined]  # a function has attributes
    return method


def write_by_dispatch(
    name: str, target: Tensor, values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> bool:
    """Call `__torch_dispatch__` for an in-place operator on a plain tensor, if another argument is a wrapper subclass.

    Return False without a call if there is no such argument or autograd records the operator.

    Args:
        name: the name of the operator, such as `add_`.
        target: the tensor that the operator changes.
        values: the tensors and other objects in the arguments.
        args, kwargs: the arguments of the operator.
    """
    if type(target) in overriding.DISPATCHING or not any(type(value) in overriding.DISPATCHING for value in values):
        return False
    if grad_flag.get() and any(isinstance(value, Tensor) and value._requires_grad for value in values):
        return False
    hooks.call_aten_operator(name, args, kwargs or {})
    return True


class _Overwritten(local):
    """What an in-place method will overwrite, while it computes the result: the snapshot, and the tensor itself.

    Each thread has its own.
    """

    by_snapshot: tuple[Tensor, Tensor] | None = None


_overwritten = _Overwritten()


def _may_write(name: str, self: Tensor, before: Tensor) -> bool:
    """Whether the in-place method of an operation may write to the memory of `self` while it computes the result.

    `np.add.at` also writes to expanded arrays, which are read-only.
    """
    if before._array is not self._array or state.forward_levels:
        return False
    if self._view is None:
        return True
    facts = facts_of(name)
    return (facts is not None and facts.overlap is not Overlap.REFUSED) or not is_expanded(self)


def write_elements(name: str, input: Tensor, *operands: Any) -> Tensor:
    """Return the result of an operation that changes elements of `input` at some indices and copies all others.

    Called for an in-place method, such as `index_add_`, it changes the elements in the memory of `input`, if the backend has an
    in-place kernel of this name: the time then does not depend on the size of `input`. The derivative rules must not need the
    original elements of `input`.
    """
    record, key, overwritten = OPS[name], input._key, _overwritten.by_snapshot
    kernel = key.backend.all_inplace_kernels.get(name) if overwritten is not None and overwritten[0] is input else None
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    plain = all(
        type(tensor) in FAST and type(tensor._key) is DispatchKey and tensor._key.device is key.device for tensor in tensors
    )
    if kernel is None or overwritten is None or not plain:
        return record.function(input, *operands)  # type: ignore[no-any-return]  # a generated function
    target = overwritten[1]
    tracked = grad_flag.get() and (input._requires_grad or any(tensor._requires_grad for tensor in tensors))
    if tracked:
        check_tracked_write(target)
    try:
        kernel(input._array, *(operand._array if isinstance(operand, Tensor) else operand for operand in operands))
    except Exception as error:
        if isinstance(error, key.backend.arithmetic_errors):
            raise  # the kernel may have written already
        return record.function(input, *operands)  # type: ignore[no-any-return]  # nothing was written: this explains the error
    result = record.record(input._array, key.materialized, input, *operands) if tracked else alias(input)
    _overwritten.by_snapshot = result, target  # the method may change further elements
    return result  # type: ignore[no-any-return]  # a generated function


def check_tracked_write(tensor: Tensor) -> None:
    """Raise RuntimeError, before anything is written, if autograd cannot record a write to this view."""
    if tensor._view is not None:
        _check_view(tensor)


def _check_cast(self: Tensor, operands: tuple[Any, ...]) -> None:
    """Raise RuntimeError if the common dtype of the tensor and the operands cannot be cast to the tensor's dtype."""
    common = result_dtype([self, *(operand for operand in operands if isinstance(operand, (Tensor, bool, int, float, complex)))])
    if not dtypes.can_cast(common, self.dtype):
        raise cast_error(common, self.dtype) from None


def cast_error(from_dtype: dtypes.dtype, to_dtype: dtypes.dtype) -> RuntimeError:
    return RuntimeError(f"result type {from_dtype.legacy_name} can't be cast to the desired output type {to_dtype.legacy_name}")


def snapshot(self: Tensor) -> Tensor:
    """Return an alias of the tensor with its current history, to compute the result that will overwrite the tensor."""
    before = alias(self)
    before._node, before._requires_grad = self._node, self._requires_grad
    if SAVE_HOOKS and grad_flag.get():  # hooks must not receive memory that will be overwritten
        before._array, before._storage = self._key.backend.copy(self._array), None
    if state.forward_levels:
        hooks.forward.snapshot(self, before)
    return before  # type: ignore[no-any-return]  # `alias` returns Any


def _save_original(edge: Any, before: Tensor, first: int) -> None:
    """Replace `before`, which will be overwritten, by a copy in all nodes with `seq >= first` that have saved it."""
    stack, original = [edge], None
    while stack:
        node = stack.pop()
        node = node.node if type(node) is Output else node
        if not isinstance(node, Node) or node.seq < first:
            continue
        stack.extend(node.edges)
        for name in node.saved_tensor_slots:
            saved = getattr(node, name)
            if type(saved) is tuple and saved and saved[0] is before:
                if original is None:
                    original = snapshot(before)
                    original._array, original._storage = before._key.backend.copy(before._array), None
                setattr(node, name, (original, original._array, 0))


def kernel_caller(name: str, function: Any) -> Callable[[Tensor, tuple[Any, ...], dict[str, Any]], bool]:
    """Return a function that runs the backend's in-place kernel and returns True, or returns False if the kernel does not apply.

    The kernel applies to plain tensors for which autograd has nothing to record.
    """
    record = OPS.get(name)
    max_args = len(record.tensor_names) - 1 if record else inspect.unwrap(function).__code__.co_argcount - 1

    def keeps_key(key: DispatchKey) -> bool:
        """Whether the result has the tensor's dtype and device; False if the dtype is unsupported: the general path raises."""
        try:
            return record is None or key[name][1] is key
        except NotImplementedError:
            return False

    def call(self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        key = self._key
        kernel = key.backend.all_inplace_kernels.get(name)
        if kernel is None or type(self) not in FAST or key.dtype in dtypes.HALF:  # only the general path rounds float16 correctly
            return False
        if len(args) > max_args:  # the deprecated form `x.add_(number, tensor)`
            return False
        recording = grad_flag.get()
        if self._inference or state.mutation_guards or (self._view is not None and recording and _root(self)._requires_grad):
            return False
        if (self._requires_grad and recording) or not keeps_key(key):
            return False
        arrays = []
        for argument in args:
            if type(argument) not in FAST:
                if type(argument) not in key.scalars or (
                    type(argument) is bool and record is not None and record.check is not None
                ):
                    return False
                try:
                    argument = constant(argument, key)
                except OverflowError:
                    return False
            elif argument._key is not key or (argument._requires_grad and recording):
                return False
            elif self._storage is not None and argument._storage is self._storage and argument is not self:
                check_memory(Out(0), self, (argument,))
            arrays.append(argument._array)
        try:
            if kwargs:
                scalars = {
                    name: constant(value, key)._array
                    for name, value in kwargs.items()
                    if type(value) in key.scalars and (type(value) is not bool or key.dtype is dtypes.bool_)
                }
                if len(scalars) < len(kwargs):
                    return False
                kernel(self._array, *arrays, **scalars)
            else:
                kernel(self._array, *arrays)
        except Exception as error:
            if isinstance(error, key.backend.arithmetic_errors):
                raise  # the kernel may have written already
            return False  # nothing was written: the general path explains the error
        storage = self._storage or self._own_storage()
        storage.version += 1
        return True

    return call


def check_writable(tensor: Tensor, used: str = "is being used", part: bool = False) -> None:
    """Raise RuntimeError where PyTorch forbids an in-place write.  `part`: whether only a part is written (`x[0] = 1`)."""
    check_inference(tensor)
    if state.mutation_guards:
        refuse_captured(tensor)
    if not grad_flag.get():
        return
    if tensor._view is not None and (tensor._requires_grad or _root(tensor)._requires_grad):
        _check_view(tensor)
        if _root(tensor)._node is None:
            raise RuntimeError(f"a view of a leaf Variable that requires grad {used} in an in-place operation.")
    if tensor._requires_grad and tensor._node is None:
        what = "a view of a leaf Variable" if part else "a leaf Variable"
        raise RuntimeError(f"{what} that requires grad {used} in an in-place operation.")


def check_separate(self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
    """Raise RuntimeError if an in-place operation reads memory of the written tensor, except where PyTorch allows it."""
    facts = facts_of(name)
    operands = [*args, *kwargs.values()]
    if facts is not None and facts.may_share:
        named = [*zip(inspect.unwrap(function).__code__.co_varnames[1:], args, strict=False), *kwargs.items()]
        operands = [value for key, value in named if key not in facts.may_share]
    check_memory(Out.DISJOINT if facts is not None and facts.kind is Kind.SCATTER else Out(0), self, operands)


def is_plain(tensor: Tensor) -> bool:
    """Whether a write to the tensor needs no handling of autograd, inference mode or transforms."""
    tracked = tensor._requires_grad or tensor._inference or state.mutation_guards
    return not (tracked or (tensor._view is not None and _root(tensor)._requires_grad))


def _root(view: Tensor) -> Tensor:
    while view._view is not None:
        view = view._view[0]
    return view


def assign(self: Tensor, result: Tensor, name: str = "copy") -> Tensor:
    """Write `result` into the memory of `self`, and give `self` its history."""
    key, array = self._key, result._array
    if array.shape != self._array.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}")
    if result._key is not key:
        check_batch(key, result._key)
        if name == "abs":
            raise RuntimeError("In-place abs is not supported for complex tensors.")
        if not dtypes.can_cast(result.dtype, key.dtype):
            raise RuntimeError(
                f"result type {result.dtype.legacy_name} can't be cast to the desired output type {key.dtype.legacy_name}"
            )
        result = result._key.materialize(result).to(key.device, key.dtype)
        array = result._array
    storage = self._storage or self._own_storage()
    tracked = grad_flag.get() and result._requires_grad
    if tracked:
        check_tracked_write(self)
    _write(self, array, storage, "" if tracked else name)
    storage.version += 1
    if tracked:
        give_history(self, result, storage)
    if state.forward_levels:
        hooks.forward.overwrite(self, result)
    return self


attach(_assign=assign)


def check_batch(key: DispatchKey, value_key: DispatchKey) -> None:
    """Raise RuntimeError if a tensor batched by `vmap` would be written into one that is not batched."""
    if type(value_key) is not DispatchKey and not set(value_key.levels) <= set(key.levels):
        raise RuntimeError(VMAP_WRITES_TO_ALL)


def _write(self: Tensor, array: Any, storage: Storage, name: str) -> None:
    if array is self._array and self._key.lazy_op is None:  # `write_elements` has written to it
        return
    backend = self._key.backend
    if is_mutable(backend):
        try:
            backend.write(self._array, array)
        except ValueError as error:  # the array is read-only: an expanded view
            facts = facts_of(name)
            if facts is None or facts.overlap is Overlap.REFUSED or _root(self)._requires_grad:
                raise overlap_error() from error
            write_changes(self, array, name)
        return
    storage.replace(self, self._key.stored(array))


def write_changes(self: Tensor, values: Any, name: str) -> None:
    """Write the elements of `values` that differ from those of an expanded tensor; warn if the operation's record requires it."""
    facts = facts_of(name)
    if facts is not None and facts.overlap is Overlap.DEPRECATED:
        example = "tensor[indices] = tensor" if name == "index_put" else "tensor[mask] = scalar"
        warn(
            f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            f"This also applies to advanced indexing e.g. {example}"
        )
    backend, array = self._key.backend, self._array
    flat, offset = backend.root(array)
    writable = backend.as_strided(flat, array.shape, backend.strides(array), offset)
    changed = array != values
    writable[changed] = values[changed]


def _check_view(view: Tensor, ancestor: Tensor | None = None) -> None:
    """Raise RuntimeError if the view, or a view that it was made from (`ancestor`), may not be written to."""
    parent, record, _, recorded = (view if ancestor is None else ancestor)._view  # type: ignore[misc]  # a view
    if record is None or recorded is not True:
        raise RuntimeError(_view_error_message(view, "and is being modified inplace", record, recorded))
    if parent._view is not None:
        _check_view(view, parent)


def _view_error_message(view: Tensor, what: str, record: Any, recorded: bool | str) -> str:
    """Return PyTorch's error message for a forbidden in-place write to a view or to its base."""
    index = view._node.index if isinstance(view._node, Output) else 0
    subject = (
        f"Output {index} of {short_name(view.grad_fn)} is a view {what}."
        if view.grad_fn is not None
        else (f"A view was created in no_grad mode {what} with grad mode enabled.")
    )
    if recorded is IN_CUSTOM_FUNCTION:
        return (
            f"{subject} This view was created inside a custom Function (or because an input was returned as-is) and the "
            "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
            "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
            "custom Function."
        )
    if recorded is True:
        return (
            f"{subject} This view is the output of a function that returns multiple views. Such functions do not allow "
            "the output views to be modified inplace. You should replace the inplace operation by an out-of-place "
            "one."
        )
    mode, block = ("inference mode", "inference_mode") if recorded is IN_INFERENCE_MODE else ("no_grad mode", "no_grad")
    now = "in normal mode" if recorded is IN_INFERENCE_MODE else "with grad mode enabled"
    return (
        f"A view was created in {mode} {what} {now}. Given that this use case is ambiguous and error-prone, it is forbidden. "
        "You can clarify your code by moving both the view and the inplace either both inside "
        f"the {block} block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
        "tracked)."
    )


def give_history(self: Tensor, result: Tensor, storage: Storage) -> None:
    """Give `self` the history of `result`, which was written into its memory."""
    if result._node is None:  # `result` is a leaf: record a copy of it
        result = result.clone()
    _resave_output(result._node, self, storage)
    rebase(self, result._node)


def rebase(self: Tensor, edge: Any) -> None:
    """Make `edge` the node of a tensor that was modified in-place, and update the tensors that share its memory."""
    storage = self._storage or self._own_storage()
    if self._view is None:
        _change_history(self, edge)
    else:
        _check_view(self)
        _rewrite_base(self, edge)
    _refresh_history(storage, _root(self), except_for=self)


def _refresh_history(storage: Storage, root: Tensor, except_for: Tensor) -> None:
    """Record all views of `root` again, with its new history, except the view that has just been written to."""
    for view in storage.alive():
        if view is not except_for and view._view is not None and _root(view) is root:
            regenerate(view)


def _change_history(tensor: Tensor, edge: Any) -> None:
    retained = _stop_retaining(tensor)
    tensor._node, tensor._requires_grad = edge, True
    if retained:
        tensor.retain_grad()


def _stop_retaining(self: Tensor) -> bool:
    """Undo `retain_grad` on the tensor's current node; return whether it was in effect."""
    if not self.retains_grad or self._node is None:
        return False
    node, index = (self._node.node, self._node.index) if type(self._node) is Output else (self._node, 0)
    return node.hooks is not None and node.hooks.retain.pop(index, None) is not None


def _resave_output(node: Any, self: Tensor, storage: Storage) -> None:
    """Update the version of the output that `node` has saved, after it was written into the memory of `self`."""
    if "out" in getattr(node, "saves", ()) and type(node.out) is tuple and len(node.out) == 3:
        holder = node.out[0]
        holder._storage = storage
        node.out = (holder, node.out[1], storage.version)


def _rewrite_base(view: Tensor, node: Any) -> None:
    """Record in `view`, and in every tensor up to its root, that `view` now has the values computed by `node`."""
    assert view._view is not None
    parent, record, params, _ = view._view
    written_views = [view]
    if _is_part_of_overlapping(view):
        while parent._view is not None:
            written_views.append(parent)
            parent = parent._view[0]
        direct_view = parent.as_strided(view.shape, view.stride(), view.storage_offset())
        _, record, params, _ = direct_view._view  # type: ignore[misc]  # a view
    before = alias(parent)
    before._node, before._requires_grad = parent._node, parent._requires_grad
    value = alias(view)
    value._node, value._requires_grad = node, True
    scattered = OPS["view_scatter"].record(parent._array, parent._key.materialized, before, value, record.name, params)
    if parent._view is None:
        _change_history(parent, scattered._node)
    else:
        _rewrite_base(parent, scattered._node)
    for written_view in reversed(written_views):
        regenerate(written_view)


def _is_part_of_overlapping(view: Tensor) -> bool:
    """Whether the parent of the view may contain elements of the root several times, as an expanded tensor does.

    A write to the view then also changes elements of the parent outside the view.  Scattering the view's new values into the
    parent's old values would miss those.
    """
    parent = view._view[0]  # type: ignore[index]  # a view
    return may_overlap(parent) and view._key.backend.mutable and _root(view)._key is view._key


def may_overlap(tensor: Tensor) -> bool:
    """Whether several elements of the tensor may share one memory location, as after `expand`."""
    while tensor._view is not None:
        tensor, record, _, _ = tensor._view
        if record is not None and record.name in _OVERLAPPING:
            return True
    return False


_OVERLAPPING = frozenset({"as_strided", "expand", "unfold"})


def regenerate(view: Tensor) -> None:
    """Record the view operation again, from the parent with its current history."""
    assert view._view is not None
    parent, record, params, recorded = view._view
    if not parent._requires_grad:
        return
    if record is not None and recorded is True:
        _change_history(view, record.record(view._array, view._key, parent, *params)._node)
    else:
        what = "and its base or another view of its base has been modified inplace"
        _change_history(view, StaleView.before(view, _view_error_message(view, what, record, recorded)))
