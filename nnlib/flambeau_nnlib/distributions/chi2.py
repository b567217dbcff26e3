"""The chi-squared distribution."""

from __future__ import annotations

from flambeau import Tensor

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal variables: `Gamma(df / 2, 1 / 2)`.

    Args:
        df: the degrees of freedom.

    Example:
        >>> import flambeau as torch
        >>> torch.distributions.Chi2(3.).variance
        tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
