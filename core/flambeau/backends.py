"""``torch.backends``: switches of the libraries that PyTorch runs on, and what is known about them here.

Programs set these to choose between speed and exactness.  Where a library is not in use, a switch keeps its value
and changes nothing, as in PyTorch.

>>> import flambeau as torch
>>> torch.backends.cudnn.benchmark = True
>>> torch.backends.mps.is_available()
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]


class _Library(ModuleType):
    """A library's switches, as a module that ``import`` finds as well."""

    def __init__(self, name: str, **switches: Any) -> None:
        super().__init__(f"{__name__}.{name}")
        self.__dict__.update(switches)
        import sys

        sys.modules[self.__name__] = self

    def is_available(self) -> bool:
        """Whether the library is in use here."""
        return False

    def is_built(self) -> bool:
        """Whether the library could be used, given the hardware."""
        return self.is_available()

    @contextmanager
    def _changed(self, **switches: Any) -> Iterator[None]:
        before = {name: self.__dict__[name] for name in switches}
        self.__dict__.update({name: value for name, value in switches.items() if value is not None})
        try:
            yield
        finally:
            self.__dict__.update(before)


class _Switches:
    """Some more switches, under a name of their own."""

    def __init__(self, **switches: Any) -> None:
        self.__dict__.update(switches)


class _Cuda(_Library):
    def is_available(self) -> bool:
        from . import cuda

        return cuda.is_available()

    def is_built(self) -> bool:
        """Whether a backend for CUDA is installed."""
        from .cuda import runtime

        try:
            return runtime.backend() is not None
        except AssertionError:
            return False

    def flash_sdp_enabled(self) -> bool:
        return self.flash

    def enable_flash_sdp(self, enabled: bool) -> None:
        self.flash = enabled

    def mem_efficient_sdp_enabled(self) -> bool:
        return self.mem_efficient

    def enable_mem_efficient_sdp(self, enabled: bool) -> None:
        self.mem_efficient = enabled

    def math_sdp_enabled(self) -> bool:
        return self.math

    def enable_math_sdp(self, enabled: bool) -> None:
        self.math = enabled

    def cudnn_sdp_enabled(self) -> bool:
        return self.cudnn_attention

    def enable_cudnn_sdp(self, enabled: bool) -> None:
        self.cudnn_attention = enabled

    def sdp_kernel(
        self, enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
    ) -> Any:
        """A context in which only these ways of computing attention may be taken."""
        from .settings import warn_once

        warn_once("`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed.",
                  FutureWarning)  # fmt: skip
        return self._changed(
            flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn_attention=enable_cudnn
        )


class _Cudnn(_Library):
    def version(self) -> int | None:
        """cuDNN's version, such as 91002; None where it is not in use."""
        return self._backend_version() if self.is_available() else None

    def _backend_version(self) -> int | None:
        from .cuda import runtime

        return getattr(runtime.backend(), "cudnn_version", lambda: None)()

    def is_available(self) -> bool:
        from . import cuda

        return cuda.is_available() and self._backend_version() is not None

    def is_acceptable(self, tensor: Any) -> bool:
        """Whether cuDNN would compute with this tensor."""
        return self.is_available() and self.enabled and tensor.is_cuda and tensor.is_floating_point()

    def flags(
        self, enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
        allow_tf32: bool = True,
    ) -> Any:  # fmt: skip
        """A context with these switches."""
        return self._changed(enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
                             deterministic=deterministic, allow_tf32=allow_tf32)  # fmt: skip


class _Cpu(_Library):
    def is_available(self) -> bool:
        return True

    def get_cpu_capability(self) -> str:
        """The processor's vector instructions, as the CPU backend's library sees them."""
        from .backend import for_device_type

        return getattr(for_device_type("cpu"), "cpu_capability", lambda: "DEFAULT")()


class _WithThreads(_Library):
    def is_available(self) -> bool:
        return True


class _Flags(_Library):
    enabled: bool

    def flags(self, enabled: bool = False) -> Any:
        """A context in which the library is enabled or not."""
        return self._changed(enabled=enabled)

    def set_flags(self, _enabled: bool) -> bool:
        """Set ``enabled``; returns what it was."""
        before, self.enabled = self.enabled, _enabled
        return before


class _Heads(_Library):
    def get_fastpath_enabled(self) -> bool:
        return self.fastpath

    def set_fastpath_enabled(self, value: bool) -> None:
        self.fastpath = value


cpu = _Cpu("cpu")
cuda = _Cuda(
    "cuda", flash=True, mem_efficient=True, math=True, cudnn_attention=True,
    matmul=_Switches(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
                     allow_fp16_accumulation=False, fp32_precision="none"),
)  # fmt: skip
cudnn = _Cudnn(
    "cudnn", enabled=True, benchmark=False, benchmark_limit=None, deterministic=False, allow_tf32=True, fp32_precision="none",
    conv=_Switches(fp32_precision="tf32"), rnn=_Switches(fp32_precision="tf32"),
)  # fmt: skip
mha = _Heads("mha", fastpath=True)
mkl = _Library("mkl", VERBOSE_OFF=0, VERBOSE_ON=1)
mkldnn = _Flags("mkldnn", enabled=True, deterministic=False, allow_tf32=True)
mps = _Library("mps")
nnpack = _Flags("nnpack", enabled=True)
openmp = _WithThreads("openmp")
opt_einsum = _Library("opt_einsum", enabled=True, strategy="auto")
