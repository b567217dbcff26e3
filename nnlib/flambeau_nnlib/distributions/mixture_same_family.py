"""`MixtureSameFamily`, a weighted mixture of distributions of the same type."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of K distributions from one family. A draw picks a component by a `Categorical` and samples from it.

    Args:
        mixture_distribution: a `Categorical` over K components.
        component_distribution: the components, a distribution whose last batch dimension has size K.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the batch shape of `component_distribution` without its last dimension.
        - Event: the event shape of `component_distribution`.

    Raises:
        ValueError: an argument is not a `Categorical` or a `Distribution` as required, or their shapes do not match.

    Example:
        >>> D = torch.distributions
        >>> pick = D.Categorical(torch.tensor([0.25, 0.75]))
        >>> D.MixtureSameFamily(pick, D.Normal(torch.tensor([0., 4.]), 1.)).mean
        tensor(3.)
    """

    arg_constraints = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixture_shape = mixture_distribution.batch_shape
        *leading, n_components = component_distribution.batch_shape
        batch_shape = torch.Size(leading)
        if any(1 != i != j != 1 for i, j in zip(reversed(mixture_shape), reversed(batch_shape), strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with "
                f"`component_distribution.batch_shape`({batch_shape})"
            )
        n_picks = mixture_distribution.logits.shape[-1]
        if n_picks != n_components:
            raise ValueError(
                f"`mixture_distribution component` ({n_picks}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({n_components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The categorical distribution over the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The component distributions, batched along the last batch dimension."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    def _average(self, of_components: Tensor) -> Tensor:
        """Compute the mean over components, weighted by their probabilities."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * len(self._event_shape))
        return (probs * of_components).sum(self._component_dim)

    @property
    def mean(self) -> Tensor:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        components = self._component_distribution
        deviation = components.mean - self.mean.unsqueeze(self._component_dim)
        return self._average(components.variance + deviation.pow(2))

    def cdf(self, x: Tensor) -> Tensor:
        cdf = self._component_distribution.cdf(x.unsqueeze(self._component_dim))
        return (cdf * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._check_sample(x)
        log_prob = self._component_distribution.log_prob(x.unsqueeze(self._component_dim))
        return torch.logsumexp(log_prob + self._mixture_distribution.logits.log_softmax(-1), dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torch.no_grad():
            picked = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            dim = picked.dim()
            index = picked.reshape(picked.shape + (1,) * (1 + len(self._event_shape)))
            return drawn.gather(dim, index.expand((*picked.shape, 1, *self._event_shape))).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
