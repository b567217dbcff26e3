"""Embedding: look up rows of a table by index, optionally reduced in bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.arguments import as_float, as_int
from ..engine.calls.dispatch import require_flags
from ..engine.calls.facts import Autocast, Kind, declare
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import op
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks, one_by_one
from ..engine.tape.grad_mode import is_grad_enabled, no_grad
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.from_data import tensor
from .creation.from_shape import ones_like, zeros
from .creation.ranges import arange
from .indexing.gather import copy_depending_on
from .indexing.standard import extremes
from .joining import cat
from .sorting import searchsorted

__all__ = ["embedding", "embedding_of_bags", "embedding_renorm_", "one_hot"]

# --- rows ---------------------------------------------------------------------------------------------------------


def _check_rows(xp: Any, indices: Any, rows: int) -> Any:
    smallest, largest = extremes(xp, indices) if indices.size else (0, -1)
    if smallest < 0 or largest >= rows:
        raise IndexError("index out of range in self")
    return indices


def _rows_forward(xp: Any, weight: Any, indices: Any, /, padding_idx: int = -1, by_frequency: bool = False) -> Any:
    flat = xp.reshape(_check_rows(xp, indices, weight.shape[0]), (-1,))
    return xp.reshape(xp.take(weight, flat, axis=0), (*indices.shape, weight.shape[1]))


def _sum_rows_forward(xp: Any, input: Any, indices: Any, /, count: int) -> Any:
    """Return a zero table with `count` rows where row `i` of `input` is added to row `indices[i]`: the gradient of the lookup."""
    flat = xp.reshape(indices, (-1,))
    chosen = xp.astype(xp.expand_dims(xp.arange(count), axis=1) == flat, input.dtype)
    return xp.matmul(chosen, xp.reshape(input, (flat.shape[0], input.shape[-1])))


def _frequencies_forward(xp: Any, input: Any, indices: Any) -> Any:
    """Return for each index how often it occurs in `indices`; the shape is `(*indices.shape, 1)`."""
    flat = xp.reshape(indices, (-1,))
    counts = xp.sum(xp.astype(xp.expand_dims(flat, axis=1) == flat, input.dtype), axis=1)
    return xp.reshape(counts, (*indices.shape, 1))


def _rows_gradient(F: Any, g: Any, indices: Any, weight_shape: Any, padding_idx: int, by_frequency: bool) -> Any:
    if padding_idx >= 0:
        g = F.masked(g, F.reshape(indices, (*indices.shape, 1)) != padding_idx)
    if by_frequency:
        g = g / F.index_frequencies(g, indices)
    return F.sum_rows(g, indices, weight_shape[0])


unchecked_embedding: Callable[..., Tensor] = op(
    "embedding", _rows_forward,
    kind=Kind.INDEXING, keeps_dtype=("indices",), public=False, method=False, out=False,
    weight=lambda F, g, indices, weight_shape, padding_idx, by_frequency: _rows_gradient(
        F, g, indices, weight_shape, padding_idx, by_frequency),
    dispatches=lambda weight, indices, padding_idx, by_frequency: (
        "embedding", weight, indices, padding_idx, by_frequency, False),
)  # fmt: skip
sum_rows: Callable[..., Tensor] = op(
    "sum_rows", _sum_rows_forward,
    kind=Kind.REDUCTION, keeps_dtype=("indices",), promote="accumulate", public=False, method=False, out=False,
    grad_fn="EmbeddingDenseBackwardBackward0",
    input=lambda F, g, indices: F.embedding(g, indices, -1, False),
)  # fmt: skip
op(
    "index_frequencies",
    _frequencies_forward,
    kind=Kind.REDUCTION,
    keeps_dtype=("indices",),
    public=False,
    method=False,
    out=False,
)


def _check_indices(name: str, indices: Tensor) -> None:
    if indices._key.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices.dtype.legacy_name}Tensor instead (while checking arguments for {name})"
        )


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Return the rows of `weight` at `indices`, of shape `(*indices.shape, weight.shape[1])`.

    Args:
        weight: a table `(rows, columns)`.
        indices: a tensor of dtype int64 or int32.
        padding_idx: the row that receives no gradient; -1 for none.
        scale_grad_by_freq: whether the gradient of each row is divided by the number of its occurrences in `indices`.
        sparse: whether the gradient of `weight` is a sparse tensor of the rows that were looked up.

    Raises:
        IndexError: an index is outside the table.

    >>> torch.embedding(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 0]))
    tensor([[3, 4],
            [1, 2]])
    """
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", indices)
    if weight._key.device.type == "meta":  # no rows are read: as in PyTorch, the indices may be on any device
        indices = indices.to("meta")
    if sparse is True and weight._requires_grad and is_grad_enabled() and not weight._key.levels:
        rows: Tensor = hooks.sparse("embedding")(weight, indices, padding_idx, scale_grad_by_freq)
        return rows
    return unchecked_embedding(weight, indices, padding_idx, scale_grad_by_freq)


