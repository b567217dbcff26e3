"""The strong Wolfe line search of L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flambeau import Tensor

from .first_order import Scalar

# Constants from Nocedal and Wright, Numerical Optimization, section 3.1.
SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9


class Point(NamedTuple):
    """A point on the line: distance `t`, loss, gradient, and slope along the line."""

    t: Scalar
    loss: float
    grad: Tensor
    slope: Tensor


class StrongWolfe:
    """Line search for a point that satisfies the strong Wolfe conditions (sufficient decrease and small slope).

    Args:
        evaluate: returns the point at a distance.
        start: the point at distance 0, whose slope is negative.
        largest: largest absolute element of the direction.
        max_iter: maximum number of points to evaluate after the first.
        sufficient_decrease, curvature: the constants of the conditions.
        tolerance: the search ends when the bracket is shorter, as the largest change of an element.
    """

    def __init__(
        self,
        evaluate: Callable[[Scalar], Point],
        start: Point,
        largest: Tensor,
        max_iter: int,
        *,
        sufficient_decrease: float = SUFFICIENT_DECREASE,
        curvature: float = CURVATURE,
        tolerance: float = 1e-9,
    ) -> None:
        self.start = start
        self.largest = largest
        self.max_iter = max_iter
        self.evals = 0
        self._evaluate = evaluate
        self._sufficient_decrease, self._curvature, self._tolerance = sufficient_decrease, curvature, tolerance

    def search(self, t: Scalar) -> Point:
        """Return the best point found; try the distance `t` first."""
        ends = self._bracket(self._at(t))
        return ends[0] if len(ends) == 1 else self._narrow(ends)

    def _at(self, t: Scalar) -> Point:
        self.evals += 1
        return self._evaluate(t)

    def _is_high(self, point: Point) -> bool:
        return bool(point.loss > self.start.loss + self._sufficient_decrease * point.t * self.start.slope)

    def _is_flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -self._curvature * self.start.slope)

    def _bracket(self, point: Point) -> list[Point]:
        """Extrapolate until two points enclose a minimum, or one point satisfies the conditions."""
        previous = self.start
        while self.evals <= self.max_iter:
            if self._is_high(point) or (self.evals > 2 and point.loss >= previous.loss):
                return [previous, point]
            if self._is_flat(point):
                return [point]
            if point.slope >= 0:
                return [previous, point]
            t = cubic_minimum(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10)
            previous, point = point, self._at(t)
        return [self.start, point]

    def _narrow(self, ends: list[Point]) -> Point:
        """Narrow a bracket until a point satisfies the conditions; return that point, or the lower end of the bracket."""
        low = _lower(ends)
        was_close = False
        while self.evals <= self.max_iter:
            left, right = sorted(end.t for end in ends)
            if (right - left) * self.largest < self._tolerance:
                break
            t = cubic_minimum(ends[0], ends[1], left, right)
            margin = 0.1 * (right - left)
            is_close = bool(min(right - t, t - left) < margin)
            if is_close and (was_close or not left < t < right):
                # Twice in a row, the minimum is close to an end, so the bracket hardly shrinks: move away from the end.
                t = right - margin if right - t < t - left else left + margin
                is_close = False
            was_close = is_close
            point = self._at(t)
            if self._is_high(point) or point.loss >= ends[low].loss:
                ends[1 - low] = point
                low = _lower(ends)
            elif self._is_flat(point):
                return point
            else:
                if point.slope * (ends[1 - low].t - ends[low].t) >= 0:
                    ends[1 - low] = ends[low]
                ends[low] = point
        return ends[low]


def _lower(ends: list[Point]) -> int:
    return 0 if ends[0].loss <= ends[1].loss else 1


def cubic_minimum(a: Point, b: Point, lowest: Scalar, highest: Scalar) -> Scalar:
    """Return the minimum, clipped to bounds, of the cubic through two points with given slopes."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square >= 0:
        d2 = square.sqrt()
        bottom = b.slope - a.slope + 2 * d2
        if bottom != 0:
            t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / bottom)
            return min(max(t, lowest), highest)
    return (lowest + highest) / 2
