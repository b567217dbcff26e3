"""snntorch: spiking neurons over ten steps, their gradients, spike encodings and losses."""

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate

torch.manual_seed(0)
x = torch.rand(10, 4, 8)
for neuron in (
    snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), init_hidden=True),
    snn.Leaky(beta=0.9, learn_beta=True, reset_mechanism="zero", init_hidden=True),
    snn.Synaptic(alpha=0.8, beta=0.9, init_hidden=True),
    snn.Lapicque(beta=0.9, init_hidden=True),
    snn.RLeaky(beta=0.9, linear_features=8, init_hidden=True),
    snn.Alpha(alpha=0.9, beta=0.8, init_hidden=True),
):
    linear = torch.nn.Linear(8, 8)
    spikes = torch.stack([neuron(linear(step) * 4) for step in x])
    spikes.sum().backward()
    print(type(neuron).__name__, spikes.sum().item(), f"{linear.weight.grad.norm().item():.4f}")

rates = torch.rand(6, 4)
print(spikegen.rate(rates, num_steps=5).sum().item(), spikegen.delta(rates, threshold=0.2).sum().item())
print(spikegen.latency(rates, num_steps=5, normalize=True, linear=True).sum((1, 2)).tolist())
outputs, targets = torch.randint(0, 2, (6, 4, 3)).float(), torch.tensor([0, 1, 2, 0])
for loss in (functional.ce_rate_loss(), functional.ce_count_loss(), functional.mse_count_loss(0.8, 0.2)):
    print(type(loss).__name__, f"{loss(outputs, targets).item():.4f}")
