"""`Dirichlet`, a distribution of probability vectors, and the gradient of its samples."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

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
        sample: Tensor = torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))
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


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """Return the gradient of a sample `x` with respect to the concentration."""
    total = concentration.sum(-1, keepdim=True).expand_as(concentration)
    slope: Tensor = torch._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, keepdim=True))
