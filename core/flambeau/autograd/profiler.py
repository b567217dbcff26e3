"""A profiler: which operations a program calls, how long they take, and how much memory.

>>> with torch.autograd.profiler.profile() as seen:
...     y = torch.ones(3).exp().sum()
>>> [event.name for event in seen.function_events]
['aten::ones', 'aten::exp', 'aten::sum']
"""

from __future__ import annotations

import functools
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable
from typing import Any, NoReturn

import flambeau as torch

from ..engine.calls.nodes import observe_nodes
from ..engine.values.trees import flatten
from ..overrides import TorchFunctionMode, redispatch_function
from .profiler_util import EventList, FunctionEvent, MemRecordsAcc

__all__ = [
    "EnforceUnique", "EventList", "FunctionEvent", "KinetoStepTracker", "MemRecordsAcc", "emit_itt", "emit_nvtx", "load_nvprof",
    "parse_nvprof_trace", "profile", "record_function",
]  # fmt: skip

_recording: list[_Recorder] = []  # the recorders that are on, the innermost last


class _Recorder:
    """Collects the events of a thread as calls begin and end."""

    def __init__(self, shapes: bool, memory: bool, stack: bool) -> None:
        self.shapes, self.memory, self.stack = shapes, memory, stack
        self.events: list[FunctionEvent] = []
        self.open = threading.local()

    def begin(self, name: str, arguments: Any = (), annotation: bool = False) -> FunctionEvent:
        """Note that a call begins."""
        event = FunctionEvent(len(self.events), name, threading.get_native_id(), 0.0, 0.0, is_user_annotation=annotation)
        if self.shapes:
            leaves = flatten(arguments)[0]
            event.input_shapes = [list(leaf.shape) if isinstance(leaf, torch.Tensor) else [] for leaf in leaves]
        if self.stack:
            frames = [frame for frame in traceback.extract_stack() if "flambeau" not in frame.filename]
            event.stack = [f"{frame.filename}({frame.lineno}): {frame.name}" for frame in reversed(frames)]
        calls = vars(self.open).setdefault("calls", [])
        if calls:
            calls[-1].append_cpu_child(event)
        calls.append(event)
        self.events.append(event)
        event.cpu_memory_usage = -tracemalloc.get_traced_memory()[0] if self.memory else 0
        event.time_range.start = time.perf_counter_ns() / 1000
        return event

    def end(self, event: FunctionEvent) -> None:
        """Note that it, and whatever began in it, has ended."""
        event.time_range.end = time.perf_counter_ns() / 1000
        if self.memory:
            event.cpu_memory_usage += tracemalloc.get_traced_memory()[0]
        calls = vars(self.open).get("calls", [])
        while calls and calls.pop() is not event:
            pass


class _Watch(TorchFunctionMode):
    """Sees calls, and the calls that are made in them."""

    sees_methods = False

    def __init__(self, recorder: _Recorder) -> None:
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            return func(*args, **(kwargs or {}))
        library = getattr(func, "namespace", None)  # of an operator of `torch.ops`
        if library in ("aten", "profiler"):  # their operations are also intercepted, and their ranges are recorded as events
            with self:
                return redispatch_function(func, types, args, kwargs)
        operation = name.strip("_") if name.startswith("__") else name
        event = self.recorder.begin(f"{library or 'aten'}::{operation.removesuffix('.default')}", args)
        try:
            with self:
                return redispatch_function(func, types, args, kwargs)
        finally:
            self.recorder.end(event)


class _Backward:
    """Times the nodes of the graph, of those that are made while it watches."""

    def __init__(self, recorder: _Recorder) -> None:
        self.recorder = recorder

    def __call__(self, node: Any) -> None:
        running: list[FunctionEvent] = []
        name = type(node).__name__

        def before(gradients: Any) -> None:
            if self.recorder in _recording:
                running.append(self.recorder.begin(f"autograd::engine::evaluate_function: {name}", gradients))

        def after(inputs: Any, outputs: Any) -> None:
            if running:
                self.recorder.end(running.pop())

        node.register_prehook(before)
        node.register_hook(after)


