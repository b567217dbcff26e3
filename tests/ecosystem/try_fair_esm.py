"""fair-esm: a small model of proteins with random weights."""

import esm
import torch

torch.manual_seed(0)
alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
model = esm.model.esm2.ESM2(num_layers=2, embed_dim=32, attention_heads=4, alphabet=alphabet).eval()
_, _, tokens = alphabet.get_batch_converter()([("a", "MKTAY"), ("b", "KALTARQ")])
found = model(tokens, repr_layers=[0, 2], return_contacts=True)
print(tokens.tolist(), tuple(found["logits"].shape), tuple(found["contacts"].shape))
print(
    f"{found['logits'].abs().sum().item():.3f} {found['representations'][2].norm().item():.4f} {found['contacts'].sum().item():.4f}"
)
