"""Distributions, compared with numerical integration, summation, finite differences and sample moments."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from flambeau.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

import flambeau as torch
from flambeau.distributions import constraints

D = torch.distributions


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def numpy(tensor):
    return np.asarray(tensor.detach().tolist())


# name -> (distribution, interval that contains nearly all of its probability)
CONTINUOUS = {
    "Beta": (lambda: D.Beta(t(2.5), t(3.5)), (0, 1)),
    "Chi2": (lambda: D.Chi2(t(4.0)), (0, 80)),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(t(0.2)), (0, 1)),
    "ContinuousBernoulli near half": (lambda: D.ContinuousBernoulli(t(0.5003)), (0, 1)),
    "Exponential": (lambda: D.Exponential(t(1.5)), (0, 30)),
    "FisherSnedecor": (lambda: D.FisherSnedecor(t(6.0), t(40.0)), (0, 60)),
    "Gamma": (lambda: D.Gamma(t(2.5), t(1.5)), (0, 40)),
    "GeneralizedPareto": (lambda: D.GeneralizedPareto(t(0.5), t(2.0), t(-0.4)), (0.5, 5.5)),
    "GeneralizedPareto exponential": (lambda: D.GeneralizedPareto(t(0.5), t(1.0), t(0.0)), (0.5, 40)),
    "GeneralizedPareto uniform": (lambda: D.GeneralizedPareto(t(0.5), t(2.0), t(-1.0)), (0.5, 2.5)),
    "Gumbel": (lambda: D.Gumbel(t(0.5), t(0.7)), (-2.5, 20)),
    "HalfNormal": (lambda: D.HalfNormal(t(1.3)), (0, 15)),
    "InverseGamma": (lambda: D.InverseGamma(t(20.0), t(10.0)), (1e-3, 10)),
    "Kumaraswamy": (lambda: D.Kumaraswamy(t(2.0), t(3.0)), (0, 1)),
    "Laplace": (lambda: D.Laplace(t(0.5), t(0.8)), (-30, 31)),
    "LogNormal": (lambda: D.LogNormal(t(0.1), t(0.3)), (1e-6, 12)),
    "Normal": (lambda: D.Normal(t(0.5), t(1.3)), (-12, 13)),
    "Pareto": (lambda: D.Pareto(t(1.0), t(12.0)), (1, 30)),
    "StudentT": (lambda: D.StudentT(t(30.0), t(0.5), t(1.2)), (-40, 41)),
    "Uniform": (lambda: D.Uniform(t(-1.0), t(2.0)), (-1, 2)),
    "VonMises": (lambda: D.VonMises(t(0.5), t(2.0)), (-math.pi, math.pi)),
    "Weibull": (lambda: D.Weibull(t(1.5), t(2.5)), (0, 8)),
    "RelaxedBernoulli": (lambda: D.RelaxedBernoulli(t(1.5), logits=t(0.3)), (0, 1)),
    "Transformed": (
        lambda: D.TransformedDistribution(D.Normal(t(0.0), t(0.5)), [D.AffineTransform(1.0, -1.0), D.TanhTransform()]),
        (-1, 1),
    ),
    "Mixture": (
        lambda: D.MixtureSameFamily(D.Categorical(t(1.0, 3.0)), D.Normal(t(-1.0, 2.0), t(0.5, 1.0))),
        (-9, 12),
    ),
}
DISCRETE = {
    "Bernoulli": (lambda: D.Bernoulli(t(0.3)), 1),
    "Binomial": (lambda: D.Binomial(7, t(0.3)), 7),
    "Categorical": (lambda: D.Categorical(t(1.0, 2.0, 3.0)), 2),
    "Geometric": (lambda: D.Geometric(t(0.3)), 150),
    "NegativeBinomial": (lambda: D.NegativeBinomial(t(3.5), t(0.4)), 150),
    "Poisson": (lambda: D.Poisson(t(3.5)), 60),
}
MULTIVARIATE = {
    "Dirichlet": lambda: D.Dirichlet(t(2.0, 3.0, 1.5)),
    "LogisticNormal": lambda: D.LogisticNormal(t(0.1, 0.2), t(0.5, 0.6)),
    "LowRankMultivariateNormal": lambda: D.LowRankMultivariateNormal(t(0.0, 1.0), t(1.0, 0.5)[:, None], t(1.0, 2.0)),
    "LKJCholesky": lambda: D.LKJCholesky(3, t(1.5).squeeze()),
    "Multinomial": lambda: D.Multinomial(5, t(1.0, 2.0, 3.0)),
    "MultivariateNormal": lambda: D.MultivariateNormal(t(0.0, 1.0), torch.stack([t(2.0, 0.5), t(0.5, 1.0)])),
    "OneHotCategorical": lambda: D.OneHotCategorical(t(1.0, 2.0, 3.0)),
    "OneHotCategoricalStraightThrough": lambda: D.OneHotCategoricalStraightThrough(t(1.0, 2.0, 3.0)),
    "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(t(0.7).squeeze(), t(1.0, 2.0, 3.0)),
    "Wishart": lambda: D.Wishart(t(5.0).squeeze(), torch.stack([t(2.0, 0.5), t(0.5, 1.0)])),
    "Cauchy": lambda: D.Cauchy(t(0.5), t(1.0)),
    "HalfCauchy": lambda: D.HalfCauchy(t(1.0)),
    "Independent": lambda: D.Independent(D.Normal(t(0.0, 1.0), t(1.0, 2.0)), 1),
}
EVERY = {
    **{name: build for name, (build, _) in (CONTINUOUS | DISCRETE).items()},
    **MULTIVARIATE,
}


def with_value(method, *args):
    """Return the result of a method, or None if the distribution does not implement it."""
    try:
        return method(*args)
    except NotImplementedError:
        return None


def integrate(values, x):
    return float(((values[1:] + values[:-1]) / 2 * np.diff(x)).sum())


def expected_moments(values, weight):
    """Return total probability, mean, variance and entropy by summation."""
    total, mean = weight.sum(), (weight * values).sum()
    entropy = -(weight * np.log(np.where(weight > 0, weight, 1))).sum()
    return total, mean, (weight * (values - mean) ** 2).sum(), entropy


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_and_moments(name):
    build, (low, high) = CONTINUOUS[name]
    distribution = build()
    u = (np.arange(20000) + 0.5) / 20000
    x = low + (high - low) * u**2 * (3 - 2 * u)  # a finer grid at the ends, where densities are steep
    slope = (high - low) * 6 * u * (1 - u) / 20000
    density = numpy(distribution.log_prob(torch.tensor(x, dtype=torch.float64)).exp())
    weight = density * slope
    mean = (weight * x).sum()
    assert weight.sum() == pytest.approx(1, abs=2e-4)
    if name not in ("VonMises", "RelaxedBernoulli", "Transformed"):
        assert distribution.mean.item() == pytest.approx(mean, abs=1e-3)
        assert distribution.variance.item() == pytest.approx((weight * (x - mean) ** 2).sum(), rel=5e-3)
        assert distribution.stddev.item() == pytest.approx(distribution.variance.item() ** 0.5)
    entropy = with_value(distribution.entropy)
    if entropy is not None:
        expected = -(weight * np.log(np.where(density > 0, density, 1))).sum()
        assert entropy.item() == pytest.approx(expected, abs=2e-3)
        assert distribution.perplexity().item() == pytest.approx(math.exp(entropy.item()))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_cdf_is_the_integral_and_icdf_its_inverse(name):
    build, (low, high) = CONTINUOUS[name]
    distribution = build()
    x = np.linspace(low, high, 40001)[1:-1]
    points = torch.tensor(x, dtype=torch.float64)
    cdf = with_value(distribution.cdf, points)
    if cdf is None:
        assert name in ("Beta", "FisherSnedecor", "RelaxedBernoulli", "StudentT", "VonMises")
        return
    cdf, density = numpy(cdf), numpy(distribution.log_prob(points).exp())
    assert integrate(density[2000:-2000], x[2000:-2000]) == pytest.approx(cdf[-2001] - cdf[2000], abs=1e-3)
    inside = (cdf > 1e-3) & (cdf < 1 - 1e-3)
    back = with_value(distribution.icdf, torch.tensor(cdf[inside], dtype=torch.float64))
    if back is not None:
        np.testing.assert_allclose(numpy(back), x[inside], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", DISCRETE)
def test_mass_and_moments(name):
    build, last = DISCRETE[name]
    distribution = build()
    values = torch.arange(last + 1, dtype=torch.float64)
    weight = numpy(distribution.log_prob(values).exp())
    total, mean, variance, expected_entropy = expected_moments(numpy(values), weight)
    assert total == pytest.approx(1)
    if name != "Categorical":
        assert distribution.mean.item() == pytest.approx(mean)
        assert distribution.variance.item() == pytest.approx(variance)
    assert distribution.mode.item() == weight.argmax()
    entropy = with_value(distribution.entropy)
    if entropy is not None:
        assert entropy.item() == pytest.approx(expected_entropy)
    if distribution.has_enumerate_support:
        assert numpy(distribution.enumerate_support()).ravel().tolist() == list(range(last + 1))


@pytest.mark.parametrize("name", EVERY)
def test_draws(name):
    torch.manual_seed(0)
    distribution = EVERY[name]()
    draws_an_index = any(part in name for part in ("Categorical", "Multinomial", "OneHot", "Mixture"))
    for shape in ((), (2, 3)) if draws_an_index else ((), (0,), (2, 3)):
        draws = distribution.sample(shape)
        assert draws.shape == torch.Size(shape) + distribution.batch_shape + distribution.event_shape
        assert not draws.requires_grad
        assert bool(distribution.support.check(draws).all())
        assert distribution.log_prob(draws).shape == torch.Size(shape) + distribution.batch_shape
    mean = with_value(lambda: distribution.mean)
    if mean is None or "Cauchy" in name or name in ("Categorical", "VonMises"):
        return
    draws = numpy(distribution.sample((4000,)))
    error = np.sqrt(numpy(distribution.variance) / 4000)
    assert (np.abs(draws.mean(0) - numpy(mean)) < 5 * error + 1e-9).all()
    np.testing.assert_allclose(draws.var(0), numpy(distribution.variance), rtol=0.25, atol=1e-6)


def test_von_mises_draws():
    torch.manual_seed(0)
    distribution = D.VonMises(torch.tensor(3.0), torch.tensor(2.0))
    draws = numpy(distribution.sample((4000,)))
    assert (np.abs(draws) <= math.pi).all()
    resultant = np.exp(1j * draws).mean()
    assert np.angle(resultant) == pytest.approx(3.0, abs=0.06)
    assert 1 - abs(resultant) == pytest.approx(distribution.variance.item(), abs=0.03)


def same_noise_difference(build, params, index, eps=1e-5):
    """Return the finite difference of the sum of 5 draws with respect to one parameter, with the seed fixed."""

    def total(shift):
        torch.manual_seed(1)
        moved = [p + shift * (i == index) for i, p in enumerate(params)]
        return build(*map(t, moved)).rsample((5,)).sum().item()

    return (total(eps) - total(-eps)) / (2 * eps)


@pytest.mark.parametrize(
    ("build", "params"),
    [
        (D.Normal, (0.3, 1.2)),
        (D.Laplace, (0.3, 1.2)),
        (D.Cauchy, (0.3, 1.2)),
        (D.Uniform, (0.3, 1.2)),
        (D.Exponential, (1.3,)),
        (D.Gumbel, (0.3, 1.2)),
        (D.HalfNormal, (1.3,)),
        (D.LogNormal, (0.3, 0.7)),
        (D.Kumaraswamy, (1.3, 2.0)),
        (D.Pareto, (1.3, 2.0)),
        (D.Weibull, (1.3, 2.0)),
        (D.ContinuousBernoulli, (0.3,)),
        (D.GeneralizedPareto, (0.3, 1.2, 0.4)),
        (lambda temperature, probs: D.RelaxedBernoulli(temperature, probs), (0.7, 0.3)),
    ],
)
def test_reparametrised_gradients(build, params):
    tensors = [t(p).requires_grad_() for p in params]
    torch.manual_seed(1)
    build(*tensors).rsample((5,)).sum().backward()
    for i, tensor in enumerate(tensors):
        assert tensor.grad.item() == pytest.approx(same_noise_difference(build, params, i), rel=1e-4, abs=1e-6)


def beta_cdf(x, a, b):
    """Integrate the beta density from the nearer end, after a substitution that removes its singularity."""
    low = x < a / (a + b)
    end, power = (x, min(a, 1.0)) if low else (1 - x, min(b, 1.0))
    u = np.linspace(0, 1, 20001)[1:]
    at = torch.tensor(end * u ** (1 / power), dtype=torch.float64)
    density = numpy(D.Beta(t(a), t(b), validate_args=False).log_prob(at if low else 1 - at).exp())
    tail = integrate(density * end / power * u ** (1 / power - 1), u)
    return tail if low else 1 - tail


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("b", [0.4, 1.0, 7.0, 100.0])
def test_beta_draws_move_along_their_quantile(a, b):
    """The gradient of a draw x satisfies dF(x; a)/da + density(x) * dx/da = 0."""
    torch.manual_seed(0)
    params = t(a, b).requires_grad_()
    for draw in D.Beta(params[0], params[1]).rsample((4,)):
        (slope,) = torch.autograd.grad(draw, params, retain_graph=True)
        x, h = draw.item(), 1e-3
        density = D.Beta(t(a), t(b)).log_prob(draw.detach()).exp().item()
        by_a = (beta_cdf(x, a * (1 - h), b) - beta_cdf(x, a * (1 + h), b)) / (2 * h * a) / density
        by_b = (beta_cdf(x, a, b * (1 - h)) - beta_cdf(x, a, b * (1 + h))) / (2 * h * b) / density
        np.testing.assert_allclose(numpy(slope), [by_a, by_b], rtol=2e-2, atol=1e-6)


@pytest.mark.parametrize("name", [*sorted({*CONTINUOUS} - {"Uniform"}), "MultivariateNormal", "Cauchy"])
def test_log_prob_gradients(name):
    """Gradients of `log_prob` with respect to the value match finite differences."""
    torch.manual_seed(0)
    distribution = EVERY[name]()
    distribution._validate_args = False
    value = distribution.sample().requires_grad_()
    distribution.log_prob(value).sum().backward()
    eps = 1e-6
    for i in np.ndindex(*value.shape):
        shift = torch.zeros_like(value)
        shift[i] = eps
        with torch.no_grad():
            up, down = distribution.log_prob(value + shift).sum(), distribution.log_prob(value - shift).sum()
        assert value.grad[i].item() == pytest.approx((up - down).item() / (2 * eps), rel=1e-3, abs=1e-4)


def test_multivariate_normals_agree():
    rng = np.random.RandomState(0)
    factor = rng.randn(2, 3, 1)
    diag = rng.uniform(0.5, 2, (3,))
    loc = rng.randn(4, 1, 3)
    covariance = factor @ factor.swapaxes(-1, -2) + np.diag(diag)
    x = rng.randn(5, 4, 2, 3)
    difference = x - loc
    distance = np.einsum("...i,...ij,...j->...", difference, np.linalg.inv(covariance), difference)
    expected = -0.5 * (distance + np.linalg.slogdet(covariance)[1] + 3 * math.log(2 * math.pi))
    tensors = {k: torch.tensor(v) for k, v in {"loc": loc, "factor": factor, "diag": diag, "x": x}.items()}
    full = D.MultivariateNormal(tensors["loc"], torch.tensor(covariance))
    for distribution in (
        full,
        D.MultivariateNormal(tensors["loc"], precision_matrix=full.precision_matrix[0]),
        D.MultivariateNormal(tensors["loc"], scale_tril=full.scale_tril[0]),
        D.LowRankMultivariateNormal(tensors["loc"], tensors["factor"], tensors["diag"]),
        full.expand((4, 2)),
    ):
        assert distribution.batch_shape == torch.Size((4, 2))
        np.testing.assert_allclose(numpy(distribution.log_prob(tensors["x"])), expected)
        np.testing.assert_allclose(numpy(distribution.covariance_matrix[1]), covariance, atol=1e-12)
        np.testing.assert_allclose(numpy(distribution.precision_matrix[1]), np.linalg.inv(covariance), atol=1e-12)
        np.testing.assert_allclose(numpy(distribution.scale_tril[1]), np.linalg.cholesky(covariance), atol=1e-12)
        np.testing.assert_allclose(numpy(distribution.variance[1]), covariance.diagonal(axis1=-2, axis2=-1))
        np.testing.assert_allclose(numpy(D.kl_divergence(distribution, full)), np.zeros((4, 2)), atol=1e-12)


# --- divergences ---

ON_THE_LINE = {
    "Normal": lambda: D.Normal(t(0.3), t(0.8)),
    "Laplace": lambda: D.Laplace(t(-0.2), t(0.9)),
    "Gumbel": lambda: D.Gumbel(t(0.1), t(1.1)),
    "Cauchy": lambda: D.Cauchy(t(0.1), t(1.1)),
    "Exponential": lambda: D.Exponential(t(1.2)),
    "Gamma": lambda: D.Gamma(t(2.2), t(1.3)),
    "Uniform": lambda: D.Uniform(t(0.2), t(0.7)),
    "Beta": lambda: D.Beta(t(1.5), t(2.5)),
    "ContinuousBernoulli": lambda: D.ContinuousBernoulli(t(0.3)),
    "Pareto": lambda: D.Pareto(t(0.1), t(6.0)),
    "HalfNormal": lambda: D.HalfNormal(t(0.8)),
    "LogNormal": lambda: D.LogNormal(t(0.3), t(0.4)),
}


@pytest.mark.parametrize("name_p", ON_THE_LINE)
def test_divergences_are_integrals(name_p):
    p = ON_THE_LINE[name_p]()
    x = np.geomspace(1e-9, 40, 60000)
    x = np.concatenate([-x[::-1], x])
    points = torch.tensor(x, dtype=torch.float64)
    log_p = log_density(p, points)
    checked = 0
    for build in ON_THE_LINE.values():
        q = build()
        divergence = with_value(D.kl_divergence, p, q)
        if divergence is None:
            continue
        log_q = log_density(q, points)
        inside = log_p > -40
        if (log_q[inside] == -np.inf).any():
            assert divergence.item() == math.inf
            continue
        log_ratio = np.where(inside, log_p, 0) - np.where(inside, log_q, 0)
        integrand = np.where(inside, np.exp(log_p) * log_ratio, 0)
        tolerance = 0.05 if type(p) is D.Cauchy else 1e-2
        assert divergence.item() == pytest.approx(integrate(integrand, x), abs=tolerance)
        checked += 1
    assert checked >= 1


def log_density(distribution, points):
    inside = distribution.support.check(points)
    safe = torch.where(inside, points, distribution.sample())
    return numpy(torch.where(inside, distribution.log_prob(safe), -math.inf))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (lambda: D.Bernoulli(t(0.3)), lambda: D.Bernoulli(t(0.6))),
        (lambda: D.Bernoulli(t(0.3)), lambda: D.Poisson(t(0.6))),
        (lambda: D.Binomial(5, t(0.3)), lambda: D.Binomial(5, t(0.6))),
        (lambda: D.Categorical(t(1.0, 2.0, 3.0)), lambda: D.Categorical(t(2.0, 2.0, 1.0))),
        (lambda: D.Geometric(t(0.3)), lambda: D.Geometric(t(0.6))),
        (lambda: D.Poisson(t(3.0)), lambda: D.Poisson(t(2.0))),
    ],
)
def test_divergences_are_sums(p, q):
    p, q = p(), q()
    values = p.enumerate_support() if p.has_enumerate_support else torch.arange(100.0, dtype=torch.float64)
    log_p, log_q = numpy(p.log_prob(values)), numpy(q.log_prob(values))
    expected = (np.exp(log_p) * (log_p - log_q)).sum()
    assert D.kl_divergence(p, q).item() == pytest.approx(expected)


def test_divergence_of_dirichlets_by_draws():
    torch.manual_seed(0)
    p, q = D.Dirichlet(t(2.0, 3.0, 1.5)), D.Dirichlet(t(1.0, 2.0, 3.0))
    draws = p.sample((20000,))
    estimate = (p.log_prob(draws) - q.log_prob(draws)).mean().item()
    assert D.kl_divergence(p, q).item() == pytest.approx(estimate, rel=0.05)


def test_divergence_of_an_exponential_family_by_bregman():
    class Mine(D.Wishart):
        pass

    eye = torch.eye(2, dtype=torch.float64)
    p, q = Mine(t(4.0).squeeze(), eye), Mine(t(5.0).squeeze(), 2 * eye)
    torch.manual_seed(0)
    draws = p.sample((20000,))
    estimate = (p.log_prob(draws) - q.log_prob(draws)).mean().item()
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-9)
    assert q.entropy().item() == pytest.approx(D.ExponentialFamily.entropy(q).item())
    assert estimate > 0


def test_register_kl_takes_the_most_specific_pair():
    class Base(D.Normal):
        pass

    class Derived(Base):
        pass

    D.register_kl(Base, D.Normal)(lambda p, q: "base, normal")
    D.register_kl(D.Normal, Derived)(lambda p, q: "normal, derived")
    assert D.kl_divergence(Derived(0.0, 1.0), D.Normal(0.0, 1.0)) == "base, normal"
    assert D.kl_divergence(D.Normal(0.0, 1.0), Derived(0.0, 1.0)) == "normal, derived"
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Derived, Derived\)"):
        D.kl_divergence(Derived(0.0, 1.0), Derived(0.0, 1.0))
    with pytest.raises(TypeError, match="Expected type_q to be a class"):
        D.register_kl(Base, "Normal")
    with pytest.raises(NotImplementedError, match="p type Cauchy and q type Normal"):
        D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0))


def test_register_kl_takes_any_class():
    class Posterior:
        """A minimal distribution: this KL divergence only needs the mean."""

        mean = 3.0

    D.register_kl(Posterior, D.Normal)(lambda p, q: p.mean - q.mean)
    assert D.kl_divergence(Posterior(), D.Normal(1.0, 1.0)).item() == 2


# --- the base class ---


@pytest.mark.parametrize(("family", "args"), [
    (D.Normal, (0.0, 1.0)), (D.Beta, (1.0, 2.0)), (D.HalfNormal, (1.0,)), (D.ExpTransform, ()), (D.AffineTransform, (1.0, 2.0)),
])  # fmt: skip
def test_classes_beside_are_initialized(family, args):
    class Beside:
        def __init__(self):
            self.batches = getattr(self, "batch_shape", None)

    class Both(family, Beside):
        pass

    both = Both(*args)
    assert both.batches == (None if isinstance(both, D.Transform) else ())


def test_a_base_between_a_distribution_and_its_own_is_initialized():
    class Named(D.Distribution):
        def __init__(self, *args, **kwargs):
            self.name = "named"
            super().__init__(*args, **kwargs)

    class NamedNormal(D.Normal, Named):
        pass

    assert NamedNormal(torch.zeros(2), 1.0).name == "named"


@pytest.mark.parametrize("name", EVERY)
def test_expand(name):
    torch.manual_seed(0)
    distribution = EVERY[name]()
    wide = distribution.expand((3, *distribution.batch_shape))
    assert type(wide) is type(distribution)
    assert wide.batch_shape == (3, *distribution.batch_shape)
    assert wide.event_shape == distribution.event_shape
    values = distribution.sample((3,))
    np.testing.assert_allclose(numpy(wide.log_prob(values)), numpy(distribution.log_prob(values)))
    assert wide.sample((2,)).shape == (2, 3, *distribution.batch_shape, *distribution.event_shape)
    assert wide.expand((5, 3, *distribution.batch_shape)).batch_shape[0] == 5


@pytest.mark.parametrize("name", EVERY)
def test_copies_and_pickles(name):
    torch.manual_seed(0)
    distribution = EVERY[name]()
    value = distribution.sample()
    for again in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        assert again.log_prob(value).tolist() == distribution.log_prob(value).tolist()


def test_shapes_of_parameters():
    assert D.Normal(0, 1).batch_shape == ()
    assert D.Normal(torch.zeros(3, 1), torch.ones(2)).batch_shape == (3, 2)
    assert D.Normal(torch.zeros(0), 1.0).sample((2,)).shape == (2, 0)
    assert D.Categorical(torch.ones(0, 3)).sample((2,)).shape == (2, 0)
    assert D.Normal(torch.zeros(2, dtype=torch.float64), 1).scale.dtype == torch.float64
    with pytest.raises(ValueError, match="must all be instances of Number"):
        D.Normal("zero", 1.0)
    with pytest.raises(RuntimeError):
        D.Normal(torch.zeros(2), torch.ones(3))


def test_probs_and_logits_are_lazy():
    coin = D.Bernoulli(probs=torch.tensor([0.25, 0.5]))
    assert repr(coin) == "Bernoulli(probs: torch.Size([2]))"
    np.testing.assert_allclose(numpy(coin.logits), [math.log(1 / 3), 0], atol=1e-6)
    assert repr(coin) == "Bernoulli(probs: torch.Size([2]), logits: torch.Size([2]))"
    logits = torch.zeros(2, requires_grad=True)
    die = D.Categorical(logits=logits)
    with torch.no_grad():
        probs = die.probs
    assert probs.requires_grad
    for wrong in ({}, {"probs": 0.5, "logits": 0.0}):
        with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified, but not both"):
            D.Bernoulli(**wrong)


def test_validation():
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal"):
        D.Normal(0.0, torch.tensor([1.0, -1.0]))
    D.Normal(0.0, torch.tensor([1.0, -1.0]), validate_args=False)
    beta = D.Beta(torch.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"to be within the support \(Interval\(lower_bound=0.0, upper_bound=1.0\)\)"):
        beta.log_prob(torch.tensor([0.5, 2.0]))
    with pytest.raises(ValueError, match="not broadcastable with batch_shape"):
        beta.log_prob(torch.ones(3))
    with pytest.raises(ValueError, match="must be a Tensor"):
        beta.log_prob(0.5)
    with pytest.raises(ValueError, match="right-most size of value must match event_shape"):
        D.Dirichlet(torch.ones(3)).log_prob(torch.ones(2) / 2)
    with pytest.raises(ValueError):
        D.Distribution.set_default_validate_args("yes")
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)


def test_subclasses():
    class Renamed(D.Normal):
        pass

    class Shifted(D.Normal):
        def __init__(self, shift, validate_args=None):
            self.shift = shift
            super().__init__(shift, 1.0, validate_args=validate_args)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Shifted, _instance)
            new.shift = self.shift
            return super().expand(batch_shape, new)

    class Careless(D.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    assert type(Renamed(0.0, 1.0).expand((2,))) is Renamed
    shifted = Shifted(torch.zeros(()))
    assert shifted.expand((2,)).shift is shifted.shift
    assert shifted.expand((2,)).loc.shape == (2,)
    with pytest.raises(NotImplementedError, match="Subclass Careless of Normal that defines a custom __init__"):
        Careless().expand((2,))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = D.Distribution()
    for method in (bare.rsample, bare.entropy, bare.enumerate_support, bare.sample):
        with pytest.raises(NotImplementedError):
            method()
    with pytest.warns(FutureWarning, match="sample_n"):
        assert shifted.sample_n(3).shape == (3,)


# --- constraints and transforms ---

TRANSFORMS = {
    "AffineTransform": (lambda: D.AffineTransform(1.0, t(2.0, -3.0)), (2,)),
    "AffineTransform of vectors": (lambda: D.AffineTransform(1.0, t(2.0, -3.0), event_dim=1), (2,)),
    "CatTransform": (lambda: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]), (3,)),
    "ComposeTransform": (
        lambda: D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.StickBreakingTransform()]),
        (3,),
    ),
    "CorrCholeskyTransform": (lambda: D.CorrCholeskyTransform(), (6,)),
    "CumulativeDistribution": (lambda: D.CumulativeDistributionTransform(D.Normal(t(0.0, 1.0), 1.0)), (2,)),
    "ExpTransform": (lambda: D.ExpTransform(), (3,)),
    "IndependentTransform": (lambda: D.IndependentTransform(D.ExpTransform(), 1), (3,)),
    "PowerTransform": (lambda: D.ComposeTransform([D.ExpTransform(), D.PowerTransform(t(-0.5))]), (3,)),
    "ReshapeTransform": (lambda: D.ReshapeTransform((4,), (2, 2)), (4,)),
    "SigmoidTransform": (lambda: D.SigmoidTransform(), (3,)),
    "SoftplusTransform": (lambda: D.SoftplusTransform(), (3,)),
    "StackTransform": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1), (2,)),
    "StickBreakingTransform": (lambda: D.StickBreakingTransform(), (3,)),
    "TanhTransform": (lambda: D.TanhTransform(), (3,)),
    "identity_transform": (lambda: D.identity_transform, (3,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_invert_and_know_their_jacobian(name):
    build, shape = TRANSFORMS[name]
    transform = build()
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64)
    y = transform(x)
    assert bool(transform.codomain.check(y).all())
    assert transform.forward_shape(x.shape) == y.shape
    assert transform.inverse_shape(y.shape) == x.shape
    assert transform.inv.inv is transform
    np.testing.assert_allclose(numpy(transform.inv(y)), numpy(x), atol=1e-9)
    log_det = transform.log_abs_det_jacobian(x, y).sum().item()
    np.testing.assert_allclose(transform.inv.log_abs_det_jacobian(y, x).sum().item(), -log_det)

    def coordinates(x):
        """Return as many independent coordinates of `transform(x)` as x has elements."""
        y = transform(x)
        if name == "CorrCholeskyTransform":
            return tril_matrix_to_vec(y, -1)
        return y.reshape(-1)[: x.numel()]

    jacobian = numpy(torch.autograd.functional.jacobian(coordinates, x))
    assert log_det == pytest.approx(np.linalg.slogdet(jacobian)[1])


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform_caches(name):
    build, shape = TRANSFORMS[name]
    cached = build().with_cache()
    x = torch.randn(shape, dtype=torch.float64)
    y = cached(x)
    if x is not y:
        assert cached.inv(y) is x
        assert cached(x) is y
    assert cached.with_cache() is cached
    assert cached.inv.inv is cached
    assert cached.with_cache(0)(x).tolist() == y.tolist()


def test_transform_equality():
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(0.0, t(1.0, 2.0)) == D.AffineTransform(0, t(1.0, 2.0))
    assert D.AffineTransform(0.0, 1.0) != D.AffineTransform(0.0, 2.0)
    assert D.PowerTransform(t(2.0)) == D.PowerTransform(t(2.0))
    assert D.ExpTransform().inv == D.ExpTransform().inv != D.ExpTransform()
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])


def test_transform_errors():
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((2,), (3,))
    with pytest.raises(ValueError, match="Too few dimensions"):
        D.StickBreakingTransform().forward_shape(())
    with pytest.raises(ValueError, match="flattened lower-diagonal"):
        D.CorrCholeskyTransform().forward_shape((4,))
    with pytest.raises(AssertionError, match="must equal length 2"):
        D.CatTransform([D.ExpTransform(), D.ExpTransform()])(torch.zeros(3))
    with pytest.raises(ValueError, match="transforms must be a Transform or list"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), None)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_supports_can_be_reached(name, registry):
    support = EVERY[name]().support
    if support.is_discrete or name == "Mixture" or (name == "Wishart" and registry is D.biject_to):
        return
    torch.manual_seed(0)
    transform = registry(support)
    shape = {"LKJCholesky": (3,), "Wishart": (2, 2)}.get(name, (2,))
    assert bool(support.check(transform(torch.randn(shape, dtype=torch.float64))).all())


def test_registry_errors():
    with pytest.raises(NotImplementedError, match="Cannot transform _Boolean constraints"):
        D.transform_to(constraints.boolean)
    with pytest.raises(TypeError, match="Expected constraint to be either"):
        D.transform_to.register(3, D.ExpTransform)


def test_constraint_composites():
    cat = constraints.cat([constraints.positive, constraints.boolean], dim=0, lengths=[2, 1])
    assert cat.check(torch.tensor([1.0, -1.0, 0.0])).tolist() == [True, False, True]
    assert cat.is_discrete
    stack = constraints.stack([constraints.simplex, constraints.real_vector], dim=-2)
    assert stack.event_dim == 2
    assert constraints.stack([constraints.positive, constraints.real]).check(t(-1.0, -1.0)).tolist() == [
        False,
        True,
    ]
    independent = constraints.independent(constraints.positive, 1)
    assert independent.check(torch.tensor([[1.0, 2.0], [1.0, -2.0]])).tolist() == [True, False]
    assert repr(independent) == "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)"
    assert constraints.is_dependent(D.Uniform.support)
    assert not constraints.is_dependent(constraints.positive)
    with pytest.raises(ValueError, match="Cannot determine validity"):
        constraints.dependent.check(torch.zeros(1))
    with pytest.raises(NotImplementedError, match="event_dim"):
        _ = constraints.dependent.event_dim


@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles_and_vectors(diag):
    matrix = torch.arange(32.0).reshape(2, 4, 4).tril(diag)
    vector = tril_matrix_to_vec(matrix, diag)
    assert vector[0].tolist() == numpy(matrix[0])[np.tril_indices(4, diag)].tolist()
    assert vec_to_tril_matrix(vector, diag).tolist() == matrix.tolist()


def test_low_degrees_of_freedom_warn():
    with pytest.warns(UserWarning, match="Low df values"):
        D.Wishart(torch.tensor(1.5), torch.eye(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        D.Wishart(torch.tensor(3.0), torch.eye(2)).sample((3,))


class Tagged(torch.Tensor):
    """A tensor subclass like pyro's provenance tensors: results keep the subclass, and shapes are plain tuples."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = super().__torch_function__(func, types, args, kwargs or {})
        return tuple(found) if isinstance(found, torch.Size) else found


def test_a_value_whose_shape_is_a_plain_tuple():
    law = D.MultivariateNormal(torch.zeros(3), torch.eye(3) * 2)
    value = torch.arange(6.0).reshape(2, 3)
    tagged = law.log_prob(value.as_subclass(Tagged))
    assert type(value.as_subclass(Tagged).shape) is tuple
    assert type(tagged) is Tagged and tagged.tolist() == law.log_prob(value).tolist()


def test_tangents_of_gamma_samples():
    alpha, forward_ad = torch.tensor([0.5, 2.0], dtype=torch.float64), torch.autograd.forward_ad
    for sample in (torch._standard_gamma, torch._sample_dirichlet):
        torch.manual_seed(0)
        tracked = alpha.clone().requires_grad_()
        output = sample(tracked)
        expected = torch.stack([torch.autograd.grad(one, tracked, retain_graph=True)[0] for one in output]).sum(1)
        torch.manual_seed(0)
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(sample(forward_ad.make_dual(alpha, torch.ones_like(alpha)))).tangent
        torch.testing.assert_close(tangent, expected)
