"""Looking at the recorded graph and taking part in it: nodes, edges, hooks on several tensors, hooks on saved tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..hooks import RemovableHandle
from .engine import current_task
from .modes import no_grad
from .node import Node, Output, accumulator, next_seq, survey
from .saved import SAVE_HOOKS

if TYPE_CHECKING:
    from .._tensor import Tensor

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class GradientEdge(NamedTuple):
    """Where in the graph a tensor's gradient arrives; serves as an input or output of ``grad`` and ``backward``."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge on which the gradient of ``tensor`` arrives.

    Raises:
        RuntimeError: the tensor does not require grad.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> torch.autograd.grad(y.sum(), torch.autograd.graph.get_gradient_edge(y))
    (tensor([1., 1.]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(_node_or_accumulator(tensor), tensor.output_nr)


def _node_or_accumulator(tensor: Tensor) -> Node:
    return tensor.grad_fn or accumulator(tensor)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that tensors were modified in place by means that flambeau does not see.

    >>> import flambeau as torch
    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    from .._tensor import Tensor

    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not each.is_inference():
            each._bump_version()


# --- hooks on several tensors -------------------------------------------------------------------------------------


class _MultiHandle(RemovableHandle):
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for each in self.handles:
            each.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once per backward pass, when the gradients of ``tensors`` have been computed.

    Args:
        mode: ``"all"``: when all of them have, with a list in which those that the pass does not compute are None;
            ``"any"``: when the first one has, with that gradient.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    survey["wanted"] = True  # a pass has to know which gradients it is going to compute
    arrived: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def collect(index: int, gradient: Tensor) -> None:
        task = current_task.get()
        assert task is not None, "expected this hook to be called inside a backward call"
        found = arrived.setdefault(task, {})
        first = not found
        found[index] = gradient
        if mode == "any":
            if first:
                fn(gradient)
        elif len(found) == sum(map(task.will_reach, tensors)):
            fn([found.get(each) for each in range(len(tensors))])

    wanted = [each.requires_grad or mode == "all" for each in tensors]
    return _MultiHandle([
        each.register_hook(partial(collect, index))
        for index, each in enumerate(tensors) if wanted[index]
    ])  # fmt: skip


# --- hooks on saved tensors ---------------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Context in which ``pack_hook(tensor)`` decides what the graph keeps, and ``unpack_hook(packed)`` brings it back.

    The innermost context counts.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
    ...     y = x * x
    >>> y.sum().backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Any:
        if _refusal:
            raise RuntimeError(_refusal[-1])
        self._thread = threading.get_ident()
        SAVE_HOOKS.append(self._pack)

    def __exit__(self, *exception: object) -> None:
        SAVE_HOOKS.remove(self._pack)

    def _pack(self, tensor: Tensor) -> Any:
        if threading.get_ident() != self._thread:
            return tensor, tensor._array, tensor._version
        version = tensor._version
        with no_grad():
            packed = self.pack_hook(tensor)
        if tensor._version != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                               "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please "
                               "open an issue if you need to perform in-place operations on the input to a pack "
                               "hook.")  # fmt: skip
        return (_Packed(packed, self.unpack_hook, tensor),)


_refusal: list[str] = []  # why saved-tensor hooks are not allowed at present, innermost last


class _Packed:
    """What a hook made of a tensor, and the history to give to what it makes of it later."""

    __slots__ = ("index", "leaf", "node", "packed", "unpack_hook")

    def __init__(self, packed: Any, unpack_hook: Callable[[Any], Tensor], tensor: Tensor) -> None:
        self.packed, self.unpack_hook = packed, unpack_hook
        self.index = tensor.__dict__.get("_output_of")
        self.node = tensor._node
        self.leaf = weakref.ref(tensor) if tensor._requires_grad and tensor._node is None else None

    def unpack(self, node: Node) -> Tensor:
        from .._tensor import Tensor, alias

        with no_grad():
            found = self.unpack_hook(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(found).__name__}")
        made: Tensor = alias(found)
        if self.index is not None:
            made._node = node if node.outputs is None else Output(node, self.index)
        elif self.leaf is not None:
            made._node = _relink(self.leaf(), made)
        else:
            made._node = self.node
        made._requires_grad = made._node is not None
        return made


class AliasBackward0(Node):
    """Leads from an unpacked tensor to the leaf that was packed."""

    __slots__ = ()

    def apply(self, F: Any, g: Any, unpack: Any) -> tuple[Any, ...]:
        return (g,)


def _relink(leaf: Tensor | None, tensor: Tensor) -> Node | None:
    if leaf is None:
        return None
    node = AliasBackward0()
    node.seq, node.edges, node.hooks, node.outputs = next_seq(), (leaf,), None, None
    node.kind, node.shape = tensor._kind, tensor._array.shape
    return node


class save_on_cpu(saved_tensors_hooks):
    """Context in which what is saved for backward waits in the CPU's memory, and goes back to its device when needed.

    Args:
        pin_memory: use page-locked memory, from which a device copies faster.
        device_type: the kind of device in use.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            on_cpu = tensor.detach().cpu()
            return tensor.device, on_cpu.pin_memory() if pin_memory and tensor.device.type == device_type else on_cpu

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context in which :class:`saved_tensors_hooks` raises RuntimeError with this message."""
    _refusal.append(error_message)
    try:
        yield
    finally:
        _refusal.pop()


class _AllowMutation(saved_tensors_hooks):
    """Saves copies, good as long as the context lasts."""

    def __init__(self) -> None:
        self.active = True
        super().__init__(lambda tensor: tensor.detach().clone(), self._unpack)

    def _unpack(self, copy: Any) -> Any:
        assert self.active, ("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                             "originally recorded.")  # fmt: skip
        return copy


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[saved_tensors_hooks]:
    """Context in which tensors saved for backward may be modified in place: copies of them are kept.

    Backward has to run inside it too.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any(isinstance(getattr(each, "__self__", None), _AllowMutation) for each in SAVE_HOOKS):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = _AllowMutation()
    with copies:
        try:
            yield copies
        finally:
            copies.active = False


# --- settings for compilers and streams ---------------------------------------------------------------------------


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """Is for compiled regions, of which flambeau has none: checks its argument and raises RuntimeError."""
    what = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{what}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{what}: must be in [0, 1], got {budget}")
    raise RuntimeError(f"{what} can only be used inside a torch.compile region; it has no effect in eager mode.")


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted: a gradient is accumulated on the stream that computed it, so there is nothing to warn of."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted: nodes remember no stream that could be stale."""
