"""foolbox: attacks on a small network through eagerpy's tensors."""

import foolbox
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 3)).eval()
model = foolbox.PyTorchModel(net, bounds=(0, 1))
images = torch.rand(4, 3, 8, 8)
labels = net(images).argmax(1)
print(foolbox.utils.accuracy(model, images, labels))
for attack in (
    foolbox.attacks.LinfFastGradientAttack(),
    foolbox.attacks.LinfProjectedGradientDescentAttack(steps=4, random_start=False),
    foolbox.attacks.L2DeepFoolAttack(steps=5, candidates=3),
    foolbox.attacks.L2CarliniWagnerAttack(binary_search_steps=2, steps=10),
    foolbox.attacks.DDNAttack(steps=5),
):
    _, clipped, success = attack(model, images, labels, epsilons=[0.05, 0.5])
    print(type(attack).__name__, success.tolist(), f"{clipped[1].sum().item():.3f}")
