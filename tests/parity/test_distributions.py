"""Distributions compared with PyTorch: moments, densities, gradients, draws with the same seed, and `repr`."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import flambeau  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

rng = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def validation():
    """Validate arguments: in PyTorch, an earlier use of `torch.compile` has turned it off for all distributions."""
    torch.distributions.Distribution.set_default_validate_args(True)


def positive(*shape):
    return rng.uniform(0.4, 2.5, shape).astype(np.float32)


def real(*shape):
    return rng.uniform(-1.5, 1.5, shape).astype(np.float32)


def unit(*shape):
    return rng.uniform(0.1, 0.9, shape).astype(np.float32)


def simplex(*shape):
    weights = positive(*shape)
    return weights / weights.sum(-1, keepdims=True)


def tril(*shape):
    matrix = np.tril(real(*shape))
    n = shape[-1]
    matrix[..., range(n), range(n)] = positive(*shape[:-1])
    return matrix


def spd(*shape):
    factor = tril(*shape)
    return factor @ factor.swapaxes(-1, -2)


CASES = [
    ("Bernoulli", {"probs": unit(3)}),
    ("Bernoulli", {"logits": real(2, 1)}),
    ("Bernoulli", {"probs": 0.3}),
    ("Bernoulli", {"probs": np.float32([0.0, 0.5, 1.0])}),
    ("Beta", {"concentration1": positive(2, 3), "concentration0": positive(3)}),
    ("Beta", {"concentration1": 0.7, "concentration0": 2.0}),
    ("Binomial", {"total_count": 5, "probs": unit(3)}),
    ("Binomial", {"total_count": np.float32([[3.0], [50.0]]), "logits": real(3)}),
    ("Categorical", {"probs": positive(2, 4)}),
    ("Categorical", {"logits": real(4)}),
    ("Categorical", {"probs": np.float32([0.0, 1.0, 1.0])}),
    ("Cauchy", {"loc": real(3), "scale": positive(2, 1)}),
    ("Chi2", {"df": positive(3)}),
    ("ContinuousBernoulli", {"probs": np.float32([0.1, 0.4995, 0.5, 0.8])}),
    ("ContinuousBernoulli", {"logits": real(3)}),
    ("Dirichlet", {"concentration": positive(2, 3)}),
    ("Dirichlet", {"concentration": np.float32([0.2, 0.4, 0.1])}),
    ("Exponential", {"rate": positive(3)}),
    ("FisherSnedecor", {"df1": positive(3), "df2": np.float32([1.0, 3.0, 7.0])}),
    ("Gamma", {"concentration": positive(2, 3), "rate": positive(3)}),
    (
        "GeneralizedPareto",
        {"loc": real(4), "scale": positive(4), "concentration": np.float32([-0.7, 0, 0.3, 1.2])},
    ),
    ("Geometric", {"probs": unit(3)}),
    ("Geometric", {"logits": real(3)}),
    ("Gumbel", {"loc": real(3), "scale": positive(3)}),
    ("Gumbel", {"loc": 0.0, "scale": 1.0}),
    ("HalfCauchy", {"scale": positive(3)}),
    ("HalfNormal", {"scale": positive(3)}),
    ("InverseGamma", {"concentration": np.float32([0.5, 1.5, 3.0]), "rate": positive(3)}),
    ("Kumaraswamy", {"concentration1": positive(3), "concentration0": positive(3)}),
    ("Laplace", {"loc": real(3), "scale": positive(3)}),
    ("LKJCholesky", {"dim": 3, "concentration": positive(2)}),
    ("LKJCholesky", {"dim": 4, "concentration": 0.5}),
    ("LogNormal", {"loc": real(3), "scale": positive(3)}),
    ("LogisticNormal", {"loc": real(2, 3), "scale": positive(3)}),
    ("LowRankMultivariateNormal", {"loc": real(3), "cov_factor": real(2, 3, 1), "cov_diag": positive(3)}),
    ("Multinomial", {"total_count": 6, "probs": positive(2, 3)}),
    ("Multinomial", {"total_count": 2, "logits": real(3)}),
    ("MultivariateNormal", {"loc": real(2, 3), "covariance_matrix": spd(3, 3)}),
    ("MultivariateNormal", {"loc": real(3), "precision_matrix": spd(2, 3, 3)}),
    ("MultivariateNormal", {"loc": real(4, 1, 3), "scale_tril": tril(2, 3, 3)}),
    ("NegativeBinomial", {"total_count": positive(3), "probs": unit(3)}),
    ("NegativeBinomial", {"total_count": 4, "logits": real(3)}),
    ("Normal", {"loc": real(3), "scale": positive(2, 1)}),
    ("Normal", {"loc": 0.0, "scale": 2.0}),
    ("OneHotCategorical", {"probs": positive(2, 3)}),
    ("OneHotCategoricalStraightThrough", {"logits": real(3)}),
    ("Pareto", {"scale": positive(3), "alpha": np.float32([0.5, 1.5, 3.0])}),
    ("Poisson", {"rate": np.float32([0.0, 0.7, 20.0])}),
    ("RelaxedBernoulli", {"temperature": np.float32(0.7), "probs": unit(3)}),
    ("RelaxedOneHotCategorical", {"temperature": np.float32(0.7), "logits": real(2, 3)}),
    ("StudentT", {"df": np.float32([0.5, 1.5, 5.0]), "loc": real(3), "scale": positive(3)}),
    ("Uniform", {"low": real(3), "high": 2.0}),
    ("VonMises", {"loc": real(3), "concentration": positive(3)}),
    ("Weibull", {"scale": positive(3), "concentration": positive(3)}),
    ("Wishart", {"df": np.float32([4.0, 5.0]), "covariance_matrix": spd(2, 3, 3)}),
    ("Wishart", {"df": 4.0, "scale_tril": tril(3, 3)}),
]
IDS = [f"{name}-{'-'.join(kwargs)}-{i}" for i, (name, kwargs) in enumerate(CASES)]
each_case = pytest.mark.parametrize(("name", "kwargs"), CASES, ids=IDS)


def make(lib, name, kwargs, requires_grad=False):
    """Create a distribution in one library; return it and its parameter tensors."""
    tensors = {
        key: lib.tensor(value, requires_grad=requires_grad)
        for key, value in kwargs.items()
        if isinstance(value, (np.ndarray, np.floating))
    }
    return getattr(lib.distributions, name)(**{**kwargs, **tensors}), list(tensors.values())


def attempt(function, *args, **kwargs):
    """Return the result of `function` as an array, or the name of its error."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return array(result)


