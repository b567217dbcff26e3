"""`Gamma`, a distribution of positive numbers with a shape parameter and a rate."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution, with density proportional to `x**(concentration - 1) * exp(-rate * x)`.

    Its mean is `concentration / rate`. `rsample` differentiates implicitly through the cumulative distribution function, as in
    Figurnov, Mohamed and Mnih, [Implicit Reparameterization Gradients](https://arxiv.org/abs/1805.08498), 2018.

    Args:
        concentration: the shape parameter, often called alpha, positive.
        rate: the inverse of the scale, often called beta, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a nonnegative number.

    Example:
        >>> torch.distributions.Gamma(3., 2.).mean
        tensor(1.5000)
    """

    concentration: Tensor
    rate: Tensor
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_params(concentration=concentration, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        standard_gamma: Tensor = torch._standard_gamma(self.concentration.expand(shape))
        value = standard_gamma / self.rate.expand(shape)
        # Samples that underflow to 0 are outside the support. Clamp them in place without affecting the gradient.
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_sample(value)
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1 - a) * torch.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
