"""`torch.testing._internal.common_quantization`: models of PyTorch's tests of quantization."""

from __future__ import annotations

import flambeau as torch

from ..nn import Conv2d, Embedding, Linear, Module

__all__ = ["EmbeddingConvLinearModule", "TestHelperModules"]


class EmbeddingConvLinearModule(Module):
    """An embedding, a convolution along the sequence, and a linear layer: `(N, L)` indices to `(N, L - 2, 8)`."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = Embedding(num_embeddings=10, embedding_dim=8)
        self.conv = Conv2d(8, 16, (1, 3))
        self.linear = Linear(16, 8)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        channels = self.emb(indices)[None].permute(0, 3, 1, 2)
        result: torch.Tensor = self.linear(self.conv(channels).permute(0, 2, 3, 1).squeeze(0))
        return result


class TestHelperModules:
    """The models, as attributes."""

    __test__ = False  # no class of tests, in spite of its name

    EmbeddingConvLinearModule = EmbeddingConvLinearModule
