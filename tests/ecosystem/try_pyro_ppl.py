"""pyro: variational inference of a coin's bias, automatic guides, HMC and NUTS, enumeration of a mixture, distributions."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDiagonalNormal, AutoIAFNormal, AutoMultivariateNormal, AutoNormal

pyro.set_rng_seed(0)
flips = torch.tensor([1.0, 1, 1, 0, 1, 1, 0, 1])


def model(data):
    bias = pyro.sample("bias", dist.Beta(2.0, 2.0))
    with pyro.plate("flips", len(data)):
        pyro.sample("seen", dist.Bernoulli(bias), obs=data)


def guide(data):
    a = pyro.param("a", torch.tensor(3.0), constraint=dist.constraints.positive)
    b = pyro.param("b", torch.tensor(3.0), constraint=dist.constraints.positive)
    pyro.sample("bias", dist.Beta(a, b))


trace = pyro.poutine.trace(pyro.poutine.condition(model, {"bias": torch.tensor(0.7)})).get_trace(flips)
print(f"{trace.log_prob_sum().item():.4f}", sorted(trace.nodes))
inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO(num_particles=20, vectorize_particles=True))
losses = [inference.step(flips) for _ in range(150)]
a, b = pyro.param("a").item(), pyro.param("b").item()
print(losses[-1] < losses[0], 0.6 < a / (a + b) < 0.75)
print({name: tuple(value.shape) for name, value in Predictive(model, guide=guide, num_samples=4)(flips).items()})
print(f"{torch.distributions.kl_divergence(dist.Beta(2.0, 3.0), dist.Beta(1.0, 1.0)).item():.4f}")

# Markov chains are chaotic: in float32, rounding would change which proposals are accepted
torch.set_default_dtype(torch.float64)
pyro.set_rng_seed(1)
inputs = torch.randn(30)
targets = 2 * inputs + 0.5 + 0.3 * torch.randn(30)


def line(x, y=None):
    start = pyro.sample("start", dist.Normal(0.0, 10.0))
    slope = pyro.sample("slope", dist.Normal(0.0, 10.0))
    scale = pyro.sample("scale", dist.HalfCauchy(1.0))
    with pyro.plate("points", len(x)):
        return pyro.sample("seen", dist.Normal(start + slope * x, scale), obs=y)


for kind in (AutoNormal, AutoMultivariateNormal, AutoDiagonalNormal, AutoIAFNormal):
    pyro.clear_param_store()
    pyro.set_rng_seed(2)
    inference = SVI(line, kind(line), pyro.optim.ClippedAdam({"lr": 0.02}), Trace_ELBO(num_particles=2))
    losses = [inference.step(inputs, targets) for _ in range(30)]
    print(kind.__name__, f"{losses[0]:.4f} {losses[-1]:.4f}", len(pyro.get_param_store()))
for kernel in (HMC(line, step_size=0.1, num_steps=4), NUTS(line)):
    pyro.set_rng_seed(3)
    chain = MCMC(kernel, num_samples=20, warmup_steps=20, disable_progbar=True)
    chain.run(inputs, targets)
    samples = chain.get_samples()
    print(type(kernel).__name__, {name: f"{value.mean().item():.4f}" for name, value in sorted(samples.items())})
print(tuple(Predictive(line, samples)(inputs)["seen"].shape), sorted(chain.diagnostics()))


@config_enumerate
def mixture(data):
    weights = pyro.param("weights", torch.tensor([0.5, 0.5]), constraint=dist.constraints.simplex)
    centres = pyro.param("centres", torch.tensor([-1.0, 1.0]))
    with pyro.plate("data", len(data)):
        kind = pyro.sample("kind", dist.Categorical(weights))
        pyro.sample("seen", dist.Normal(centres[kind], 0.5), obs=data)


pyro.clear_param_store()
inference = SVI(mixture, lambda data: None, pyro.optim.Adam({"lr": 0.05}), TraceEnum_ELBO())
print([f"{inference.step(targets):.4f}" for _ in range(3)], [f"{x:.4f}" for x in pyro.param("weights").tolist()])
for law in (
    dist.Stable(1.5, 0.2),
    dist.LKJCholesky(3, 1.0),
    dist.SineBivariateVonMises(0.0, 0.0, 1.0, 1.0, 0.2),
    dist.ProjectedNormal(torch.ones(3)),
    dist.OneOneMatching(torch.eye(3)),
    dist.ZeroInflatedPoisson(torch.tensor(2.0), gate=torch.tensor(0.3)),
    dist.MultivariateStudentT(torch.tensor(3.0), torch.zeros(2), torch.eye(2)),
    dist.RelaxedBernoulliStraightThrough(torch.tensor(0.5), probs=torch.tensor(0.4)),
    dist.AsymmetricLaplace(0.0, 1.0, 0.5),
):
    pyro.set_rng_seed(4)
    value = law.sample((2,))
    print(
        type(law).__name__, tuple(value.shape), f"{value.double().abs().sum().item():.4f} {law.log_prob(value).sum().item():.4f}"
    )
