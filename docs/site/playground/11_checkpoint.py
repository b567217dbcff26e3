"""Save and load a model."""

import io

import flambeau as torch
from flambeau import nn

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
file = io.BytesIO()
torch.save(model.state_dict(), file)
print(f"{file.tell()} bytes")

file.seek(0)
other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
print(other.load_state_dict(torch.load(file)))
x = torch.randn(1, 3)
print(torch.equal(model(x), other(x)))
