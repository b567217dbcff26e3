"""snac: a codec of sound with random weights."""

import torch
from snac import SNAC

torch.manual_seed(0)
model = SNAC(
    encoder_dim=8,
    encoder_rates=[2, 4],
    latent_dim=None,
    decoder_dim=32,
    decoder_rates=[4, 2],
    attn_window_size=None,
    codebook_size=16,
    codebook_dim=4,
    vq_strides=[2, 1],
).eval()
with torch.no_grad():
    decoded, codes = model(torch.randn(1, 1, 256))
print(tuple(decoded.shape), [tuple(code.shape) for code in codes], sum(p.numel() for p in model.parameters()))
