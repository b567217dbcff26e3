"""opacus: training with differential privacy through per-sample gradients."""

import torch
from opacus import PrivacyEngine
from opacus.grad_sample import GradSampleModule

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.Flatten(), torch.nn.Linear(144, 2))
images, labels = torch.randn(64, 1, 8, 8), torch.randint(0, 2, (64,))
each = GradSampleModule(net)
torch.nn.functional.cross_entropy(each(images[:5]), labels[:5]).backward()
for name, parameter in net.named_parameters():
    print(name, tuple(parameter.grad_sample.shape), f"{parameter.grad_sample.norm().item():.5f}")

net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), 16)
engine = PrivacyEngine()
private, optimizer, loader = engine.make_private(
    module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
)
for batch, wanted in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(private(batch), wanted)
    loss.backward()
    optimizer.step()
    print(len(batch), f"{loss.item():.5f}")
print(f"{engine.get_epsilon(1e-5):.4f}")
