"""pyro: stochastic variational inference of a coin's bias."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Predictive, Trace_ELBO

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
