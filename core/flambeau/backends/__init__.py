"""`torch.backends`: settings of the libraries that PyTorch uses, and information about them.

Settings choose between speed and accuracy.  Settings of a library that is not in use keep their values but have no effect, as in
PyTorch.  Each library is a module, and each setting is a variable of that module.

>>> with torch.backends.cudnn.flags(enabled=True, deterministic=True):
...     torch.backends.cudnn.deterministic
True
>>> torch.backends.mps.is_available()
False
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, xnnpack

__all__ = [
    "cpu", "cuda", "cudnn", "flags_frozen", "fp32_precision", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "xnnpack",
]  # fmt: skip

fp32_precision: str = "none"  # "ieee", "tf32" or "none"; it is kept, and products of float32 matrices are always in float32


def flags_frozen() -> bool:
    """Return False: the settings can always be assigned to, without a context."""
    return False


def __allow_nonbracketed_mutation() -> AbstractContextManager[None]:
    """Return a context that has no effect, as the settings can always be assigned to."""
    return nullcontext()
