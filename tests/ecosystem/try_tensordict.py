"""tensordict: creating, indexing, stacking and saving; modules on tensordicts; parameters as tensordicts; `vmap`."""

from __future__ import annotations

import tempfile

import torch
from tensordict import MemoryMappedTensor, TensorDict, TensorDictParams, lazy_stack, tensorclass
from tensordict.nn import InteractionType, ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torch.utils._pytree import tree_map

torch.manual_seed(0)

data = TensorDict({"image": torch.arange(24.0).reshape(4, 6), "nested": {"label": torch.arange(4)}}, batch_size=[4])
print(data.batch_size, sorted(data.keys(include_nested=True, leaves_only=True), key=str))
print(data[1:3]["nested", "label"], data[data["nested", "label"] > 1].shape, data[0]["image"])
print(torch.stack([data, data], 1).shape, torch.cat([data, data])["image"].shape, data.reshape(2, 2)["nested"].batch_size)
print((data * 2 + 1)["image"][1], data.apply(lambda x: x.float().mean(0), batch_size=[])["image"])
print([part.shape for part in data.split(3)], data.unsqueeze(0).expand(2, 4).shape, data.flatten_keys(".").keys())
print(lazy_stack([data, data.clone().set("image", torch.zeros(4, 3))]).get(("nested", "label")).shape)
try:
    data["wrong"] = torch.zeros(3)
except RuntimeError as error:
    print(str(error).split(".")[0])

with tempfile.TemporaryDirectory() as folder:
    data.memmap(folder)
    loaded = TensorDict.load_memmap(folder)
    print(type(loaded["image"]) is MemoryMappedTensor, (loaded == data).all(), loaded.is_memmap())
    torch.save(data, f"{folder}/file")
    print((torch.load(f"{folder}/file", weights_only=False) == data).all())


@tensorclass
class Sample:
    observation: torch.Tensor
    reward: torch.Tensor
    note: str = "none"


sample = Sample(torch.ones(3, 2), torch.zeros(3), "first", batch_size=[3])
print(sample[0].reward.shape, torch.stack([sample, sample]).observation.shape, sample.note, sample.to(torch.float64).reward.dtype)

encoder = TensorDictModule(torch.nn.Linear(6, 5), in_keys=["image"], out_keys=["hidden"])
decoder = TensorDictModule(torch.nn.Linear(5, 2), in_keys=["hidden"], out_keys=[("out", "loc")])
scale = TensorDictModule(lambda x: x.exp(), in_keys=[("out", "loc")], out_keys=[("out", "scale")])
policy = ProbabilisticTensorDictModule(
    in_keys={"loc": ("out", "loc"), "scale": ("out", "scale")},
    out_keys=["action"],
    distribution_class=torch.distributions.Normal,
    default_interaction_type=InteractionType.DETERMINISTIC,
)
model = TensorDictSequential(encoder, decoder, scale, policy)
print(model.in_keys, model.out_keys)
small = data.clone().set("image", data["image"] / 24)
output = model(small.clone())
print(output["action"].shape, torch.allclose(output["action"], output["out", "loc"]), output["hidden"].sum())
output["action"].pow(2).sum().backward()
print(encoder.module.weight.grad.sum())

network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
params = TensorDict.from_module(network)
print(sorted(params.keys(include_nested=True, leaves_only=True)))
zeros = params.detach().apply(torch.zeros_like)
with zeros.to_module(network):
    print(network(torch.ones(2, 3)).sum())
print(network[0].weight.abs().sum() > 0)
several = torch.stack([params.detach(), params.detach() * 2, zeros])


def run(params, x):
    with params.to_module(network):
        return network(x)


x = torch.ones(2, 3)
mapped = torch.vmap(run, in_dims=(0, None))(several, x)
print(mapped.shape, torch.allclose(mapped[0], network(x)), mapped[2].abs().sum())
print(torch.vmap(lambda td: td.set("twice", td["image"] * 2))(data)["twice"].sum())
print(tree_map(torch.sum, data.select("image"))["image"])
print(
    TensorDictParams(params).state_dict().keys() == dict(network.state_dict()).keys(),
    len(list(TensorDictParams(params).parameters())),
)
print(data.select("image"))
