"""curated-transformers: a small encoder and a small decoder."""

import torch
from curated_transformers.layers import AttentionMask
from curated_transformers.models.bert import BERTConfig, BERTEncoder

torch.manual_seed(0)
config = BERTConfig(
    embedding_width=16, hidden_width=16, intermediate_width=32, n_hidden_layers=2, n_attention_heads=2, n_pieces=30
)
encoder = BERTEncoder(config).eval()
pieces = torch.randint(0, 30, (2, 6))
found = encoder(pieces, AttentionMask(torch.ones(2, 6).bool()))
print(
    tuple(found.last_hidden_layer_state.shape), f"{found.last_hidden_layer_state.abs().sum().item():.3f}", len(found.all_outputs)
)
