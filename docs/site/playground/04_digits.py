"""Handwritten digits: a convolutional network."""

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau_vision.datasets import UCIDigits

torch.manual_seed(0)


def load(train):
    digits = UCIDigits(train=train)
    return digits.data.unsqueeze(1).float() / 255, digits.targets


(images, labels), (held_out, expected) = load(True), load(False)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(len(images)).split(64):
        loss = F.cross_entropy(net(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = (net(held_out).argmax(1) == expected).float().mean()
    print(f"epoch {epoch + 1}: {right:.1%} of held-out digits right")