def array(tensor):
    return np.asarray(tensor.detach().tolist(), dtype=np.float64)


def assert_agree(ours, theirs, rtol=2e-5, atol=2e-5):
    if isinstance(theirs, str):
        assert isinstance(ours, str) and ours == theirs
    else:
        assert not isinstance(ours, str) and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


@each_case
def test_description(name, kwargs):
    (ours, _), (theirs, _) = make(flambeau, name, kwargs), make(torch, name, kwargs)
    assert repr(ours) == repr(theirs)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert repr(ours.support) == repr(theirs.support)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support


@each_case
@pytest.mark.parametrize("moment", ["mean", "mode", "variance", "stddev", "entropy", "perplexity"])
def test_moments(name, kwargs, moment):
    def value(lib):
        attribute = getattr(make(lib, name, kwargs)[0], moment)
        return attribute() if callable(attribute) else attribute

    assert_agree(attempt(value, flambeau), attempt(value, torch))


def draws(lib, distribution, method):
    lib.manual_seed(7)
    return [attempt(getattr(distribution, method), shape) for shape in ((), (3,), (2, 5))]


@each_case
def test_draws_from_one_seed(name, kwargs):
    (ours, _), (theirs, _) = make(flambeau, name, kwargs), make(torch, name, kwargs)
    for method in ("sample", "rsample"):
        our_draws, their_draws = draws(flambeau, ours, method), draws(torch, theirs, method)
        for our_draw, their_draw in zip(our_draws, their_draws, strict=True):
            assert_agree(our_draw, their_draw, rtol=1e-4, atol=1e-5)


@each_case
def test_probabilities(name, kwargs):
    (ours, our_params), (theirs, their_params) = (
        make(flambeau, name, kwargs, True),
        make(torch, name, kwargs, True),
    )
    torch.manual_seed(3)
    values = theirs.sample((4,))
    our_values = flambeau.tensor(values.numpy())
    assert_agree(attempt(ours.log_prob, our_values), attempt(theirs.log_prob, values), 2e-4, 2e-4)
    assert_agree(attempt(ours.cdf, our_values), attempt(theirs.cdf, values))
    quantiles = unit(4, *theirs.batch_shape)
    assert_agree(
        attempt(ours.icdf, flambeau.tensor(quantiles)),
        attempt(theirs.icdf, torch.tensor(quantiles)),
        2e-4,
    )
    if not our_params:
        return
    ours.log_prob(our_values).sum().backward()
    theirs.log_prob(values).sum().backward()
    for our_param, their_param in zip(our_params, their_params, strict=True):
        if their_param.grad is not None:
            assert_agree(array(our_param.grad), array(their_param.grad), 1e-3, 1e-3)


