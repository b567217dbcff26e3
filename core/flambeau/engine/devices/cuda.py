"""CUDA devices: their number, the current device, and their properties.

The functions call the backend of the device type `cuda`; it is loaded when first needed.  `cuda_capabilities` lists the methods
that this backend implements in addition to those of `flambeau.backend.Backend`.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from ... import backend as backends
from . import devices
from .cuda_capabilities import Accelerator

__all__ = [
    "CudaError", "DeferredCudaCallError", "can_device_access_peer", "check_error", "cudaStatus", "current_blas_handle",
    "current_device", "current_solver_handle", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "get_gencode_flags", "get_sync_debug_mode", "has_half", "has_magma", "init",
    "is_available", "is_bf16_supported", "is_initialized", "is_tf32_supported", "set_device",
    "set_sync_debug_mode", "synchronize",
]  # fmt: skip

has_half = True
has_magma = False

initialized_in: int | None = None  # the id of the process that initialized CUDA; a forked child cannot use CUDA


class DeferredCudaCallError(Exception):
    """Raised if a call fails that was queued before CUDA was initialized; flambeau itself never raises it."""


class CudaError(RuntimeError):
    """Raised if a CUDA call fails."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{backend().error_string(code)} ({code})")


class cudaStatus:
    """Status codes that calls of the CUDA runtime return."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


def check_error(res: int) -> None:
    """Raise CudaError unless the status code `res` is `cudaStatus.SUCCESS`."""
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


# --- the backend --------------------------------------------------------------------------------------------------


def backend() -> Accelerator:
    """Return the backend that owns CUDA devices.

    Raises:
        AssertionError: no such backend is installed; the message names the package to install.
    """
    return backends.for_device_type("cuda")  # type: ignore[return-value]  # the backend of CUDA is an Accelerator


def init() -> Accelerator:
    """Make sure that CUDA can be used, and return its backend.

    Raises:
        AssertionError: no backend for CUDA is installed.
        RuntimeError: no device is available, or the process was forked from one that had used CUDA.
    """
    global initialized_in
    cuda = backend()
    if initialized_in == os.getpid():
        return cuda
    if initialized_in is not None:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
            "the 'spawn' start method"
        )
    if not cuda.device_count():
        raise RuntimeError("No CUDA GPUs are available")
    initialized_in = os.getpid()
    return cuda


def is_initialized() -> bool:
    """Whether this process has used CUDA."""
    return initialized_in == os.getpid()


def is_available() -> bool:
    """Whether a CUDA device is available.  Never raises.

    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


_searched: tuple[Any, ...] | None = None  # where the last search found no backend for CUDA: a failing import takes milliseconds


def device_count() -> int:
    """The number of visible CUDA devices, which `CUDA_VISIBLE_DEVICES` can limit."""
    global _searched
    places = (tuple(sys.path), "cupy" in sys.modules)
    if _searched == places:
        return 0
    try:
        return backend().device_count()
    except AssertionError:
        _searched = places
        return 0


def index_of(place: Any, what: str = "cuda") -> int:
    """Return the index of a CUDA device, given as a device, string, index or None (the current device).

    Raises:
        ValueError: the device is not a CUDA device.
    """
    if place is None:
        return init().current_device()
    if isinstance(place, int):
        return place
    place = devices.device(place) if isinstance(place, str) else place
    if not isinstance(place, devices.device) or place.type != "cuda":
        raise ValueError(f"Expected a {what} device, but got: {place}")
    return init().current_device() if place.index is None else place.index


# --- the current device -------------------------------------------------------------------------------------------


def current_device() -> int:
    """The index of the current device."""
    return init().current_device()


def set_device(device: Any) -> None:
    """Make a device the current one; a negative index changes nothing.  Prefer the context manager `device`.

    Raises:
        ValueError: it is not a CUDA device, or has no index.
    """
    place = devices.device(device) if isinstance(device, str) else device
    if place is None or place == devices.device("cuda"):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    index = index_of(place)
    if index >= 0:
        init().set_device(index)


class device:
    """Context that makes a device the current one; a negative index changes nothing.

    Tensors created with `device="cuda"`, and those moved by `cuda()`, go to the current device::

        with torch.cuda.device(1):
            a = torch.zeros(2, device="cuda")  # on cuda:1
    """

    idx: int
    prev_idx: int

    def __init__(self, device: Any) -> None:
        if isinstance(device, int):
            self.idx = device
        elif device is None or (devices.device(device) == devices.device("cuda") and not is_available()):
            self.idx = -1
        else:
            self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            cuda = init()
            self.prev_idx = cuda.current_device()
            cuda.set_device(self.idx)

    def __exit__(self, error_type: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.idx >= 0:
            init().set_device(self.prev_idx)


class device_of(device):
    """Context that makes the device of a tensor or storage the current one; no effect for objects on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__((obj.device.index or 0) if obj.is_cuda else -1)


def synchronize(device: Any = None) -> None:
    """Wait until all work queued on a device has finished."""
    init().synchronize(index_of(device))


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set whether operations that wait for the device warn (1, `"warn"`), raise (2, `"error"`), or neither (0, `"default"`)."""
    cuda = init()
    modes = {"default": 0, "warn": 1, "error": 2}
    if debug_mode not in (*modes, *modes.values()):
        raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
    cuda.sync_debug_mode = modes.get(debug_mode, debug_mode)  # type: ignore[arg-type]  # checked just above


def get_sync_debug_mode() -> int:
    """The mode set by `set_sync_debug_mode`: 0, 1 or 2."""
    return init().sync_debug_mode


# --- properties ---------------------------------------------------------------------------------------------------


class Properties:
    """The properties of a device: `name`, `major`, `minor`, `total_memory` and so on."""

    def __init__(self, known: Any) -> None:
        self.__dict__.update(known)

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_CudaDeviceProperties' object has no attribute '{name}'")


def get_device_properties(device: Any = None) -> Properties:
    """Return the properties of a device.  AssertionError if the index does not exist."""
    cuda, index = init(), index_of(device)
    if not 0 <= index < cuda.device_count():
        raise AssertionError("Invalid device id")
    return Properties(cuda.properties(index))


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name  # type: ignore[no-any-return]  # properties are of the library


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device, such as `(9, 0)`."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether `device` can access the memory of `peer_device` directly."""
    cuda, here, there = init(), index_of(device), index_of(peer_device)
    for index, what in ((here, "device"), (there, "peer device")):
        if not 0 <= index < cuda.device_count():
            raise AssertionError(f"Invalid {what} id")
    return cuda.can_access_peer(here, there)


def get_arch_list() -> list[str]:
    """Return the architectures of the available devices, such as `sm_90`.  Kernels are compiled for them when first used."""
    if not is_available():
        return []
    return sorted({"sm_{}{}".format(*get_device_capability(index)) for index in range(device_count())})


def get_gencode_flags() -> str:
    """Return the flags of `nvcc` for the architectures of the available devices."""
    numbers = [arch.removeprefix("sm_") for arch in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{number},code=sm_{number}" for number in numbers)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16 natively or, with `including_emulation`, by emulation."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether the current device can compute float32 matrix products in TF32."""
    return is_available() and get_device_capability()[0] >= 8


def current_blas_handle() -> int:
    """The address of the cuBLAS handle of this thread and device."""
    return init().blas_handle()


def current_solver_handle() -> int:
    """The address of the cuSOLVER handle of this thread and device."""
    return init().solver_handle()