@declare(
    kind=Kind.SCATTER,
    schema=("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)"),
)
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows at `indices` in place so that no norm exceeds `max_norm`.

    Args:
        weight: a table `(rows, columns)`, which is changed and returned.
        indices: a tensor of dtype int64 or int32.
        max_norm: the largest norm.
        norm_type: the order of the norm.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000],
            [6.0000, 8.0000]])
    """
    if weight.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {weight.ndim}-dimensional tensor for argument #1 'weight' "
            "(while checking arguments for embedding_renorm_)"
        )
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but "
            f"got {indices.type()} instead (while checking arguments for embedding_renorm_)"
        )
    if not indices._key.backend.has_data:
        return weight
    with no_grad():
        rows = tensor(sorted(set(indices.reshape(-1).tolist())), dtype=dtypes.int64, device=weight.device)
        table = weight.detach()  # which has no tangent: PyTorch does not differentiate this operation
        chosen = table[rows]
        max_norm = as_float("embedding_renorm_", "max_norm", max_norm)
        norm_type = as_float("embedding_renorm_", "norm_type", norm_type)
        lengths = chosen.norm(norm_type, 1, keepdim=True)
        too_long = lengths > max_norm
        table[rows] = chosen * (max_norm / (lengths + 1e-7)).masked_fill(~too_long, 1.0)
    return weight


# --- bags ---------------------------------------------------------------------------------------------------------


def embedding_of_bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: str,
    per_sample_weights: Tensor | None,
    last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
) -> Tensor:
    """Return the sum, mean or max of the rows of each bag.  Bag `i` starts at `offsets[i]`; empty bags give zeros."""
    if indices.dtype is not offsets.dtype:
        common = dtypes.promote_types(indices.dtype, offsets.dtype)
        indices, offsets = indices.to(common), offsets.to(common)
    _check_indices("embedding_bag", indices)
    _check_table(weight, per_sample_weights)
    output = _bags(weight, indices, offsets, mode, per_sample_weights, last_offset, padding_idx, scale_grad_by_freq)
    return merge_nodes(output, "EmbeddingBagBackward0", (weight, per_sample_weights))


def _check_table(weight: Tensor, per_sample_weights: Tensor | None) -> None:
    where = "(while checking arguments for embedding_bag)"
    if weight.dtype.category != dtypes.FLOATING:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got torch.{weight.dtype.legacy_name}Tensor instead {where}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.legacy_name}Tensor does not equal "
            f"torch.{per_sample_weights.dtype.legacy_name}Tensor {where}"
        )


def _bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: str,
    per_sample_weights: Tensor | None,
    last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
) -> Tensor:
    bags, count = bag_numbers(offsets, indices.shape[0], last_offset)
    if padding_idx is not None:
        bags = bags.masked_fill(indices == padding_idx, count)
    if mode == "max":
        return _max_of_bags(weight, indices, bags, count)
    rows = _rows(weight, indices, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    total = sum_rows(rows, bags, count + 1)[:count]
    if mode == "sum":
        return total
    sizes = zeros(count + 1, dtype=weight.dtype, device=weight.device).index_add(0, bags, weight.new_ones(bags.shape[0]))
    return total / sizes[:count].clamp_min(1).unsqueeze(1)


def _rows(weight: Tensor, indices: Tensor, scale_grad_by_freq: bool) -> Tensor:
    try:
        return unchecked_embedding(weight, indices, -1, scale_grad_by_freq)
    except IndexError:
        count = weight.shape[0]
        for place, value in enumerate(indices.tolist()):
            if not 0 <= value < count:
                raise RuntimeError(
                    f"embedding_bag: Index {place} of input takes value {value} which is not in the valid range [0, {count})"
                ) from None
        raise


def padding_row(padding_idx: int | None, rows: int) -> int | None:
    """Return `padding_idx` as a non-negative row index, or None."""
    if padding_idx is None:
        return None
    row = as_int("embedding_bag", "padding_idx", padding_idx)
    if not -rows <= row < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {row}")
    return row % rows


def check_offsets(offsets: Tensor, length: int) -> None:
    """Raise RuntimeError unless the first bag starts at 0 and the last one starts within the input."""
    first, last = offsets[0], offsets[-1]
    low, high = first._key.backend.extremes(first._array)
    if low < 0 or high > 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {int(low or high)}"
        )
    end = last._key.backend.extremes(last._array)[1]
    if end > length:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {int(end)}")


def bag_numbers(offsets: Tensor, length: int, last_offset: bool) -> tuple[Tensor, int]:
    """Return the bag number of each index, and the number of bags."""
    numbers = searchsorted(offsets, arange(length, dtype=offsets.dtype, device=offsets.device), right=True) - 1
    # if `offsets` is empty, all bag numbers are 0, but the number of bags is 0
    return numbers.clamp_min(0), offsets.shape[0] - bool(last_offset)


def _places_of_largest_forward(xp: Any, input: Any, bags: Any, /, count: int) -> Any:
    """Return for each bag and column the index of the row with the largest element; any index for an empty bag.

    NaN counts as the largest; of equal elements, the first one is chosen.
    """
    by_size = xp.argsort(xp.where(input != input, xp.asarray(-xp.inf, dtype=input.dtype), -input), axis=0, stable=True)
    bag = xp.reshape(xp.take(bags, xp.reshape(by_size, (-1,)), axis=0), by_size.shape)
    order = xp.take_along_axis(by_size, xp.argsort(bag, axis=0, stable=True), axis=0)
    first = xp.searchsorted(xp.sort(bags), xp.arange(count, dtype=bags.dtype))
    return xp.astype(xp.take(order, xp.clip(first, 0, bags.shape[0] - 1), axis=0), xp.int64)


_places_of_largest = op(
    "places_of_largest",
    _places_of_largest_forward,
    kind=Kind.SORTING,
    promote="index",
    keeps_dtype=("bags",),
    public=False,
    method=False,
    out=False,
)


@one_by_one
def _max_of_bags(weight: Tensor, indices: Tensor, bags: Tensor, count: int) -> Tensor:
    if not bags.shape[0]:
        return copy_depending_on(weight.new_zeros(count, weight.shape[1]), weight)
    with no_grad():
        places = _places_of_largest(_rows(weight, indices, False), bags, count)
        sizes = zeros(count + 1, dtype=dtypes.int64, device=weight.device).index_add(0, bags, ones_like(bags, dtype=dtypes.int64))
    largest = weight.gather(0, indices.long()[places])
    return largest.masked_fill((sizes[:count] == 0).unsqueeze(1), 0.0)


# --- one-hot ------------------------------------------------------------------------------------------------------


@declare(kind=Kind.SCATTER, home="torch._C._nn")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Return a one-hot vector for each class number: 1 at the index of the class, 0 elsewhere.

    Args:
        input: a tensor of class numbers, int64.
        num_classes: the number of classes; -1 for one more than the largest class number in `input`.

    Shape:
        The result is `(*input.shape, num_classes)`.

    Raises:
        RuntimeError: a class number is negative or too large, or the number of classes cannot be inferred from an empty input.

    Example:
        >>> F.one_hot(torch.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if input.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return zeros(*input.shape, num_classes, dtype=dtypes.int64, device=input.device)
    smallest, largest = input._key.backend.extremes(input._array)
    if smallest < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes != -1 and largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes == -1 and not input._key.backend.has_data:
        input.max().item()  # `item` raises an error: without data, the number of classes is unknown
    classes = arange(largest + 1 if num_classes == -1 else num_classes, device=input.device)
    return (input.unsqueeze(-1) == classes).long()


PUBLIC["embedding"] = embedding
PUBLIC["embedding_renorm_"] = embedding_renorm_


# --- torch.embedding_bag, whose mode is a number ------------------------------------------------------------------

_BAG_MODES = ("sum", "mean", "max")


@declare(kind=Kind.REDUCTION, autocast=Autocast.WHOLE)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sum (mode 0), mean (1) or maximum (2) of the rows of each bag; bag `i` starts at `offsets[i]`.

    Also return three tensors that PyTorch's backward uses: the bag of each index, the size of each bag, and the indices of the
    maxima.  Sums need none of them: they are empty or zeros.  For means, the third repeats the sizes.

    Args:
        weight: a floating-point table `(rows, columns)`.
        indices: an integer vector, the indices of all bags.
        offsets: an integer vector, the position in `indices` at which each bag begins.
        scale_grad_by_freq: whether the gradient of each row is divided by the number of its occurrences in `indices`.
        mode: 0 for the sum, 1 for the mean, 2 for the maximum.
        sparse: ignored: the gradient of `weight` is dense.
        per_sample_weights: the factors of the rows, a vector with the length of `indices` and the dtype of `weight`; for sums
            only.
        include_last_offset: whether the last element of `offsets` is the end of the last bag.
        padding_idx: the row that is left out of the bags and receives no gradient; None for none.

    >>> torch.embedding_bag(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 1, 2]), torch.tensor([0, 2]))[0]
    tensor([[3.],
            [4.]])
    """
    require_flags("embedding_bag", scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, include_last_offset=include_last_offset)
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if offsets.dtype.category > dtypes.INTEGER:
        raise RuntimeError(
            "Expected tensor for argument #1 'offsets' to have one of the following scalar types: Long, Int; but "
            f"got torch.{offsets.dtype.legacy_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    if offsets.numel():
        check_offsets(offsets, indices.shape[0])
    padding = padding_row(padding_idx, weight.shape[0])
    output = embedding_of_bags(
        weight, indices, offsets, _BAG_MODES[mode], per_sample_weights, include_last_offset, padding, scale_grad_by_freq
    )
    dtype = dtypes.promote_types(indices.dtype, offsets.dtype)
    bags, count = bag_numbers(offsets, indices.shape[0], include_last_offset)
    if not mode:
        none = zeros(count if output.requires_grad else offsets.shape[0], dtype=dtype, device=weight.device)
        return output, none.new_empty(0) if padding is None else bags.to(dtype), none, none.clone()
    counted = bags if padding is None else bags.masked_fill(indices == padding, count)
    sizes = zeros(count + 1, dtype=dtype, device=weight.device)
    sizes = sizes.index_add(0, counted, bags.new_ones(bags.shape, dtype=dtype))[:count]
    largest = sizes.clone() if mode == 1 else _indices_of_maxima(weight, indices, counted, output).to(dtype)
    return output, bags.to(dtype), sizes, largest


def _indices_of_maxima(weight: Tensor, indices: Tensor, bags: Tensor, maxima: Tensor) -> Tensor:
    """Return for each bag and column the index into `weight` of the first row with the maximum; 0 for an empty bag."""
    count, length = maxima.shape[0], indices.shape[0]
    rows, maxima = weight.detach()[indices], maxima.detach()
    expected = cat([maxima, maxima.new_zeros(1, maxima.shape[1])])[bags]
    places = arange(length, device=indices.device).unsqueeze(1).masked_fill(rows != expected, length)
    first = places.new_full((count + 1, maxima.shape[1]), length)
    first = first.scatter_reduce(0, bags.unsqueeze(1).expand(places.shape), places, "amin")[:count]
    return cat([indices.long(), places.new_zeros(1)])[first]


PUBLIC.update(embedding_bag=embedding_bag)
