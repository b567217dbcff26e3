"""Legacy types of sparse tensors on CUDA devices, such as `torch.cuda.sparse.FloatTensor`."""

from __future__ import annotations

from . import legacy_types

__all__ = [*legacy_types.__all__]

globals().update({name: legacy_types.SparseType(name, getattr(legacy_types, name).dtype, "cuda") for name in __all__})
