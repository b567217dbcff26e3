"""Train the network of `net.py` on the digits in flambeau, and write `net.safetensors` into the current folder.

python -m flambeau examples/in_browser/train.py
"""

import torch
import torch.nn.functional as F
import torchvision
from net import make_net, prepare

from flambeau.serialization.safetensors import save_safetensors


def load(train):
    """Return the images, shape `(N, 1, 8, 8)`, and their targets."""
    digits = torchvision.datasets.UCIDigits(train=train)
    return torch.stack([prepare(image) for image in digits.data.float()]), digits.targets


torch.manual_seed(0)
(images, targets), (held_out, expected) = load(True), load(False)
net = make_net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _epoch in range(15):
    for rows in torch.randperm(len(images)).split(32):
        loss = F.cross_entropy(net(images[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

with torch.no_grad():
    accuracy = (net(held_out).argmax(1) == expected).float().mean().item()
print(f"held-out accuracy {accuracy:.2%}")
save_safetensors(net.state_dict(), "net.safetensors")
