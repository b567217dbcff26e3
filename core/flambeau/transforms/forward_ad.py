"""Forward-mode differentiation: dual tensors, which have a tangent in addition to their value.

Operations have no separate jvp rules.  Their vjp rules define the map `g -> J^T g`.  It is linear in `g`, so its vjp with the
tangent `t` as cotangent is `J t`.

A level is one tangent direction.  While any level is open, the generated fast path is disabled and every operation calls
`propagate`.  Levels can be nested (as in nested `func.jvp`); the tangents of an inner level have tangents of the outer levels.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any, NamedTuple

from ..engine.calls.dispatch import arguments_to_save, dispatch
from ..engine.calls.record import Operation
from ..engine.calls.tables import OPS
from ..engine.calls.transform_hooks import ForwardHooks, hooks
from ..engine.devices.state import state
from ..engine.tape import engine
from ..engine.tape.fast_path import leave_fast_path, return_to_fast_path
from ..engine.tape.grad_mode import Mode, enable_grad, grad_flag, is_inference_mode_enabled
from ..engine.tape.node import Output
from ..engine.tape.saved import SAVE_HOOKS, saved_outputs, unpack_tensor
from ..engine.tape.tensor_class import RECORDED
from ..engine.tensors.tensor import Tensor, wrap
from ..engine.values.dtypes import COMPLEX
from ..operations.views.writes import seen_of, written

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class Level:
    """An open level, with references to the tensors that have a tangent in this level."""

    __slots__ = ("in_transform", "members")

    def __init__(self, in_transform: bool) -> None:
        self.members: list[weakref.ref[Tensor]] = []
        self.in_transform: bool = in_transform
        """Whether a transform, such as `func.jvp`, opened the level, and not `dual_level`."""


_levels: ContextVar[tuple[Level, ...]] = ContextVar("forward_levels", default=())
levels = _levels.get  # open levels of this thread, innermost last


def open_level(*, in_transform: bool = True) -> Level:
    """Open a level, which becomes the innermost one."""
    level = Level(in_transform)
    _levels.set((*levels(), level))
    state.count("forward_levels", 1)
    leave_fast_path()
    return level


def close_level(level: Level) -> None:
    """Close the innermost level and drop its tangents."""
    *outer, innermost = levels()
    assert innermost is level
    _levels.set(tuple(outer))
    state.count("forward_levels", -1)
    return_to_fast_path()
    for reference in level.members:
        tensor = reference()
        for table in ("_tangents", "_derived") if tensor is not None else ():
            tensor.__dict__.get(table, {}).pop(level, None)


# --- public functions ---------------------------------------------------------------------------------------------


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's value and its tangent (None without a tangent)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level in which dual tensors can be created; return its number, 0.

    Raises:
        RuntimeError: a level is already open.
    """
    if levels():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    open_level(in_transform=False)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level and drop all tangents."""
    if level is not None and level != len(levels()) - 1:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if not levels():
        raise RuntimeError("Dual level must be a positive number.")
    close_level(levels()[-1])


class dual_level(Mode):
    """Context manager (and decorator) in which dual tensors can be created.

    >>> from flambeau.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual tensor: a view of `tensor` with the tangent `tangent`.

    Raises:
        RuntimeError: no level is open, the shapes differ, or an argument is already a dual tensor.
        ValueError: an argument is not floating-point or complex.
    """
    if not levels() or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if level is not None and level >= len(levels()):
        raise RuntimeError("Invalid level given to _make_dual")
    for what, argument in (("primal", tensor), ("tangent", tangent)):
        if not (argument.is_floating_point() or argument.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {argument.dtype}")
    innermost = levels()[-1]
    if tangent_of(tensor, innermost) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{len(levels()) - 1} is not supported."
        )
    if tangent_of(tangent, innermost) is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level{len(levels()) - 1} is not supported."
        )
    dual: Tensor = OPS["getitem_alias"].function(tensor, (...,))
    set_tangent(dual, innermost, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a dual tensor."""
    tangent = tangent_of(tensor, levels()[-1]) if levels() else None
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(primal_of(tensor, levels()[-1]), tangent)


# --- tangents -----------------------------------------------------------------------------------------------------


def set_tangent(tensor: Tensor, level: Level, tangent: Tensor) -> None:
    """Set the tangent of `tensor` in this level."""
    if tangent._array.shape != tensor._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
            f"is not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of "
            f"size {list(tangent.shape)}."
        )
    _set(tensor, level, _match_layout(tensor, tangent))


