"""Attention masks as functions of positions, and `BlockMask`, which lists the blocks of the score matrix to compute."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import flambeau as torch
from flambeau.utils.pytree import register_pytree_node

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

Tensor = torch.Tensor
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # (batch, head, q_idx, kv_idx) -> bool, True to keep
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]  # (score, batch, head, q_idx, kv_idx) -> score

BLOCK = 128  # the default number of queries, and of keys, in a block


# --- functions of positions ---------------------------------------------------------------------------------------


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Return True for all positions: a mask function that keeps every score."""
    return batch.new_ones((), dtype=torch.bool)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask function that is True where all of `mask_mods` are True.

    Raises:
        RuntimeError: an argument is not callable.

    Example:
        >>> from flambeau.nn.attention.flex_attention import and_masks, create_mask
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> window = lambda b, h, q, kv: q - kv < 2
        >>> create_mask(and_masks(causal, window), 1, 1, 3, 3, "cpu").int()[0, 0]
        tensor([[1, 0, 0],
                [1, 1, 0],
                [0, 1, 1]], dtype=torch.int32)
    """
    _require_callables(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask function that is True where any of `mask_mods` is True.

    Raises:
        RuntimeError: an argument is not callable.
    """
    _require_callables(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _require_callables(mask_mods: Sequence[Any]) -> None:
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def vectorize_positions(function: Callable[..., Tensor], takes_score: bool) -> Callable[..., Tensor]:
    """Vectorize a function of one position, a `ScoreMod` if `takes_score` or else a `MaskMod`, over all positions."""
    score = (0,) if takes_score else ()
    for place in (3, 2, 1, 0):
        function = torch.vmap(function, in_dims=(*score, *(0 if n == place else None for n in range(4))))
    return function


def positions(shape: Sequence[int], device: Any) -> list[Tensor]:
    """Return the index vectors of batches, heads, queries and keys."""
    return [torch.arange(length, device=device) for length in shape]


def _takes_score(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(mod_fn: MaskMod | ScoreMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Evaluate a mask or score function at all positions.

    Args:
        mod_fn: a function `(batch, head, q_idx, kv_idx) -> bool`, or `(score, batch, head, q_idx, kv_idx) -> score`, which
            masks by a score of `-inf`.
        B, H: the numbers of batches and heads; None for 1.
        Q_LEN, KV_LEN: the lengths of queries and keys.
        device: the device of the mask; the default device if None.

    Shape:
        - Output: `(B, H, Q_LEN, KV_LEN)`, of dtype bool.

    Raises:
        AssertionError: the function takes another number of arguments.
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    device = torch.get_default_device() if device is None else device
    if not _takes_score(mod_fn):
        return vectorize_positions(mod_fn, takes_score=False)(*positions(shape, device)).expand(shape)
    scores = vectorize_positions(mod_fn, takes_score=True)(torch.zeros(shape, device=device), *positions(shape, device))
    return ~torch.isneginf(scores)


# --- blocks -------------------------------------------------------------------------------------------------------


def _list_blocks(dense: Tensor) -> tuple[Tensor, Tensor]:
    """For each row of a 0/1 matrix, return the number of ones and the columns: first those of the ones, then the others."""
    dense = dense.to(torch.int32)
    columns = dense.argsort(dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(torch.int32).contiguous(), columns.to(torch.int32).contiguous()


def _blocks_to_matrix(counts: Tensor, columns: Tensor, width: int) -> Tensor:
    """Return the 0/1 matrix of `width` columns for which `_list_blocks` returns `counts` and `columns`."""
    is_listed = torch.arange(columns.shape[-1], device=columns.device) < counts.unsqueeze(-1)
    dense = torch.zeros(*columns.shape[:-1], width + 1, dtype=torch.int32, device=columns.device)
    return dense.scatter(-1, columns.where(is_listed, width).long(), 1)[..., :width].contiguous()


def _transpose_blocks(counts: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    return _list_blocks(_blocks_to_matrix(counts, columns, columns.shape[-1]).transpose(-2, -1))


def sliced_mask_mod(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


class BlockMask:
    """An attention mask in blocks of scores; fully masked blocks are skipped.

    For each row of blocks, it stores the number of blocks to compute and their columns. Blocks without any masked position are
    listed separately (`full_...`), since they need no call of `mask_mod`. `create_block_mask` creates block masks.

    Attributes:
        seq_lengths: the lengths of queries and keys.
        kv_num_blocks, kv_indices: for each row, `(B, H, rows)` and `(B, H, rows, columns)` of int32; the columns beyond the
            number of blocks have no meaning.
        full_kv_num_blocks, full_kv_indices: the same for blocks without masked positions; or None.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same for each column of blocks; or None.
        BLOCK_SIZE: the number of queries and keys of a block.
        mask_mod: the mask function, `(batch, head, q_idx, kv_idx) -> bool`.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 8, 8, "cpu", BLOCK_SIZE=2)
        >>> mask.to_dense()[0, 0]
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 1]], dtype=torch.int32)
        >>> mask.sparsity()
        37.5
    """

    _TENSOR_ATTRS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks",
        "full_q_indices", "dq_write_order", "dq_write_order_full", "dq_kv_order",
    )  # fmt: skip

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK),
        mask_mod: MaskMod = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        _check_lists(kv_indices, full_kv_num_blocks, full_kv_indices, "kv")
        _check_lists(kv_indices, full_q_num_blocks, full_q_indices, "q")
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | bool | None = None,
    ) -> BlockMask:
        """Create a mask from the blocks of each row; with `compute_q_blocks`, the lists for columns are computed from them.

        Raises:
            RuntimeError: the lists have fewer than two dimensions.
            AssertionError: only one of the lists of full blocks is given.
            ValueError: `dq_kv_order` is neither a bool nor a tensor.
        """
        _check_lists(kv_indices, full_kv_num_blocks, full_kv_indices, "kv")
        if dq_kv_order is not None and not isinstance(dq_kv_order, (bool, Tensor)):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        by_columns: list[Any] = [None] * 4
        if compute_q_blocks:
            by_columns[:2] = _transpose_blocks(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                by_columns[2:] = _transpose_blocks(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        return cls(
            seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]),
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            by_columns[0],
            by_columns[1],
            by_columns[2],
            by_columns[3],
            size,
            mask_mod or noop_mask,
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if isinstance(dq_kv_order, Tensor) else None,
            dq_kv_order_spt=dq_kv_order if isinstance(dq_kv_order, bool) else None,
        )

    # --- shape, sparsity and conversions ---

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the mask: batches, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of positions, masked or not."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return the percentage of positions in skipped blocks."""
        counts = [counts for counts in (self.kv_num_blocks, self.full_kv_num_blocks) if counts is not None]
        computed = sum(int(blocks.sum()) for blocks in counts) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - computed / self.numel())

    def to_dense(self) -> Tensor:
        """Return an int32 matrix with one element per block: 1 to compute it, 0 to skip it."""
        width = self.kv_indices.shape[-1]
        dense = _blocks_to_matrix(self.kv_num_blocks, self.kv_indices, width)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return dense
        return dense | _blocks_to_matrix(self.full_kv_num_blocks, self.full_kv_indices, width)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Draw the mask as text: a full character where all its blocks are computed, a half-tone where only some are.

        Args:
            grid_size: the maximum rows and columns of a picture; -1 for one character per block.
            limit: the maximum number of pictures; there is one for each batch and head.
        """
        dense = self.to_dense()
        *batch_shape, rows, columns = dense.shape
        most = (rows, columns) if grid_size == -1 else (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row_step, column_step = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
        pictures = []
        for number, place in enumerate(itertools.product(*map(range, batch_shape))):
            if number == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            lines = [f"{place}"]
            for row in range(0, rows, row_step):
                parts = [
                    dense[place][row : row + row_step, column : column + column_step] for column in range(0, columns, column_step)
                ]
                lines.append("".join(2 * _character(part) for part in parts))
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = {name: getattr(self, name) for name in self._TENSOR_ATTRS[:8]}
        lines = [f"{name}={None if tensor is None else tensor.shape}" for name, tensor in shapes.items()]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        lines.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Return the attributes as a tuple; with `flatten`, the numbers in lengths and block sizes are separate items."""
        lengths, sizes = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        tensors = [getattr(self, name) for name in self._TENSOR_ATTRS]
        return (*lengths, *tensors, self.dq_kv_order_spt, *sizes, self.mask_mod)

    # --- parts and copies ---

    def __getitem__(self, index: Any) -> BlockMask:
        """Select blocks by batch, head and row; `mask_mod` of the result raises RuntimeError."""
        if self.dq_kv_order is not None:
            raise NotImplementedError("Slicing BlockMask with tensor dq_kv_order is not supported")
        items = (*(index if isinstance(index, tuple) else (index,)), slice(None), slice(None), slice(None))[:3]
        lengths = self.kv_num_blocks.shape[:3]
        chosen = tuple(
            slice(item % length, item % length + 1) if isinstance(item, int) and -length <= item < length else item
            for item, length in zip(items, lengths, strict=True)
        )
        return self._with_rows(
            (None if lists is None else lists[chosen] for lists in self._rows()), self.seq_lengths, sliced_mask_mod
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """Crop the mask to shorter sequences, keeping its upper left corner."""
        if self.dq_kv_order is not None:
            raise NotImplementedError("Adjusting BlockMask with tensor dq_kv_order is not supported")
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        cut: list[Any] = []
        for counts, indices in (self._rows()[:2], self._rows()[2:]):
            if counts is None or indices is None:
                cut += [None, None]
                continue
            dense = _blocks_to_matrix(counts, indices, indices.shape[-1])[:, :, :rows, :columns]
            cut += _list_blocks(dense)
        return self._with_rows(cut, (new_q_len, new_kv_len), self.mask_mod)

    def _rows(self) -> tuple[Any, ...]:
        return self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices

    def _with_rows(self, rows: Iterable[Any], lengths: tuple[int, int], mask_mod: MaskMod) -> BlockMask:
        counts, indices, full_counts, full_indices = rows
        mask = BlockMask.from_kv_blocks(
            counts,
            indices,
            full_counts,
            full_indices,
            self.BLOCK_SIZE,
            mask_mod,
            lengths,
            self.q_indices is not None,
            dq_kv_order=self.dq_kv_order_spt,
        )
        if self.dq_write_order is not None:
            mask._order_writes(bool(self.dq_kv_order_spt))
        return mask

    def _order_writes(self, descending: bool) -> None:
        """Store, for each block of a column, its position among the blocks of its row, the order of gradient accumulation."""
        dense = self.to_dense()
        rank = dense.cumsum(-1) - dense
        if descending:
            rank = dense.sum(-1, keepdim=True) - 1 - rank
        by_columns = rank.to(torch.int32).transpose(-2, -1)
        self.dq_kv_order_spt = descending
        for name, indices in (("dq_write_order", self.q_indices), ("dq_write_order_full", self.full_q_indices)):
            setattr(self, name, None if indices is None else by_columns.gather(-1, indices.long()))

    def to(self, device: Any) -> BlockMask:
        """Move the mask's tensors to a device."""
        tensors = {name: getattr(self, name) for name in self._TENSOR_ATTRS}
        moved: dict[str, Any] = {name: None if tensor is None else tensor.to(device) for name, tensor in tensors.items()}
        return BlockMask(self.seq_lengths, **moved, **self._settings())

    def _settings(self) -> dict[str, Any]:
        return {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": self.mask_mod, "dq_kv_order_spt": self.dq_kv_order_spt}


def _check_lists(indices: Tensor, full_counts: Any, full_indices: Any, name: str) -> None:
    if indices.dim() < 2:
        raise RuntimeError("BlockMask must have at least 2 dimensions")
    if (full_counts is None) != (full_indices is None):
        raise AssertionError(f"full_{name}_num_blocks and full_{name}_indices must be both provided or omitted")


def _character(part: Tensor) -> str:
    share = float(part.float().mean())
    return "█" if share == 1 else "░" if share else " "


def _flatten(mask: BlockMask) -> tuple[list[Any], Any]:
    names = [name for name in mask._TENSOR_ATTRS if getattr(mask, name) is not None]
    return [getattr(mask, name) for name in names], (names, mask.seq_lengths, mask._settings())


def _unflatten(tensors: Any, context: Any) -> BlockMask:
    names, lengths, settings = context
    given: dict[str, Any] = dict.fromkeys(BlockMask._TENSOR_ATTRS) | dict(zip(names, tensors, strict=True))
    return BlockMask(lengths, **given, **settings)


register_pytree_node(BlockMask, _flatten, _unflatten, serialized_type_name="torch.nn.attention.flex_attention.BlockMask")


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """Create the `BlockMask` of a mask function.

    Args:
        mask_mod: a function `(batch, head, q_idx, kv_idx) -> bool`, True for scores to keep.
        B, H: the numbers of batches and heads; None for one mask shared by all.
        Q_LEN, KV_LEN: the lengths of queries and keys.
        device: the device of the mask; the default device if None.
        BLOCK_SIZE: how many queries and keys a block has.
        separate_full_blocks: whether to list blocks without masked positions separately.
        compute_dq_write_order, dq_kv_order: whether to add the ranks of blocks in their rows, from the last one or the first.

    Raises:
        AssertionError: `mask_mod` does not take four arguments.
        ValueError: `dq_kv_order` is not a bool.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256, "cpu").kv_num_blocks
        tensor([[[1, 1]]], dtype=torch.int32)
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    counts = mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-3, -1))
    full = counts == rows * columns
    partial = (counts > 0) & ~full if separate_full_blocks else counts > 0
    full_counts, full_indices = _list_blocks(full) if separate_full_blocks else (None, None)
    block_mask = BlockMask.from_kv_blocks(
        *_list_blocks(partial), full_counts, full_indices, (rows, columns), mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )
    if compute_dq_write_order:
        block_mask._order_writes(dq_kv_order)
    return block_mask
