"""flambeau on PyTorch: the device type `torch`, with PyTorch's tensors, kernels and devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import array_api_compat
import array_api_compat.torch as xp
import ml_dtypes
import numpy
import torch

from flambeau.backend import Creating, MutableBackend, hookimpl, without_aliases

from .kernels import KERNELS

__all__ = ["TorchBackend"]

torch.set_grad_enabled(False)  # flambeau computes gradients; PyTorch's tensors serve as plain arrays in this thread

# Programs import flambeau as `torch`.  PyTorch and array-api-compat import that name lazily, once; trigger their imports now,
# while it is still PyTorch.
for _number in (0, 0.0, False):
    torch.where(torch.tensor(True), torch.tensor(0.0), _number)
array_api_compat.array_namespace(torch.tensor(0))


class TorchBackend(MutableBackend):
    """Backend for PyTorch: arrays are `torch.Tensor` on the device `FLAMBEAU_TORCH_DEVICE`, by default the CPU."""

    name = "torch"
    device_type = "torch"
    xp = xp
    array_type = torch.Tensor
    kernels = KERNELS

    def __init__(self, place: str = "cpu") -> None:
        self._place = torch.device(place)

    @cached_property
    def dtypes(self) -> Any:
        return {dtype: raw for dtype, raw in super().dtypes.items() if raw != torch.complex32}  # few functions support complex32

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        """Wrap a kernel. If it fails because the module `torch` is flambeau, run it again while `torch` is PyTorch."""

        def bound(*args: Any, **kwargs: Any) -> Any:
            try:
                return kernel(*args, **kwargs)
            except (ImportError, AttributeError):
                if sys.modules.get("torch") is torch:
                    raise
                with without_aliases():
                    return kernel(*args, **kwargs)

        return bound

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if not isinstance(data, torch.Tensor):
            data = numpy.asarray(data)
            if data.dtype == ml_dtypes.bfloat16:
                data = torch.from_numpy(data.view(numpy.int16).copy()).view(torch.bfloat16)
            else:
                data = torch.from_numpy(numpy.array(data))  # a copy: PyTorch rejects negative strides, memory is not shared
        return data.to(self._place, raw_dtype, copy=bool(copy))

    def namespace_on(self, index: int | None) -> Any:
        return self.xp if self._place.type == "cpu" else Creating(xp, lambda function: partial(function, device=self._place))

    def to_host(self, array: Any) -> Any:
        array = array.detach().cpu().resolve_conj().resolve_neg()
        if array.dtype == torch.bfloat16:
            return array.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return array.numpy()

    def copy(self, array: Any) -> Any:
        return array.clone()

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        return array.view(self.dtypes[wanted])

    # --- memory shared by views ---

    def strides(self, array: Any) -> tuple[int, ...]:
        return array.stride()

    def is_contiguous(self, array: Any) -> bool:
        return array.is_contiguous()

    def data_ptr(self, array: Any) -> int:
        return array.data_ptr()

    def root(self, array: Any) -> tuple[Any, int]:
        length = array.untyped_storage().nbytes() // array.element_size()
        return array.as_strided((length,), (1,), 0), array.storage_offset()

    def as_strided(self, flat: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
        return flat.as_strided(tuple(size), tuple(stride), flat.storage_offset() + offset)

    def shares_memory(self, array: Any, other: Any) -> bool:
        return array.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()

    def synchronize(self, index: int | None = None) -> None:
        if self._place.type != "cpu":
            torch.accelerator.synchronize()

    def report(self) -> str:
        return f"torch {torch.__version__} on {self._place}"


_backend = TorchBackend(os.environ.get("FLAMBEAU_TORCH_DEVICE", "cpu"))


@hookimpl
def flambeau_backend(name: str) -> TorchBackend | None:
    return _backend if name == "torch" else None
