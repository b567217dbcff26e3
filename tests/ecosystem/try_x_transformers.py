"""x-transformers: decoders with many options, their gradients, a training step and generation."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

OPTIONS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True},
    "flash": {"attn_flash": True, "rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True, "attn_kv_heads": 2},
    "relative": {"rel_pos_bias": True},
    "dynamic": {"dynamic_pos_bias": True, "attn_qk_norm": True},
    "gated": {"attn_gate_values": True, "gate_residual": True, "attn_num_mem_kv": 4},
    "topk": {"attn_sparse_topk": 2, "shift_tokens": 1, "ff_swish": True},
    "macaron": {"macaron": True, "residual_attn": True, "sandwich_norm": True},
    "memory": {"attn_on_attn": True, "scale_residual": True},
    "xval": {"use_simple_rmsnorm": True, "ff_relu_squared": True, "ff_no_bias": True},
}
for name, options in OPTIONS.items():
    torch.manual_seed(0)
    model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=Decoder(dim=32, depth=2, heads=4, **options))
    net = AutoregressiveWrapper(model)
    tokens = torch.randint(0, 64, (2, 33))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = net(tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    norm = torch.stack([p.grad.norm() for p in net.parameters() if p.grad is not None]).norm().item()
    print(name, " ".join(f"{loss:.5f}" for loss in losses), f"{norm:.4f}", sum(p.numel() for p in net.parameters()))
    found = net.generate(tokens[:, :4], 12, temperature=0.0)
    print(found[0].tolist())

torch.manual_seed(0)
model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=Decoder(dim=32, depth=2, heads=4))
net = AutoregressiveWrapper(model)
print(net.generate(torch.zeros(2, 3, dtype=torch.long), 10, temperature=1.0).tolist())
print(net.beam_search(torch.zeros(1, 3, dtype=torch.long), 6, beams=3).tolist() if hasattr(net, "beam_search") else "")

torch.manual_seed(0)
both = XTransformer(
    dim=32,
    enc_num_tokens=32,
    enc_depth=1,
    enc_heads=2,
    enc_max_seq_len=16,
    dec_num_tokens=32,
    dec_depth=1,
    dec_heads=2,
    dec_max_seq_len=16,
)
src, tgt = torch.randint(0, 32, (2, 16)), torch.randint(0, 32, (2, 16))
loss = both(src, tgt, mask=torch.ones_like(src).bool())
loss.backward()
print(f"{loss.item():.5f}")
print(both.generate(src, tgt[:, :1], 8).tolist())

torch.manual_seed(0)
vit = ViTransformerWrapper(image_size=32, patch_size=8, num_classes=10, attn_layers=Encoder(dim=32, depth=2, heads=4))
print(tuple(vit(torch.randn(2, 3, 32, 32)).shape), f"{vit(torch.ones(1, 3, 32, 32)).sum().item():.5f}")
continuous = ContinuousTransformerWrapper(dim_in=8, dim_out=4, max_seq_len=32, attn_layers=Encoder(dim=32, depth=2, heads=4))
print(f"{continuous(torch.randn(1, 32, 8), mask=torch.ones(1, 32).bool()).sum().item():.5f}")
