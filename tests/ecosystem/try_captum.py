"""captum: attributions of inputs, layers and neurons of a small network."""

import numpy
import torch
from captum import attr
from captum.metrics import infidelity, sensitivity_max
from torch import nn

torch.manual_seed(0)
numpy.random.seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 3)
).eval()
x, baseline = torch.rand(2, 1, 8, 8), torch.zeros(2, 1, 8, 8)


def shown(name, values):
    values = values[0] if isinstance(values, tuple) else values
    print(name, tuple(values.shape), f"{values.sum().item():.5f} {values.abs().max().item():.5f}")


values, delta = attr.IntegratedGradients(net).attribute(x, baseline, target=1, return_convergence_delta=True, n_steps=20)
shown("IntegratedGradients", values)
print(f"{delta.abs().max().item() < 0.05}")
for kind in (attr.Saliency, attr.InputXGradient, attr.Deconvolution, attr.GuidedBackprop):
    shown(kind.__name__, kind(net).attribute(x, target=1))
values, delta = attr.DeepLift(net).attribute(x, baseline, target=2, return_convergence_delta=True)
shown("DeepLift", values)
print(bool(delta.abs().max() < 1e-5))
shown("DeepLiftShap", attr.DeepLiftShap(net).attribute(x, torch.rand(5, 1, 8, 8), target=0))
shown("GradientShap", attr.GradientShap(net).attribute(x, baseline, target=0, n_samples=4, stdevs=0.1))
shown("LRP", attr.LRP(net[4:]).attribute(torch.rand(2, 36), target=1))
shown("Occlusion", attr.Occlusion(net).attribute(x, (1, 2, 2), target=1, strides=(1, 2, 2)))
shown("FeatureAblation", attr.FeatureAblation(net).attribute(x, target=1, feature_mask=torch.arange(64).view(1, 1, 8, 8) // 16))
shown(
    "ShapleyValueSampling",
    attr.ShapleyValueSampling(net).attribute(x, target=1, feature_mask=torch.arange(64).view(1, 1, 8, 8) // 16),
)
shown(
    "KernelShap",
    attr.KernelShap(net).attribute(x[:1], target=1, feature_mask=torch.arange(64).view(1, 1, 8, 8) // 16, n_samples=40),
)
shown("NoiseTunnel", attr.NoiseTunnel(attr.Saliency(net)).attribute(x, target=1, nt_samples=3, nt_type="smoothgrad_sq"))
shown("LayerGradCam", attr.LayerGradCam(net, net[0]).attribute(x, target=1))
shown("GuidedGradCam", attr.GuidedGradCam(net, net[0]).attribute(x, target=1))
shown("LayerConductance", attr.LayerConductance(net, net[4]).attribute(x, baseline, target=1, n_steps=10))
shown("LayerIntegratedGradients", attr.LayerIntegratedGradients(net, net[0]).attribute(x, baseline, target=1, n_steps=10))
shown("LayerDeepLift", attr.LayerDeepLift(net, net[4]).attribute(x, baseline, target=1))
shown("NeuronGradient", attr.NeuronGradient(net, net[4]).attribute(x, 3))
shown("NeuronConductance", attr.NeuronConductance(net, net[4]).attribute(x, 3, target=1, n_steps=10))
saliency = attr.Saliency(net)
shown("sensitivity", sensitivity_max(saliency.attribute, x, target=1, n_perturb_samples=3))
shown(
    "infidelity", infidelity(net, lambda x: (0.01 * torch.randn_like(x), x - 0.01), x, saliency.attribute(x, target=1), target=1)
)
