"""An autoencoder of digits."""

import flambeau as torch
from flambeau import nn
from flambeau_vision.datasets import UCIDigits

torch.manual_seed(0)
images = UCIDigits(train=True).data.flatten(1).float() / 255
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8), nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(10):
    for batch in images[torch.randperm(len(images))].split(64):
        loss = nn.functional.mse_loss(net(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"mean squared error {loss.item():.4f}")


def draw(image):
    for row in image.reshape(8, 8).tolist():
        print("".join(" .:-=+*#%@"[min(int(value * 10), 9)] * 2 for value in row))


draw(images[0])
with torch.no_grad():
    draw(net(images[0]))
