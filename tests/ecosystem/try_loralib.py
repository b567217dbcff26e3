"""loralib: low-rank adaptation of layers."""

import loralib
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(
    loralib.Embedding(9, 6, r=2), loralib.MergedLinear(6, 12, r=2, enable_lora=[True, False, True]), loralib.Linear(12, 3, r=2)
)
loralib.mark_only_lora_as_trainable(net)
with torch.no_grad():
    for name, p in net.named_parameters():
        if "lora_" in name:
            p.normal_()
tokens = torch.randint(0, 9, (2, 4))
found = net(tokens)
found.sum().backward()
print(f"{found.abs().sum().item():.4f}", [name for name, p in net.named_parameters() if p.grad is not None])
print(torch.allclose(net.eval()(tokens), found, atol=1e-4), sorted(loralib.lora_state_dict(net))[:3])
