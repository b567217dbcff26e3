"""auraloss: losses of sound in time and frequency."""

import auraloss
import torch

torch.manual_seed(0)
a, b = torch.randn(2, 1, 4000, requires_grad=True), torch.randn(2, 1, 4000)
for loss in (
    auraloss.time.SNRLoss(),
    auraloss.time.SISDRLoss(),
    auraloss.time.ESRLoss(),
    auraloss.time.DCLoss(),
    auraloss.time.LogCoshLoss(),
    auraloss.freq.STFTLoss(fft_size=256, hop_size=64, win_length=256),
    auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[256, 512], hop_sizes=[64, 128], win_lengths=[256, 512]),
):
    a.grad = None
    found = loss(a, b)
    found.backward()
    print(type(loss).__name__, f"{found.item():.4f} {a.grad.norm().item():.3f}")
