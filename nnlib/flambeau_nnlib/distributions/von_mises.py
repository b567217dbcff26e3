"""`VonMises`, a distribution of angles that concentrate around a mean angle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution of angles, with density proportional to `exp(concentration * cos(x - loc))`.

    `log_prob` accepts any angle. `variance` is the circular variance. Samples are drawn by rejection sampling: Best and
    Fisher, "Efficient Simulation of the von Mises Distribution", 1979.

    Args:
        loc: the mean angle, in radians.
        concentration: the concentration of angles around `loc`, positive; values near 0 give nearly uniform angles.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, an angle in radians; samples are in [-π, π).

    Example:
        >>> torch.distributions.VonMises(0., 1.).log_prob(torch.tensor(0.))
        tensor(-1.0738)
    """

    loc: Tensor
    concentration: Tensor
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_params(loc=loc, concentration=concentration), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        log_bessel = self.concentration + torch.special.i0e(self.concentration).log()
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter r, in float64, of the wrapped Cauchy distribution from which rejection sampling draws its proposals."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r: Tensor = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        return r

    @torch.no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        loc, kappa, r = self.loc.double(), self.concentration.double(), self._proposal_r
        angle = torch.zeros(shape, dtype=loc.dtype, device=loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
        while not done.all():
            u1, u2, u3 = torch.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            angle = torch.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
            done = done | accept
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
