"""`torch.autograd.graph`: nodes and edges of the recorded graph, hooks on several tensors, hooks on saved tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.devices.state import state
from ..engine.tape.engine import current_task
from ..engine.tape.node import Node, accumulator
from ..engine.tape.saved import SAVE_HOOKS, pack
from ..engine.values.handles import RemovableHandle

if TYPE_CHECKING:
    from ..engine.tensors.tensor import Tensor

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip


class GradientEdge(NamedTuple):
    """The graph edge that a tensor's gradient arrives on; accepted as an input or output by `grad` and `backward`."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the graph edge that the gradient of `tensor` arrives on.

    Raises:
        RuntimeError: the tensor does not require grad.

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
    """Increment the version of tensors that were modified in place in a way that flambeau cannot detect.

    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    from ..engine.tensors.tensor import Tensor

    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t.is_inference():
            t._bump_version()


# --- hooks on several tensors -------------------------------------------------------------------------------------


class _MultiHandle(RemovableHandle):
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> RemovableHandle:
    """Call `fn` once per backward pass, when the gradients of `tensors` have been computed.

    Args:
        tensors: the tensors whose gradients to wait for.
        fn: the hook.
        mode: `"all"` calls `fn` after all gradients, with a list that contains None for those that the pass does not compute;
            `"any"` calls `fn` with the first gradient.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    assert mode == "any" or all(tensor.requires_grad for tensor in tensors), "Expected gradient function to be set"
    state.leaf_hooks = True  # if set, a backward pass first determines which gradients it will compute
    arrived: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def collect(index: int, gradient: Tensor) -> None:
        task = current_task.get()
        assert task is not None, "expected this hook to be called inside a backward call"
        gradients = arrived.setdefault(task, {})
        first = not gradients
        gradients[index] = gradient
        if mode == "any":
            if first:
                fn(gradient)
        elif len(gradients) == sum(map(task.will_reach, tensors)):
            fn([gradients.get(position) for position in range(len(tensors))])

    hooked = [tensor.requires_grad or mode == "all" for tensor in tensors]
    return _MultiHandle([tensor.register_hook(partial(collect, index)) for index, tensor in enumerate(tensors) if hooked[index]])


# --- hooks on saved tensors ---------------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Context in which the graph saves `pack_hook(tensor)` instead of a tensor; `unpack_hook(packed)` restores it in backward.

    If contexts are nested, only the innermost one applies.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
    ...     y = x * x
    >>> y.sum().backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _refusal.get() is not None:
            raise RuntimeError(_refusal.get())
        self._thread = threading.get_ident()
        SAVE_HOOKS.append(self)

    def __exit__(self, *exception: object) -> None:
        SAVE_HOOKS.remove(self)

    def pack(self, tensor: Tensor) -> Any:
        """Return the packed form of `tensor` that a node saves."""
        if threading.get_ident() == self._thread:
            return pack(tensor, self.pack_hook, self.unpack_hook)
        mine = [hooks for hooks in SAVE_HOOKS if hooks._thread == threading.get_ident()]
        return mine[-1].pack(tensor) if mine else (tensor, tensor._array, tensor._version)


_refusal: ContextVar[str | None] = ContextVar("refusal", default=None)  # error message while saved-tensor hooks are disabled


class save_on_cpu(saved_tensors_hooks):
    """Context in which tensors saved for backward are stored in CPU memory, and copied back to their device when needed.

    Args:
        pin_memory: use page-locked memory, from which a device copies faster.
        device_type: the device type whose tensors use page-locked memory.
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
    """Make `saved_tensors_hooks` raise RuntimeError with `error_message` within the context, and now if hooks are active."""
    if any(hooks._thread == threading.get_ident() for hooks in SAVE_HOOKS):
        raise RuntimeError(error_message)
    token = _refusal.set(error_message)
    try:
        yield
    finally:
        _refusal.reset(token)


class _AllowMutation(saved_tensors_hooks):
    """Hooks that save copies, which can be unpacked until the context ends."""

    def __init__(self) -> None:
        self.active = True
        super().__init__(lambda tensor: tensor.detach().clone(), self._unpack)

    def clear(self) -> None:
        """End the context: graphs recorded in it can no longer be differentiated."""
        self.active = False

    def _unpack(self, copy: Any) -> Any:
        assert self.active, (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
            "originally recorded."
        )
        return copy


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[saved_tensors_hooks]:
    """Allow tensors saved for backward to be modified in place within the context, by saving copies of them.

    Backward must also run inside the context.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any(isinstance(hooks, _AllowMutation) for hooks in SAVE_HOOKS):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = _AllowMutation()
    with copies:
        try:
            yield copies
        finally:
            copies.clear()


# --- settings for compilers and streams ---------------------------------------------------------------------------


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """Raise RuntimeError: in PyTorch, this works only in regions of `torch.compile`, which flambeau does not have."""
    what = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{what}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{what}: must be in [0, 1], got {budget}")
    raise RuntimeError(f"{what} can only be used inside a torch.compile region; it has no effect in eager mode.")


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Do nothing: a gradient is accumulated on the stream that computed it, so streams cannot mismatch."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Do nothing: nodes do not store a stream."""
