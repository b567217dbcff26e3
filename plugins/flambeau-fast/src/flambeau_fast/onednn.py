"""oneDNN through its C interface, as far as matrix products and convolutions of float32 arrays need it.

A *plan* is a primitive for certain shapes and strides, with memory objects that are pointed at the arrays of each call.
Creating one compiles code, so each thread caches its plans.  The library is that of the wheel `onednn-cpu-gomp`, which
runs on GNU OpenMP's threads, as numba's loops do: with a single thread pool, threads do not compete for cores.
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

# Constants of dnnl_types.h
_F32, _ANY, _CPU = 3, 1, 1
SOURCE, RESULT, WEIGHTS, BIAS = 1, 17, 33, 41  # the role of an argument
SOURCE_SLOPE, RESULT_SLOPE, WEIGHTS_SLOPE = 129, 145, 161
_QUERIES = {SOURCE: 129, SOURCE_SLOPE: 130, WEIGHTS: 131, WEIGHTS_SLOPE: 132, BIAS: 131, RESULT: 133, RESULT_SLOPE: 134}
TRAINING, DIRECT = 64, 1
_MOST_PLANS = 1000
_NO_ARRAY_YET = None

Descriptor = Any  # a pointer to a memory descriptor or a primitive descriptor


class _Argument(ctypes.Structure):
    _fields_ = [("what", c_int), ("memory", c_void_p)]


# --- the library --------------------------------------------------------------------------------------------------


class _Object(c_void_p):
    """A pointer to an object of the library, which is destroyed together with it."""

    destroy: Callable[[Any], Any] | None = None

    def __del__(self) -> None:
        if self.destroy is not None and self.value:
            self.destroy(self)


class Library:
    """The library's functions, its engine and its stream."""

    def __init__(self, path: str) -> None:
        self.functions = ctypes.CDLL(path)
        self.functions.dnnl_primitive_desc_query_md.restype = c_void_p
        self.functions.dnnl_primitive_desc_query_md.argtypes = [c_void_p, c_int, c_int]
        self.functions.dnnl_memory_desc_get_size.restype = c_size_t
        self.functions.dnnl_memory_set_data_handle.argtypes = [c_void_p, c_void_p]
        self.functions.dnnl_primitive_execute.argtypes = [c_void_p, c_void_p, c_int, POINTER(_Argument)]
        self.engine = self.create("engine_create", _CPU, c_size_t(0))
        self.stream = self.create("stream_create", self.engine, 1)

    def create(self, function: str, *args: Any) -> Any:
        """The object that `dnnl_<function>` creates and returns through its first argument."""
        created = _Object()
        status = getattr(self.functions, f"dnnl_{function}")(byref(created), *args)
        if status:
            raise Declined(f"dnnl_{function}: status {status}")
        for kind in ("primitive_desc", "memory_desc", "primitive", "memory"):  # engine and stream are never destroyed
            if kind in function:
                created.destroy = getattr(self.functions, f"dnnl_{kind}_destroy")
                break
        return created


@cache
def library() -> Library | None:
    """The library, if it is installed and works here."""
    try:
        files = distribution("onednn-cpu-gomp").files or []
        path = next(file.locate() for file in files if file.name == "libdnnl.so.3")
        loaded = Library(str(path))
    except (PackageNotFoundError, StopIteration, OSError, Declined):
        return None
    threads.of_openmp()
    keep_products_serial()
    return loaded


def available() -> bool:
    """Whether there is a oneDNN to use."""
    return library() is not None


@cache
def gemm() -> int:
    """The address of the function that multiplies matrices, for loops to call."""
    lib = library()
    assert lib is not None
    return c_void_p.from_buffer(lib.functions.dnnl_sgemm).value or 0


# --- memory -------------------------------------------------------------------------------------------------------


def _numbers(values: Sizes) -> Any:
    return (c_int64 * len(values))(*values)


