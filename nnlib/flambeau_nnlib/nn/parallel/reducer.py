"""Gradient averaging of `DistributedDataParallel`: gradients are collected in buckets, reduced as soon as they are full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["GradBucket", "Reducer", "make_buckets"]

FIRST_BUCKET = 1 << 20  # size in bytes of the first bucket; small, so that its reduction starts early


class GradBucket:
    """Parameters whose gradients are reduced in one call; communication hooks receive it as `GradBucket`.

    Args:
        index: the position of the bucket.
        parameters: the parameters, of one dtype and device.
        indices: the positions of the parameters in the list of all parameters.
    """

    def __init__(self, index: int, parameters: Sequence[Tensor], indices: Sequence[int]) -> None:
        self._index, self._parameters, self.indices = index, list(parameters), list(indices)
        self._is_last = False
        self.flat = torch.zeros(sum(p.numel() for p in parameters), dtype=parameters[0].dtype, device=parameters[0].device)
        self.views = self._split(self.flat)
        self.waiting = len(self._parameters)
        self.future: Any = None

    def _split(self, flat: Tensor) -> list[Tensor]:
        parts = flat.split([p.numel() for p in self._parameters])
        return [part.view(p.shape) for p, part in zip(self._parameters, parts, strict=True)]

    def index(self) -> int:
        """The position of the bucket; bucket 0 is ready first."""
        return self._index

    def buffer(self) -> Tensor:
        """The concatenated gradients, a 1-D tensor."""
        return self.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the buffer of gradients; RuntimeError if the number of elements differs."""
        if buffer.numel() != self.flat.numel():
            raise RuntimeError(f"the buffer of a bucket has {self.flat.numel()} elements, not {buffer.numel()}")
        self.flat = buffer
        self.views = self._split(buffer)

    def gradients(self) -> list[Tensor]:
        """Return the gradients in the shapes of their parameters."""
        return list(self.views)

    def parameters(self) -> list[Tensor]:
        """Return the parameters of the bucket."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether this is the last bucket of the backward."""
        return self._is_last


def make_buckets(parameters: Sequence[Tensor], cap: float) -> list[GradBucket]:
    """Group parameters into buckets of at most `cap` bytes, from last to first: the order in which gradients are ready."""
    open_ones: dict[Any, list[int]] = {}
    full: list[list[int]] = []
    limits: dict[Any, float] = {}
    for index in reversed(range(len(parameters))):
        parameter = parameters[index]
        key = (str(parameter.dtype), str(parameter.device))
        waiting = open_ones.setdefault(key, [])
        waiting.append(index)
        if sum(parameters[i].numel() * parameters[i].element_size() for i in waiting) >= limits.setdefault(
            key, min(FIRST_BUCKET, cap)
        ):
            full.append(open_ones.pop(key))
            limits[key] = cap
    full += [waiting for waiting in open_ones.values() if waiting]
    full.sort(key=lambda indices: -indices[0])
    found = [GradBucket(number, [parameters[i] for i in indices], indices) for number, indices in enumerate(full)]
    found[-1]._is_last = True
    return found


