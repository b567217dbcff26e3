"""Products with logarithms (`xlogy`, `xlog1py`), and `logit`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...engine.calls.facts import Kind
from ...engine.calls.op import op
from .double_precision import in_double


def _product_with(log: str) -> Callable[..., Any]:
    def forward(xp: Any, input: Any, other: Any) -> Any:
        zero = (input == 0) & (other == other)
        return xp.where(zero, 0.0, input * getattr(xp, log)(xp.where(zero, 1.0, other)))

    return forward


xlogy = op(
    "xlogy", _product_with("log"),
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="""Return `input * log(other)`; it is 0 where `input` is 0, unless `other` is NaN.

    Args:
        input: the factors, a tensor or a number.
        other: the numbers whose logarithms are taken, a tensor or a number.

    >>> torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """,
    input=lambda F, g, input, other: (
        F.masked(g, (input != 0) | (other > 0)) * F.log(F.where((input == 0) & (other <= 0), 1.0, other))),
    other=lambda F, g, input, other: g * input / other,
    schema=(
        "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
        "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
        "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    ),
)  # fmt: skip
xlog1py = op(
    "special_xlog1py", _product_with("log1p"),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    doc="""Return `input * log1p(other)`; it is 0 where `input` is 0, unless `other` is NaN.

    Args:
        input: the factors, a tensor or a number.
        other: the numbers `x` for which `log(1 + x)` is taken, a tensor or a number.

    >>> torch.special.xlog1py(torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 1.0]))
    tensor([0.0000, 0.6931])
    """,
    input=lambda F, g, input, other: (
        F.masked(g, (input != 0) | (other > -1)) * F.log1p(F.where((input == 0) & (other <= -1), 0.0, other))),
    other=lambda F, g, input, other: g * input / (other + 1),
)  # fmt: skip


@in_double
def _log_odds(xp: Any, input: Any) -> Any:
    return xp.log(input / (1 - input))


def _logit_forward(xp: Any, input: Any, /, eps: float | None = None) -> Any:
    return _log_odds(xp, input if eps is None else xp.clip(input, eps, 1 - eps))


def _logit_grad(F: Any, g: Any, input: Any, eps: float | None) -> Any:
    low = 0.0 if eps is None else eps
    outside = (input < low) | (input > 1 - low)
    value = math.nan if eps is None else 0.0
    return F.where(outside, value, g / F.where(outside, 1.0, input * (1 - input)))


logit = op(
    "logit", _logit_forward,
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="""Return `log(x / (1 - x))`, the inverse of sigmoid; with `eps`, `x` is clamped to `[eps, 1 - eps]`.

    Args:
        input: a tensor of a real dtype.
        eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
        out: a tensor that the result is written to.

    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """,
    input=_logit_grad,
    schema="logit(Tensor self, float? eps=None) -> Tensor",
)  # fmt: skip
