"""Results of the profiler: events, averages of events with the same key, tables and traces."""

from __future__ import annotations

import bisect
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

__all__ = [
    "EventList", "EventMetadata", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel",
    "MemRecordsAcc", "StringTable",
]  # fmt: skip


class Kernel(NamedTuple):
    """A kernel on an accelerator that an event started."""

    name: str
    device: int
    duration: float


class Interval:
    """A time interval in microseconds."""

    start: float
    end: float

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return the length of the interval in microseconds."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


class EventMetadata(dict[str, Any]):
    """Additional data of an event, by name; also accessible as attributes."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


class StringTable(defaultdict[str, str]):
    """Maps symbol names to display names; a missing name maps to itself."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Memory records, sorted by `start_ns()`, for look-up by time interval."""

    def __init__(self, mem_records: Iterable[Any]) -> None:
        self._mem_records = sorted(mem_records, key=lambda record: record.start_ns())
        self._start_nses = [record.start_ns() for record in self._mem_records]

    def in_interval(self, start_us: float, end_us: float) -> Iterable[Any]:
        """Iterate over the records that start between two times in microseconds."""
        first = bisect.bisect_left(self._start_nses, start_us * 1000)
        last = bisect.bisect_right(self._start_nses, end_us * 1000)
        return iter(self._mem_records[first:last])


def _format_time(microseconds: float, unit: str | None = None) -> str:
    for name, factor, least in (("s", 1e6, 1e6), ("ms", 1e3, 1e3), ("us", 1.0, 0.0)):
        if unit == name or (unit is None and microseconds >= least):
            return f"{microseconds / factor:.3f}{name}"
    return f"{microseconds:.3f}us"


def _format_share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def _format_memory(size: int) -> str:
    for name, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= factor:
            return f"{size / factor:.2f} {name}"
    return f"{size} B"


class FormattedTimesMixin:
    """Mean times per call, and times formatted as text, such as `cpu_time_str`."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean time per call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The mean time per call on an accelerator, in microseconds."""
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = device_time
    cpu_time_str: property = property(lambda self: _format_time(self.cpu_time))
    device_time_str: property = property(lambda self: _format_time(self.device_time))
    cpu_time_total_str: property = property(lambda self: _format_time(self.cpu_time_total))
    device_time_total_str: property = property(lambda self: _format_time(self.device_time_total))
    self_cpu_time_total_str: property = property(lambda self: _format_time(self.self_cpu_time_total))
    self_device_time_total_str: property = property(lambda self: _format_time(self.self_device_time_total))


