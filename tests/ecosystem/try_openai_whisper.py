"""whisper: spectrograms, a small model with random weights, greedy and beam search decoding, transcription."""

import torch
import whisper
from whisper.audio import log_mel_spectrogram, pad_or_trim
from whisper.model import ModelDimensions, Whisper
from whisper.tokenizer import get_tokenizer

torch.manual_seed(0)
dims = ModelDimensions(
    n_mels=80, n_audio_ctx=1500, n_audio_state=64, n_audio_head=2, n_audio_layer=1,
    n_vocab=51865, n_text_ctx=64, n_text_state=64, n_text_head=2, n_text_layer=2,
)  # fmt: skip
model = Whisper(dims)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(torch.randn(parameter.shape) * 0.1)
model.eval()
print(sum(p.numel() for p in model.parameters()), model.is_multilingual, model.device)

sound = 0.5 * torch.sin(torch.arange(16000 * 3) * (2 * torch.pi * 440 / 16000)) + 0.1 * torch.randn(16000 * 3)
mel = log_mel_spectrogram(pad_or_trim(sound))
print(tuple(mel.shape), f"{mel.mean().item():.5f} {mel.max().item():.5f}")
features = model.embed_audio(mel[None])
print(tuple(features.shape), f"{features.abs().mean().item():.5f}")
tokens = torch.tensor([get_tokenizer(True).sot_sequence])
print(f"{model.logits(tokens, features).abs().mean().item():.5f} {model(mel[None], tokens).std().item():.5f}")
_, languages = model.detect_language(mel)
print(max(languages, key=languages.get))
options = {"fp16": False, "sample_len": 8, "language": "en"}
for more in ({}, {"beam_size": 3}, {"without_timestamps": True, "suppress_blank": False}):
    result = whisper.decode(model, mel, whisper.DecodingOptions(**options, **more))
    print(result.tokens, f"{result.avg_logprob:.4f} {result.no_speech_prob:.6f} {result.compression_ratio:.4f}")
text = model.transcribe(sound.numpy(), temperature=0.0, language="en", fp16=False, sample_len=8, word_timestamps=False)
print(len(text["segments"]), text["language"])
