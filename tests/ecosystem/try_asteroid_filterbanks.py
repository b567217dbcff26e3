"""asteroid_filterbanks: encode and decode audio with filterbanks, and transform their outputs."""

import torch
from asteroid_filterbanks import STFTFB, Encoder, make_enc_dec, transforms

torch.manual_seed(0)
sound = torch.randn(2, 1, 2000)
for name in ("free", "stft", "analytic_free", "param_sinc", "torch_stft"):
    encoder, decoder = make_enc_dec(name, 64, 64, stride=32, sample_rate=8000)
    seen = encoder(sound)
    back = decoder(seen)
    print(name, tuple(seen.shape), tuple(back.shape), f"{seen.norm().item():.3f} {back.norm().item():.3f}")
seen = Encoder(STFTFB(64, 64, 16))(sound)
complex_ = transforms.to_torch_complex(seen)
print(complex_.dtype, torch.equal(transforms.from_torch_complex(complex_), seen))
print(f"{transforms.mag(seen).sum().item():.2f} {transforms.angle(seen).abs().mean().item():.3f}")
traced = torch.jit.trace(Encoder(STFTFB(64, 64, 16)), sound, check_trace=False)
print(tuple(traced(sound[:, :, :1000]).shape))
