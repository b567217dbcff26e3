"""sentence-transformers: pooling, similarities and losses."""

import torch
from sentence_transformers import util
from sentence_transformers.models import Dense, Normalize, Pooling

torch.manual_seed(0)
tokens = {"token_embeddings": torch.randn(3, 5, 8), "attention_mask": torch.tensor([[1] * 5, [1] * 3 + [0] * 2, [1] + [0] * 4])}
for mode in ("mean", "max", "cls", "lasttoken"):
    found = Normalize()(Dense(8, 4)(Pooling(8, pooling_mode=mode)(dict(tokens))))["sentence_embedding"]
    print(mode, tuple(found.shape), f"{found.abs().sum().item():.4f}")
print(f"{util.cos_sim(found, found).sum().item():.4f} {util.dot_score(found, found[:1]).sum().item():.4f}")
print([hit["corpus_id"] for hit in util.semantic_search(found[:1], found, top_k=2)[0]])