def _set(tensor: Tensor, level: Level, tangent: Tensor | None) -> None:
    tensor.__dict__.setdefault("_tangents", {})[level] = tangent
    level.members.append(weakref.ref(tensor))


def _match_layout(primal: Tensor, tangent: Tensor) -> Tensor:
    """Move the tangent into the `vmap` levels of its primal, and order its strides equally, so that a view applies to both."""
    tangent = hooks.batches.lift(tangent, primal._key.levels)
    strides, tangent_strides = (t._key.backend.strides(t._array) for t in (primal, tangent))
    if tangent_strides == strides:
        return tangent
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    ordered = tangent.permute(order)
    if ordered.is_contiguous():
        return tangent
    return ordered.contiguous().permute([order.index(dim) for dim in range(len(order))])


def tangent_of(tensor: Any, level: Level) -> Any:
    """Return the tensor's tangent in this level, or None.  The tangent of a view is derived from that of its base, unless set."""
    table = tensor.__dict__.get("_tangents", {})
    if level in table:
        return table[level]
    base_tangent = None if tensor._view is None or tensor._view[1] is None else tangent_of(tensor._view[0], level)
    if base_tangent is None:
        return None
    source, tangent = tensor.__dict__.get("_derived", {}).get(level, (None, None))
    if source is not base_tangent:  # the tangent has not been derived, or the base has a new tangent
        _, record, params, _ = tensor._view
        tangent = _match_layout(tensor, _view_tangent(record, base_tangent, params))
        tensor.__dict__.setdefault("_derived", {})[level] = base_tangent, tangent
        level.members.append(weakref.ref(tensor))
    return tangent


def _view_tangent(view: Operation, tangent: Tensor, params: tuple[Any, ...]) -> Any:
    """Apply a view operation to a tangent."""
    return seen_of(RECORDED, tangent, view.name, params)


def primal_of(tensor: Tensor, level: Level) -> Tensor:
    """Return a view of the tensor without its tangent in this level."""
    with _hidden([tensor], level):
        primal: Tensor = tensor.view_as(tensor)
    _set(primal, level, None)
    return primal


def copy_tangents(source: Tensor, target: Tensor, *, clone: bool = False) -> None:
    """Set the tangents of `target` to those of `source`, which has the same value.

    With `clone`, tangents that later writes to `source` change are cloned.
    """
    for level in levels():
        tangent = tangent_of(source, level)
        if tangent is not None:
            set_tangent(target, level, tangent.clone() if clone and not level.in_transform else tangent)


def detached(tensor: Tensor) -> Tensor:
    """Return the tensor without its autograd history, but with its tangents."""
    result = tensor.detach()
    copy_tangents(tensor, result)
    return result


def as_leaf(tensor: Tensor) -> Tensor:
    """Return a leaf that requires a gradient, with the same elements and tangents."""
    leaf = detached(tensor)
    leaf.requires_grad = True
    return leaf


def innermost_level(tensors: Sequence[Any]) -> Level | None:
    """Return the innermost level in which any of the tensors has a tangent, or None."""
    for level in reversed(levels()):
        if any(isinstance(tensor, Tensor) and tangent_of(tensor, level) is not None for tensor in tensors):
            return level
    return None


_DERIVED = object()  # marks a view whose tangent is derived from its base


@contextmanager
def _hidden(tensors: Sequence[Any], level: Level) -> Iterator[list[Any]]:
    """Hide the tangents that the tensors have in this level inside a `with` block.  Yield the tangents."""
    tangents = [tangent_of(tensor, level) if isinstance(tensor, Tensor) else None for tensor in tensors]
    tables = [
        tensor.__dict__.setdefault("_tangents", {})
        for tensor, tangent in zip(tensors, tangents, strict=True)
        if tangent is not None
    ]
    once = {id(table): table for table in tables}.values()  # a tensor may be given twice
    held = [(table, table.get(level, _DERIVED)) for table in once]
    hidden = len(levels()) if level is levels()[0] else 0
    for table, _ in held:
        table[level] = None
    # If the tangents of the outermost level are hidden, no tensor of this thread has a tangent: the fast path is safe.
    if hidden:
        state.count("forward_levels", -hidden)
        return_to_fast_path()
    try:
        yield tangents
    finally:
        if hidden:
            state.count("forward_levels", hidden)
            leave_fast_path()
        for table, tangent in held:
            if tangent is _DERIVED:
                del table[level]
            else:
                table[level] = tangent


