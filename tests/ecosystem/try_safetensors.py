"""safetensors: saving and loading tensors and models."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.safetensors")
    save_file({name: value.contiguous() for name, value in net.state_dict().items()}, path, metadata={"format": "pt"})
    again = load_file(path)
    print(sorted(again), all(torch.equal(again[name], value) for name, value in net.state_dict().items()))
    with safe_open(path, framework="pt") as file:
        print(sorted(file.keys()), file.metadata(), file.get_slice("0.weight")[:2, 1:].shape, type(file.get_tensor("0.bias")))
    save_model(net, path)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    print(load_model(other, path), torch.equal(other[0].weight, net[0].weight))
print(len(save({"x": torch.ones(2, dtype=torch.bfloat16)})))