def layout(shape: Sizes, strides: Sizes | None) -> Descriptor:
    """The descriptor of a float32 array with these strides, in elements; None lets the library choose a layout."""
    lib = library()
    assert lib is not None
    if strides is None:
        return lib.create("memory_desc_create_with_tag", len(shape), _numbers(shape), _F32, _ANY)
    return lib.create("memory_desc_create_with_strides", len(shape), _numbers(shape), _F32, _numbers(strides))


def _strides(array: Any) -> tuple[int, ...]:
    return tuple(stride // 4 for stride in array.strides)


class Memory:
    """A memory object, which is pointed at the array of each call."""

    def __init__(self, described: Descriptor) -> None:
        self.library = library()
        assert self.library is not None
        self.pointer = self.library.create("memory_create", described, self.library.engine, _NO_ARRAY_YET)
        self._point = self.library.functions.dnnl_memory_set_data_handle

    def at(self, array: Any) -> None:
        self._point(self.pointer, array.ctypes.data)


# --- plans --------------------------------------------------------------------------------------------------------


class _Primitive:
    def __init__(self, described: Descriptor, arguments: Sequence[tuple[int, Memory]]) -> None:
        lib = library()
        assert lib is not None
        self.primitive = lib.create("primitive_create", described)
        self.arguments = (_Argument * len(arguments))(*(_Argument(role, memory.pointer) for role, memory in arguments))
        self.memories = [memory for _, memory in arguments]
        self.stream, self.execute = lib.stream, lib.functions.dnnl_primitive_execute

    def run(self) -> None:
        status = self.execute(self.primitive, self.stream, len(self.arguments), self.arguments)
        if status:
            raise RuntimeError(f"oneDNN: status {status}")


class Plan:
    """A primitive, with reorders of those arguments for which it prefers another layout.

    `arguments` are role, shape and strides of each array, in the order of the arguments of a call; the last is the result.
    """

    def __init__(self, described: Descriptor, arguments: Sequence[tuple[int, Sizes, Sizes]]) -> None:
        lib = library()
        assert lib is not None
        self.plain: list[Memory] = []
        self.between: list[tuple[Memory, int]] = []  # reordered arguments, and their sizes in bytes
        before, after, own = [], [], []
        for role, shape, strides in arguments:
            plain = layout(shape, strides)
            preferred = c_void_p(lib.functions.dnnl_primitive_desc_query_md(described, _QUERIES[role], int(role == BIAS)))
            memory = Memory(plain)
            self.plain.append(memory)
            if not lib.functions.dnnl_memory_desc_equal(plain, preferred):
                between = Memory(preferred)
                self.between.append((between, lib.functions.dnnl_memory_desc_get_size(preferred)))
                if role in (RESULT, SOURCE_SLOPE, WEIGHTS_SLOPE):
                    after.append(_reorder((preferred, between), (plain, memory)))
                else:
                    before.append(_reorder((plain, memory), (preferred, between)))
                memory = between
            own.append((role, memory))
        self.steps = [*before, _Primitive(described, own), *after]

    def __call__(self, *arrays: Any) -> Any:
        """Run it; returns the last of the arrays."""
        for memory, array in zip(self.plain, arrays, strict=True):
            memory.at(array)
        buffers = [np.empty(nbytes, np.uint8) for _, nbytes in self.between]
        for (memory, _), array in zip(self.between, buffers, strict=True):
            memory.at(array)
        for step in self.steps:
            step.run()
        return arrays[-1]


def _reorder(source: tuple[Descriptor, Memory], target: tuple[Descriptor, Memory]) -> _Primitive:
    lib = library()
    assert lib is not None
    described = lib.create("reorder_primitive_desc_create", source[0], lib.engine, target[0], lib.engine, None)
    return _Primitive(described, [(SOURCE, source[1]), (RESULT, target[1])])


class Copy:
    """A plan for copying from one layout to another."""

    def __init__(self, *layouts: tuple[Sizes, Sizes]) -> None:
        descriptors = [layout(*sizes) for sizes in layouts]
        self.memories = [Memory(descriptor) for descriptor in descriptors]
        source, target = zip(descriptors, self.memories, strict=True)
        self.step = _reorder(source, target)

    def __call__(self, *arrays: Any) -> Any:
        for memory, array in zip(self.memories, arrays, strict=True):
            memory.at(array)
        self.step.run()
        return arrays[-1]


_local = threading.local()


def cached_plan(key: Hashable, make: Callable[[], Plan | Copy]) -> Plan | Copy:
    """This thread's plan for `key`, created on first use."""
    plans = _local.__dict__.setdefault("plans", {})
    plan = plans.get(key)
    if plan is None:
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        plan = plans[key] = make()
    return plan  # type: ignore[no-any-return]


def copied(source: Any, out: Any) -> Any:
    """Copy an array into one of another memory order, and return that."""
    if library() is None:
        out[...] = source
        return out

    key = ("copy", source.shape, source.strides, out.strides)
    return cached_plan(key, lambda: Copy((source.shape, _strides(source)), (out.shape, _strides(out))))(source, out)


# --- convolutions -------------------------------------------------------------------------------------------------

Geometry = tuple[Sizes, Sizes, Sizes]  # stride, padding, dilation


def convolution(input: Any, weight: Any, bias: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """The convolution, into `out`.  `free` lets the library choose layouts, at the price of reorders; the bias may be None."""
    arguments = ((SOURCE, input), (WEIGHTS, weight), (BIAS, bias), (RESULT, out))
    return _convolution("forward", [argument for argument in arguments if argument[1] is not None], geometry, free)


def convolution_input(grad: Any, weight: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """The gradient of the input, into `out`."""
    return _convolution("backward_data", [(RESULT_SLOPE, grad), (WEIGHTS, weight), (SOURCE_SLOPE, out)], geometry, free)


def convolution_weight(grad: Any, input: Any, out: Any, geometry: Geometry, free: bool) -> Any:
    """The gradient of the weight, into `out`."""
    return _convolution("backward_weights", [(RESULT_SLOPE, grad), (SOURCE, input), (WEIGHTS_SLOPE, out)], geometry, free)


def _convolution(way: str, arguments: Sequence[tuple[int, Any]], geometry: Geometry, free: bool) -> Any:
    key = (way, *(array.shape for _, array in arguments), geometry, free)
    return cached_plan(key, lambda: _convolution_plan(way, arguments, geometry, free))(*(array for _, array in arguments))


_PLACES = {SOURCE: 0, SOURCE_SLOPE: 0, WEIGHTS: 1, WEIGHTS_SLOPE: 1, BIAS: 2, RESULT: 3, RESULT_SLOPE: 3}


def _convolution_plan(way: str, arguments: Sequence[tuple[int, Any]], geometry: Geometry, free: bool) -> Plan:
    lib = library()
    assert lib is not None
    described: list[Descriptor] = [None] * 4
    for role, array in arguments:
        chosen = free or _PLACES[role] == _PLACES[WEIGHTS]
        described[_PLACES[role]] = layout(array.shape, None if chosen and role != BIAS else _strides(array))
    source, weights, bias, result = described
    stride, padding, dilation = (_numbers(sizes) for sizes in (*geometry[:2], [d - 1 for d in geometry[2]]))
    around = (stride, dilation, padding, padding)
    descriptor = lib.create(
        "convolution_forward_primitive_desc_create", lib.engine, TRAINING, DIRECT, source, weights, bias, result, *around, None
    )
    if way == "backward_data":
        descriptor = lib.create(
            "convolution_backward_data_primitive_desc_create",
            lib.engine,
            DIRECT,
            source,
            weights,
            result,
            *around,
            descriptor,
            None,
        )
    elif way == "backward_weights":
        descriptor = lib.create(
            "convolution_backward_weights_primitive_desc_create",
            lib.engine,
            DIRECT,
            source,
            weights,
            None,
            result,
            *around,
            descriptor,
            None,
        )
    return Plan(descriptor, [(role, array.shape, _strides(array)) for role, array in arguments])
