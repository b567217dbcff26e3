"""pytorch-tabnet: the network, its masks and its regularization."""

import torch
from pytorch_tabnet.tab_network import TabNet

torch.manual_seed(0)
net = TabNet(input_dim=6, output_dim=3, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(6))
x = torch.randn(16, 6)
output, loss = net(x)
(output.square().sum() - 0.1 * loss).backward()
print(tuple(output.shape), f"{output.abs().sum().item():.3f} {loss.item():.4f}")
print(f"{sum(p.grad.norm().item() for p in net.parameters() if p.grad is not None):.2f}")
explanation, masks = net.eval().forward_masks(x)
print(tuple(explanation.shape), f"{masks[0].sum().item():.3f}")