class FunctionEvent(FormattedTimesMixin):
    """One recorded call: its name, times, input shapes, call stack, and the calls made inside it."""

    id: int
    name: str
    trace_name: str
    thread: int
    input_shapes: list[Any]
    stack: list[str]
    flops: int | None
    cpu_memory_usage: int
    device_memory_usage: int
    use_device: str | None
    node_id: int
    sequence_nr: int
    scope: int
    overload_name: str

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        input_shapes: list[Any] | None = None,
        stack: Sequence[str] = (),
        cpu_memory_usage: int = 0,
        flops: int | None = None,
        is_user_annotation: bool = False,
    ) -> None:
        self.id, self.name, self.trace_name, self.thread = id, name, name, thread
        self.time_range: Final = Interval(start_us, end_us)
        self.input_shapes, self.stack, self.flops = input_shapes or [], list(stack), flops
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, 0
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[Any] = []
        self.is_async = self.is_remote = self.is_legacy = False
        self.use_device, self.node_id, self.sequence_nr, self.scope, self.overload_name = None, -1, -1, 0, ""

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add a call that was made inside this one."""
        child.cpu_parent = self
        self.cpu_children.append(child)

    @property
    def key(self) -> str:
        """The key by which events are grouped for averages."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # computed for an event, stored in an average
        """The duration in microseconds, including the calls made inside this one."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]  # computed for an event, stored in an average
        """The duration in microseconds, excluding the calls made inside this one."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated minus bytes freed by the call, excluding the calls inside it."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"cpu_start_us={self.time_range.start} cpu_end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of several events with the same key."""

    key: str
    count: int
    flops: int
    cpu_time_total: float
    device_time_total: float
    self_cpu_time_total: float
    self_device_time_total: float
    cpu_memory_usage: int
    device_memory_usage: int
    self_cpu_memory_usage: int
    self_device_memory_usage: int
    overload_name: str
    is_user_annotation: bool

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.device_memory_usage = self.self_device_memory_usage = 0
        self.flops = 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.overload_name = ""
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or another sum of events, and return self."""
        self.key = self.key or other.key
        self.is_user_annotation = other.is_user_annotation
        for name in ("count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
            f"self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """A list of events, or of averages of events."""

    def __init__(self, *args: Any, profile_memory: bool = False, with_flops: bool = False, **_: Any) -> None:
        super().__init__(*args)
        self._profile_memory, self._with_flops = profile_memory, with_flops

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of the events in microseconds; the time of an event excludes the calls made inside it."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sum the events with the same name and, if selected, the same input shapes or the same `group_by_stack_n` frames."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            stack = event.stack[:group_by_stack_n]
            total = sums.setdefault((event.key, event.is_user_annotation, shapes, tuple(stack)), FunctionEventAvg())
            total.add(event)
            total.input_shapes, total.stack = (event.input_shapes if group_by_input_shapes else ""), stack
        return EventList(sums.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """Sum all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table.

        Args:
            sort_by: an attribute to sort by, largest first, such as `self_cpu_time_total`; by default, events keep their order.
            row_limit: the maximal number of rows; -1 for all.
            max_src_column_width: the maximal width of source locations.
            max_name_column_width: the maximal width of names.
            max_shapes_column_width: the maximal width of input shapes.
            header: a line above the table.
            top_level_events_only: whether to omit calls inside other calls.
            time_unit: `s`, `ms` or `us`; by default, chosen for each time.

        Raises:
            AttributeError: the events have no attribute called `sort_by`.
        """
        rows = [event for event in self if not (top_level_events_only and getattr(event, "cpu_parent", None))]
        if sort_by is not None:
            rows.sort(key=attrgetter(sort_by.replace("cuda", "device")), reverse=True)
        columns = self._columns(rows, max_name_column_width, max_shapes_column_width, max_src_column_width, time_unit)
        cells = [[title for title, _ in columns]] + [[show(row) for _, show in columns] for row in rows[: _limit(row_limit)]]
        widths = [max(12, *(len(line[index]) for line in cells)) for index in range(len(columns))]
        rule = "".join("-" * width + "  " for width in widths)
        lines = ["".join(cell.rjust(width) + "  " for cell, width in zip(line, widths, strict=True)) for line in cells]
        above = [] if header is None else ["=" * len(rule), header]
        total = f"Self CPU time total: {_format_time(sum(row.self_cpu_time_total for row in self), time_unit)}"
        return "\n".join([*above, rule, lines[0], rule, *lines[1:], rule, total, ""])

    def _columns(
        self, rows: list[Any], names: int, shapes: int, sources: int, unit: str | None
    ) -> list[tuple[str, Callable[[Any], str]]]:
        whole = sum(row.self_cpu_time_total for row in self)
        columns: list[tuple[str, Callable[[Any], str]]] = [
            ("Name", lambda row: _shortened(row.key, names)),
            ("Self CPU %", lambda row: _format_share(row.self_cpu_time_total, whole)),
            ("Self CPU", lambda row: _format_time(row.self_cpu_time_total, unit)),
            ("CPU total %", lambda row: _format_share(row.cpu_time_total, whole)),
            ("CPU total", lambda row: _format_time(row.cpu_time_total, unit)),
            ("CPU time avg", lambda row: _format_time(row.cpu_time, unit)),
        ]
        if self._profile_memory:
            columns.append(("CPU Mem", lambda row: _format_memory(row.cpu_memory_usage)))
            columns.append(("Self CPU Mem", lambda row: _format_memory(row.self_cpu_memory_usage)))
        columns.append(("# of Calls", lambda row: str(row.count)))
        if any(row.input_shapes for row in rows):
            columns.append(("Input Shapes", lambda row: str(row.input_shapes)[:shapes]))
        if any(row.stack for row in rows):
            columns.append(("Source Location", lambda row: (row.stack or [""])[0][-sources:]))
        if self._with_flops:
            columns.append(("Total FLOPs", lambda row: str(row.flops or "--")))
        return columns

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file for `chrome://tracing` or Perfetto."""
        write_trace(path, json.dumps(self._trace()))

    def _trace(self) -> dict[str, Any]:
        process = os.getpid()
        events = [
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.name,
                "pid": process,
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.cpu_time_total,
                "args": {"External id": event.id, "Input Dims": event.input_shapes, "Call stack": ";".join(event.stack)},
            }
            for event in self
        ]
        about = {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "python"}}
        return {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [about, *events]}

    def export_stacks(self, path: str, metric: str) -> None:
        """Write each call stack and its time in microseconds, in the format of flame graph tools.

        Raises:
            ValueError: `metric` is not the name of a time.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"):
            raise ValueError("metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total', 'self_xpu_time_total']")
        lines = []
        for event in self:
            value = int(getattr(event, metric.replace("cuda", "device")))
            if event.stack and value > 0:
                places = [place.translate(str.maketrans(" ;\t\n", "____")) for place in reversed(event.stack)]
                lines.append(f"{';'.join([*places, event.key])} {value}\n")
        write_trace(path, "".join(lines))

    def __str__(self) -> str:
        return self.table()


def _limit(rows: int) -> int | None:
    return None if rows < 0 else rows


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 3] + "..."


def write_trace(path: str, text: str) -> None:
    """Write a file atomically: to a temporary file, which is then renamed."""
    partial = f"{path}.{os.getpid()}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
