"""Embedding and one-hot vectors."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import as_int, require_flags, warn
from flambeau.extension import functions as ops
from flambeau.extension.functions import one_hot

__all__ = ["embedding", "embedding_bag", "one_hot"]


def _padding_row(padding_idx: int | None, rows: int) -> int:
    """Return `padding_idx` as a non-negative index; -1 for None."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return as_int("embedding", "padding_idx", padding_idx) % rows


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of a table at given indices; see `nn.Embedding`.

    Args:
        input: integer indices `(*)` from 0 to `rows - 1`; IndexError for others.
        weight: the table, `(rows, columns)`; RuntimeError unless it has 2 dimensions. The result has the shape
            `(*, columns)`.
        padding_idx: the index of a row that gets no gradient; may be negative. AssertionError if out of range.
        max_norm: the largest norm of a row; selected rows of larger norm are first scaled down to it, in place. None for
            no limit.
        norm_type: the order p of the norm for `max_norm`.
        scale_grad_by_freq: whether to divide the gradient of a row by the number of times its index is in `input`.
        sparse: whether the gradient of `weight` is a sparse tensor of the selected rows.

    Example:
        >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding_idx = _padding_row(padding_idx, weight.size(0))
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Compute the sum, mean or maximum of the rows of a table at the indices of each bag; see `nn.EmbeddingBag`.

    Args:
        input: integer indices, `(B, N)` for B bags of N each, or `(N,)` for bags that `offsets` divides.
        weight: the table, `(rows, columns)`. The result has the shape `(B, columns)`.
        offsets: the start of each bag in a 1-D `input`, `(B,)`; the first one is 0.
        max_norm: the largest norm of a row; selected rows of larger norm are first scaled down to it, in place. None for
            no limit.
        norm_type: the order p of the norm for `max_norm`.
        scale_grad_by_freq: whether to divide the gradient of a row by the number of times its index is in `input`; not for mode
            "max".
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of `weight` is a sparse tensor of the selected rows. Not for mode "max".
        per_sample_weights: factors of the rows, in the shape of `input`, for mode "sum"; NotImplementedError for
            another mode.
        include_last_offset: whether the last of the `offsets` is the end of the last bag, not its start.
        padding_idx: an index that is ignored in the bags.

    Raises:
        ValueError: the mode is unknown or does not support a flag, or offsets and input do not fit.

    Example:
        >>> table = torch.tensor([[1.0], [2.0], [4.0]])
        >>> F.embedding_bag(torch.tensor([[0, 1]]), table)
        tensor([[1.5000]])
        >>> F.embedding_bag(torch.tensor([0, 1, 2]), table, torch.tensor([0, 1]), mode="sum")
        tensor([[1.],
                [6.]])
    """
    if weight.dtype is torch.int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        weight, input = input, weight
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have "
            f"the same shape as the input ({input.shape})"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    require_flags("embedding_bag", sparse=sparse, scale_grad_by_freq=scale_grad_by_freq)
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    input, offsets, per_sample_weights = _flatten_bags(input, offsets, per_sample_weights, include_last_offset)
    padding = ops.padding_row(padding_idx, weight.size(0))
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad:
        weight, input, padding = _select_rows(weight, input, padding, scale_grad_by_freq)
        scale_grad_by_freq = False
    return ops.embedding_bag(weight, input, offsets, mode, per_sample_weights, include_last_offset, padding, scale_grad_by_freq)


def _select_rows(weight: Tensor, input: Tensor, padding: int | None, by_frequency: bool) -> tuple[Tensor, Tensor, int | None]:
    """Return a table of the selected rows, the indices into this table, and the index of the padding row in this table."""
    rows = torch.embedding(weight, input, -1, by_frequency, True)
    places = torch.arange(len(input), device=input.device)
    if padding is None or padding < 0:
        return rows, places, padding
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])]), places.masked_fill(input == padding, len(input)), len(input)


def _flatten_bags(
    input: Tensor, offsets: Tensor | None, weights: Tensor | None, include_last_offset: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return indices, offsets and per-sample weights as 1-D tensors."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count = input.size(0) + bool(include_last_offset)
        starts = torch.arange(count, dtype=input.dtype, device=input.device) * input.size(1)
        return input.reshape(-1), starts, None if weights is None else weights.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if include_last_offset and not offsets.numel():
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.numel():
        ops.check_offsets(offsets, input.size(0))
    return input, offsets, weights