def propagate(
    level: Level, tensors: Sequence[Any], compute: Callable[[], Any], derive: Callable[[list[Any], Any], Sequence[Any]]
) -> Any:
    """Call `compute()` with the level's tangents hidden, then set the tangents of its results to `derive(tangents, result)`."""
    with _hidden(tensors, level) as tangents:
        result = compute()
        results = [result] if isinstance(result, Tensor) else list(result)
        derived = derive(tangents, result)
    for output, tangent in zip(results, derived, strict=True):
        if tangent is not None and not _derives_tangent(output, level):
            set_tangent(output, level, tangent)
    for node in {output.grad_fn for output in results if output.grad_fn is not None}:
        for index, holder in saved_outputs(node):
            if derived[index] is not None:
                set_tangent(holder, level, derived[index])
    return result


def _derives_tangent(tensor: Tensor, level: Level) -> bool:
    """Whether the tensor is a new view of a base with a tangent.  The tangent of the view is then derived from the base."""
    if tensor._view is None or tensor._view[1] is None or level in tensor.__dict__.get("_tangents", {}):
        return False
    return tangent_of(tensor._view[0], level) is not None


def along(function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    """Return `function(tensor)` for a linear function, which is also applied to the tangent."""
    level = innermost_level([tensor])
    if level is None:
        return function(tensor)
    return propagate(  # type: ignore[no-any-return]  # what `function` returns
        level, [tensor], lambda: along(function, tensor), lambda tangents, result: [along(function, tangents[0])]
    )


# --- operations ---------------------------------------------------------------------------------------------------


def push_forward(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], tangents: list[Any], result: Any) -> list[Any]:
    """Compute the tangents of an operation's results from the tangents of its arguments."""
    several = bool(op.results) or op.returns_list
    if op.view:
        (tangent,) = tangents
        derived = _view_tangent(op, tangent, params)
        return list(derived) if several else [derived]
    results = list(result) if several else [result]
    nothing = [None] * len(results)
    if not op.differentiable or is_inference_mode_enabled() or not any(output._key.dtype.category >= 2 for output in results):
        return nothing
    with enable_grad(), _without_saved_tensor_hooks():
        edge = _record(op, tensors, params, tangents, results)
        node = edge.node if type(edge) is Output else edge
        weights = [_zero_cotangent(output) for output in results]
        try:
            pulled = node.apply(RECORDED, weights if several else weights[0], unpack_tensor)
        except NotImplementedError as error:
            raise NotImplementedError(
                f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet."
            ) from error
        roots = [
            (engine.edge_of(engine.fit(gradient, engine.key_of_edge(edge), engine.shape_of(edge), True)), tangent)
            for edge, gradient, tangent in zip(node.edges, pulled, _tangents_of_edges(op, tangents), strict=False)
            if gradient is not None and tangent is not None and edge is not None and gradient._requires_grad
        ]
    inputs = [weight for weight in weights if weight._requires_grad]
    if not roots or not inputs:
        return nothing
    record = grad_flag.get() and any(
        tensor is not None and tensor._requires_grad for tensor in (*tensors, *tangents) if hasattr(tensor, "_key")
    )
    derivatives = iter(engine.run(roots, create_graph=record, inputs=inputs, capture=True) or ())
    return [next(derivatives) if weight._requires_grad else None for weight in weights]


@contextmanager
def _without_saved_tensor_hooks() -> Iterator[None]:
    """Disable this thread's saved-tensor hooks for a graph that is differentiated immediately and then dropped."""
    mine = [context for context in SAVE_HOOKS if context._thread == get_ident()]
    for context in mine:
        SAVE_HOOKS.remove(context)
    try:
        yield
    finally:
        SAVE_HOOKS.extend(mine)


def _tangents_of_edges(op: Operation, tangents: list[Any]) -> list[Any]:
    """Return the tangents of those arguments that become edges of an autograd node."""
    if op.variadic:
        return tangents
    return [tangent for name, tangent in zip(op.tensor_names, tangents, strict=True) if name in op.edge_names]


def _record(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], tangents: list[Any], results: list[Any]) -> Any:
    """Record the call as an autograd node, with edges for all arguments that have a tangent.  Return an edge to the node."""
    arrays, keys = [result._array for result in results], tuple(result._key for result in results)
    if not op.results and not op.returns_list:
        arrays, keys = arrays[0], keys[0]
    inputs = [
        as_leaf(tensor) if tangent is not None and not tensor._requires_grad else tensor
        for tensor, tangent in zip(arguments_to_save(op, keys, tensors), tangents, strict=True)
    ]
    if results[0]._key.wraps:
        recorded = dispatch(op, tuple(inputs), params)  # its node saves wrappers, which `op.record` does not
    else:
        recorded = op.record(arrays, keys, inputs, params) if op.variadic else op.record(arrays, keys, *inputs, *params)
    edge = (
        recorded._node if isinstance(recorded, Tensor) else next(output._node for output in recorded if output._node is not None)
    )
    for index, holder in saved_outputs(edge.node if type(edge) is Output else edge):
        copy_tangents(results[index], holder)
    return edge


