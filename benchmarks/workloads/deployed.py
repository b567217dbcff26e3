"""Networks as they are deployed: evaluation mode, batch 1. `compare.py --peers` also runs them in other inference libraries."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .workload import Step, Workload

__all__ = ["WORKLOADS"]

_REGIONS = ("roi_align", "ps_roi_align", "roi_pool", "ps_roi_pool", "deform_conv2d")
_OPERATORS = ["nms", "qnms", "qroi_align", *_REGIONS, *(f"_{name}_backward" for name in _REGIONS)]


def vision(torch: Any) -> Any:
    """Return `torchvision.models`, or flambeau's."""
    if torch.__name__ == "torch" and "torchvision" not in sys.modules:
        for name in _OPERATORS:  # torchvision's library does not load into the CPU build of PyTorch; its models do not need it
            torch.library.define(f"torchvision::{name}", "() -> ()")
    return importlib.import_module("torchvision.models" if torch.__name__ == "torch" else "flambeau_vision.models")


def resnet18(torch: Any) -> tuple[Any, Any]:
    return vision(torch).resnet18(), torch.randn(1, 3, 224, 224)


def mobilenet(torch: Any) -> tuple[Any, Any]:
    return vision(torch).mobilenet_v3_small(), torch.randn(1, 3, 224, 224)


def vision_transformer(torch: Any) -> tuple[Any, Any]:
    model = vision(torch).VisionTransformer(
        image_size=224, patch_size=16, num_layers=12, num_heads=3, hidden_dim=192, mlp_dim=768
    )
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # it is initialized with zeros
    return model, torch.randn(1, 3, 224, 224)


def lstm(torch: Any) -> tuple[Any, Any]:
    class Outputs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(256, 256, 2)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    return Outputs(), torch.randn(64, 1, 256)


def transformer(torch: Any) -> tuple[Any, Any]:
    layer = torch.nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 6), torch.randn(1, 128, 384)


def mlp(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)), torch.randn(1, 784)


def _workload(name: str, network: Any) -> Workload:
    def model(torch: Any) -> tuple[Any, Any]:
        torch.manual_seed(0)
        made, x = network(torch)
        return made.eval(), x

    def make(torch: Any) -> Step:
        made, x = model(torch)

        def step() -> Any:
            with torch.no_grad():
                return made(x)

        return step

    return Workload(f"{name}, batch 1", make, model=model)


WORKLOADS = [
    _workload("ResNet-18, 224 x 224", resnet18), _workload("MobileNetV3 small, 224 x 224", mobilenet),
    _workload("ViT, 192 wide, 12 layers", vision_transformer), _workload("LSTM, 2 layers of 256, 64 steps", lstm),
    _workload("Transformer encoder, 6 layers of 384, length 128", transformer), _workload("MLP 784-512-10", mlp),
]  # fmt: skip
