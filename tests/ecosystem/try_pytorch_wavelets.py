"""pytorch_wavelets: forward and inverse wavelet transforms of images and signals, and their gradients."""

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWT1DForward, DWT1DInverse, DWTForward, DWTInverse, ScatLayer

torch.manual_seed(0)
x = torch.randn(2, 3, 32, 32, requires_grad=True)
for wave in ("db1", "db3", "sym4"):
    for mode in ("zero", "symmetric", "reflect", "periodization"):
        low, high = DWTForward(J=2, wave=wave, mode=mode)(x)
        back = DWTInverse(wave=wave, mode=mode)((low, high))
        (gradient,) = torch.autograd.grad(low.sum() + high[0].pow(2).sum(), x)
        same = torch.allclose(back[..., :32, :32], x, atol=1e-4)
        print(wave, mode, tuple(low.shape), same, f"{low.norm().item():.4f} {gradient.norm().item():.4f}")

low, high = DTCWTForward(J=2)(x)
print(tuple(high[1].shape), f"{high[1].norm().item():.4f}", torch.allclose(DTCWTInverse()((low, high)), x, atol=1e-4))
signal = torch.randn(2, 3, 64)
low, high = DWT1DForward(J=2, wave="db2")(signal)
print(tuple(low.shape), torch.allclose(DWT1DInverse(wave="db2")((low, high)), signal, atol=1e-4))
scattered = ScatLayer()(x)
scattered.sum().backward()
print(tuple(scattered.shape), f"{x.grad.norm().item():.4f}")
