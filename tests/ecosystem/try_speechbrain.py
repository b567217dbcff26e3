"""speechbrain: features, speaker and speech recognition networks, losses, augmentation."""

import torch
from speechbrain.augment.time_domain import SpeedPerturb
from speechbrain.lobes.features import MFCC, Fbank
from speechbrain.lobes.models.CRDNN import CRDNN
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
from speechbrain.nnet.losses import ctc_loss
from speechbrain.processing.features import STFT, spectral_magnitude

torch.manual_seed(0)
sound = torch.sin(torch.arange(8000) / 7.0)[None].repeat(2, 1)
for layer in (Fbank(), MFCC(), SpeedPerturb(16000)):
    result = layer(sound)
    print(type(layer).__name__, tuple(result.shape), f"{result.abs().mean().item():.4f}")
print("magnitude", f"{spectral_magnitude(STFT(16000)(sound)).mean().item():.4f}")

speaker = ECAPA_TDNN(80, channels=[16, 16, 16, 16, 48], lin_neurons=8).eval()
print("ECAPA_TDNN", f"{speaker(torch.ones(2, 20, 80)).abs().sum().item():.4f}")

net = CRDNN(
    input_shape=[None, None, 40], cnn_blocks=1, cnn_channels=(8,), rnn_layers=1, rnn_neurons=16, dnn_blocks=1, dnn_neurons=16
)
net(torch.rand(2, 24, 40)).sum().backward()
print("CRDNN", f"{sum(parameter.grad.abs().sum() for parameter in net.parameters() if parameter.grad is not None).item():.2f}")

scores = torch.randn(2, 10, 5).log_softmax(-1)
print("ctc_loss", f"{ctc_loss(scores, torch.tensor([[1, 2], [2, 3]]), torch.ones(2), torch.ones(2), 0).item():.4f}")

asr = TransformerASR(
    tgt_vocab=12, input_size=40, d_model=16, nhead=2, num_encoder_layers=1, num_decoder_layers=1, d_ffn=32, causal=True
).eval()
encoded, decoded = asr(torch.rand(2, 12, 40), torch.ones(2, 5, dtype=torch.int64), pad_idx=0)
print("TransformerASR", tuple(encoded.shape), tuple(decoded.shape), f"{decoded.abs().sum().item():.2f}")
