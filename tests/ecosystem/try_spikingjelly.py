"""spikingjelly: layers of spiking neurons over several steps, surrogate gradients and encoders."""

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate

torch.manual_seed(0)
for kind in (neuron.LIFNode, neuron.IFNode, neuron.ParametricLIFNode, neuron.QIFNode, neuron.EIFNode, neuron.IzhikevichNode):
    for gradient in (surrogate.Sigmoid(), surrogate.ATan(), surrogate.PiecewiseQuadratic()):
        spiking = kind(surrogate_function=gradient)
        net = torch.nn.Sequential(layer.Linear(8, 16), spiking, layer.Linear(16, 3), kind(surrogate_function=gradient))
        functional.set_step_mode(net, "m")
        x = torch.rand(5, 4, 8, requires_grad=True)
        y = net(x * 3)
        y.mean(0).sum().backward()
        print(kind.__name__, type(gradient).__name__, tuple(y.shape), f"{y.sum().item():.1f} {x.grad.norm().item():.5f}")
        functional.reset_net(net)

net = torch.nn.Sequential(layer.Conv2d(1, 4, 3, padding=1), layer.BatchNorm2d(4), neuron.IFNode(), layer.MaxPool2d(2))
functional.set_step_mode(net, "m")
y = net(torch.randn(4, 2, 1, 8, 8))
print(tuple(y.shape), y.sum().item())
print(encoding.PoissonEncoder()(torch.full((3, 4), 0.5)).sum().item())
