"""nnAudio: spectrograms as layers."""

import torch
from nnAudio import features

torch.manual_seed(0)
sound = (torch.arange(8000) * 0.2).sin().unsqueeze(0) + 0.1 * torch.randn(2, 8000)
for layer in (
    features.STFT(n_fft=256, hop_length=128, sr=8000, verbose=False, output_format="Magnitude", trainable=True),
    features.MelSpectrogram(sr=8000, n_fft=256, n_mels=16, hop_length=128, verbose=False),
    features.MFCC(sr=8000, n_mfcc=10, n_fft=256, n_mels=16, verbose=False),
    features.CQT1992v2(sr=8000, hop_length=256, fmin=110, n_bins=24, verbose=False),
    features.Gammatonegram(sr=8000, n_fft=256, n_bins=8, hop_length=128, verbose=False),
):
    found = layer(sound)
    print(type(layer).__name__, tuple(found.shape), f"{found.abs().mean().item():.5f}")
