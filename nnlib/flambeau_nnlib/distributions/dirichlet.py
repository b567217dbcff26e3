"""`Dirichlet`, a distribution of probability vectors, and the gradient of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd import Function

from ..nn import functional as F
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution over probability vectors of length K, with density proportional to `prod(x**(a - 1))`.

    Its mean is `a / sum(a)`. `rsample` differentiates implicitly through the marginal cumulative distribution functions, as in
    Figurnov, Mohamed and Mnih, [Implicit Reparameterization Gradients](https://arxiv.org/abs/1805.08498), 2018.

    Args:
        concentration: the parameters a, positive, of shape `(..., K)`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `concentration` without its last dimension.
        - Event: `(K,)`, nonnegative numbers that sum to 1.

    Example:
        >>> torch.distributions.Dirichlet(torch.tensor([1., 1., 2.])).mean
        tensor([0.2500, 0.2500, 0.5000])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0)
        mode = excess / excess.sum(-1, keepdim=True)
        # If all concentrations are below 1, the density is unbounded at every corner. As in PyTorch, the mode is then the
        # first corner: all entries of `mode` are NaN, and `argmax` returns 0.
        corner = F.one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        result: Tensor = torch.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)
        return result

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        sample: Tensor = _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return torch.xlogy(self.concentration - 1, value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self) -> Tensor:
        concentration, total = self.concentration, self.concentration.sum(-1)
        n: int = concentration.shape[-1]
        return (
            self._log_normalizer(concentration)
            - (n - total) * torch.digamma(total)
            - ((concentration - 1) * torch.digamma(concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))


class _Dirichlet(Function):
    """Draw from a Dirichlet distribution, differentiably with respect to the concentration."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x: Tensor = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """Return the gradient with respect to the concentration.

    Raising one concentration moves the corresponding entry of x and rescales the others.
    """
    concentration = concentration.double()
    remaining = concentration.sum(-1, keepdim=True) - concentration
    slope = _beta_slope(x.double(), concentration, remaining).to(x.dtype)
    return slope * (grad_output - (x * grad_output).sum(-1, keepdim=True))


def _beta_slope(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return `dx/da / (1 - x)` for a draw x from Beta(a, b).

    This is `-(dF/da) / (dF/dx) / (1 - x)` for the cumulative distribution function F.

    dF/da is the integral of `(log t - E[log t]) * density(t)` over [0, x], or minus the integral over [x, 1]. The
    interval that does not contain the mean is used, where the density is monotone. With `t = x * exp(-s)`, or
    `1 - t = (1 - x) * exp(-s)`, the integrand decays exponentially in s.
    """
    is_low = x * (a + b) < a
    u = torch.where(is_low, x, 1 - x).clamp(min=torch.finfo(x.dtype).tiny).unsqueeze(-1)
    near, far = torch.where(is_low, a, b).unsqueeze(-1), torch.where(is_low, b, a).unsqueeze(-1)
    odds = u / (1 - u)
    decay = near - (far - 1).clamp(min=0) * odds
    curvature = (far - 1).clamp(min=0) * odds / (1 - u)
    s, weight = _double_exponential_rule(1 / torch.maximum(decay, curvature.sqrt()))
    v = u * torch.exp(-s)
    relative_density = torch.exp(-near * s + (far - 1) * (torch.log1p(-v) - torch.log1p(-u)))
    log_t = torch.where(is_low.unsqueeze(-1), torch.log(u) - s, torch.log1p(-v))
    mean_log = (torch.digamma(a) - torch.digamma(a + b)).unsqueeze(-1)
    integral = (relative_density * (log_t - mean_log) * weight).sum(-1)
    slope: Tensor = torch.where(is_low, -odds.squeeze(-1) * integral, integral)
    return slope


def _double_exponential_rule(scale: Tensor) -> tuple[Tensor, Tensor]:
    """Return nodes and weights, along a new last dimension, to integrate functions that decay like `exp(-x / scale)` over (0, ∞).

    Takahasi and Mori, "Double exponential formulas for numerical integration", 1974.
    """
    step = 0.25
    t = torch.arange(-3.5, 6.5, step, dtype=scale.dtype, device=scale.device)
    nodes = scale * torch.exp(t - torch.exp(-t))
    return nodes, nodes * (1 + torch.exp(-t)) * step
