"""bitsandbytes: blockwise quantization on the CPU, and layers with weights of 4 bits."""

import logging

logging.disable(logging.CRITICAL)

import bitsandbytes as bnb  # noqa: E402
import torch  # noqa: E402
from bitsandbytes import functional as F  # noqa: E402

torch.manual_seed(0)
x = torch.randn(64, 64)
for kind in ("nf4", "fp4"):
    packed, state = F.quantize_4bit(x, blocksize=64, quant_type=kind)
    restored = F.dequantize_4bit(packed, state)
    print(kind, packed.dtype, tuple(packed.shape), packed.flatten()[:8].tolist(), f"{(restored - x).abs().max():.3f}")
codes, state = F.quantize_blockwise(x, blocksize=256)
print(codes.dtype, codes.flatten()[:8].tolist(), f"{(F.dequantize_blockwise(codes, state) - x).abs().max():.4f}")
layer = bnb.nn.Linear4bit(64, 8, bias=True, compute_dtype=torch.float32, quant_type="nf4")
torch.nn.init.normal_(layer.weight)
layer = layer.to("cpu")
print(layer.weight.data.shape, [f"{value:.2f}" for value in layer(x)[0].tolist()])