def test_bartlett_sampling_of_wishart_distributions():
    for lib in (flambeau, torch):
        distribution = make(lib, "Wishart", {"df": np.float32([4.0, 5.0]), "covariance_matrix": spd(2, 3, 3)})[0]
        assert distribution._bartlett_sampling(lib.Size([6, 5])).shape == (6, 5, 2, 3, 3)
        assert distribution._bartlett_sampling().shape == (2, 3, 3)
        lib.manual_seed(5)
        error = distribution._bartlett_sampling(lib.Size([20000])).mean(0) - distribution.mean
        assert (error / distribution.variance.sqrt()).abs().max() < 0.05


def has_gradient(name, kwargs):
    """Whether PyTorch can differentiate draws of a distribution. For Wishart, PyTorch's backward raises an error."""
    distribution, params = make(torch, name, kwargs)
    return distribution.has_rsample and params and name != "Wishart"


@pytest.mark.parametrize(("name", "kwargs"), [case for case in CASES if has_gradient(*case)])
def test_gradients_of_draws(name, kwargs):
    (ours, our_params), (theirs, their_params) = (
        make(flambeau, name, kwargs, True),
        make(torch, name, kwargs, True),
    )
    for lib, distribution in ((flambeau, ours), (torch, theirs)):
        lib.manual_seed(5)
        distribution.rsample((6,)).cos().sum().backward()
    for our_param, their_param in zip(our_params, their_params, strict=True):
        # PyTorch's derivative of a beta draw has a relative error of about 3e-4.
        assert_agree(array(our_param.grad), array(their_param.grad), 2e-3, 2e-3)


@each_case
def test_enumerate_support(name, kwargs):
    (ours, _), (theirs, _) = make(flambeau, name, kwargs), make(torch, name, kwargs)
    for expand in (True, False):
        assert_agree(
            attempt(ours.enumerate_support, expand=expand),
            attempt(theirs.enumerate_support, expand=expand),
        )


@each_case
def test_expand(name, kwargs):
    (ours, _), (theirs, _) = make(flambeau, name, kwargs), make(torch, name, kwargs)
    shape = (2, *theirs.batch_shape)
    ours, theirs = ours.expand(shape), theirs.expand(shape)
    assert repr(ours) == repr(theirs)
    assert tuple(ours.batch_shape) == shape
    assert ours._validate_args == theirs._validate_args
    torch.manual_seed(1)
    values = theirs.sample((3,))
    assert_agree(attempt(getattr, ours, "mean"), attempt(getattr, theirs, "mean"))
    assert_agree(
        attempt(ours.log_prob, flambeau.tensor(values.numpy())),
        attempt(theirs.log_prob, values),
        2e-4,
        2e-4,
    )


