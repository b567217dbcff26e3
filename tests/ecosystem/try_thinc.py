"""thinc: a network of thinc's layers around a PyTorch module, trained by thinc's optimizer."""

import numpy as np
import torch
from thinc.api import Adam, Linear, PyTorchWrapper, Softmax, chain, fix_random_seed

fix_random_seed(0)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(8, 5)).astype("float32"), np.eye(3, dtype="float32")[rng.integers(0, 3, 8)]
inner = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh())
with torch.no_grad():
    for number, parameter in enumerate(inner.parameters()):
        parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape) / (number + 1))
model = chain(Linear(6, 5), PyTorchWrapper(inner), Softmax(3, 4))
model.initialize(X=x, Y=y)
optimizer = Adam(0.05)
for _ in range(4):
    guess, backward = model.begin_update(x)
    gradient = backward((guess - y) / len(x))
    model.finish_update(optimizer)
    print(f"{-(y * np.log(guess)).sum(1).mean():.5f} {np.abs(gradient).sum():.5f} {inner[0].weight.norm().item():.5f}")
copy = model.copy().from_bytes(model.to_bytes())
print(np.abs(copy.predict(x) - model.predict(x)).max() < 1e-6, type(copy.layers[1].shims[0]).__name__)
