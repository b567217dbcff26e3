"""The recorder: a list of the calls that a step makes on arrays, and the opaque arrays that the step uses meanwhile.

While a step is recorded, every array is a `RecordedArray`: the real array and a reference that identifies it in the program.  A
recorded call unwraps its arguments, computes, and wraps its results.  Recording a step also executes it.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, get_ident
from typing import Any

from ...backend import AcceleratorBackend, RecordableBackend
from ...engine.values.symbols import ARITHMETIC, BINARY, COMPARISONS, UNARY

__all__ = [
    "CHECK", "COMPUTE", "EFFECT", "Call", "LookedAtValue", "RecordedArray", "RecordedGenerator", "RecordedInteger",
    "RecordedNumber", "Recorder", "Reference", "is_own_file", "is_recording", "place_in_program",
    "references_in", "refuse", "register_own_folder",
]  # fmt: skip

COMPUTE = "computation"  # a call of this kind is dropped if neither its results nor its writes are used
EFFECT = "effect"  # a random draw: a call of this kind always runs, and in the recorded order
_CONSTANT_BYTES = 1 << 14  # constant results of more bytes are not stored, but computed again in each replay
_WRITING_METHODS = frozenset({"fill", "partition", "put", "sort"})  # array methods that write to the array
_LONGEST_WAIT = 10.0  # seconds that other threads wait: the recorded program may be waiting for one of them
CHECK = "check"  # a call of this kind compares its result with the recorded one


class LookedAtValue(RuntimeError):
    """Raised if the program reads a value of an array: its control flow may then depend on the value."""


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """Identifies a value in recorded calls: an array, a number, or a dictionary that kernels share."""

    index: int


@dataclass(eq=False, slots=True)
class Call:
    """One recorded call: `results = function(*args, **kwargs)`, with references instead of arrays."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: Any  # a reference, or a (nested) tuple of references and None
    kind: str = COMPUTE
    writes: tuple[Reference, ...] = ()
    expected: Any = None  # expected result of a check
    scalars: tuple[Reference, ...] = ()  # results that are library scalars, to be converted to arrays
    constant: Any = None  # the result, if it is computed from constants alone
    owned: bool = False  # for a copy: whether nothing else referred to the original
    device: int | None = None  # the device that was current, in libraries that compute on the current device


def references_in(value: Any) -> Iterator[Reference]:
    """Yield the references in the arguments or results of a call."""
    if type(value) is Reference:
        yield value
    elif type(value) in (tuple, list):
        for item in value:
            yield from references_in(item)
    elif type(value) is dict:
        yield from references_in(list(value.values()))
    elif type(value) is slice:
        yield from references_in([value.start, value.stop, value.step])


