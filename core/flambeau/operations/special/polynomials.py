"""Orthogonal polynomials, computed by three-term recurrences; the degree may be a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.calls.facts import Kind
from ...engine.calls.op import op
from ...engine.calls.record import Out
from ..indexing.standard import highest
from .double_precision import in_double

__all__ = ["POLYNOMIALS"]

Step = Callable[[int, Any, Any, Any], Any]  # a function of (k, x, P_k, P_{k-1}) that returns P_{k+1}


_CHECKED = 256  # number of steps after which the recurrence ends if nothing is left to compute


def _evaluate(xp: Any, x: Any, n: Any, first: Any, step: Step) -> Any:
    """Evaluate the polynomial of degree `n` at `x`.

    `n` is rounded towards 0.  For a negative degree, or one that is no 64-bit integer, the result is 0.
    """
    x, n = xp.broadcast_arrays(x, xp.trunc(n))
    n = xp.where(xp.abs(n) < 2.0**63, n, -1.0)
    before, now = xp.ones_like(x), first
    result = xp.where(n == 0, before, xp.where(n == 1, now, 0.0))
    for k in range(1, highest(xp, n)):
        before, now = now, step(k, x, now, before)
        result = xp.where(n == k + 1, now, result)
        if k % _CHECKED == 0 and xp.all((n <= k + 1) | (now != now)):  # values that have become NaN do not change
            result = xp.where(n > k + 1, now, result)
            break
    return xp.where((n >= 0) & (x != x), x, result)


def _chebyshev_step(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


_FAMILIES: dict[str, tuple[str, Callable[[Any], Any], Step]] = {  # name: (description, polynomial of degree 1, recurrence)
    "chebyshev_polynomial_t": ("Chebyshev polynomial of the first kind", lambda x: x, _chebyshev_step),
    "chebyshev_polynomial_u": ("Chebyshev polynomial of the second kind", lambda x: 2 * x, _chebyshev_step),
    "chebyshev_polynomial_v": ("Chebyshev polynomial of the third kind", lambda x: 2 * x - 1, _chebyshev_step),
    "chebyshev_polynomial_w": ("Chebyshev polynomial of the fourth kind", lambda x: 2 * x + 1, _chebyshev_step),
    "hermite_polynomial_h": (
        "physicist's Hermite polynomial", lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before)),
    "hermite_polynomial_he": (
        "probabilist's Hermite polynomial", lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": (
        "Laguerre polynomial", lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
    "legendre_polynomial_p": (
        "Legendre polynomial", lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
}  # fmt: skip


def _polynomial(name: str, called: str, first: Callable[[Any], Any], step: Step, shifted: bool) -> Any:
    @in_double
    def forward(xp: Any, x: Any, n: Any) -> Any:
        x = 2 * x - 1 if shifted else x
        return _evaluate(xp, x, n, first(xp.broadcast_arrays(x, n)[0]), step)

    where = " of `2 * x - 1`" if shifted else ""
    return op(
        f"special_{name}",
        lambda xp, x, n: forward(xp, x, n),
        kind=Kind.POINTWISE,
        promote="float",
        dtypes="real",
        public=False,
        method=False,
        out=Out.UNKNOWN_TO_AUTOGRAD,
        doc=f"""Return the {called} of degree `n`{where}.

        Args:
            x: real numbers, a tensor or a number.
            n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
        """,
    )


POLYNOMIALS = {name: _polynomial(name, *family, shifted=False) for name, family in _FAMILIES.items()}
POLYNOMIALS |= {
    f"shifted_{name}": _polynomial(f"shifted_{name}", *family, shifted=True)
    for name, family in _FAMILIES.items() if name.startswith("chebyshev")
}  # fmt: skip