def instances(lib):
    """Return for each type two distributions with equal shapes and different parameters."""
    D, t = lib.distributions, lambda *values: lib.tensor(values)
    matrix = lib.tensor([[2.0, 0.5], [0.5, 1.0]])
    return {
        "Bernoulli": [D.Bernoulli(t(0.2, 0.5)), D.Bernoulli(t(0.4, 0.9))],
        "Beta": [D.Beta(t(1.0, 2.0), t(3.0, 0.7)), D.Beta(t(0.5, 2.5), 1.5)],
        "Binomial": [D.Binomial(4, t(0.2, 0.5)), D.Binomial(t(4.0, 3.0), t(0.3, 0.5))],
        "Categorical": [D.Categorical(t(0.2, 0.8, 0.0)), D.Categorical(t(0.5, 0.3, 0.2))],
        "Cauchy": [D.Cauchy(t(0.0, 1.0), 2.0), D.Cauchy(1.0, t(1.0, 3.0))],
        "ContinuousBernoulli": [D.ContinuousBernoulli(t(0.2, 0.5)), D.ContinuousBernoulli(t(0.4, 0.9))],
        "Dirichlet": [D.Dirichlet(t(1.0, 2.0)), D.Dirichlet(t(0.7, 1.5))],
        "Exponential": [D.Exponential(t(1.0, 2.0)), D.Exponential(t(0.5, 3.0))],
        "Gamma": [D.Gamma(t(1.0, 2.0), 1.5), D.Gamma(t(0.5, 3.0), t(1.0, 2.0))],
        "Geometric": [D.Geometric(t(0.2, 0.5)), D.Geometric(t(0.4, 0.9))],
        "Gumbel": [D.Gumbel(t(0.0, 1.0), 2.0), D.Gumbel(1.0, t(1.0, 3.0))],
        "HalfNormal": [D.HalfNormal(t(1.0, 2.0)), D.HalfNormal(t(0.5, 3.0))],
        "Independent": [
            D.Independent(D.Normal(t(0.0, 1.0), 2.0), 1),
            D.Independent(D.Normal(t(1.0, 1.0), 1.0), 1),
        ],
        "Laplace": [D.Laplace(t(0.0, 1.0), 2.0), D.Laplace(1.0, t(1.0, 3.0))],
        "LogNormal": [D.LogNormal(t(0.0, 1.0), 2.0), D.LogNormal(1.0, t(1.0, 3.0))],
        "LowRankMultivariateNormal": [
            D.LowRankMultivariateNormal(t(0.0, 1.0), lib.tensor([[1.0], [0.5]]), t(1.0, 2.0)),
            D.LowRankMultivariateNormal(lib.tensor([[0.0, 1.0], [1.0, 0.0]]), lib.tensor([[0.5], [0.7]]), t(2.0, 1.0)),
        ],
        "MultivariateNormal": [
            D.MultivariateNormal(t(0.0, 1.0), matrix),
            D.MultivariateNormal(lib.tensor([[0.0, 1.0], [1.0, 0.0]]), matrix * 2),
        ],
        "Normal": [D.Normal(t(0.0, 1.0), 2.0), D.Normal(1.0, t(1.0, 3.0))],
        "OneHotCategorical": [D.OneHotCategorical(t(0.2, 0.8)), D.OneHotCategorical(t(0.5, 0.5))],
        "Pareto": [D.Pareto(t(2.0, 1.0), t(2.5, 0.5)), D.Pareto(t(1.0, 2.0), t(1.5, 3.0))],
        "Poisson": [D.Poisson(t(1.0, 2.0)), D.Poisson(t(0.5, 3.0))],
        "Uniform": [D.Uniform(t(0.25, 0.5), t(0.5, 0.75)), D.Uniform(t(-1.0, 0.5), t(0.7, 2.5))],
    }


@pytest.mark.parametrize("name_p", instances(torch))
def test_kl_divergence(name_p):
    ours, theirs = instances(flambeau), instances(torch)
    for name_q in theirs:
        for i in (0, 1):
            divergence = (
                attempt(flambeau.distributions.kl_divergence, ours[name_p][i], ours[name_q][1 - i]),
                attempt(torch.distributions.kl_divergence, theirs[name_p][i], theirs[name_q][1 - i]),
            )
            assert_agree(*divergence, rtol=1e-4, atol=1e-5)


def test_every_registered_kl_pair():
    ours, theirs = flambeau.distributions.kl._KL_REGISTRY, torch.distributions.kl._KL_REGISTRY
    assert {(p.__name__, q.__name__) for p, q in ours} >= {(p.__name__, q.__name__) for p, q in theirs}


WRONG = [
    ("Normal", (0.0, -1.0)),
    ("Normal", (float("nan"), 1.0)),
    ("Normal", ("zero", 1.0)),
    ("Bernoulli", ()),
    ("Bernoulli", (2.0,)),
    ("Bernoulli", (0.5, 0.5)),
    ("Categorical", (0.5,)),
    ("Categorical", ([-1.0, 2.0],)),
    ("Dirichlet", ([0.0, 1.0],)),
    ("Geometric", ([0.0, 0.5],)),
    ("Uniform", (1.0, 0.0)),
    ("Multinomial", ([1.0], [0.5, 0.5])),
    ("MultivariateNormal", ([0.0, 0.0],)),
    ("MultivariateNormal", ([0.0, 0.0], [[1.0, 2.0], [0.0, 1.0]])),
    ("MultivariateNormal", ([0.0, 0.0], [1.0, 1.0])),
    ("LowRankMultivariateNormal", ([0.0, 0.0], [[1.0]], [1.0, 1.0])),
    ("LKJCholesky", (1,)),
    ("Gamma", (-1.0, 1.0)),
]


