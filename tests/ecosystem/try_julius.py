"""julius: filters, resampling and fast convolutions of sound."""

import julius
import torch

torch.manual_seed(0)
sound = torch.randn(2, 1000, requires_grad=True)
for name, function in {
    "resample": lambda x: julius.resample_frac(x, 4, 3),
    "lowpass": lambda x: julius.lowpass_filter(x, 0.1),
    "bandpass": lambda x: julius.bandpass_filter(x, 0.1, 0.3),
    "bands": lambda x: julius.split_bands(x, 100, n_bands=4),
    "fft": lambda x: julius.fft_conv1d(x.unsqueeze(1), torch.ones(3, 1, 40) / 40),
}.items():
    sound.grad = None
    found = function(sound)
    found.square().sum().backward()
    print(name, tuple(found.shape), f"{found.sum().item():.4f} {sound.grad.norm().item():.4f}")
