"""Networks that recognize what happens in videos."""

from __future__ import annotations

from .resnet import (
    MC3_18_Weights,
    R2Plus1D_18_Weights,
    R3D_18_Weights,
    VideoResNet,
    mc3_18,
    r2plus1d_18,
    r3d_18,
)
from .s3d import S3D, S3D_Weights, s3d

__all__ = [
    "S3D",
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "R3D_18_Weights",
    "S3D_Weights",
    "VideoResNet",
    "mc3_18",
    "r2plus1d_18",
    "r3d_18",
    "s3d",
]