@dataclass(slots=True)
class Recorder:
    """Records one thread's calls on the arrays of one backend and of the host's backend."""

    backend: RecordableBackend
    strict: bool = False  # whether reading a value raises an error immediately
    calls: list[Call] = field(default_factory=list)
    spoiled: str | None = None  # the reason why the recording cannot be replayed
    active: bool = True
    depth: int = 0  # number of nested recorded calls running; inner calls are not recorded
    group_of: list[int] = field(default_factory=list)  # for each value, the index of a value that shares its memory
    # shape and dtype of each array; None for other values
    kinds: list[tuple[tuple[int, ...], Any] | None] = field(default_factory=list)
    strides: dict[Reference, tuple[int, ...]] = field(default_factory=dict)  # of arrays, in libraries that have strides
    devices: dict[Reference, int] = field(default_factory=dict)  # devices of arrays, in libraries with several devices
    dictionaries: dict[int, tuple[Any, Reference]] = field(default_factory=dict)  # dictionaries shared by kernels, by id
    watch: Any = None  # function of `sys.setprofile`, suspended during recorded calls
    past_dictionaries: set[Reference] = field(default_factory=set)  # references to dropped dictionaries
    thread: int = field(default_factory=get_ident)
    ended: Event = field(default_factory=Event)
    constants: set[Reference] = field(default_factory=set)  # values computed from constants alone
    host: RecordableBackend | None = None  # backend of host arrays, on which optimizers count steps
    on_host: set[Reference] = field(default_factory=set)  # values that are arrays of the host backend
    missed: RecordableBackend | None = None  # a recordable backend used by the program but not recorded

    # --- values ---

    def backend_of(self, value: Any) -> RecordableBackend | None:
        """Return the recorded backend of an array or of a library scalar, or None for other values."""
        for backend in (self.backend, self.host):
            if backend is not None and isinstance(value, (backend.array_type, *backend.scalar_types)):
                return backend
        return None

    def current_device(self) -> int | None:
        """Return the current device, or None if the library takes the device from the arrays."""
        return self.backend.current_device() if self.backend.guarded else None

    def new_reference(self) -> Reference:
        """Return a reference to a new value, in a separate memory group until `join`."""
        self.group_of.append(len(self.group_of))
        self.kinds.append(None)
        return Reference(len(self.group_of) - 1)

    def kind(self, reference: Reference) -> tuple[tuple[int, ...], Any]:
        """Return the shape and the dtype of an array."""
        found = self.kinds[reference.index]
        assert found is not None
        return found

    def group(self, reference: Reference) -> int:
        """Return the group of a value: values of one group may share memory."""
        index = reference.index
        while (parent := self.group_of[index]) != index:
            index = parent
        return index

    def join(self, reference: Reference, other: Reference) -> None:
        """Merge the groups of two values whose memory may overlap."""
        first, second = sorted((self.group(reference), self.group(other)))
        self.group_of[second] = first

    def lift(self, array: Any) -> RecordedArray:
        """Wrap a real array as a new value of the program."""
        reference = self.new_reference()
        self.kinds[reference.index] = array.shape, array.dtype
        if (strides := getattr(array, "strides", None)) is not None:
            self.strides[reference] = strides
        if self.host is not None and isinstance(array, self.host.array_type):
            self.on_host.add(reference)
        elif isinstance(self.backend, AcceleratorBackend) and self.backend.guarded:
            self.devices[reference] = self.backend.device_of(array)
        return RecordedArray(array, reference, self)

    def shared_dictionaries(self) -> set[Reference]:
        """Return references to the workspaces: dictionaries in which a forward kernel stores data for the backward kernel."""
        return {reference for _, reference in self.dictionaries.values()} | self.past_dictionaries

    def forget_dictionaries(self) -> None:
        """Drop the shared dictionaries, whose contents are needed only while the step is recorded."""
        self.past_dictionaries = self.shared_dictionaries()
        self.dictionaries.clear()

    # --- invalid recordings ---

    def spoil(self, reason: str) -> None:
        """Mark the recording as not replayable, with a reason and the program's current line; raise LookedAtValue if `strict`."""
        if not self.active:
            return
        message = f"{reason} ({place_in_program()})"
        self.spoiled = self.spoiled or message
        if self.strict:
            raise LookedAtValue(message)

    # --- calls ---

    def wrapped(self, function: Callable[..., Any], name: str, kind: str = COMPUTE, writes: Any = ()) -> Callable[..., Any]:
        """Wrap a function to record its calls.  `writes` are the positions of written arguments, or a function returning them."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, function, args, kwargs, kind, writes)

        return recorded

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        kind: str = COMPUTE,
        writes: Any = (),
        expected: Any = None,
    ) -> Any:
        """Call a function on the real values, and record the call."""
        if self.active and get_ident() != self.thread:
            if not _has_recorded(args) and not _has_recorded(kwargs):
                return function(*args, **kwargs)
            if not self.spoiled and not self.ended.wait(_LONGEST_WAIT):
                self.spoil("another thread computes at the same time")
        elif self.depth:
            return function(*args, **kwargs)
        if not self.active:  # the recording has ended, but wrapped functions are still called
            return function(*self.unwrapped(args, [])[0], **self.unwrapped(kwargs, [])[0])
        if any(type(argument) is RecordedGenerator for argument in args):
            kind = EFFECT  # random draws
        arrays: list[RecordedArray] = []
        real_args, template = self.unwrapped(args, arrays)
        real_kwargs, keywords = self.unwrapped(kwargs, arrays) if kwargs else (kwargs, kwargs)
        self.depth += 1
        if self.watch is not None:
            sys.setprofile(None)
        try:
            value = function(*real_args, **real_kwargs)
        finally:
            self.depth -= 1
            if self.watch is not None:
                sys.setprofile(self.watch)
        written = [args[position] for position in (writes(args) if callable(writes) else writes)]
        call = Call(name, function, template, keywords, None, kind, expected=expected, device=self.current_device())
        call.writes = tuple(target._reference for target in written if isinstance(target, RecordedArray))
        result = self.wrap_results(value, arrays, call)
        given = set(references_in((template, keywords)))
        call.results = self.references_of(result, given)
        if kind == COMPUTE and not call.writes and call.results is None:
            return result  # nothing to replay: the result is an argument, or fixed, such as a shape
        self._note_constant(call, value)
        self.calls.append(call)
        return result

    def _note_constant(self, call: Call, value: Any) -> None:
        if call.kind != COMPUTE or call.writes or type(call.results) is not Reference or call.scalars:
            return
        given = set(references_in((call.args, call.kwargs)))
        if given <= self.constants and getattr(value, "nbytes", _CONSTANT_BYTES) < _CONSTANT_BYTES:
            call.constant = value
            self.constants.add(call.results)

    def is_constant(self, reference: Reference) -> bool:
        """Whether an array is computed from constants alone, and has not been written to."""
        group = self.group
        return reference in self.constants and not any(
            group(target) == group(reference) for call in self.calls for target in call.writes
        )

    def unwrapped(self, value: Any, arrays: list[RecordedArray]) -> tuple[Any, Any]:
        """Return `value` with recorded values replaced by real ones, and `value` with recorded values replaced by references."""
        kind = type(value)
        if kind is RecordedArray:
            if value._recorder is not self:  # the array was left over from an earlier recording
                return value._value, value._value
            arrays.append(value)
            return value._value, value._reference
        if kind is RecordedNumber or kind is RecordedInteger:
            return value.plain, value.reference
        if kind is RecordedGenerator:
            return value._real, value._real
        if kind is tuple or kind is list:
            if not value:
                return value, value
            pairs = [self.unwrapped(item, arrays) for item in value]
            return kind([real for real, _ in pairs]), kind([reference for _, reference in pairs])
        if kind is dict:
            return self._dictionary(value, arrays)
        if isinstance(value, self.backend.array_type):
            self.spoil("it uses an array that was created outside of flambeau, or in an earlier step")
            return value, value
        if kind is slice:
            start, stop, step = (self.unwrapped(part, arrays) for part in (value.start, value.stop, value.step))
            return slice(start[0], stop[0], step[0]), slice(start[1], stop[1], step[1])
        return value, value

    def _dictionary(self, value: dict[Any, Any], arrays: list[RecordedArray]) -> tuple[Any, Any]:
        """Do the same as `unwrapped` for a dictionary.  Kernels share data by a dictionary that is empty at its first use."""
        known = self.dictionaries.get(id(value))
        if known is not None:
            return value, known[1]
        if not value and self.active:
            self.dictionaries[id(value)] = value, self.new_reference()
            return value, self.dictionaries[id(value)][1]
        pairs = {key: self.unwrapped(item, arrays) for key, item in value.items()}
        return {key: real for key, (real, _) in pairs.items()}, {key: reference for key, (_, reference) in pairs.items()}

    def wrap_results(self, value: Any, arrays: list[RecordedArray], call: Call) -> Any:
        """Return a kernel's results with arrays replaced by `RecordedArray`s."""
        backend = self.backend_of(value)
        if backend is not None and isinstance(value, backend.scalar_types):
            result = self.lift(backend.wrap(value))
            call.scalars = (*call.scalars, result._reference)
            return result
        if backend is not None:
            for array in arrays:
                if array._value is value:
                    return array
            result = self.lift(value)
            for array in arrays:
                if isinstance(array._value, backend.array_type) and backend.shares_memory(value, array._value):
                    self.join(array._reference, result._reference)
            return result
        if type(value) in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            items = [self.wrap_results(item, arrays, call) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    def references_of(self, result: Any, given: Collection[Reference] = ()) -> Any:
        """Return a (nested) result with each value replaced by its reference.

        Values that are not recorded, values in `given`, and empty tuples are replaced by None.
        """
        if type(result) is RecordedArray:
            return None if result._reference in given else result._reference
        if type(result) in (RecordedNumber, RecordedInteger):
            return result.reference
        if isinstance(result, (tuple, list)):
            found = tuple(self.references_of(item, given) for item in result)
            return found if any(item is not None for item in found) else None
        return None

    def add(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], results: Any) -> None:
        """Record a kernel call after it has run: its function, arguments and results."""
        self.calls.append(Call(name, function, self.unwrapped(args, [])[1], {}, results))

    # --- numbers ---

    def number(self, value: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return a recorded number with this value, or the value itself if nothing is being recorded."""
        if type(value) not in (int, float) or not self.active:
            return value
        _, template = self.unwrapped(args, [])
        reference = self.new_reference()
        self.calls.append(Call(name, function, template, {}, reference))
        return (RecordedNumber if type(value) is float else RecordedInteger).of(value, reference, self)

    def check(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return the result of a comparison of numbers, and record a check that it is the same in each replay."""
        real, template = self.unwrapped(args, [])
        outcome = function(*real)
        if self.active and not self.depth:
            self.calls.append(Call(name, function, template, {}, None, CHECK, expected=outcome))
        return outcome


def _has_recorded(value: Any) -> bool:
    """Whether a (nested) argument contains recorded arrays or a recorded generator."""
    if isinstance(value, (tuple, list)):
        return any(map(_has_recorded, value))
    if isinstance(value, dict):
        return any(map(_has_recorded, value.values()))
    return isinstance(value, (RecordedArray, RecordedGenerator))


class RecordedArray:
    """An opaque array: the real array, and its reference in the recording.

    It has the attributes, methods and operators of the real array, and records their use.  Reading its elements makes the
    recording invalid.
    """

    __slots__ = ("__weakref__", "_recorder", "_reference", "_value")
    __array_priority__ = 1000
    __hash__: Any = object.__hash__

    def __init__(self, value: Any, reference: Reference, recorder: Recorder) -> None:
        self._value, self._reference, self._recorder = value, reference, recorder

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._value, name)
        recorder = self._recorder
        if recorder.backend_of(attribute) is not None:
            return recorder.call(name, operator.attrgetter(name), (self,), {})
        if not callable(attribute) or isinstance(attribute, type):
            return attribute
        if name in ("item", "tolist", "tobytes"):
            if not recorder.is_constant(self._reference):
                recorder.spoil("it looks at a value")
            return attribute
        writes = (0,) if name in _WRITING_METHODS else ()
        return lambda *args, **kwargs: recorder.call(
            name, operator.methodcaller(name, *args, **kwargs), (self,), {}, writes=writes
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self._value.shape  # type: ignore[no-any-return]  # arrays are untyped

    @property
    def dtype(self) -> Any:
        return self._value.dtype

    @property
    def ndim(self) -> int:
        return self._value.ndim  # type: ignore[no-any-return]  # arrays are untyped

    def __len__(self) -> int:
        return len(self._value)

    def __getitem__(self, index: Any) -> Any:
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, RecordedArray) and "bool" in str(part.dtype):
                self._recorder.spoil("a shape depends on values: those of a mask")
        return self._recorder.call("getitem", operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self._recorder.call("setitem", operator.setitem, (self, index, value), {}, writes=(0,))

    def __repr__(self) -> str:
        self._recorder.spoil("it prints a value")
        return repr(self._value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._recorder.spoil("it looks at values")
        return self._value.__array__(*args, **kwargs)


def _look(name: str) -> Callable[[RecordedArray], Any]:
    def look(self: RecordedArray) -> Any:
        if not self._recorder.is_constant(self._reference):
            self._recorder.spoil("it looks at a value")
        return getattr(self._value, name)()

    return look


def _binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    def compute(self: RecordedArray, other: Any) -> Any:
        return self._recorder.call(name, function, (self, other), {})

    def compute_reflected(self: RecordedArray, other: Any) -> Any:
        return self._recorder.call(name, function, (other, self), {})

    setattr(RecordedArray, f"__{name}__", compute)
    if name in BINARY:
        setattr(RecordedArray, f"__r{name}__", compute_reflected)
        in_place = getattr(operator, f"i{name}", None)
        if in_place is not None:
            setattr(RecordedArray, f"__i{name}__", _in_place(f"i{name}", in_place, function))


def _unary(name: str, function: Callable[[Any], Any]) -> None:
    setattr(RecordedArray, f"__{name}__", lambda self: self._recorder.call(name, function, (self,), {}))


def _in_place(name: str, function: Callable[[Any, Any], Any], plain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compute(self: RecordedArray, other: Any) -> Any:
        backend = self._recorder.backend_of(self._value)
        mutable = backend is not None and backend.mutable
        return self._recorder.call(name, function if mutable else plain, (self, other), {}, writes=(0,) if mutable else ())

    return compute


for _name in ("bool", "int", "float", "complex", "index", "iter"):
    setattr(RecordedArray, f"__{_name}__", _look(f"__{_name}__"))
for _name in (*BINARY, *COMPARISONS):
    _binary(_name, getattr(operator, f"{_name}_" if _name in ("and", "or") else _name))
for _name in UNARY:
    _unary(_name, getattr(operator, _name))


class RecordedGenerator:
    """A backend's random generator whose draws are recorded; a replay repeats all draws in the same order."""

    def __init__(self, real: Any, recorder: Recorder) -> None:
        self._real, self._recorder = real, recorder

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        return self._recorder.wrapped(attribute, name, EFFECT) if callable(attribute) else attribute


class _Recorded:
    """Base class of recorded numbers.  Each replay checks that comparisons give the recorded result."""

    reference: Reference
    recorder: Recorder
    plain: Any

    @classmethod
    def of(cls, value: Any, reference: Reference, recorder: Recorder) -> Any:
        """Return a recorded number with this value."""
        number = cls(value)  # type: ignore[call-arg]  # float and int accept a value
        number.reference, number.recorder, number.plain = reference, recorder, value
        return number

    def _reveal(self, what: str = "a number that changes from step to step is printed or rounded") -> Any:
        if not self.recorder.depth:
            self.recorder.spoil(what)
        return self.plain

    def __repr__(self) -> str:
        return repr(self._reveal())

    def __str__(self) -> str:
        return str(self._reveal())

    def __format__(self, specification: str) -> str:
        return format(self._reveal(), specification)

    def __int__(self) -> int:
        return int(self._reveal("a shape or an index depends on values"))

    def __index__(self) -> int:
        return operator.index(self._reveal("a shape or an index depends on values"))

    def __float__(self) -> float:
        return float(self._reveal())

    def __round__(self, ndigits: Any = None) -> Any:
        return round(self._reveal(), ndigits)

    def __trunc__(self) -> int:
        return int(self._reveal())

    def __reduce__(self) -> Any:
        return type(self._reveal()), (self.plain,)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __hash__(self) -> int:
        return hash(self.plain)

    def __bool__(self) -> bool:
        return bool(self.recorder.check("truth", operator.truth, (self,)))


class RecordedNumber(_Recorded, float):
    """A float that may change between replays: arithmetic with it is recorded."""


class RecordedInteger(_Recorded, int):
    """An integer that may change between replays: arithmetic with it is recorded."""


def _number_operators() -> None:
    for name in COMPARISONS:
        function = getattr(operator, name)

        def compare(self: Any, other: Any, name: str = name, function: Any = function) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            return self.recorder.check(name, function, (self, other))

        setattr(_Recorded, f"__{name}__", compare)
    for name in ARITHMETIC:
        function = getattr(operator, name)

        def compute(self: Any, other: Any, name: str = name, function: Any = function) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            return self.recorder.number(function(self.plain, getattr(other, "plain", other)), name, function, (self, other))

        def compute_reflected(self: Any, other: Any, name: str = name, function: Any = function) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            return self.recorder.number(function(getattr(other, "plain", other), self.plain), name, function, (other, self))

        setattr(_Recorded, f"__{name}__", compute)
        setattr(_Recorded, f"__r{name}__", compute_reflected)
    for name in UNARY.keys() - {"invert"}:
        function = getattr(operator, name)
        setattr(
            _Recorded,
            f"__{name}__",
            lambda self, name=name, function=function: self.recorder.number(function(self.plain), name, function, (self,)),
        )


_number_operators()


# --- the current recording
# ----------------------------------------------------------------------------------------------------

open_recorders: list[Recorder] = []


def is_recording() -> bool:
    """Whether this thread is recording a step."""
    return bool(open_recorders) and any(recorder.thread == get_ident() for recorder in list(open_recorders))


def refuse(reason: str) -> None:
    """Mark this thread's recording, if any, as not replayable, for this reason."""
    for recorder in list(open_recorders):
        if recorder.thread == get_ident():
            recorder.spoil(reason)


# --- locations in the program --------------------------------------------------------------------------------------------

_OWN_FOLDERS: list[str] = [str(Path(__file__).parents[2]) + os.sep]


def register_own_folder(path: str) -> None:
    """Treat the files of a folder as library code: `place_in_program` skips them."""
    _OWN_FOLDERS.append(path + os.sep)


def is_own_file(filename: str) -> bool:
    """Whether a file is library code, not the user's program."""
    return filename.startswith(("<flambeau", "<frozen", *_OWN_FOLDERS))


def place_in_program() -> str:
    """Return the innermost running line of user code, such as `train.py:12`."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return "unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
