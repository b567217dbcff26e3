"""Non-maximum suppression (NMS) on NumPy arrays.

Boxes are sorted by falling score. A box is kept unless its IoU with a kept box of higher score is above the threshold.
Many boxes are processed in blocks: the kept boxes of a block remove boxes after the block, and the next block is taken from
the remaining boxes. The remaining boxes, sorted by their left side, are compared with the block in chunks. Each chunk is
compared only with the boxes of the block that are near.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["batched_nms_indices", "nms_indices"]

_MAX_CATEGORY_PAIRS = 40_000  # up to this number of pairs in all categories, one call computes the IoU of all pairs
_MAX_COMPARED_BOXES = 300  # up to this number of boxes, all pairs are compared instead of blocks
_MAX_LOOP_PAIRS = 2_000  # up to this number of pairs, a Python loop is faster than array operations
_FIRST_BLOCK, _BLOCK = 64, 256  # numbers of boxes; the first block is small, since the best boxes suppress most others
_LATER_CHUNK = 256  # number of remaining boxes that are compared with a block in one call
_BLOCK_CHUNK = 64  # number of boxes of a block that are compared with the rest of the block in one call
_UPPER_TRIANGLE = ~np.tri(_MAX_COMPARED_BOXES, dtype=bool)


def nms_indices(boxes: Any, iou_threshold: float) -> Any:
    """Return the indices of the boxes kept by non-maximum suppression.

    Args:
        boxes: floating-point `(x1, y1, x2, y2)` of shape `(N, 4)`, sorted by falling score.
        iou_threshold: a box is removed if its IoU with a kept box is larger.
    """
    limit = _round_threshold(iou_threshold, boxes.dtype)
    with np.errstate(all="ignore"):  # the IoU of two empty boxes is 0 / 0, which counts as no overlap
        if len(boxes) <= _MAX_COMPARED_BOXES and limit >= 0:
            return np.flatnonzero(_kept_from_pairs(*_pairs_above(boxes, limit), len(boxes)))
        x1, y1, x2, y2 = boxes.T
        return _suppress_in_blocks(np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)]), limit)


def _pairs_above(boxes: Any, limit: Any) -> tuple[Any, Any]:
    """Return the indices `(first, second)` of all pairs of boxes whose IoU is above `limit`.

    `first` is sorted, and `first < second`. Comparisons of the sides exclude most pairs before the IoU is computed.
    """
    x1, y1, x2, y2 = sides = boxes.T.copy()
    near = x1[:, None] < x2
    near &= y1[:, None] < y2
    near &= near.T
    near &= _UPPER_TRIANGLE[: len(boxes), : len(boxes)]
    first, second = divmod(near.ravel().nonzero()[0], len(boxes))
    columns = np.concatenate([sides, [(x2 - x1) * (y2 - y1)]])
    above = _iou_above(columns.take(first, 1), columns.take(second, 1), limit)
    return first[above], second[above]


def _kept_from_pairs(first: Any, second: Any, count: int) -> Any:
    """Return a boolean mask of the kept boxes. If box `first[i]` is kept, it suppresses box `second[i]`.

    Args:
        first: box indices, sorted.
        second: box indices, with `second[i] > first[i]`.
        count: number of boxes.
    """
    if len(first) <= _MAX_LOOP_PAIRS:
        kept = bytearray(b"\1") * count
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            if kept[one]:  # final: every pair whose second box is `one` comes earlier
                kept[other] = 0
        return np.frombuffer(kept, bool)
    mask = np.ones(count, bool)
    while True:  # ends, since each iteration decides at least one more box for good
        updated = np.ones(count, bool)
        updated[second[mask[first]]] = False
        if (updated == mask).all():
            return mask
        mask = updated


def _suppress_in_blocks(columns: Any, limit: Any) -> Any:
    remaining = np.ones(columns.shape[1], bool)
    later = columns[0].argsort()  # indices of boxes after the block, sorted by their left side
    kept, start, size = [], 0, _FIRST_BLOCK
    while start < len(remaining):
        indices = np.flatnonzero(remaining[start:])[:size] + start
        if not len(indices):
            break
        start = int(indices[-1]) + 1
        block = columns[:, indices]
        mask = _kept_in_block(_block_iou_above(block, limit))
        kept.append(indices[mask])
        later = later[(later >= start) & remaining[later]]
        remaining[_overlapping(block[:, mask], later, columns, limit)] = False
        size = min(2 * size, _BLOCK)
    return np.concatenate(kept)


def _overlapping(kept: Any, later: Any, columns: Any, limit: Any) -> Any:
    """Return those indices in `later` whose boxes have an IoU above `limit` with a box of `kept`."""
    found = []
    for start in range(0, len(later), _LATER_CHUNK):
        indices = later[start : start + _LATER_CHUNK]
        chunk = columns[:, indices]
        near = (kept[0] <= chunk[2].max()) & (kept[2] >= chunk[0, 0])
        found.append(indices[_iou_above(kept[:, near, None], chunk, limit).any(0)])
    return np.concatenate(found) if found else later


def batched_nms_indices(boxes: Any, categories: Any, iou_threshold: float) -> Any:
    """Apply `nms_indices` to each category separately and return the sorted indices of all kept boxes."""
    order = categories.argsort(kind="stable")
    ends = np.flatnonzero(np.diff(categories[order], append=-1)) + 1 if len(order) else order
    sizes = np.diff(ends, prepend=0)
    if (sizes * (sizes - 1)).sum() <= 2 * _MAX_CATEGORY_PAIRS:
        return np.sort(order[_kept_in_categories(boxes[order], np.repeat(ends, sizes), iou_threshold)])
    parts = np.split(order, ends[:-1])
    return np.sort(np.concatenate([part[nms_indices(boxes[part], iou_threshold)] for part in parts]))


def _kept_in_categories(boxes: Any, ends: Any, iou_threshold: float) -> Any:
    """Return a boolean mask of the kept boxes.

    The boxes are sorted by category, and `ends[i]` is the end of the category of box `i`: box `i` is compared with the boxes
    `i + 1` to `ends[i] - 1`.
    """
    indices = np.arange(len(boxes))
    later = ends - indices - 1
    first = np.repeat(indices, later)
    second = np.arange(len(first)) - np.repeat(later.cumsum() - later, later) + first + 1
    x1, y1, x2, y2 = boxes.T
    columns = np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)])
    with np.errstate(all="ignore"):
        above = _iou_above(columns[:, first], columns[:, second], _round_threshold(iou_threshold, boxes.dtype))
    return _kept_from_pairs(first[above], second[above], len(boxes))


def _round_threshold(iou_threshold: float, dtype: Any) -> Any:
    """Return the largest number of the dtype that is at most `iou_threshold`.

    A number of the dtype is above this limit exactly if it is above `iou_threshold`.
    """
    limit = dtype.type(iou_threshold)
    return np.nextafter(limit, dtype.type(-np.inf)) if float(limit) > iou_threshold else limit


def _iou_above(rows: Any, columns: Any, limit: Any) -> Any:
    """Return whether the IoU of boxes is above `limit`. `rows` and `columns` are `(x1, y1, x2, y2, area)` and broadcast."""
    x1, y1, x2, y2, area = rows
    width = np.minimum(x2, columns[2])
    width -= np.maximum(x1, columns[0])
    height = np.minimum(y2, columns[3])
    height -= np.maximum(y1, columns[1])
    np.maximum(width, 0, out=width)
    if limit < 0:  # other limits do not need this: a negative height gives an IoU below 0, which is not above the limit
        np.maximum(height, 0, out=height)
    width *= height  # now `width` contains the area of the intersection
    np.add(area, columns[4], height)
    height -= width  # now `height` contains the area of the union
    width /= height
    return width > limit


def _block_iou_above(block: Any, limit: Any) -> Any:
    """Return a boolean matrix: whether the IoU of boxes `i` and `j` of a block is above `limit`, for `i < j`; otherwise False."""
    size = block.shape[1]
    above = np.zeros((size, size), bool)
    for start in range(0, size, _BLOCK_CHUNK):
        rows = slice(start, start + _BLOCK_CHUNK)
        above[rows, start:] = _iou_above(block[:, rows, None], block[:, start:], limit)
        above[rows, rows] &= _UPPER_TRIANGLE[: min(_BLOCK_CHUNK, size - start), : min(_BLOCK_CHUNK, size - start)]
    return above


def _kept_in_block(above: Any) -> Any:
    """Return a boolean mask of the kept boxes of a block, given the matrix of `_block_iou_above`."""
    mask = ~above.any(0)
    while True:  # ends, since each iteration decides at least one more box for good
        updated = ~(above & mask[:, None]).any(0)
        if (updated == mask).all():
            return mask
        mask = updated
