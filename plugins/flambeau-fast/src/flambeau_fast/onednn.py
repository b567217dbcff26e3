"""oneDNN, through its C interface: what is needed for products of matrices and convolutions of float32 arrays.

A *plan* is a primitive made for certain shapes and strides, with memory objects that are pointed at the arrays of each call.
Making one compiles code, so plans are kept, for each thread its own.  The library is that of the wheel `onednn-cpu-gomp`, which
runs on GNU OpenMP's threads, as numba's loops do: one set of threads, so that none waits for a processor that another one holds.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable, Sequence
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import keep_products_serial

from . import threads
from .choice import Declined

__all__ = ["available", "convolution", "convolution_input", "convolution_weight", "copied", "gemm"]

Sizes = Sequence[int]

# Numbers of dnnl_types.h
_F32, _ANY, _CPU = 3, 1, 1
SOURCE, RESULT, WEIGHTS, BIAS = 1, 17, 33, 41  # what an argument is to a primitive
SOURCE_SLOPE, RESULT_SLOPE, WEIGHTS_SLOPE = 129, 145, 161
_QUERIES = {SOURCE: 129, SOURCE_SLOPE: 130, WEIGHTS: 131, WEIGHTS_SLOPE: 132, BIAS: 131, RESULT: 133, RESULT_SLOPE: 134}
TRAINING, DIRECT = 64, 1
_MOST_PLANS = 1000
_NO_ARRAY_YET = None

Descriptor = Any  # a pointer to what describes the layout of an array, or a primitive


class _Argument(ctypes.Structure):
    _fields_ = [("what", c_int), ("memory", c_void_p)]


# --- the library --------------------------------------------------------------------------------------------------


class _Object(c_void_p):
    """A pointer to an object of the library, which goes when this does."""

    destroy: Callable[[Any], Any] | None = None

    def __del__(self) -> None:
        if self.destroy is not None and self.value:
            self.destroy(self)


class Library:
    """The functions, the engine and the stream."""

    def __init__(self, path: str) -> None:
        self.functions = ctypes.CDLL(path)
        self.functions.dnnl_primitive_desc_query_md.restype = c_void_p
        self.functions.dnnl_primitive_desc_query_md.argtypes = [c_void_p, c_int, c_int]
        self.functions.dnnl_memory_desc_get_size.restype = c_size_t
        self.functions.dnnl_memory_set_data_handle.argtypes = [c_void_p, c_void_p]
        self.functions.dnnl_primitive_execute.argtypes = [c_void_p, c_void_p, c_int, POINTER(_Argument)]
        self.engine = self.made("engine_create", _CPU, c_size_t(0))
        self.stream = self.made("stream_create", self.engine, 1)

    def made(self, function: str, *args: Any) -> Any:
        """The object that `dnnl_function` gives through its first argument."""
        found = _Object()
        status = getattr(self.functions, f"dnnl_{function}")(byref(found), *args)
        if status:
            raise Declined(f"dnnl_{function}: status {status}")
        for kind in ("primitive_desc", "memory_desc", "primitive", "memory"):  # engine and stream stay
            if kind in function:
                found.destroy = getattr(self.functions, f"dnnl_{kind}_destroy")
                break
        return found


@cache
def library() -> Library | None:
    """The library, if it is installed and works here."""
    try:
        files = distribution("onednn-cpu-gomp").files or []
        path = next(file.locate() for file in files if file.name == "libdnnl.so.3")
        found = Library(str(path))
    except (PackageNotFoundError, StopIteration, OSError, Declined):
        return None
    threads.of_openmp()
    keep_products_serial()
    return found


def available() -> bool:
    """Whether there is a oneDNN to use."""
    return library() is not None


@cache
def gemm() -> int:
    """The address of the function that multiplies matrices, for loops to call."""
    found = library()
    assert found is not None
    return c_void_p.from_buffer(found.functions.dnnl_sgemm).value or 0


# --- memory -------------------------------------------------------------------------------------------------------


def _numbers(values: Sizes) -> Any:
    return (c_int64 * len(values))(*values)


def layout(shape: Sizes, strides: Sizes | None) -> Descriptor:
    """What describes a float32 array with these strides, in elements; None leaves the choice of a layout to the library."""
    functions = library()
    assert functions is not None
    if strides is None:
        return functions.made("memory_desc_create_with_tag", len(shape), _numbers(shape), _F32, _ANY)
    return functions.made("memory_desc_create_with_strides", len(shape), _numbers(shape), _F32, _numbers(strides))


def _strides(array: Any) -> tuple[int, ...]:
    return tuple(step // 4 for step in array.strides)


class Memory:
    """A memory object, which is pointed at one array after another."""

    def __init__(self, described: Descriptor) -> None:
        self.library = library()
        assert self.library is not None
        self.pointer = self.library.made("memory_create", described, self.library.engine, _NO_ARRAY_YET)
        self._point = self.library.functions.dnnl_memory_set_data_handle

    def at(self, array: Any) -> None:
        self._point(self.pointer, array.ctypes.data)


# --- plans --------------------------------------------------------------------------------------------------------


class _Primitive:
    def __init__(self, described: Descriptor, arguments: Sequence[tuple[int, Memory]]) -> None:
        found = library()
        assert found is not None
        self.primitive = found.made("primitive_create", described)
        self.arguments = (_Argument * len(arguments))(*(_Argument(what, memory.pointer) for what, memory in arguments))
        self.memories = [memory for _, memory in arguments]
        self.stream, self.execute = found.stream, found.functions.dnnl_primitive_execute

    def run(self) -> None:
        status = self.execute(self.primitive, self.stream, len(self.arguments), self.arguments)
        if status:
            raise RuntimeError(f"oneDNN: status {status}")


class Plan:
    """A primitive, and the reorders from and to plain arrays where it wants its arguments in a layout of its own.

    `arguments` are what each array is, its shape and strides, in the order in which they are given to a call; the last is
    the result.
    """

    def __init__(self, described: Descriptor, arguments: Sequence[tuple[int, Sizes, Sizes]]) -> None:
        found = library()
        assert found is not None
        self.plain: list[Memory] = []
        self.between: list[tuple[Memory, int]] = []  # and how many bytes it takes
        before, after, own = [], [], []
        for what, shape, strides in arguments:
            given = layout(shape, strides)
            wanted = c_void_p(found.functions.dnnl_primitive_desc_query_md(described, _QUERIES[what], int(what == BIAS)))
            memory = Memory(given)
            self.plain.append(memory)
            if not found.functions.dnnl_memory_desc_equal(given, wanted):
                between = Memory(wanted)
                self.between.append((between, found.functions.dnnl_memory_desc_get_size(wanted)))
                if what in (RESULT, SOURCE_SLOPE, WEIGHTS_SLOPE):
                    after.append(_reorder((wanted, between), (given, memory)))
                else:
                    before.append(_reorder((given, memory), (wanted, between)))
                memory = between
            own.append((what, memory))
        self.steps = [*before, _Primitive(described, own), *after]

    def __call__(self, *arrays: Any) -> Any:
        """Run it; returns the last of the arrays."""
        for memory, array in zip(self.plain, arrays, strict=True):
            memory.at(array)
        room = [np.empty(nbytes, np.uint8) for _, nbytes in self.between]
        for (memory, _), array in zip(self.between, room, strict=True):
            memory.at(array)
        for step in self.steps:
            step.run()
        return arrays[-1]


def _reorder(given: tuple[Descriptor, Memory], wanted: tuple[Descriptor, Memory]) -> _Primitive:
    found = library()
    assert found is not None
    described = found.made("reorder_primitive_desc_create", given[0], found.engine, wanted[0], found.engine, None)
    return _Primitive(described, [(SOURCE, given[1]), (RESULT, wanted[1])])


class Copy:
    """A plan to copy, between two layouts."""

    def __init__(self, *layouts: tuple[Sizes, Sizes]) -> None:
        described = [layout(*each) for each in layouts]
        self.memories = [Memory(each) for each in described]
        given, wanted = zip(described, self.memories, strict=True)
        self.step = _reorder(given, wanted)

    def __call__(self, *arrays: Any) -> Any:
        for memory, array in zip(self.memories, arrays, strict=True):
            memory.at(array)
        self.step.run()
        return arrays[-1]


_local = threading.local()


def kept(key: Hashable, make: Callable[[], Plan | Copy]) -> Plan | Copy:
    """The plan of this thread for `key`, made when it is first asked for."""
    plans = _local.__dict__.setdefault("plans", {})
    plan = plans.get(key)
    if plan is None:
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        plan = plans[key] = make()
    return plan  # type: ignore[no-any-return]


def copied(given: Any, out: Any) -> Any:
    """Copy an array into one that lies in memory in another order."""
    if library() is None:
        out[...] = given
        return out

    key = ("copy", given.shape, given.strides, out.strides)
    return kept(key, lambda: Copy((given.shape, _strides(given)), (out.shape, _strides(out))))(given, out)


# --- convolutions -------------------------------------------------------------------------------------------------

Geometry = tuple[Sizes, Sizes, Sizes]  # stride, padding, dilation


def convolution(input: Any, weight: Any, bias: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """`free` lets the library choose layouts, at the price of reorders.  The bias may be None."""
    given = ((SOURCE, input), (WEIGHTS, weight), (BIAS, bias), (RESULT, out))
    return _convolution("forward", [each for each in given if each[1] is not None], geometry, free)


def convolution_input(grad: Any, weight: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """The gradient of the input, into `out`."""
    return _convolution("backward_data", [(RESULT_SLOPE, grad), (WEIGHTS, weight), (SOURCE_SLOPE, out)], geometry, free)


def convolution_weight(grad: Any, input: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """The gradient of the weight, into `out`."""
    return _convolution("backward_weights", [(RESULT_SLOPE, grad), (SOURCE, input), (WEIGHTS_SLOPE, out)], geometry, free)


def _convolution(way: str, given: Sequence[tuple[int, Any]], geometry: Geometry, free: bool) -> Any:
    key = (way, *(each.shape for _, each in given), geometry, free)
    return kept(key, lambda: _convolution_plan(way, given, geometry, free))(*(each for _, each in given))


_PLACES = {SOURCE: 0, SOURCE_SLOPE: 0, WEIGHTS: 1, WEIGHTS_SLOPE: 1, BIAS: 2, RESULT: 3, RESULT_SLOPE: 3}


def _convolution_plan(way: str, given: Sequence[tuple[int, Any]], geometry: Geometry, free: bool) -> Plan:
    found = library()
    assert found is not None
    described: list[Descriptor] = [None] * 4
    for what, array in given:
        chosen = free or _PLACES[what] == _PLACES[WEIGHTS]
        described[_PLACES[what]] = layout(array.shape, None if chosen and what != BIAS else _strides(array))
    source, weights, bias, result = described
    stride, padding, dilation = (_numbers(each) for each in (*geometry[:2], [each - 1 for each in geometry[2]]))
    around = (stride, dilation, padding, padding)
    made = found.made(
        "convolution_forward_primitive_desc_create", found.engine, TRAINING, DIRECT, source, weights, bias, result, *around, None
    )
    if way == "backward_data":
        made = found.made(
            "convolution_backward_data_primitive_desc_create", found.engine, DIRECT, source, weights, result, *around, made, None
        )
    elif way == "backward_weights":
        made = found.made(
            "convolution_backward_weights_primitive_desc_create",
            found.engine,
            DIRECT,
            source,
            weights,
            None,
            result,
            *around,
            made,
            None,
        )
    return Plan(made, [(what, array.shape, _strides(array)) for what, array in given])
