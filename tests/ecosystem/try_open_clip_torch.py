"""open-clip: a small model of images and texts, its loss, and the tokenizer."""

import open_clip
import torch

torch.manual_seed(0)
model = open_clip.model.CLIP(
    embed_dim=16,
    vision_cfg={"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    text_cfg={"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
)
model.train()
tokens = open_clip.tokenize(["a photo of a cat", "a drawing of two dogs"])
images, texts, scale = model(torch.rand(2, 3, 32, 32), tokens)
loss = open_clip.ClipLoss()(images, texts, scale)
loss.backward()
print(tokens.shape, tokens[0, :7].tolist(), images.shape)
print(f"{loss.item():.5f} {scale.item():.4f} {model.visual.conv1.weight.grad.norm().item():.5f}")
print(f"{model.token_embedding.weight.grad.norm().item():.5f}", len(open_clip.list_models()) > 50)
print(open_clip.image_transform(32, is_train=False).transforms[0])
