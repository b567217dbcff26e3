"""torchaudio, without its compiled library: features, filters, resampling, a network."""

import torch
import torchaudio
from torchaudio import transforms
from torchaudio.compliance import kaldi

torch.manual_seed(0)
sound = torch.sin(torch.arange(4000) / 10.0)[None]
for layer in (
    transforms.Spectrogram(),
    transforms.MelSpectrogram(16000, n_mels=40),
    transforms.MFCC(16000, n_mfcc=13, melkwargs={"n_mels": 23}),
    transforms.Resample(16000, 8000),
    transforms.AmplitudeToDB(),
    transforms.MuLawEncoding(),
):
    result = layer(sound)
    print(type(layer).__name__, tuple(result.shape), f"{result.float().abs().mean().item():.4f}")
stretched = transforms.TimeStretch(n_freq=201)(transforms.Spectrogram(power=None)(sound), 1.2)
print("TimeStretch", tuple(stretched.shape), f"{stretched.abs().mean().item():.4f}")
print("fbank", f"{kaldi.fbank(sound).mean().item():.4f}")
net = torchaudio.models.Conformer(80, 4, 64, 2, 31).eval()
result, _ = net(torch.ones(1, 10, 80), torch.tensor([10]))
print("Conformer", tuple(result.shape), f"{result.abs().sum().item():.2f}")
wav2vec = torchaudio.models.wav2vec2_base().eval()
print("wav2vec2", tuple(wav2vec(torch.rand(1, 4000))[0].shape))
print("lowpass_biquad", f"{torchaudio.functional.lowpass_biquad(sound, 16000, 1000.0).abs().mean().item():.4f}")
