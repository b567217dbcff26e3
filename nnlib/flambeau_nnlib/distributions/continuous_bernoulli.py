"""`ContinuousBernoulli`, a distribution of numbers in [0, 1], such as pixel intensities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from . import constraints
from .exp_family import ExponentialFamily
from .probs_logits import ProbsLogits
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsLogits, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1], with density proportional to `probs**x * (1 - probs)**(1 - x)`.

    It models pixel intensities in autoencoders, for example.

    Loaiza-Ganem and Cunningham, [The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders](https://arxiv.org/abs/1907.06845), 2019.

    Args:
        probs: the parameter, in (0, 1). It is not the mean.
        logits: the log-odds `log(probs / (1 - probs))`. Give exactly one of `probs` and `logits`.
        lims: an interval of `probs` around 0.5, where the formulas are unstable and Taylor series replace them.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `probs` or `logits`.
        - Event: `()`, a number in [0, 1].

    Example:
        >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._specified(probs, logits)
        (value,) = broadcast_all(value)
        if name == "probs":
            if validate_args is not None and not self.arg_constraints["probs"].check(value).all():
                raise ValueError("The parameter probs has invalid values")
            value = clamp_probs(value)
        self._lims = lims
        super().__init__(self._keep_params(**{name: value}), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _by_region(self, formula: Tensor, taylor: Tensor) -> Tensor:
        """Return `formula` where it is numerically stable, and its Taylor series around `probs` = 0.5 elsewhere."""
        result: Tensor = torch.where(self._is_stable, formula, taylor)
        return result

    @property
    def _is_stable(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    @property
    def _stable_probs(self) -> Tensor:
        """`probs`, but the interval's lower limit where formulas are unstable, to keep nan out of values and gradients."""
        probs: Tensor = torch.where(self._is_stable, self.probs, self._lims[0])
        return probs

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the normalising constant."""
        probs = self._stable_probs
        formula = torch.log(((torch.log1p(-probs) - torch.log(probs)) / (1 - 2 * probs)).abs())
        x = (self.probs - 0.5).pow(2)
        return self._by_region(formula, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        probs, x = self._stable_probs, self.probs - 0.5
        formula = probs / (2 * probs - 1) + 1 / (torch.log1p(-probs) - torch.log(probs))
        return self._by_region(formula, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        probs, x = self._stable_probs, (self.probs - 0.5).pow(2)
        formula = probs * (probs - 1) / (1 - 2 * probs).pow(2) + 1 / (torch.log1p(-probs) - torch.log(probs)).pow(2)
        return self._by_region(formula, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        probs = self._stable_probs
        formula = (probs.pow(value) * (1 - probs).pow(1 - value) + probs - 1) / (2 * probs - 1)
        inside = self._by_region(formula, value)
        cdf: Tensor = torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, inside))
        return cdf

    def icdf(self, value: Tensor) -> Tensor:
        probs = self._stable_probs
        log_failure = torch.log1p(-probs)
        formula = (torch.log1p(-probs + value * (2 * probs - 1)) - log_failure) / (torch.log(probs) - log_failure)
        return self._by_region(formula, value)

    def entropy(self) -> Tensor:
        log_failure, log_success = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log_failure - log_success) - self._cont_bern_log_norm() - log_failure

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        is_stable = (x <= low) | (x > high)
        stable = torch.where(is_stable, x, low)
        formula = torch.log(torch.expm1(stable).abs()) - torch.log(stable.abs())
        log_normalizer: Tensor = torch.where(is_stable, formula, 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)
        return log_normalizer
