"""x-clip: the contrastive loss of images and texts."""

import torch
from x_clip import CLIP

torch.manual_seed(0)
clip = CLIP(
    dim_text=16,
    dim_image=16,
    dim_latent=8,
    num_text_tokens=30,
    text_enc_depth=1,
    text_seq_len=12,
    text_heads=2,
    visual_enc_depth=1,
    visual_image_size=32,
    visual_patch_size=16,
    visual_heads=2,
    visual_patch_dropout=0.0,
)
text, images = torch.randint(1, 30, (2, 12)), torch.rand(2, 3, 32, 32)
loss = clip(text, images, freeze_image_encoder=False, return_loss=True)
loss.backward()
print(f"{loss.item():.5f}", sum(p.grad is not None for p in clip.parameters()))
