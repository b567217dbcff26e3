"""What ``out=`` may be: operations on single elements and sums cast into it, the others want their own dtype."""

from __future__ import annotations

from typing import Any

from . import dtypes

__all__ = ["check_dtype"]

OWN_DTYPE_ONLY = frozenset("""
    abs absolute addbmm addmm addmv all amax amin aminmax any arange argmax argmin baddbmm bitwise_not bmm bucketize
    ceil clamp clamp_max clamp_min clip complex conj_physical cross cummax cummin diag diff dot empty eye fix floor frac
    frexp full gather hash_tensor heaviside histc histogram index_add index_copy index_reduce index_select inner inverse
    isin isneginf isposinf kthvalue log_softmax logcumsumexp masked_select matmul matrix_power max median min mm mode
    msort multinomial mv nan_to_num nanmedian nanquantile neg negative nonzero norm ones polar quantile renorm round
    scatter scatter_add scatter_reduce searchsorted sgn sign signbit softmax sort take take_along_dim tensordot topk
    triangular_solve tril triu trunc vdot where zeros
""".split())  # noqa: SIM905 (a page of quotes is harder to read)
JOINING = frozenset({"cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack", "vstack"})


def check_dtype(name: str, out: Any, result: Any) -> None:
    """Refuse to write the result of an operation into a tensor of a dtype that PyTorch does not take there."""
    if out.dtype is result.dtype:
        return
    if name in OWN_DTYPE_ONLY:
        raise RuntimeError(f"{name}(): Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")
    if name in JOINING and not dtypes.can_cast(result.dtype, out.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.legacy_name}")
