"""SciPy with `SCIPY_ARRAY_API=1`: functions that take and return tensors."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import scipy
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 8, dtype=torch.float64)


def show(name, result):
    print(
        name, type(result).__name__, tuple(result.shape), [f"{value:.4f}" for value in torch.view_as_real(result).flatten()[:6]]
    )


show("fft", scipy.fft.fft(x))
show("ifft", scipy.fft.ifft(scipy.fft.fft(x)))
for name in ("gammaln", "erf", "expit", "logit", "i0", "ndtr", "xlogy"):
    function = getattr(scipy.special, name)
    result = function(x, x) if name == "xlogy" else function(x + 0.1)
    print(name, type(result).__name__, [f"{value:.4f}" for value in result.tolist()[1:4]])
print("logsumexp", f"{scipy.special.logsumexp(x):.4f}")
for name in ("skew", "kurtosis", "variation", "entropy"):
    print(name, f"{float(getattr(scipy.stats, name)(x + 1)):.4f}")
points = torch.rand(20, 2, dtype=torch.float64)
print("vq", [tuple(part.shape) for part in scipy.cluster.vq.vq(points, points[:3])])
print("gaussian_filter1d", [f"{value:.4f}" for value in scipy.ndimage.gaussian_filter1d(x, 1.0).tolist()[:4]])
print("hann", [f"{value:.4f}" for value in scipy.signal.windows.hann(5, xp=torch, device="cpu").tolist()])
