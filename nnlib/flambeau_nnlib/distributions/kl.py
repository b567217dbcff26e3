"""The Kullback-Leibler divergence between two distributions. The formula is chosen by the pair of their types.

>>> D = torch.distributions
>>> D.kl_divergence(D.Normal(0., 1.), D.Normal(1., 1.))
tensor(0.5000)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import flambeau as torch
from flambeau import Tensor

from ..nn import functional as F
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler_gamma

__all__ = ["kl_divergence", "register_kl"]

KL = Callable[[Any, Any], Tensor]
KLFunction = TypeVar("KLFunction", bound=KL)
AnyMultivariateNormal = MultivariateNormal | LowRankMultivariateNormal

_KL_REGISTRY: dict[tuple[type, type], KL] = {}
_KL_MEMOIZE: dict[tuple[type, type], KL | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[KLFunction], KLFunction]:
    """Return a decorator that registers a function of `(p, q)` for `kl_divergence`.

    The function also serves subclasses of both types. `kl_divergence` uses the function of the most specific pair, and
    warns if two pairs are equally specific.

    Args:
        type_p: the class of the first distribution.
        type_q: the class of the second distribution.

    Raises:
        TypeError: an argument is not a class. Subclasses of `Distribution` are not required.

    Example:
        >>> class Certain(torch.distributions.Normal): ...
        >>> @torch.distributions.register_kl(Certain, Certain)
        ... def kl_certain_certain(p, q):
        ...     return torch.zeros(p.batch_shape)
        >>> torch.distributions.kl_divergence(Certain(0., 1.), Certain(0., 1.))
        tensor(0.)
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a class but got {cls!r}")

    def decorator(function: KLFunction) -> KLFunction:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Compute the Kullback-Leibler divergence `KL(p || q)`: the mean of `log p(x) - log q(x)` for x drawn from p, in nats.

    Args:
        p: the distribution from which x is drawn.
        q: the distribution to compare with, of the same event shape.

    Returns:
        a tensor whose shape is the broadcast shape of the batch shapes of p and q.

    Raises:
        NotImplementedError: no function is registered for the types of p and q; see `register_kl`.

    Example:
        >>> D = torch.distributions
        >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(torch.tensor([0.0, 1.0]), 1.0))
        tensor([0.0000, 0.5000])
    """
    types = type(p), type(q)
    if types not in _KL_MEMOIZE:
        _KL_MEMOIZE[types] = _resolve(*types)
    function = _KL_MEMOIZE[types]
    if function is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return function(p, q)


def _resolve(type_p: type, type_q: type) -> KL | None:
    """Return the function registered for the most specific pair of base classes, or None."""
    pairs = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    depth_p, depth_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(pairs, key=lambda pair: (depth_p(pair[0]), depth_q(pair[1])))
    by_q = min(pairs, key=lambda pair: (depth_q(pair[1]), depth_p(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def _register_each(types_p: tuple[type, ...], type_q: type) -> Callable[[KLFunction], KLFunction]:
    def decorator(function: KLFunction) -> KLFunction:
        for type_p in types_p:
            register_kl(type_p, type_q)(function)
        return function

    return decorator


# --- within a family ---


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """Compute the KL divergence as the Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    log_normalizer, terms = p._natural_moments()
    divergence = q._log_normalizer(*q._natural_params) - log_normalizer
    batch_ndims = max(len(p.batch_shape), len(q.batch_shape))
    for (p_param, moment), q_param in zip(terms, q._natural_params, strict=True):
        term = (q_param - p_param) * moment
        divergence = divergence - _sum_rightmost(term, term.dim() - batch_ndims)
    return divergence


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    def term(p_prob: Tensor, q_prob: Tensor, log_ratio: Tensor) -> Tensor:
        result: Tensor = torch.where(p_prob == 0, 0.0, torch.where(q_prob == 0, math.inf, p_prob * log_ratio))
        return result

    success = term(p.probs, q.probs, F.softplus(-q.logits) - F.softplus(-p.logits))
    return success + term(1 - p.probs, 1 - q.probs, F.softplus(q.logits) - F.softplus(p.logits))


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    result: Tensor = torch.where(p.total_count > q.total_count, math.inf, divergence)
    return result


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = torch.where(q.probs == 0, math.inf, p.probs * (p.logits - q.logits))
    divergence: Tensor = torch.where(p.probs == 0, 0.0, terms).sum(-1)
    return divergence


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    log_p = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    log_q = q._cont_bern_log_norm() + torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + log_p - log_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    p_total = p.concentration.sum(-1, keepdim=True)
    mean_log = p.concentration.digamma() - p_total.digamma()
    log_ratio = q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration)
    return log_ratio + ((p.concentration - q.concentration) * mean_log).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch.lgamma(q.concentration)
        - torch.lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch.digamma(p.concentration)
        + (q.rate - p.rate) * p.mean
    )


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + torch.exp(shift + (1 + ratio).lgamma()) + (ratio - 1) * _euler_gamma - 1


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent[Distribution], q: Independent[Distribution]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independent distributions with different reinterpreted_batch_ndims, "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}, is not implemented"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return distance / q.scale + ratio * torch.exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    variance_ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (variance_ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - variance_ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _where_supported(p.scale >= q.scale, divergence)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between transformed distributions is only implemented for equal transforms and event shapes"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return _where_supported((q.low <= p.low) & (p.high <= q.high), divergence)


# --- multivariate normal distributions, of full or low-rank covariance ---


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_multivariate_multivariatenormal(p: AnyMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_event_shapes(p, q)
    factor = q._unbroadcasted_scale_tril
    trace: Tensor | float = 0.0
    for p_factor in _covariance_factors(p):
        trace = trace + torch.linalg.solve_triangular(factor, p_factor, upper=False).pow(2).sum((-2, -1))
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    n: int = p.event_shape[0]
    return q._half_log_det() - _half_log_det(p) + 0.5 * (trace + distance - n)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariate_lowrankmultivariatenormal(p: AnyMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_event_shapes(p, q)
    precision_factor = q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    whitened = q._whitened_factor()
    trace: Tensor | float = 0.0
    for p_factor in _covariance_factors(p):
        trace = trace + (p_factor * precision_factor).pow(2).sum((-2, -1)) - (whitened @ p_factor).pow(2).sum((-2, -1))
    distance = q._mahalanobis(q.loc - p.loc)
    n: int = p.event_shape[0]
    return 0.5 * (q._log_det() + trace + distance - n) - _half_log_det(p)


def _check_event_shapes(p: Distribution, q: Distribution) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )


def _covariance_factors(p: AnyMultivariateNormal) -> tuple[Tensor, ...]:
    """Return one or two matrices A. The sum of their products `A @ A.mT` is the covariance of p."""
    if isinstance(p, MultivariateNormal):
        return (p._unbroadcasted_scale_tril,)
    return p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()


def _half_log_det(p: AnyMultivariateNormal) -> Tensor:
    return p._half_log_det() if isinstance(p, MultivariateNormal) else 0.5 * p._log_det()


# --- between different families: KL(p || q) = -H(p) - E[log q(x)] for x from p ---


def _where_supported(inside: Tensor, divergence: Tensor) -> Tensor:
    """Return `divergence`, or infinity where p has mass outside the support of q."""
    result: Tensor = torch.where(inside, divergence, math.inf)
    return result


def _mean_log(p: Beta | Exponential | Pareto | Uniform) -> Tensor:
    """Return the mean of log x, for a positive variable x with distribution p."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - _euler_gamma
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_log_uniform(p.low, p.high)


def _mean_log_uniform(low: Tensor, high: Tensor) -> Tensor:
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


def _log_moment(p: Exponential | Gamma | Normal | Uniform, scale: Tensor) -> Tensor:
    """Return the logarithm of the mean of `exp(-x / scale)`, for a variable x with distribution p."""
    if isinstance(p, Exponential):
        return -torch.log1p(1 / (p.rate * scale))
    if isinstance(p, Gamma):
        return -p.concentration * torch.log1p(1 / (p.rate * scale))
    if isinstance(p, Normal):
        return -p.loc / scale + 0.5 * (p.scale / scale).pow(2)
    width = (p.high - p.low) / scale
    return -p.low / scale + torch.log(-torch.expm1(-width) / width)


@_register_each((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal)
def _kl_normal(p: Distribution, q: Normal) -> Tensor:
    distance = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return -p.entropy() + 0.5 * (distance + math.log(2 * math.pi)) + q.scale.log()


@_register_each((Beta, ContinuousBernoulli, Gamma, Pareto), Exponential)
def _kl_exponential(p: Distribution, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return _where_supported(p.low >= 0, _kl_exponential(p, q))


@_register_each((Beta, Exponential, Pareto), Gamma)
def _kl_gamma(p: Beta | Exponential | Pareto | Uniform, q: Gamma) -> Tensor:
    log_normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + log_normalizer - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    return _where_supported(p.low >= 0, _kl_gamma(p, q))


@_register_each((Exponential, Gamma, Normal, Uniform), Gumbel)
def _kl_gumbel(p: Exponential | Gamma | Normal | Uniform, q: Gumbel) -> Tensor:
    shift = q.loc / q.scale
    return -p.entropy() + q.scale.log() + p.mean / q.scale - shift + torch.exp(shift + _log_moment(p, q.scale))


@register_kl(Beta, ContinuousBernoulli)
def _kl_continuous_bernoulli(p: Beta | Uniform, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    return _where_supported((p.low > 0) & (p.high < 1), _kl_continuous_bernoulli(p, q))


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    log_normalizer = q._log_normalizer(q.concentration1, q.concentration0)
    mean_log, mean_log_rest = _mean_log(p), _mean_log_uniform(1 - p.high, 1 - p.low)
    cross = (q.concentration1 - 1) * mean_log + (q.concentration0 - 1) * mean_log_rest - log_normalizer
    return _where_supported((p.low >= 0) & (p.high <= 1), -p.entropy() - cross)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    log_normalizer = q.alpha.log() + q.alpha * q.scale.log()
    divergence = (q.alpha + 1) * _mean_log(p) - log_normalizer - p.entropy()
    return _where_supported(p.low >= q.scale, divergence)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    return _where_supported((q.low <= 0) & (q.high >= 1), -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    return _where_supported((q.low < 0) & (q.high > 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    z = (p.loc - q.loc) / (math.sqrt(2) * p.scale)
    mean_distance = math.sqrt(2) * p.scale * (torch.exp(-z.pow(2)) / math.sqrt(math.pi) + z * torch.erf(z))
    return -p.entropy() + torch.log(2 * q.scale) + mean_distance / q.scale


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# --- pairs where the support of p is never inside the support of q ---


def _kl_infinite(p: Distribution, q: Distribution) -> Tensor:
    return torch.full_like(p.mean, math.inf)


_register_each((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal), Pareto)(_kl_infinite)
_register_each((Exponential, Gamma, Gumbel, Laplace, Normal, Pareto), Beta)(_kl_infinite)
_register_each((Exponential, Gamma, Gumbel, Laplace, Normal, Pareto), ContinuousBernoulli)(_kl_infinite)
_register_each((Exponential, Gamma, Gumbel, Laplace, Normal, Pareto), Uniform)(_kl_infinite)
_register_each((Gumbel, Laplace, Normal), Exponential)(_kl_infinite)
_register_each((Gumbel, Laplace, Normal), Gamma)(_kl_infinite)
_register_each((Poisson,), Bernoulli)(_kl_infinite)
_register_each((Poisson,), Binomial)(_kl_infinite)