@pytest.mark.parametrize(("name", "args"), WRONG, ids=[f"{n}{a}" for n, a in WRONG])
def test_errors(name, args):
    def error(lib):
        given = [lib.tensor(a) if isinstance(a, list) or name == "Categorical" else a for a in args]
        with pytest.raises(Exception) as info:
            getattr(lib.distributions, name)(*given)
        return type(info.value).__name__, str(info.value)

    assert error(flambeau) == error(torch)


@pytest.mark.parametrize("value", [[0.5, 2.0], [[0.5], [2.0], [0.1]], [0.1, 0.2, 0.3], [float("nan"), 0.0]])
def test_errors_of_values(value):
    def error(lib):
        distribution = lib.distributions.Beta(lib.tensor([1.0, 2.0]), 1.0)
        try:
            distribution.log_prob(lib.tensor(value))
        except ValueError as error:
            return str(error)
        return None

    assert error(flambeau) == error(torch)


TRANSFORMS = {
    "AbsTransform": lambda D, t: D.AbsTransform(),
    "AffineTransform": lambda D, t: D.AffineTransform(t([1.0, 2.0, 3.0]), -2.0),
    "AffineTransform event": lambda D, t: D.AffineTransform(1.0, t([1.0, 2.0, 3.0]), event_dim=1),
    "ComposeTransform": lambda D, t: D.ComposeTransform([D.TanhTransform(), D.AffineTransform(0.0, 3.0)]),
    "ComposeTransform event": lambda D, t: D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]),
    "CorrCholeskyTransform": lambda D, t: D.CorrCholeskyTransform(),
    "CumulativeDistributionTransform": lambda D, t: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)),
    "ExpTransform": lambda D, t: D.ExpTransform(),
    "ExpTransform inverse": lambda D, t: D.ComposeTransform([D.ExpTransform(), D.ExpTransform().inv]),
    "IndependentTransform": lambda D, t: D.IndependentTransform(D.ExpTransform(), 1),
    "PowerTransform": lambda D, t: D.ComposeTransform([D.ExpTransform(), D.PowerTransform(t(0.5))]),
    "ReshapeTransform": lambda D, t: D.ReshapeTransform((3,), (3, 1)),
    "SigmoidTransform": lambda D, t: D.SigmoidTransform(),
    "SoftmaxTransform": lambda D, t: D.SoftmaxTransform(),
    "SoftplusTransform": lambda D, t: D.SoftplusTransform(),
    "StickBreakingTransform": lambda D, t: D.StickBreakingTransform(),
    "TanhTransform": lambda D, t: D.TanhTransform(),
    "CatTransform": lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]),
    "StackTransform": lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.AbsTransform()], 1),
    "LowerCholeskyTransform": lambda D, t: D.LowerCholeskyTransform(),
    "PositiveDefiniteTransform": lambda D, t: D.PositiveDefiniteTransform(),
    "identity_transform": lambda D, t: D.identity_transform,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    ours = TRANSFORMS[name](flambeau.distributions, flambeau.tensor)
    theirs = TRANSFORMS[name](torch.distributions, torch.tensor)
    assert repr(ours) == repr(theirs)
    assert repr(ours.inv) == repr(theirs.inv)
    assert repr(ours.domain) == repr(theirs.domain)
    assert repr(ours.codomain) == repr(theirs.codomain)
    assert ours.bijective == theirs.bijective
    x = rng.randn(2, 3, 3).astype(np.float32) if name.startswith("Lower") or "Definite" in name else real(2, 3)
    our_x, their_x = flambeau.tensor(x), torch.tensor(x)
    our_y, their_y = ours(our_x), theirs(their_x)
    assert_agree(array(our_y), array(their_y))
    assert_agree(attempt(ours.inv, our_y), attempt(theirs.inv, their_y), 1e-4, 1e-4)
    assert_agree(
        attempt(ours.log_abs_det_jacobian, our_x, our_y),
        attempt(theirs.log_abs_det_jacobian, their_x, their_y),
        1e-4,
        1e-4,
    )
    assert tuple(ours.forward_shape(our_x.shape)) == tuple(theirs.forward_shape(their_x.shape))
    assert tuple(ours.inverse_shape(our_y.shape)) == tuple(theirs.inverse_shape(their_y.shape))


