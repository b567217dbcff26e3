"""`torch.backends`: switches of the libraries that PyTorch runs on, and what is known about them here.

Programs set these to choose between speed and exactness.  Where a library is not in use, a switch keeps its value
and changes nothing, as in PyTorch.  Each library is a module, and a switch a variable of it.

>>> import flambeau as torch
>>> with torch.backends.cudnn.flags(enabled=True, deterministic=True):
...     torch.backends.cudnn.deterministic
True
>>> torch.backends.mps.is_available()
False
"""

from __future__ import annotations

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
