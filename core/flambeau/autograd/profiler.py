"""`torch.autograd.profiler`: records which operations a program calls, their durations and memory use.

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

_thread_id = getattr(threading, "get_native_id", threading.get_ident)  # WASI has no native ids
_recording: list[_Recorder] = []  # the active recorders, innermost last


class _Recorder:
    """Collects events as calls begin and end; nested calls are tracked per thread."""

    def __init__(self, shapes: bool, memory: bool, stack: bool) -> None:
        self.shapes, self.memory, self.stack = shapes, memory, stack
        self.events: list[FunctionEvent] = []
        self.open = threading.local()

    @property
    def active(self) -> bool:
        """Whether its profile has begun and not ended."""
        return self in _recording

    def begin(self, name: str, arguments: Any = (), annotation: bool = False) -> FunctionEvent:
        """Add the event of a call that begins, as a child of the thread's open call."""
        event = FunctionEvent(len(self.events), name, _thread_id(), 0.0, 0.0, is_user_annotation=annotation)
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

    def begin_call(self, name: str, function: Any, args: Any, kwargs: Any) -> FunctionEvent:
        """Add the event of a function that is called; `RecordingMode` calls this."""
        return self.begin(f"{getattr(function, 'namespace', None) or 'aten'}::{name}", args)

    def end_call(self, event: FunctionEvent, result: Any) -> None:
        """End the event of a function that has returned; `RecordingMode` calls this."""
        self.end(event)

    def end(self, event: FunctionEvent) -> None:
        """Set the end time of an event, and close the calls inside it that are still open."""
        event.time_range.end = time.perf_counter_ns() / 1000
        if self.memory:
            event.cpu_memory_usage += tracemalloc.get_traced_memory()[0]
        calls = vars(self.open).get("calls", [])
        while calls and calls.pop() is not event:
            pass


class RecordingMode(TorchFunctionMode):
    """Mode that reports calls of functions, and the calls made inside them, to a recorder.

    While the recorder is `active`, its `begin_call(name, function, args, kwargs)` is called before a call.  Its result is passed,
    with the result of the call (None after an exception), to the recorder's `end_call`.
    """

    sees_methods: bool = False

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__") or not self.recorder.active:
            return func(*args, **(kwargs or {}))
        library = getattr(func, "namespace", None)  # only operators of `torch.ops` have one
        if library in ("aten", "profiler"):  # the inner operations of aten are recorded, and profiler ranges record themselves
            with self:
                return redispatch_function(func, types, args, kwargs)
        operation = name.strip("_") if name.startswith("__") else name
        call, result = self.recorder.begin_call(operation.removesuffix(".default"), func, args, kwargs), None
        try:
            with self:
                result = redispatch_function(func, types, args, kwargs)
            return result
        finally:
            self.recorder.end_call(call, result)


class _BackwardHooks:
    """Adds hooks to each new autograd node, which record its backward as an event."""

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

    It records the calls of the thread that entered it, and the backward passes through their results.  Outside of the context,
    calls have no overhead.

    Args:
        enabled: whether to record.
        use_cuda: ignored; times are measured on the host.
        use_device: ignored; times are measured on the host.
        record_shapes: whether to record the shapes of arguments.
        with_flops: whether to count the floating-point operations of matrix products.
        profile_memory: whether to measure host memory with `tracemalloc`, which slows down all Python code.
        with_stack: whether to record the source lines of calls.
        with_modules: ignored.
        use_kineto: ignored.
        use_cpu: ignored.
        experimental_config: ignored.
    """

    enabled: bool
    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    entered: bool

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
        self._mode = RecordingMode(self._recorder)
        self._mode.__enter__()
        _recording.append(self._recorder)
        self._remove_observer = observe_nodes(_BackwardHooks(self._recorder))
        return self

    def __exit__(self, *exception: object) -> None:
        if not self.enabled:
            return
        self._remove_observer()
        if self._recorder in _recording:
            _recording.remove(self._recorder)
        self._mode.__exit__()
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
            RuntimeError: the profiler is still active, or was never active.
        """
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sum the events with the same name and, if selected, the same input shapes or the same `group_by_stack_n` frames."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """Sum all events."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return the events as a table; see `EventList.table`."""
        return self.function_events.table(sort_by=sort_by, row_limit=row_limit, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file for `chrome://tracing` or Perfetto."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write each call stack and its time, in the format of flame graph tools."""
        self.function_events.export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events, in microseconds."""
        return self.function_events.self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)


def _flops(event: FunctionEvent) -> int | None:
    """Return the number of floating-point operations of a matrix product, from the shapes of its arguments; else None."""
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
    """A context manager or decorator that adds a named range to the profile.

    >>> with torch.autograd.profiler.profile() as seen, torch.autograd.profiler.record_function("mine"):
    ...     y = torch.ones(1)
    >>> seen.function_events[0].name
    'mine'
    """

    name: str
    args: str | None

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


def _profiler_enabled() -> bool:
    """Whether a profiler is recording."""
    return bool(_recording)


def _disable_profiler() -> None:
    """End the recording of all active profilers, which keep the events up to now."""
    _recording.clear()


def _record_function_enter(name: str, args: str | None = None) -> record_function:
    """Open a profiler range; an operator of `torch.ops.profiler` for graphs, which cannot contain `with` statements."""
    return record_function(name, args).__enter__()


def _record_function_exit(range: record_function) -> None:
    """Close a range that `_record_function_enter` opened; an operator of `torch.ops.profiler`."""
    range.__exit__()


_record_function_enter_new, _RecordFunction = _record_function_enter, record_function


class emit_nvtx:
    """In PyTorch, marks ranges for NVIDIA's profilers by NVTX, which is not supported here.

    Raises:
        RuntimeError: the context is entered while `enabled`.
    """

    enabled: bool
    record_shapes: bool

    what = "NVTX"

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> Any:
        if self.enabled:
            raise RuntimeError(f"flambeau emits no {self.what} ranges: use torch.profiler.profile and its Chrome trace instead")
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """In PyTorch, marks ranges for Intel's profilers by ITT, which is not supported here.

    Raises:
        RuntimeError: the context is entered while `enabled`.
    """

    what = "ITT"


def load_nvprof(path: str) -> NoReturn:
    """Raise RuntimeError: nvprof files are not supported.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"cannot load {path}: flambeau does not read nvprof files")


parse_nvprof_trace = load_nvprof


class EnforceUnique:
    """A set of keys that raises an error if a key is added twice."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Add a key.  Raise RuntimeError if it was added before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Step counter of a program: the maximum of the counters of its requesters, such as profilers and optimizers."""

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Add a counter for `requester`, starting at the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Remove the counter of `requester`; return whether it existed."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Increment the counter of `requester` and return the program's step."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the program's step."""
        return cls._current_step