CONSTRAINTS = {
    "boolean": (lambda c: c.boolean, [0.0, 1.0, 0.5]),
    "cat": (lambda c: c.cat([c.positive, c.real], 0, [1, 2]), [-1.0, -1.0, 2.0]),
    "stack": (lambda c: c.stack([c.positive, c.real, c.boolean]), [-1.0, -1.0, 2.0]),
    "corr_cholesky": (lambda c: c.corr_cholesky, [[1.0, 0.0], [0.6, 0.8]]),
    "greater_than": (lambda c: c.greater_than(1.0), [1.0, 2.0]),
    "greater_than_eq": (lambda c: c.greater_than_eq(1.0), [1.0, 2.0, 0.0]),
    "half_open_interval": (lambda c: c.half_open_interval(0.0, 1.0), [0.0, 1.0, 0.5]),
    "independent": (lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [-1.0, 3.0]]),
    "integer_interval": (lambda c: c.integer_interval(0, 2), [0.0, 0.5, 2.0, 3.0]),
    "interval": (lambda c: c.interval(0.0, 1.0), [0.0, 1.0, 1.5]),
    "less_than": (lambda c: c.less_than(1.0), [1.0, 0.5]),
    "lower_cholesky": (lambda c: c.lower_cholesky, [[[1.0, 0.0], [3.0, 2.0]], [[1.0, 0.0], [3.0, -2.0]]]),
    "lower_triangular": (lambda c: c.lower_triangular, [[[1.0, 0.0], [3.0, 2.0]], [[1.0, 1.0], [3.0, -2.0]]]),
    "multinomial": (lambda c: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0]]),
    "mixture": (lambda c: c.MixtureSameFamilyConstraint(c.positive), [1.0, -2.0]),
    "nonnegative": (lambda c: c.nonnegative, [0.0, -1.0]),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, [0.0, -1.0, 0.5]),
    "one_hot": (lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0]]),
    "positive": (lambda c: c.positive, [0.0, 1.0]),
    "positive_definite": (
        lambda c: c.positive_definite,
        [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]],
    ),
    "positive_integer": (lambda c: c.positive_integer, [0.0, 1.0]),
    "positive_semidefinite": (
        lambda c: c.positive_semidefinite,
        [[[1.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 0.0]]],
    ),
    "real": (lambda c: c.real, [float("nan"), 1.0, float("inf")]),
    "real_vector": (lambda c: c.real_vector, [[float("nan"), 1.0], [0.0, 0.0]]),
    "simplex": (lambda c: c.simplex, [[0.5, 0.5], [0.5, 0.6]]),
    "square": (lambda c: c.square, [[1.0, 2.0, 3.0]]),
    "symmetric": (lambda c: c.symmetric, [[1.0, 2.0], [2.0, 1.0]]),
    "unit_interval": (lambda c: c.unit_interval, [0.0, 1.0, 1.5]),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name):
    build, value = CONSTRAINTS[name]
    ours, theirs = build(flambeau.distributions.constraints), build(torch.distributions.constraints)
    assert repr(ours) == repr(theirs)
    assert (ours.is_discrete, ours.event_dim) == (theirs.is_discrete, theirs.event_dim)
    assert_agree(
        attempt(ours.check, flambeau.tensor(value)),
        attempt(theirs.check, torch.tensor(value)),
    )


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint_registry(registry, name):
    def shown(lib):
        try:
            return repr(getattr(lib.distributions, registry)(CONSTRAINTS[name][0](lib.distributions.constraints)))
        except NotImplementedError as error:
            return str(error)

    assert shown(flambeau) == shown(torch)


def test_public_names():
    for module in (
        "distributions",
        "distributions.constraints",
        "distributions.transforms",
        "distributions.kl",
    ):
        ours, theirs = flambeau, torch
        for part in module.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        assert set(theirs.__all__) <= set(ours.__all__)


def test_mixture():
    def mixture(lib):
        D = lib.distributions
        pick = D.Categorical(lib.tensor([[0.2, 0.8], [0.5, 0.5]]))
        components = D.Independent(D.Normal(lib.arange(12.0).reshape(2, 2, 3), 1.0), 1)
        return D.MixtureSameFamily(pick, components)

    ours, theirs = mixture(flambeau), mixture(torch)
    assert repr(ours) == repr(theirs)
    for our_draw, their_draw in zip(draws(flambeau, ours, "sample"), draws(torch, theirs, "sample"), strict=True):
        assert_agree(our_draw, their_draw)
    values = rng.randn(5, 2, 3).astype(np.float32)
    assert_agree(
        attempt(ours.log_prob, flambeau.tensor(values)),
        attempt(theirs.log_prob, torch.tensor(values)),
    )
    assert_agree(array(ours.mean), array(theirs.mean))
    assert_agree(array(ours.variance), array(theirs.variance))
    assert_agree(array(ours.expand((3, 2)).mean), array(theirs.expand((3, 2)).mean))
