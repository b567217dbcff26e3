"""torchattacks: adversarial images for a small network."""

import torch
import torchattacks

torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(16, 3)
).eval()
images, labels = torch.rand(3, 3, 16, 16), torch.tensor([0, 1, 2])
for attack in (
    torchattacks.FGSM(net, eps=8 / 255),
    torchattacks.PGD(net, eps=8 / 255, steps=3),
    torchattacks.BIM(net, steps=3),
    torchattacks.MIFGSM(net, steps=3),
    torchattacks.CW(net, steps=3),
    torchattacks.DeepFool(net, steps=3),
    torchattacks.VNIFGSM(net, steps=2, N=2),
    torchattacks.SINIFGSM(net, steps=2, m=2),
):
    torch.manual_seed(1)
    changed = attack(images, labels)
    print(attack.attack, tuple(changed.shape), f"{changed.sum().item():.3f} {(changed - images).abs().max().item():.4f}")
