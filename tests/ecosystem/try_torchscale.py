"""torchscale: an encoder and a retentive decoder."""

import torch
from torchscale.architecture.config import EncoderConfig, RetNetConfig
from torchscale.architecture.encoder import Encoder
from torchscale.architecture.retnet import RetNetDecoder

torch.manual_seed(0)
embed = torch.nn.Embedding(20, 16)
encoder = Encoder(
    EncoderConfig(vocab_size=20, encoder_embed_dim=16, encoder_attention_heads=2, encoder_ffn_embed_dim=32, encoder_layers=2),
    embed_tokens=embed,
).eval()
tokens = torch.randint(0, 20, (2, 6))
print(f"{encoder(src_tokens=tokens)['encoder_out'].abs().sum().item():.4f}")
config = RetNetConfig(
    vocab_size=20,
    decoder_embed_dim=16,
    decoder_value_embed_dim=32,
    decoder_retention_heads=2,
    decoder_ffn_embed_dim=32,
    decoder_layers=2,
)
decoder = RetNetDecoder(config, embed_tokens=embed).eval()
print(tuple(decoder(tokens)[0].shape), f"{decoder(tokens)[0].abs().sum().item():.4f}")
