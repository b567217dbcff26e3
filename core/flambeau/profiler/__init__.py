"""`torch.profiler`: record the operations of a program with their time and memory, optionally by a schedule.

>>> with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=2)) as seen:
...     for _ in range(4):
...         y = torch.ones(2) + 1
...         seen.step()
>>> seen.key_averages()[1].key, seen.key_averages()[1].count
('aten::ones', 2)
"""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd import profiler as _profiler
from ..autograd.profiler import KinetoStepTracker, record_function
from ..autograd.profiler_util import EventList, write_trace

__all__ = [
    "DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile",
    "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerAction(enum.Enum):
    """The actions of a profiler in a step.  A schedule returns one for each step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


ProfilerActivity = enum.Enum("ProfilerActivity", ["CPU", "XPU", "MTIA", "CUDA", "HPU", "PrivateUse1"], start=0)
ProfilerActivity.__doc__ = "Types of devices that a profiler can record."
DeviceType = enum.Enum(
    "DeviceType", ["CPU", "CUDA", "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "HIP", "FPGA", "MAIA", "XLA"], start=0
)
DeviceType.__doc__ = "Types of devices of profiler events."


def kineto_available() -> bool:
    """Return False: PyTorch's tracing library Kineto is not used."""
    return False


def supported_activities() -> set[Any]:
    """Return the activities that can be profiled: only `CPU`, calls on the host."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a function that maps the number of a step to a `ProfilerAction`.

    A cycle consists of `wait` steps, `warmup` steps, and `active` steps, which are recorded.

    Args:
        wait, warmup, active: the numbers of steps in a cycle.
        repeat: the number of cycles; 0 for no limit.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle starts without its `wait` steps.

    Raises:
        AssertionError: a number is negative, or `active` is 0.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule: expected active > 0, and wait, warmup, repeat and skip_first >= 0")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        at = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat > 0 and at // cycle >= repeat):
            return ProfilerAction.NONE
        at %= cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == cycle - 1 else ProfilerAction.RECORD

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Return the action of every step without a schedule: record."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """Return a function for `on_trace_ready` that writes each trace to a folder, for TensorBoard's profiler plugin.

    Args:
        dir_name: the folder.
        worker_name: the start of the file name; by default host name and process id.
        use_gzip: whether to compress the files.
    """

    def handle(seen: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        seen.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class _ExperimentalConfig:
    """Settings of PyTorch's profiler that may change; they are kept and have no effect."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)


class ExecutionTraceObserver:
    """Execution traces of PyTorch's dispatcher, which flambeau does not support.

    Raises:
        RuntimeError: `register_callback` is called.
    """

    def register_callback(self, output_file_path: str) -> Any:
        """Raise RuntimeError: flambeau has no execution traces."""
        raise RuntimeError("execution traces are not supported: use torch.profiler.profile and its export_chrome_trace")


class profile:
    """A context that records the operations inside it, in all steps or in the steps that a schedule selects.

    Args:
        activities: what to record; only the host is supported, others cause a warning.
        schedule: maps the number of a step to a `ProfilerAction`; see `torch.profiler.schedule`.
        on_trace_ready: called with the profiler when a recording is complete.
        record_shapes: whether to record the shapes of arguments.
        profile_memory: whether to measure host memory by `tracemalloc`, which slows down all Python code.
        with_stack: whether to record the source lines of calls.
        with_flops: whether to count the floating-point operations of matrix products.
        acc_events: whether to keep the events of all recordings, rather than only of the last one.
        with_modules, experimental_config, execution_trace_observer: kept as attributes, without effect.
    """

    on_trace_ready: Callable[..., Any] | None
    acc_events: bool
    with_modules: bool
    experimental_config: Any
    execution_trace_observer: Any
    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    step_num: int
    current_action: ProfilerAction

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities: set[Any] = set(activities) if activities else supported_activities()
        for activity in self.activities - supported_activities():
            warnings.warn(f"{activity} cannot be profiled: only calls on the host are recorded", stacklevel=2)
        self.schedule: Callable[[int], ProfilerAction] = schedule or _default_schedule_fn
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.experimental_config, self.execution_trace_observer = experimental_config, execution_trace_observer
        self.record_steps: bool = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _profiler.profile | None = None
        self._kept: list[Any] = []
        self._metadata: dict[str, Any] = {}
        self._step: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step, and record if the schedule requires it."""
        self.current_action = self.schedule(self.step_num)
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """End the last step and any running recording."""
        self._end_step()
        if self._is_recording():
            self.stop_trace()
            self._call_trace_handler()

    def step(self) -> None:
        """End a step and begin the next one.  Recordings begin and end as the schedule requires."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        records = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._is_recording() and (before is ProfilerAction.RECORD_AND_SAVE or not records):
            self.stop_trace()
            self._call_trace_handler()
        if records and not self._is_recording():
            self.start_trace()
        KinetoStepTracker.increment_step("ProfilerStep")
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _is_recording(self) -> bool:
        return self.profiler is not None and self.profiler._events is None

    def _call_trace_handler(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def start_trace(self) -> None:
        """Begin a recording immediately, without regard to the schedule."""
        self.profiler = _profiler.profile(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
        )
        self.profiler.__enter__()

    def stop_trace(self) -> None:
        """End the running recording, if any, and keep its events."""
        if self.profiler is not None:
            self.profiler.__exit__()
            self._kept += self.profiler.function_events

    # --- results ---

    def events(self) -> EventList:
        """Return the events of the last recording, or with `acc_events` of all recordings.

        Raises:
            AssertionError: nothing has been recorded.
        """
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before calling events()")
        if self.acc_events:
            return EventList(self._kept, profile_memory=self.profile_memory, with_flops=self.with_flops)
        return self.profiler.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return sums over events with the same name.

        Args:
            group_by_input_shape: whether to sum events with different shapes of arguments separately.
            group_by_stack_n: if not 0, sum events separately if the first `group_by_stack_n` entries of their stacks differ.
            group_by_overload_name: no effect.
        """
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as JSON for `chrome://tracing` and Perfetto, compressed if the name ends in ".gz"."""
        trace = self.events()._trace() | self._metadata
        if not path.endswith(".gz"):
            write_trace(path, json.dumps(trace))
            return
        import gzip

        with gzip.open(f"{path}.partial", "wt", encoding="utf-8") as file:
            json.dump(trace, file)
        os.replace(f"{path}.partial", path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks with their times in the format of flame graph tools."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the metadata of the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON text, to the metadata of the trace."""
        self._metadata[key] = json.loads(value)
