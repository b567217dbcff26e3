"""Segment Anything: masks for points and boxes, from a small model with random weights."""

import numpy as np
import torch
from segment_anything import SamPredictor
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

torch.manual_seed(0)
net = Sam(
    image_encoder=ImageEncoderViT(
        img_size=64, patch_size=16, embed_dim=16, depth=2, num_heads=2, out_chans=16, use_rel_pos=True, window_size=3,
        global_attn_indexes=(1,),
    ),
    prompt_encoder=PromptEncoder(embed_dim=16, image_embedding_size=(4, 4), input_image_size=(64, 64), mask_in_chans=8),
    mask_decoder=MaskDecoder(
        num_multimask_outputs=3,
        transformer=TwoWayTransformer(depth=2, embedding_dim=16, mlp_dim=32, num_heads=2),
        transformer_dim=16,
        iou_head_depth=2,
        iou_head_hidden_dim=16,
    ),
).eval()  # fmt: skip
predictor = SamPredictor(net)
predictor.set_image(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8))
for prompt in (
    {"point_coords": np.array([[20, 30]]), "point_labels": np.array([1])},
    {"box": np.array([5, 5, 40, 40]), "multimask_output": False},
):
    masks, scores, logits = predictor.predict(**prompt, return_logits=True)
    print(masks.shape, logits.shape, [f"{score:.4f}" for score in scores], f"{np.abs(masks).mean():.4f}")
