"""Non-maximum suppression on NumPy arrays.

Boxes come by falling score, and a box is kept unless one that is kept before it overlaps it too much. That is decided for a block
of boxes at a time: first within the block, then all boxes behind it that the block suppresses are dropped, and the next block is
taken from what is left. What is left is sorted by the left sides, so that a piece of it meets only a part of the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["suppress", "suppress_by_category"]

_MOST_PAIRS = 40_000  # within categories, up to which all are looked at at once
_FEW = 300  # boxes of which all pairs are looked at
_FEW_PAIRS = 2_000  # pairs that Python goes through one by one
_FIRST, _BLOCK = 64, 256  # boxes of a block: few at first, since the best boxes suppress most of the others
_PIECE = 256  # boxes behind a block that are compared with it at once
_ROWS = 64  # boxes of a block that are compared with the rest of it at once
_BEHIND = ~np.tri(_FEW, dtype=bool)


def suppress(boxes: Any, iou_threshold: float) -> Any:
    """The places of the boxes that are kept.

    Args:
        boxes: floating `(x1, y1, x2, y2)` of shape `(N, 4)`, by falling score.
        iou_threshold: the largest overlap with a kept box.
    """
    limit = _limit(iou_threshold, boxes.dtype)
    with np.errstate(all="ignore"):  # empty boxes: 0 / 0 is no overlap
        if len(boxes) <= _FEW and limit >= 0:
            return np.flatnonzero(_settle(*_pairs_above(boxes, limit), len(boxes)))
        x1, y1, x2, y2 = boxes.T
        return _suppress_in_blocks(np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)]), limit)


def _pairs_above(boxes: Any, limit: Any) -> tuple[Any, Any]:
    """The pairs of boxes that overlap by more than the limit, as places: first ones in order, second ones behind them.

    Most pairs do not touch, which two comparisons show; the overlap is computed of the others alone.
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
    """Which of `count` boxes are kept, where each of the first ones, if it is kept, suppresses the second one of its pair.

    Args:
        first: places, in order.
        second: places behind them.
        count: how many boxes there are.
    """
    if len(first) <= _FEW_PAIRS:
        kept = bytearray(b"\1") * count
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            if kept[one]:  # all pairs of which it is the second have been seen
                kept[other] = 0
        return np.frombuffer(kept, bool)
    chosen = np.ones(count, bool)
    while True:  # each round settles at least one more box from the left
        again = np.ones(count, bool)
        again[second[chosen[first]]] = False
        if (again == chosen).all():
            return chosen
        chosen = again


def _suppress_in_blocks(columns: Any, limit: Any) -> Any:
    alive = np.ones(columns.shape[1], bool)
    behind = columns[0].argsort()  # the places of the boxes behind the block, by their left sides
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
    """Those of the places `behind` whose boxes a kept one overlaps."""
    found = []
    for start in range(0, len(behind), _PIECE):
        places = behind[start : start + _PIECE]
        piece = columns[:, places]
        near = (kept[0] <= piece[2].max()) & (kept[2] >= piece[0, 0])
        found.append(places[_overlap(kept[:, near, None], piece, limit).any(0)])
    return np.concatenate(found) if found else behind


def suppress_by_category(boxes: Any, categories: Any, iou_threshold: float) -> Any:
    """`suppress` for each category by itself: the places of all boxes that are kept, in their order."""
    order = categories.argsort(kind="stable")
    ends = np.flatnonzero(np.diff(categories[order], append=-1)) + 1 if len(order) else order
    sizes = np.diff(ends, prepend=0)
    if (sizes * (sizes - 1)).sum() <= 2 * _MOST_PAIRS:
        return np.sort(order[_decide_pairs(boxes[order], np.repeat(ends, sizes), iou_threshold)])
    parts = np.split(order, ends[:-1])
    return np.sort(np.concatenate([part[suppress(boxes[part], iou_threshold)] for part in parts]))


def _decide_pairs(boxes: Any, ends: Any, iou_threshold: float) -> Any:
    """Which boxes are kept, where each is compared with those behind it up to its end."""
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
    """The largest number of the dtype up to the threshold: what is above one is above the other."""
    limit = dtype.type(iou_threshold)
    return np.nextafter(limit, dtype.type(-np.inf)) if float(limit) > iou_threshold else limit


def _overlap(rows: Any, columns: Any, limit: Any) -> Any:
    """Whether boxes, given by sides and area in forms that broadcast, overlap by more than the limit."""
    x1, y1, x2, y2, area = rows
    wide = np.minimum(x2, columns[2])
    wide -= np.maximum(x1, columns[0])
    high = np.minimum(y2, columns[3])
    high -= np.maximum(y1, columns[1])
    np.maximum(wide, 0, out=wide)
    if limit < 0:  # else a negative height is no overlap either
        np.maximum(high, 0, out=high)
    wide *= high  # the intersection
    np.add(area, columns[4], high)
    high -= wide  # the union
    wide /= high
    return wide > limit


def _overlap_above(block: Any, limit: Any) -> Any:
    """`_overlap` of the boxes of a block with those behind them in it: what is above the diagonal of the matrix."""
    size = block.shape[1]
    above = np.zeros((size, size), bool)
    for start in range(0, size, _ROWS):
        rows = slice(start, start + _ROWS)
        above[rows, start:] = _overlap(block[:, rows, None], block[:, start:], limit)
        above[rows, rows] &= _BEHIND[: min(_ROWS, size - start), : min(_ROWS, size - start)]
    return above


def _decide(above: Any) -> Any:
    """Which boxes of a block are kept: those that no kept one before them overlaps."""
    chosen = ~above.any(0)
    while True:  # each round settles at least one more box from the left
        again = ~(above & chosen[:, None]).any(0)
        if (again == chosen).all():
            return chosen
        chosen = again
