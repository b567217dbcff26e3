"""Matrix products of groups of rows or columns, and of matrices that are stored in 8 bits with scales."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Kind, declare

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(IntEnum):
    """Which elements of a matrix share a scale: all, those of a row, or those of a block.

    Example:
        >>> F.ScalingType(1)
        <ScalingType.RowWise: 1>
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """The order in which scales are stored.

    Example:
        >>> F.SwizzleType(0)
        <SwizzleType.NO_SWIZZLE: 0>
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


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


def _single(value: Any) -> Any:
    """Return the only element of a list of one element, and other values unchanged."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _check_recipes(*recipes: Any) -> None:
    if any(_single(recipe) not in (ScalingType.TensorWise, ScalingType.RowWise) for recipe in recipes):
        raise ValueError("Invalid scaling configuration. Only TensorWise and RowWise scaling is supported.")


@declare(kind=Kind.PRODUCT)
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Return `(scale_a * mat_a) @ (scale_b * mat_b) + bias` for matrices of 8-bit floating-point numbers.

    Args:
        mat_a, mat_b: matrices of a float8 dtype.
        scale_a, scale_b: float32; one element, or one for each row of `mat_a` and each column of `mat_b`.
        scale_recipe_a, scale_recipe_b: `ScalingType.TensorWise` or `ScalingType.RowWise`.
        swizzle_a, swizzle_b: the order of the scales of blocks; ignored.
        bias: a vector with one element for each column of the result.
        output_dtype: the dtype of the result.
        contraction_dim, use_fast_accum: ignored.

    Raises:
        ValueError: the scales belong to blocks, as PyTorch supports it on some GPUs only, or have other shapes.

    Example:
        >>> x, one = torch.eye(2).to(torch.float8_e4m3fn), F.ScalingType.TensorWise
        >>> F.scaled_mm(x, x, torch.tensor(2.0), one, torch.tensor(3.0), one)
        tensor([[6., 0.],
                [0., 6.]], dtype=torch.bfloat16)
    """
    _check_recipes(scale_recipe_a, scale_recipe_b)
    return torch._scaled_mm(mat_a, mat_b, _single(scale_a), _single(scale_b), bias, out_dtype=output_dtype)


@declare(kind=Kind.PRODUCT)
def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Multiply groups of rows by a separate matrix each, see `grouped_mm`, for matrices of 8-bit floating-point numbers.

    Args:
        mat_a: float8, of shape `(n, k)`.
        mat_b: float8, of shape `(groups, k, m)`.
        scale_a: float32, of shape `(n,)`.
        scale_b: float32, of shape `(groups, m)`.
        scale_recipe_a, scale_recipe_b: `ScalingType.RowWise`.
        swizzle_a, swizzle_b, contraction_dim, use_fast_accum: ignored.
        bias: not supported; as in PyTorch.
        offs: int32, the end of each group of rows.
        output_dtype: the dtype of the result.

    Raises:
        ValueError: the scales belong to blocks, as PyTorch supports it on some GPUs only.
        RuntimeError: the shapes or the offsets do not fit.

    Example:
        >>> float8, row = torch.float8_e4m3fn, F.ScalingType.RowWise
        >>> left, right = torch.ones(2, 2).to(float8), torch.ones(2, 2, 2).to(float8)
        >>> ends = torch.tensor([1, 2], dtype=torch.int32)
        >>> scales = torch.tensor([[1.0, 1.0], [3.0, 3.0]])
        >>> F.scaled_grouped_mm(left, right, torch.ones(2), row, scales, row, offs=ends)
        tensor([[2., 2.],
                [6., 6.]], dtype=torch.bfloat16)
    """
    _check_recipes(scale_recipe_a, scale_recipe_b)
    left = mat_a.float() * _single(scale_a).unsqueeze(-1)
    right = mat_b.float() * _single(scale_b).unsqueeze(-2)
    return torch._grouped_mm(left, right, offs=offs, bias=bias).to(output_dtype or torch.bfloat16)
