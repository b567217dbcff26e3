"""Non-reentrant checkpointing: saved-tensor hooks that save nothing, and recompute on demand."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch

from .debug import Log
from .settings import Settings

__all__ = ["DESCRIBE", "CheckpointError", "Frame", "GraphExecGroup", "Recomputation"]


class CheckpointError(RuntimeError):
    """The recomputation did not save the same tensors as the forward pass did."""


class _SaveInputs(torch.autograd.Function):
    """Save tensors as an operation would, so that the hooks of an outer checkpoint apply to them."""

    generate_vmap_rule = True

    @staticmethod
    def forward(anchor: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        return anchor.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("unreachable: no gradient flows through the saved inputs")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        """Return None: in forward mode, the output has no tangent."""


class Recomputation:
    """A call of `function` with its arguments and settings, so that it can be repeated."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
        context: AbstractContextManager[Any],
    ) -> None:
        self.function = function
        self.kwargs = kwargs
        self.settings = Settings(preserve_rng_state, args)
        self.context = context
        self.positions = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        self.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        anchor = torch.empty(0, requires_grad=True)
        self.saved = _SaveInputs.apply(anchor, *[args[i] for i in self.positions]).grad_fn

    def __call__(self) -> None:
        args = list(self.args)
        for i, tensor in zip(self.positions, self.saved.saved_tensors, strict=True):
            args[i] = tensor
        with self.settings.restored(), self.context:
            self.function(*args, **self.kwargs)


DESCRIBE: dict[str, Callable[[torch.Tensor], Any]] = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}


class _Holder:
    """Replaces a saved tensor in the graph. It stores the tensor only between its recomputation and its use in backward."""

    tensor: torch.Tensor | None = None


class _Stop(Exception):
    """Raised to end a recomputation when all needed tensors have been recomputed."""


class Frame:
    """The saved tensors of one checkpointed call, in the order in which its forward pass saves them."""

    current: Any = None  # the innermost frame whose forward pass is running

    def __init__(
        self,
        recompute: Recomputation,
        early_stop: bool,
        describe: Callable[[torch.Tensor], Any],
        log: Log | None,
    ) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.describe = describe
        self.log = log
        self.holders: list[weakref.ref[_Holder]] = []
        self.descriptions: list[Any] = []
        self.completed = False  # whether the forward pass has ended
        self.comparable = True

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        outer, Frame.current = Frame.current, self
        try:
            with torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
                yield
        finally:
            Frame.current = outer

    def pack(self, tensor: torch.Tensor) -> _Holder:
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        with torch.no_grad():
            self.descriptions.append(self.describe(tensor))
        return holder

    def unpack(self, holder: _Holder) -> torch.Tensor:
        if holder.tensor is None:
            try:
                self._fill()
            except CheckpointError as error:
                if self.log is None:
                    raise
                raise CheckpointError(self.log.report()) from error
        # The holder drops its reference, so that the memory is freed after use. A second backward recomputes the tensor.
        tensor, holder.tensor = holder.tensor, None
        return tensor  # type: ignore[return-value]

    def _fill(self) -> None:
        GraphExecGroup._enter_frame(self)
        refill = _Refill(self)
        hooks = torch.autograd.graph.saved_tensors_hooks(refill.pack, lambda tensor: tensor)
        with contextlib.suppress(_Stop), hooks, torch.enable_grad():
            self.recompute()
        if self.comparable:
            self._check(refill.count)

    def _check(self, count: int) -> None:
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original "
                f"forward and recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{_TIP}"
            )
        mismatches = ""
        for i, (reference, saved) in enumerate(zip(self.holders, self.descriptions, strict=True)):
            holder = reference()
            if holder is None:
                continue
            recomputed = self.describe(holder.tensor)  # type: ignore[arg-type]
            if recomputed != saved:
                mismatches += f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {recomputed}\n"
        if mismatches:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different "
                f"metadata than during the forward pass.\n{mismatches}.\n{_TIP}"
            )


_TIP = (
    "Tip: To see a more detailed error message, pass `debug=True` to "
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block with `with "
    "torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class _Refill:
    """Stores the tensors that a recomputation saves in the holders of `frame`, in the order of the forward pass."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.count = 0

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        frame, position = self.frame, self.count
        self.count += 1
        tensor = tensor.detach()
        if position >= len(frame.holders):
            if frame.completed:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during "
                    f"the original forward pass.\n{_TIP}"
                )
            frame.comparable = False  # backward was called before the forward pass had ended
            return tensor
        holder = frame.holders[position]()
        if holder is not None:
            holder.tensor = tensor
        if frame.early_stop and self.count == len(frame.holders):
            raise _Stop
        return tensor


class GraphExecGroup:
    """Context in which several backward calls recompute each checkpointed call only once.

    They must not need the same saved tensor: that raises CheckpointError. Groups cannot be nested.
    """

    _current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._current is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup._current}")
        GraphExecGroup._current = self
        self._frames: weakref.WeakSet[Frame] = weakref.WeakSet()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        GraphExecGroup._current = None

    @staticmethod
    def _enter_frame(frame: Frame) -> None:
        group = GraphExecGroup._current
        if group is None:
            return
        if frame in group._frames:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                "once. Performing two backward calls that overlap (i.e. require the same saved activation "
                "in order to compute gradients) is not allowed while under the "
                "torch.utils.checkpoint.GraphExecGroup context. If you are calling ctx.saved_tensors in "
                "backward, make sure to do so only once."
            )
        group._frames.add(frame)