class Reducer:
    """Averages the gradients of parameters over the processes of a group, while the backward runs.

    Args:
        parameters: the parameters that require a gradient, in the same order in all processes.
        group: the process group.
        cap: the maximum size of a bucket in bytes.
        gradient_as_view: whether gradients become views of the buckets.
        find_unused: whether some parameters may get no gradient in some processes.
        static_graph: whether unused parameters, and the number of uses of a parameter, stay as in the first backward.
        names: the parameters' names, for error messages.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: Any,
        cap: float,
        gradient_as_view: bool,
        find_unused: bool,
        static_graph: bool,
        names: Sequence[str],
    ) -> None:
        self.parameters, self.group, self.names = list(parameters), group, list(names)
        self.gradient_as_view, self.find_unused, self.static_graph = gradient_as_view, find_unused, static_graph
        self.world_size = self.divisor = torch.distributed.get_world_size(group)
        self.buckets = make_buckets(parameters, cap)
        self._place = {index: (bucket, at) for bucket in self.buckets for at, index in enumerate(bucket.indices)}
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.hook_state: Any = None
        self.expects = False  # whether the gradients of the next backward are averaged
        self._started = False  # whether a backward is running
        self._ready: set[int] = set()
        self._unused: set[int] = set()  # indices of parameters not used in this step
        self._never_used: set[int] = set()  # indices of parameters not used by a static graph
        self._without: set[int] = set()  # indices of parameters without a gradient in this process
        self._launched = 0
        self._backwards = 0
        for index, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(self._make_hook(index))

    def _make_hook(self, index: int) -> Callable[[Tensor], None]:
        def on_gradient(parameter: Tensor) -> None:
            if self.expects:
                self._on_gradient(index)

        return on_gradient

    # --- a step ---

    def prepare(self, unused: Iterable[int]) -> None:
        """Prepare for a backward in which the parameters with indices `unused` get no gradient."""
        self.check_finished()
        self.expects, self._ready, self._unused, self._without = True, set(), {*unused, *self._never_used}, set()
        self._launched = 0
        for bucket in self.buckets:
            bucket.waiting, bucket.future = len(bucket.indices), None

    def prepare_for_backward(self, outputs: Sequence[Tensor]) -> None:
        """Prepare for a backward in which all parameters get a gradient, even if the forward found unused ones.

        Args:
            outputs: not used.
        """
        self.prepare(())

    def check_finished(self) -> None:
        """Raise RuntimeError if a backward has started and gradients are missing."""
        missing = sorted(set(range(len(self.parameters))) - self._ready)
        if not self._started or not missing:
            return
        self._started = False
        flag = "" if self.find_unused else (
            " You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by"
        )  # fmt: skip
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
            f"your module has parameters that were not used in producing loss.{flag or ' You can avoid it by'} making sure all "
            "`forward` function outputs participate in calculating loss.\nParameter indices which did not receive grad for rank "
            f"{torch.distributed.get_rank()}: {' '.join(map(str, missing))} ({', '.join(self.names[i] for i in missing)})"
        )

    @torch.no_grad()
    def _on_gradient(self, index: int) -> None:
        """Store a parameter's gradient in its bucket, and reduce the buckets that are now full."""
        if not self._started:
            self._started = True
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
            for unused in self._unused:
                self._mark(unused, False)
        if index in self._ready and self.static_graph and not self._backwards:
            self._place_gradient(index)  # used again in a nested backward: replace the gradient in the bucket
            return
        if index in self._ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: the parameter at index {index} ({self.names[index]}) was used in "
                "several reentrant backward passes, or in one after its gradient had been averaged. Try `static_graph=True` if "
                "the module's graph does not change between iterations."
            )
        self._mark(index, True)

    def _mark(self, index: int, has_gradient: bool) -> None:
        self._ready.add(index)
        if not has_gradient:
            self._without.add(index)
        self._place_gradient(index)
        bucket, _ = self._place[index]
        bucket.waiting -= 1
        if not (self.static_graph and not self._backwards):  # a static graph's first backward reduces in `_finish`
            self._launch_full()

    def _place_gradient(self, index: int) -> None:
        bucket, at = self._place[index]
        grad, view = self.parameters[index].grad, bucket.views[at]
        if grad is None or index in self._without:
            view.zero_()
        elif grad.data_ptr() != view.data_ptr() or not grad.numel():
            view.copy_(grad)

    def _launch_full(self) -> None:
        """Start the reduction of full buckets in order of index, which is the same in all processes."""
        while self._launched < len(self.buckets) and not self.buckets[self._launched].waiting:
            bucket = self.buckets[self._launched]
            bucket.future = self._reduce(bucket)
            self._launched += 1

    def _reduce(self, bucket: GradBucket) -> Any:
        if self.hook is not None:
            return self.hook(self.hook_state, bucket)
        if self.world_size == 1:
            return None
        bucket.flat /= self.divisor
        return torch.distributed.all_reduce(bucket.flat, group=self.group, async_op=True).get_future()

    @torch.no_grad()
    def _finish(self) -> None:
        """At the end of the backward, wait for all reductions and write the averages to the gradients."""
        if self.static_graph and not self._backwards:
            self._never_used = set(range(len(self.parameters))) - self._ready
            for index in self._never_used:
                self._mark(index, False)
            self._launch_full()
        if self._launched < len(self.buckets):
            return  # gradients are missing: the next forward raises an error
        self._backwards += 1
        nowhere = self._find_globally_unused() if self.find_unused or self.static_graph else set()
        for bucket in self.buckets:
            if bucket.future is not None:
                result = bucket.future.wait()
                result = result[0] if isinstance(result, (list, tuple)) else result
                if result.data_ptr() != bucket.flat.data_ptr():
                    bucket.flat.copy_(result.reshape(-1))
            for index, view in zip(bucket.indices, bucket.views, strict=True):
                if index not in nowhere:
                    self._set_gradient(self.parameters[index], view)
        self.expects = self._started = False

    def _find_globally_unused(self) -> set[int]:
        """Return the indices of parameters without a gradient in any process; their `grad` is left unchanged."""
        used = torch.tensor([index not in self._without for index in range(len(self.parameters))], dtype=torch.int32)
        if self.world_size > 1:
            torch.distributed.all_reduce(used, group=self.group)
        return {index for index, count in enumerate(used.tolist()) if not count}

    def _set_gradient(self, parameter: Tensor, view: Tensor) -> None:
        if self.gradient_as_view:
            if parameter.grad is None or parameter.grad.data_ptr() != view.data_ptr():
                parameter.grad = view
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.copy_(view)

    def reduce_zeros(self) -> None:
        """Take part in one step's reductions with zero gradients, for a process without further inputs."""
        for bucket in self.buckets:
            bucket.flat.zero_()
            bucket.future = self._reduce(bucket)
        for bucket in self.buckets:
            if bucket.future is not None:
                bucket.future.wait()
        if self.find_unused or self.static_graph:
            self._without = set(range(len(self.parameters)))
            self._find_globally_unused()
