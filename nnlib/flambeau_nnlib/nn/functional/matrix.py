"""`grouped_mm`, the product of groups of rows or columns with a separate matrix for each group."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Kind, declare

__all__ = ["grouped_mm"]


@declare(kind=Kind.PRODUCT)
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: torch.dtype | None = None
) -> Tensor:
    """Multiply groups of rows or columns by a separate matrix each, as for the experts of a mixture-of-experts layer.

    Args:
        mat_a: the left matrices, of single or half precision.
        mat_b: the right matrices, of the same dtype.
        offs: int32, the end of each group in the grouped dimension; None if both matrices have three dimensions.
        bias: not supported; as in PyTorch.
        out_dtype: the dtype of `mat_a`, or None.

    Shape:
        - Rows in groups: `(n, k)` and `(groups, k, m)` give `(n, m)`; rows after the last group give zeros.
        - Columns in groups: `(groups, n, k)` and `(k, m)` give `(n, m)`.
        - The summed dimension in groups: `(n, k)` and `(k, m)` give `(groups, n, m)`.
        - No grouped dimension: `(groups, n, k)` and `(groups, k, m)` give `(groups, n, m)`.

    Raises:
        RuntimeError: the dtypes, the shapes or the offsets do not fit.

    Example:
        >>> tokens, experts = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
        >>> F.grouped_mm(tokens, experts, offs=torch.tensor([1, 3], dtype=torch.int32))
        tensor([[1., 1.],
                [2., 2.],
                [2., 2.]])
    """
    return torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)
