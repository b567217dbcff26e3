"""vector-quantize-pytorch: codebooks that learn, residual and finite scalar quantization."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, SimVQ, VectorQuantize

x = torch.randn(2, 12, 8, generator=torch.Generator().manual_seed(0), requires_grad=True)
for name, make in {
    "VectorQuantize": lambda: VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0),
    "cosine": lambda: VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True, codebook_dim=4),
    "ResidualVQ": lambda: ResidualVQ(dim=8, num_quantizers=3, codebook_size=16),
    "SimVQ": lambda: SimVQ(dim=8, codebook_size=16, rotation_trick=True),
    "LFQ": lambda: LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1),
    "FSQ": lambda: FSQ(levels=[5, 3, 3], dim=8),
}.items():
    torch.manual_seed(0)
    quantizer = make().train()
    x.grad = None
    result = quantizer(x)
    loss = result[2].sum() if len(result) > 2 else 0.0
    (result[0].square().sum() + loss).backward()
    print(name, tuple(result[1].shape), f"{result[0].sum().item():.4f} {float(loss):.4f} {x.grad.norm().item():.4f}")
