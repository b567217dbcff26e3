"""`Geometric`, the distribution of the number of failures before the first success."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from . import constraints
from .probs_logits import ProbsLogits
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsLogits):
    """The geometric distribution: the number of failures before the first success in independent trials.

    Args:
        probs: the probability of a success in each trial, in (0, 1].
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits`.
        - Event: `()`, a nonnegative integer.

    Example:
        >>> torch.distributions.Geometric(torch.tensor(0.25)).mean
        tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._specified(probs, logits)
        super().__init__(self._keep_params(**{name: value}), validate_args=validate_args)
        if self._validate_args and name == "probs" and not (self.probs > 0).all():
            value = self.probs
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n"
                f"{value.detach()[value <= 0]}"
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torch.no_grad():
            tiny = torch.finfo(self.probs.dtype).tiny
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failure: Tensor = torch.where((probs == 1) & (value == 0), 0.0, probs)  # so that 0 * log(1 - 1) is 0, not NaN
        return value * (-failure).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
