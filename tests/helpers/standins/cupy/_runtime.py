"""Devices, streams, events and memory of the stand-in for CuPy."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import types
import weakref
from contextlib import contextmanager

DEVICES = int(os.environ.get("STANDIN_DEVICES", "2"))
LOG: list = []
_local = threading.local()
_addresses = itertools.count(0x1000, 0x1000)


class CUDARuntimeError(RuntimeError):
    pass


class CompileException(Exception):
    pass


class OutOfMemoryError(MemoryError):
    pass


def current():
    return getattr(_local, "device", 0)


class Device:
    cublas_handle, cusolver_handle = 11, 12

    def __init__(self, index=None):
        self.id = current() if index is None else getattr(index, "id", index)

    def __enter__(self):
        self._before = current()
        _local.device = self.id

    def __exit__(self, *exception):
        _local.device = self._before

    def __eq__(self, other):
        return self.id == other.id

    __hash__ = None


class Event:
    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.ptr, self.done = next(_addresses), True

    def record(self, stream=None):
        LOG.append(("record", self.ptr, (stream or current_stream()).ptr))
        return self

    def synchronize(self):
        LOG.append(("wait for event", self.ptr))


class Stream:
    done = True

    def __init__(self, null=False, non_blocking=False, priority=0, ptr=None):
        self.ptr = next(_addresses) if ptr is None else ptr
        self.device_id = current()
        self.capturing = False

    def use(self):
        _local.__dict__.setdefault("streams", {})[current()] = self

    def record(self, event=None):
        return (event or Event()).record(self)

    def wait_event(self, event):
        LOG.append(("stream waits", self.ptr, event.ptr))

    def synchronize(self):
        LOG.append(("synchronize", self.ptr))

    def begin_capture(self, mode):
        if self.ptr == 0:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing")
        self.capturing, self.tape = True, []

    def end_capture(self):
        self.capturing, tape = False, self.tape

        def launch(stream=None):
            LOG.append("graph")
            for work in tape:
                work()

        return types.SimpleNamespace(launch=launch)

    def is_capturing(self):
        return self.capturing


Stream.null = Stream(ptr=0)


def current_stream(index=None):
    return getattr(_local, "streams", {}).get(current() if index is None else index, Stream.null)


def is_captured(work):
    """If the current stream is capturing, record `work`, which then runs at each launch. Return whether it is capturing."""
    stream = current_stream()
    if stream.capturing:
        stream.tape.append(work)
    return stream.capturing


def wait():
    """Synchronize the host with the device, which is an error during a capture."""
    if current_stream().capturing:
        raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing")
    LOG.append("wait")


# --- memory: only sizes ---


class BaseMemory:
    pass


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.ptr, self.offset, self.device_id = mem, mem.ptr + offset, offset, mem.device_id

    @property
    def host(self):
        """Return the memory at this address. Only memory that another process shares is real."""
        return (ctypes.c_char * self.mem.size).from_address(self.mem.ptr)


class MemoryPool:
    def __init__(self, allocator):
        self._allocator, self._free, self._limit, self._total = allocator, {}, 0, 0

    def malloc(self, size):
        rounded = -(-size // 512) * 512
        kept = self._free.setdefault((current(), rounded), [])
        if not kept:
            if self._limit and self._total + rounded > self._limit:
                raise OutOfMemoryError("limit")
            kept.append(self._allocator(rounded))
            self._total += rounded
        return MemoryPointer(Pooled(self, kept, kept.pop()), 0)

    def free_all_blocks(self):
        for kept in self._free.values():
            self._total -= sum(each.mem.size for each in kept)
            kept.clear()

    def set_limit(self, size):
        self._limit = size


class Pooled(BaseMemory):
    def __init__(self, pool, kept, segment):
        self._kept, self._segment = kept, segment
        self.ptr, self.size, self.device_id = segment.ptr, segment.mem.size, segment.mem.device_id

    def __del__(self):
        self._kept.append(self._segment)


_allocator = None


def set_allocator(allocator):
    global _allocator
    _allocator = allocator


def allocate(size):
    return _allocator(size) if _allocator is not None else None


# --- page-locked memory ---

PINNED: dict = {}  # address -> size


def alloc_pinned_memory(size):
    memory = (ctypes.c_char * size)()
    PINNED[ctypes.addressof(memory)] = size
    weakref.finalize(memory, PINNED.pop, ctypes.addressof(memory))
    return memory


def pointer_attributes(pointer):
    pinned = any(start <= pointer < start + size for start, size in PINNED.items())
    return types.SimpleNamespace(type=1 if pinned else 0)


def get_device_properties(index):
    return {
        "name": b"Stand-in",
        "major": 9,
        "minor": 0,
        "totalGlobalMem": 1 << 30,
        "multiProcessorCount": 108,
        "maxThreadsPerMultiProcessor": 2048,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerBlock": 49152,
        "warpSize": 32,
        "l2CacheSize": 1 << 20,
        "integrated": 0,
        "isMultiGpuBoard": 0,
    }


def _set_device(index):
    _local.device = index


def make_cuda():
    """Build the module `cupy.cuda`."""
    from . import _host

    def _gemm(*arguments):
        if not is_captured(lambda: _host.gemm(*arguments)):
            _host.gemm(*arguments)

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDevice=current,
        setDevice=_set_device,
        getDeviceCount=lambda: DEVICES,
        getDeviceProperties=get_device_properties,
        deviceSynchronize=lambda: LOG.append(("synchronize device", current())),
        deviceCanAccessPeer=lambda here, there: 1,
        malloc=lambda size: next(_addresses),
        free=lambda pointer: None,
        memGetInfo=lambda: ((1 << 30) - 512, 1 << 30),
        ipcGetEventHandle=lambda pointer: b"handle",
        ipcGetMemHandle=lambda pointer: b"%d" % pointer,
        ipcOpenMemHandle=int,
        ipcCloseMemHandle=lambda pointer: LOG.append("memory given back"),
        streamCaptureModeGlobal=0,
        streamCaptureModeThreadLocal=1,
        streamCaptureModeRelaxed=2,
        memoryTypeHost=1,
        pointerGetAttributes=pointer_attributes,
    )
    memory = types.SimpleNamespace(
        BaseMemory=BaseMemory,
        MemoryPointer=MemoryPointer,
        MemoryPool=MemoryPool,
        OutOfMemoryError=OutOfMemoryError,
        allocate=allocate,
    )
    module = types.ModuleType("cupy.cuda")
    module.__path__ = []  # makes it a package
    sys.modules["cupy.cuda.device"] = types.ModuleType("cupy.cuda.device")
    sys.modules["cupy.cuda.device"].Device = Device
    vars(module).update(
        Device=Device,
        Event=Event,
        Stream=Stream,
        ExternalStream=lambda pointer, index: Stream(ptr=pointer),
        runtime=runtime,
        compiler=types.SimpleNamespace(CompileException=CompileException),
        alloc_pinned_memory=alloc_pinned_memory,
        memory=memory,
        set_allocator=set_allocator,
        get_current_stream=current_stream,
        get_elapsed_time=lambda start, end: 1.5,
        cublas=types.SimpleNamespace(gemmStridedBatchedEx=_gemm),
    )
    return module


@contextmanager
def recorded():
    """Yield an empty list. At the end of the block, add the log entries that were made in the block."""
    start = len(LOG)
    found: list = []
    yield found
    found += LOG[start:]
