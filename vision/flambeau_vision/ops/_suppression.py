"""Non-maximum suppression on NumPy arrays.

Boxes are sorted by falling score. A box is kept unless its IoU with a kept box of higher score is above the threshold.
Boxes are processed in blocks: the kept boxes of a block remove later boxes, and the next block is taken from the rest.
The rest is also sorted by the left side, so that each chunk of it is compared only with nearby boxes of the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["suppress", "suppress_by_category"]

_MOST_PAIRS = 40_000  # up to this number of pairs within categories, all are computed in one call
_FEW = 300  # up to this number of boxes, all pairs are compared
_FEW_PAIRS = 2_000  # up to this number of pairs, a Python loop is faster
_FIRST, _BLOCK = 64, 256  # block sizes: the first block is small, since the best boxes suppress most others
_PIECE = 256  # remaining boxes compared with a block in one call
_ROWS = 64  # boxes of a block compared with the rest of the block in one call
_BEHIND = ~np.tri(_FEW, dtype=bool)


def suppress(boxes: Any, iou_threshold: float) -> Any:
    """Return the indices of the kept boxes.

    Args:
        boxes: floating `(x1, y1, x2, y2)` of shape `(N, 4)`, sorted by falling score.
        iou_threshold: the largest IoU with a kept box.
    """
    limit = _limit(iou_threshold, boxes.dtype)
    with np.errstate(all="ignore"):  # the IoU of two empty boxes is 0 / 0, which counts as no overlap
        if len(boxes) <= _FEW and limit >= 0:
            return np.flatnonzero(_settle(*_pairs_above(boxes, limit), len(boxes)))
        x1, y1, x2, y2 = boxes.T
        return _suppress_in_blocks(np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)]), limit)


def _pairs_above(boxes: Any, limit: Any) -> tuple[Any, Any]:
    """Return indices `(first, second)` of all pairs with an IoU above the limit; `first` is sorted, and `first < second`.

    Cheap comparisons of the sides exclude most pairs before the IoU is computed.
    """
    x1, y1, x2, y2 = sides = boxes.T.copy()
    near = x1[:, None] < x2
    near &= y1[:, None] < y2
    near &= near.T
    near &= _BEHIND[: len(boxes), : len(boxes)]
    first, second = divmod(near.ravel().nonzero()[0], len(boxes))
    columns = np.concatenate([sides, [(x2 - x1) * (y2 - y1)]])
    above = _overlap(columns.take(first, 1), columns.take(second, 1), limit)
    return first[above], second[above]


def _settle(first: Any, second: Any, count: int) -> Any:
    """Return a mask of the kept boxes, where a kept box `first[i]` suppresses the box `second[i]`.

    Args:
        first: box indices, sorted.
        second: box indices, each larger than the one in `first`.
        count: number of boxes.
    """
    if len(first) <= _FEW_PAIRS:
        kept = bytearray(b"\1") * count
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            if kept[one]:  # final, since all pairs with `one` as second box came before
                kept[other] = 0
        return np.frombuffer(kept, bool)
    chosen = np.ones(count, bool)
    while True:  # each iteration makes at least one more box final
        again = np.ones(count, bool)
        again[second[chosen[first]]] = False
        if (again == chosen).all():
            return chosen
        chosen = again


def _suppress_in_blocks(columns: Any, limit: Any) -> Any:
    alive = np.ones(columns.shape[1], bool)
    behind = columns[0].argsort()  # indices of the boxes after the block, sorted by left side
    kept, start, size = [], 0, _FIRST
    while start < len(alive):
        places = np.flatnonzero(alive[start:])[:size] + start
        if not len(places):
            break
        start = int(places[-1]) + 1
        block = columns[:, places]
        chosen = _decide(_overlap_above(block, limit))
        kept.append(places[chosen])
        behind = behind[(behind >= start) & alive[behind]]
        alive[_suppressed(block[:, chosen], behind, columns, limit)] = False
        size = min(2 * size, _BLOCK)
    return np.concatenate(kept)


def _suppressed(kept: Any, behind: Any, columns: Any, limit: Any) -> Any:
    """Return the indices from `behind` of boxes that overlap a kept box."""
    found = []
    for start in range(0, len(behind), _PIECE):
        places = behind[start : start + _PIECE]
        piece = columns[:, places]
        near = (kept[0] <= piece[2].max()) & (kept[2] >= piece[0, 0])
        found.append(places[_overlap(kept[:, near, None], piece, limit).any(0)])
    return np.concatenate(found) if found else behind


def suppress_by_category(boxes: Any, categories: Any, iou_threshold: float) -> Any:
    """Apply `suppress` to each category separately and return the sorted indices of all kept boxes."""
    order = categories.argsort(kind="stable")
    ends = np.flatnonzero(np.diff(categories[order], append=-1)) + 1 if len(order) else order
    sizes = np.diff(ends, prepend=0)
    if (sizes * (sizes - 1)).sum() <= 2 * _MOST_PAIRS:
        return np.sort(order[_decide_pairs(boxes[order], np.repeat(ends, sizes), iou_threshold)])
    parts = np.split(order, ends[:-1])
    return np.sort(np.concatenate([part[suppress(boxes[part], iou_threshold)] for part in parts]))


def _decide_pairs(boxes: Any, ends: Any, iou_threshold: float) -> Any:
    """Return a mask of the kept boxes, where box `i` is compared with the boxes `i + 1` to `ends[i] - 1`."""
    places = np.arange(len(boxes))
    behind = ends - places - 1
    first = np.repeat(places, behind)
    second = np.arange(len(first)) - np.repeat(behind.cumsum() - behind, behind) + first + 1
    x1, y1, x2, y2 = boxes.T
    columns = np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)])
    with np.errstate(all="ignore"):
        above = _overlap(columns[:, first], columns[:, second], _limit(iou_threshold, boxes.dtype))
    return _settle(first[above], second[above], len(boxes))


def _limit(iou_threshold: float, dtype: Any) -> Any:
    """Return the largest number of the dtype that is at most `iou_threshold`, which gives the same `>` comparisons."""
    limit = dtype.type(iou_threshold)
    return np.nextafter(limit, dtype.type(-np.inf)) if float(limit) > iou_threshold else limit


def _overlap(rows: Any, columns: Any, limit: Any) -> Any:
    """Whether the IoU is above the limit, for boxes `(x1, y1, x2, y2, area)` of broadcastable shapes."""
    x1, y1, x2, y2, area = rows
    wide = np.minimum(x2, columns[2])
    wide -= np.maximum(x1, columns[0])
    high = np.minimum(y2, columns[3])
    high -= np.maximum(y1, columns[1])
    np.maximum(wide, 0, out=wide)
    if limit < 0:  # otherwise a negative product is below the limit as well
        np.maximum(high, 0, out=high)
    wide *= high  # the intersection
    np.add(area, columns[4], high)
    high -= wide  # the union
    wide /= high
    return wide > limit


def _overlap_above(block: Any, limit: Any) -> Any:
    """Return the upper triangle of the matrix of `_overlap` between all boxes of a block."""
    size = block.shape[1]
    above = np.zeros((size, size), bool)
    for start in range(0, size, _ROWS):
        rows = slice(start, start + _ROWS)
        above[rows, start:] = _overlap(block[:, rows, None], block[:, start:], limit)
        above[rows, rows] &= _BEHIND[: min(_ROWS, size - start), : min(_ROWS, size - start)]
    return above


def _decide(above: Any) -> Any:
    """Return a mask of the kept boxes of a block: those that overlap no earlier kept box."""
    chosen = ~above.any(0)
    while True:  # each iteration makes at least one more box final
        again = ~(above & chosen[:, None]).any(0)
        if (again == chosen).all():
            return chosen
        chosen = again