def _zero_cotangent(result: Tensor) -> Tensor:
    """Return a cotangent with the shape of a result, at which to differentiate the vjp.  The vjp is linear, so zeros suffice."""
    key = result._key
    if key.wraps:
        blank: Tensor = hooks.call_aten_operator("zeros_like", (result,), {})
    else:
        blank = wrap(key.backend.xp.zeros((), dtype=key.raw_dtype), key).expand(result.shape).detach()
    blank._requires_grad = key.dtype.category >= 2
    return blank


def overwrite(target: Tensor, source: Tensor) -> None:
    """Set the tangents of `target`, which was overwritten by `source`, to those of `source`, or to zeros."""
    for level in levels():
        tangent = tangent_of(source, level)
        if tangent is not None or tangent_of(target, level) is not None:
            _replace(target, level, _zeros(target) if tangent is None else tangent)


def _replace(tensor: Tensor, level: Level, tangent: Tensor) -> None:
    """Replace the tangent of a tensor that was written to.

    For a view, the new tangent is written to the tangent of its base, from which the view's tangent is derived.  If only the
    view has a tangent, and its base has none, only the view's tangent is replaced.  A tangent given to `make_dual`
    is overwritten if it has the same position in its storage as the tensor.
    """
    parent, record, params, _ = tensor._view or (None, None, (), True)
    base_tangent = None if record is None else tangent_of(parent, level)
    if record is None or (base_tangent is None and level in tensor.__dict__.get("_tangents", {})):
        previous = tensor.__dict__.get("_tangents", {}).get(level)
        if previous is not None and not level.in_transform and _may_overwrite(previous, tensor):
            previous.copy_(tangent)
        else:
            set_tangent(tensor, level, tangent)
        return
    assert parent is not None
    tensor.__dict__.get("_tangents", {}).pop(level, None)
    base_tangent = _zeros(parent) if base_tangent is None else base_tangent
    _replace(parent, level, written(base_tangent, tangent, record.name, params))


def _may_overwrite(tangent: Tensor, tensor: Tensor) -> bool:
    """Whether a write to `tensor` also changes its tangent in place.  `make_dual` of PyTorch copies other tangents."""
    if type(tangent) is not Tensor or tangent._key.levels or tensor._key.levels or tangent._key.wraps:
        return False
    if tangent._requires_grad and tangent._node is None:
        return False
    return all(
        read(tangent) == read(tensor)
        for read in (Tensor.stride, Tensor.storage_offset, lambda argument: argument.untyped_storage().nbytes())
    )


def _zeros(tensor: Tensor) -> Tensor:
    key = tensor._key
    return wrap(key.backend.xp.zeros(tensor._array.shape, dtype=key.raw_dtype), key)


def follow(tensor: Tensor, seen: Tensor) -> None:
    """Set the tangents of `tensor`, which became the view `seen` in place, to those of `seen`."""
    for level in levels():
        tangent = tangent_of(seen, level)
        if tangent is not None:
            _set(tensor, level, tangent)


# --- hooks called by operations -----------------------------------------------------------------------------------


class DualHooks(ForwardHooks):
    """The hooks of forward-mode differentiation."""

    def propagate(self, op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        level = innermost_level(tensors)
        if level is None:
            return NotImplemented
        if op.real_is_identity and tensors[0]._key.wraps and tensors[0]._key.dtype.category < COMPLEX:
            return tensors[0]  # a wrapper subclass records no call for it
        return propagate(level, tensors, compute, lambda tangents, result: push_forward(op, tensors, params, tangents, result))

    def has_tangent(self, tensors: Sequence[Any]) -> bool:
        return innermost_level(tensors) is not None

    def along(self, function: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
        return along(function, tensor)

    def copy(self, source: Tensor, target: Tensor) -> None:
        copy_tangents(source, target)

    def snapshot(self, source: Tensor, target: Tensor) -> None:
        copy_tangents(source, target, clone=True)

    def overwrite(self, target: Tensor, source: Tensor) -> None:
        overwrite(target, source)

    def follow(self, tensor: Tensor, seen: Tensor) -> None:
        follow(tensor, seen)
