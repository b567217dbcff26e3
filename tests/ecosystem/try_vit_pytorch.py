"""vit-pytorch: many vision transformers, their outputs and gradients."""

import importlib

import torch
from vit_pytorch import ViT
from vit_pytorch.extractor import Extractor
from vit_pytorch.recorder import Recorder

COMMON = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64}
MODELS = {
    "vit.ViT": dict(COMMON, dropout=0.1, emb_dropout=0.1),
    "simple_vit.SimpleViT": COMMON,
    "simple_flash_attn_vit.SimpleViT": COMMON,
    "vit_for_small_dataset.ViT": COMMON,
    "deepvit.DeepViT": COMMON,
    "cait.CaiT": dict(COMMON, cls_depth=1, layer_dropout=0.05),
    "parallel_vit.ViT": dict(COMMON, num_parallel_branches=2),
    "learnable_memory_vit.ViT": COMMON,
    "simple_vit_with_register_tokens.SimpleViT": COMMON,
    "simple_vit_with_qk_norm.SimpleViT": COMMON,
    "simple_vit_with_patch_dropout.SimpleViT": dict(COMMON, patch_dropout=0.5),
    "simple_vit_with_fft.SimpleViT": dict(COMMON, freq_patch_size=8),
    "normalized_vit.nViT": {k: v for k, v in COMMON.items() if k != "mlp_dim"} | {"mlp_dim": 64},
    "t2t.T2TViT": {
        "dim": 32,
        "image_size": 32,
        "depth": 1,
        "heads": 2,
        "mlp_dim": 32,
        "num_classes": 10,
        "t2t_layers": ((7, 4), (3, 2), (3, 2)),
    },
    "pit.PiT": {"image_size": 32, "patch_size": 4, "dim": 32, "num_classes": 10, "depth": (1, 1), "heads": 2, "mlp_dim": 64},
    "levit.LeViT": {
        "image_size": 64,
        "num_classes": 10,
        "stages": 2,
        "dim": (16, 32),
        "depth": 1,
        "heads": (2, 2),
        "mlp_mult": 2,
    },
    "cvt.CvT": {
        "num_classes": 10,
        "s1_emb_dim": 16,
        "s1_heads": 1,
        "s1_depth": 1,
        "s2_emb_dim": 16,
        "s2_heads": 1,
        "s2_depth": 1,
        "s3_emb_dim": 16,
        "s3_heads": 1,
        "s3_depth": 1,
    },
    "regionvit.RegionViT": {"dim": (16, 16, 16, 16), "depth": (1, 1, 1, 1), "window_size": 1, "num_classes": 10},
    "nest.NesT": {
        "image_size": 32,
        "patch_size": 4,
        "dim": 16,
        "heads": 2,
        "num_hierarchies": 2,
        "block_repeats": (1, 1),
        "num_classes": 10,
    },
    "mobile_vit.MobileViT": {
        "image_size": (64, 64),
        "dims": [16, 16, 16],
        "channels": [16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 32],
        "num_classes": 10,
    },
    "max_vit.MaxViT": {"num_classes": 10, "dim_conv_stem": 16, "dim": 16, "dim_head": 8, "depth": (1,), "window_size": 4},
    "scalable_vit.ScalableViT": {
        "num_classes": 10,
        "dim": 16,
        "heads": (1, 2),
        "depth": (1, 1),
        "ssa_dim_key": (8, 8),
        "reduction_factor": (2, 1),
        "window_size": (4, None),
    },
    "xcit.XCiT": dict(COMMON, cls_depth=1, layer_dropout=0.05, local_patch_kernel_size=3),
    "rvt.RvT": COMMON,
    "ats_vit.ViT": dict(COMMON, max_tokens_per_depth=(12, 8)),
    "cct.CCT": {
        "img_size": (32, 32),
        "embedding_dim": 32,
        "n_conv_layers": 1,
        "kernel_size": 7,
        "stride": 2,
        "padding": 3,
        "pooling_kernel_size": 3,
        "pooling_stride": 2,
        "pooling_padding": 1,
        "num_layers": 2,
        "num_heads": 2,
        "mlp_ratio": 2.0,
        "num_classes": 10,
        "positional_embedding": "learnable",
    },
}
SIZES = {"levit": 64, "mobile_vit": 64, "regionvit": 64, "max_vit": 64}
for name, options in MODELS.items():
    module, _, cls = name.partition(".")
    torch.manual_seed(0)
    model = getattr(importlib.import_module(f"vit_pytorch.{module}"), cls)(**options)
    size = SIZES.get(module, 32)
    x = torch.randn(2, 3, size, size, requires_grad=True)
    y = model(x)
    y = y[0] if isinstance(y, tuple) else y
    y.square().sum().backward()
    norms = f"{y.norm().item():.5f} {x.grad.norm().item():.4f}"
    print(name, tuple(y.shape), norms, sum(p.numel() for p in model.parameters()))
    print(f"{model.eval()(torch.ones(1, 3, size, size))[0].sum().item():.5f}")

torch.manual_seed(0)
images = torch.randn(2, 3, 32, 32)
recorded, attention = Recorder(ViT(**COMMON))(images)
print(tuple(attention.shape), tuple(Extractor(ViT(**COMMON))(images)[1].shape))
