"""Differentiable transforms of random variables, with the log-determinants of their Jacobians.

>>> t = torch.distributions.ComposeTransform([torch.distributions.ExpTransform(),
...                                           torch.distributions.AffineTransform(1., 2.)])
>>> y = t(torch.zeros(2))
>>> y, t.inv(y)
(tensor([3., 3.]), tensor([0., 0.]))
"""

from __future__ import annotations

from .compose import ComposeTransform, IndependentTransform, identity_transform
from .elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .multivariate import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from .piecewise import CatTransform, StackTransform
from .transform import Transform, _clipped_sigmoid, _InverseTransform  # noqa: F401 (for other libraries' transforms)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
