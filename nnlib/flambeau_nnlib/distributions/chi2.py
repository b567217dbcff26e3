"""`Chi2`, the distribution of a sum of squares of standard normal variables."""

from __future__ import annotations

from flambeau import Tensor

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of `df` independent standard normal variables.

    It is `Gamma(df / 2, 1 / 2)`.

    Args:
        df: the degrees of freedom, positive; not necessarily an integer.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `df`.
        - Event: `()`, a nonnegative number.

    Example:
        >>> torch.distributions.Chi2(3.).variance
        tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
