"""Private functions of `torch.optim.lbfgs`: the line search of L-BFGS for functions of a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor

from ..optim.line_search import CURVATURE, SUFFICIENT_DECREASE, Point, StrongWolfe, cubic_minimum

__all__: list[str] = []


def _strong_wolfe(
    obj_func: Callable[[Tensor, Any, Tensor], tuple[Any, Tensor]],
    x: Tensor,
    t: Any,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Tensor,
    c1: float = SUFFICIENT_DECREASE,
    c2: float = CURVATURE,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Tensor, Any, int]:
    """Search along a line for a point that satisfies the strong Wolfe conditions.

    Args:
        obj_func: returns the value and the gradient at `x + t * d`, given `x`, `t` and `d`.
        x: a vector.
        t: the distance to try first.
        d: the direction.
        f, g, gtd: the value, the gradient and the slope along the line at `x`.
        c1, c2: the constants of sufficient decrease and of curvature.
        tolerance_change: the largest change of an element that ends the search.
        max_ls: maximum number of points to evaluate after the first.

    Returns:
        The value, the gradient and the distance of the point, and the number of evaluations.
    """

    def evaluate(distance: Any) -> Point:
        value, gradient = obj_func(x, distance, d)
        return Point(distance, value, gradient, gradient.dot(d))

    options = {"sufficient_decrease": c1, "curvature": c2, "tolerance": tolerance_change}
    search = StrongWolfe(evaluate, Point(0, f, g, gtd), d.abs().max(), max_ls, **options)
    distance, value, gradient, _ = search.search(t)
    return value, gradient, distance, search.evals


def _cubic_interpolate(x1: Any, f1: Any, g1: Tensor, x2: Any, f2: Any, g2: Tensor, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimum of the cubic through two points `x1` and `x2` with values `f1`, `f2` and slopes `g1`, `g2`.

    It is clipped to `bounds`, by default the two points.
    """
    lowest, highest = sorted((x1, x2)) if bounds is None else bounds
    return cubic_minimum(Point(x1, f1, g1, g1), Point(x2, f2, g2, g2), lowest, highest)