class profile:
    """A context that records the operations inside it.

    It records the calls of the thread that entered it, and the backward passes through their results. Outside of the context,
    calls have no overhead.

    Args:
        enabled: whether anything is recorded.
        use_cuda: not used: times are the host's.
        use_device: not used: times are the host's.
        record_shapes: whether the shapes of arguments are kept.
        with_flops: whether matrix products and convolutions have their floating point operations counted.
        profile_memory: whether host memory is measured, by `tracemalloc`, which slows down all Python code.
        with_stack: whether the source lines of calls are recorded.
        with_modules: not used.
        use_kineto: not used.
        use_cpu: not used.
        experimental_config: not used.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        **_: Any,
    ) -> None:
        self.enabled, self.record_shapes, self.profile_memory = enabled, record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.entered = False
        self._events: EventList | None = None
        self._recorder = _Recorder(record_shapes or with_flops, profile_memory, with_stack)

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._began_tracing = self.profile_memory and not tracemalloc.is_tracing()
        if self._began_tracing:
            tracemalloc.start(1)
        self._watch = _Watch(self._recorder)
        self._watch.__enter__()
        _recording.append(self._recorder)
        self._forget = observe_nodes(_Backward(self._recorder))
        return self

    def __exit__(self, *exception: object) -> None:
        if not self.enabled:
            return
        self._forget()
        _recording.remove(self._recorder)
        self._watch.__exit__()
        if self._began_tracing:
            tracemalloc.stop()
        self._events = EventList(self._recorder.events, profile_memory=self.profile_memory, with_flops=self.with_flops)
        if self.with_flops:
            for event in self._events:
                event.flops = _flops(event)

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began.

        Raises:
            RuntimeError: the profiler is still on, or was never.
        """
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Events of the same name added up; and of the same shapes, and called from the same places, where asked for."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """All events added up."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as a table: see `EventList.table`."""
        return self.function_events.table(sort_by=sort_by, row_limit=row_limit, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file that `chrome://tracing` and Perfetto show."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write places of calls and a time, as tools for flame graphs read them."""
        self.function_events.export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """How long all took, in microseconds."""
        return self.function_events.self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)


def _flops(event: FunctionEvent) -> int | None:
    """Compute the floating point operations of a matrix product from the shapes of its arguments; None for other events."""
    shapes = [shape for shape in event.input_shapes if shape]
    if event.name in ("aten::mm", "aten::matmul", "aten::bmm", "aten::linear") and len(shapes) >= 2:
        if any(child.name in ("aten::mm", "aten::matmul", "aten::bmm") for child in event.cpu_children):
            return None
        left, right = shapes[:2]
        count = 2
        for size in left:
            count *= size
        return count * (right[0] if event.name == "aten::linear" else right[-1] if len(right) > 1 else 1)
    return None


class record_function:
    """A context, or decorator, that a profiler shows as a named range.

    >>> with torch.autograd.profiler.profile() as seen, torch.autograd.profiler.record_function("mine"):
    ...     y = torch.ones(1)
    >>> seen.function_events[0].name
    'mine'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[tuple[_Recorder, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        self._open = [(recorder, recorder.begin(self.name, annotation=True)) for recorder in _recording]
        return self

    def __exit__(self, *exception: object) -> None:
        for recorder, event in reversed(self._open):
            recorder.end(event)
        self._open = []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapped


def _record_function_enter(name: str, args: str | None = None) -> record_function:
    """Open a range; the `torch.ops.profiler` operator, for graphs, which cannot contain `with` statements."""
    return record_function(name, args).__enter__()


def _record_function_exit(range: record_function) -> None:
    """Close a range that `_record_function_enter` opened."""
    range.__exit__()


_record_function_enter_new, _RecordFunction = _record_function_enter, record_function


class emit_nvtx:
    """Refuses when it is opened: NVIDIA's tools mark ranges through a library that flambeau does not call.

    Raises:
        RuntimeError: it is opened, and enabled.
    """

    what = "NVTX"

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> Any:
        if self.enabled:
            raise RuntimeError(f"flambeau emits no {self.what} ranges: use torch.profiler.profile, and its Chrome trace")
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """Refuses when it is opened: Intel's tools mark ranges through a library that flambeau does not call.

    Raises:
        RuntimeError: it is opened, and enabled.
    """

    what = "ITT"


def load_nvprof(path: str) -> NoReturn:
    """Refuse: files of nvprof are not read.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"{path}: flambeau does not read files of nvprof")


parse_nvprof_trace = load_nvprof


class EnforceUnique:
    """Raises an error if a key is seen more than once."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Note a key.  RuntimeError if it has been noted."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """The number of the step that a program is in: the largest of those that its parts count."""

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for a part."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Cease to; returns whether it was counted."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a part; returns the step of the program."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The step of the program."""
        return cls._current_step
