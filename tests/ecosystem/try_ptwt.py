"""ptwt: fast wavelet transforms in one, two and three dimensions, packets, and the continuous transform."""

import numpy as np
import ptwt
import pywt
import torch

torch.manual_seed(0)
x = torch.randn(2, 32, dtype=torch.float64)
for wavelet in ("haar", "db3", "sym4"):
    coefficients = ptwt.wavedec(x, pywt.Wavelet(wavelet), mode="zero", level=2)
    back = ptwt.waverec(coefficients, pywt.Wavelet(wavelet))
    expected = pywt.wavedec(x.numpy(), wavelet, mode="zero", level=2)
    print(
        wavelet,
        [tuple(c.shape) for c in coefficients],
        torch.allclose(back[..., :32], x),
        np.allclose(expected[0], coefficients[0]),
    )
for mode in ("reflect", "constant", "periodic", "symmetric"):
    print(mode, f"{sum(c.abs().sum() for c in ptwt.wavedec(x, 'db2', mode=mode, level=3)).item():.5f}")
image = torch.randn(1, 16, 16, dtype=torch.float64, requires_grad=True)
low, details = ptwt.wavedec2(image, "db2", level=1)
print(tuple(low.shape), [tuple(part.shape) for part in details])
ptwt.waverec2((low, details), "db2").square().sum().backward()
print(f"{image.grad.sum().item():.5f}")
low, details = ptwt.fswavedec2(image, "haar", level=1)
print(sorted(details), tuple(ptwt.fswaverec2((low, details), "haar").shape))
print([tuple(c.shape) if torch.is_tensor(c) else sorted(c) for c in ptwt.wavedec3(torch.randn(1, 8, 8, 8), "haar", level=1)])
packets = ptwt.WaveletPacket(x, pywt.Wavelet("haar"), mode="zero", maxlevel=2)
print([f"{packets[name].abs().sum().item():.4f}" for name in packets.get_level(2)])
transform, frequencies = ptwt.cwt(x, torch.arange(1, 6), "mexh")
print(tuple(transform.shape), f"{transform.abs().sum().item():.4f}", [f"{f:.4f}" for f in frequencies])
matrix = ptwt.MatrixWavedec("db2", level=2)(x)
print([f"{c.abs().sum().item():.4f}" for c in matrix])
