"""pytorch-optimizer: three steps of many optimizers, wrappers, schedules and loss functions."""

import pytorch_optimizer
import torch
from pytorch_optimizer import SAM, CosineScheduler, Lookahead, load_optimizer

NAMES = [
    "a2grad", "adabelief", "adabound", "adai", "adamp", "adan", "adapnm", "adatam", "adopt", "aggmo", "apollodqn",
    "avagrad", "came", "diffgrad", "fadam", "gravity", "kate", "lamb", "laprop", "lars", "lion", "madgrad", "mars", "nero",
    "novograd", "padam", "pid", "prodigy", "qhadam", "ranger", "sgdp", "shampoo", "sm3", "srmm", "stableadamw",
    "swats", "tiger", "yogi",
]  # fmt: skip
torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 1)
start = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).state_dict()


def network():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model.load_state_dict(start)
    return model


def train(model, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward(create_graph=type(optimizer).__name__ == "SophiaH")
        optimizer.step()
    return loss.item()


for name in NAMES:
    model = network()
    optimizer = load_optimizer(name)(model.parameters(), lr=1e-2)
    print(name, train(model, optimizer), model[2].weight.norm().item())
model = network()
print(train(model, Lookahead(load_optimizer("adamp")(model.parameters(), lr=1e-2), k=2), 4))
model = network()
sam = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for _ in range(2):
    (model(x) - y).square().mean().backward()
    sam.first_step(zero_grad=True)
    loss = (model(x) - y).square().mean()
    loss.backward()
    sam.second_step(zero_grad=True)
print(loss.item())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = CosineScheduler(optimizer, t_max=6, max_lr=0.1, warmup_steps=2)
print([round(schedule.step(), 5) for _ in range(6)], len(pytorch_optimizer.get_supported_optimizers()) > 50)
logits, target = torch.tensor([[0.2, -1.0], [2.0, 0.5]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
print(pytorch_optimizer.FocalLoss()(logits, target).item(), pytorch_optimizer.TverskyLoss()(logits, target).item())
