"""torchao: weight-only and dynamic quantization of a network."""

import copy

import torch
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
x = torch.randn(4, 64)
exact = net(x)
for config in (Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()):
    quantized = copy.deepcopy(net)
    quantize_(quantized, config)
    result = quantized(x)
    print(type(config).__name__, result.dtype, tuple(result.shape), f"{(result - exact).abs().max():.4f}")
    print([f"{value:.3f}" for value in result[0].tolist()])
    print(type(quantized[0].weight.data).__name__, quantized[0].weight.shape)
