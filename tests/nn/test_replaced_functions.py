"""Layers call the functions of `nn.functional` by name: a program may replace them, for example to count operations."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn

REPLACEABLE = {
    "linear": lambda: nn.Linear(4, 2)(torch.ones(1, 4)),
    "conv1d": lambda: nn.Conv1d(4, 2, 3)(torch.ones(1, 4, 8)),
    "conv2d": lambda: nn.Conv2d(4, 2, 3)(torch.ones(1, 4, 8, 8)),
    "conv3d": lambda: nn.Conv3d(4, 2, 3)(torch.ones(1, 4, 8, 8, 8)),
    "conv_transpose1d": lambda: nn.ConvTranspose1d(4, 2, 3)(torch.ones(1, 4, 8)),
    "conv_transpose2d": lambda: nn.ConvTranspose2d(4, 2, 3)(torch.ones(1, 4, 8, 8)),
    "conv_transpose3d": lambda: nn.ConvTranspose3d(4, 2, 3)(torch.ones(1, 4, 8, 8, 8)),
    "batch_norm": lambda: nn.BatchNorm2d(4)(torch.ones(1, 4, 8, 8)),
    "instance_norm": lambda: nn.InstanceNorm2d(4)(torch.ones(1, 4, 8, 8)),
    "layer_norm": lambda: nn.LayerNorm(4)(torch.ones(1, 4)),
    "group_norm": lambda: nn.GroupNorm(2, 4)(torch.ones(1, 4, 2)),
    "max_pool1d": lambda: nn.MaxPool1d(2)(torch.ones(1, 4, 8)),
    "max_pool2d": lambda: nn.MaxPool2d(2)(torch.ones(1, 4, 8, 8)),
    "max_pool3d": lambda: nn.MaxPool3d(2)(torch.ones(1, 4, 8, 8, 8)),
    "avg_pool1d": lambda: nn.AvgPool1d(2)(torch.ones(1, 4, 8)),
    "avg_pool2d": lambda: nn.AvgPool2d(2)(torch.ones(1, 4, 8, 8)),
    "avg_pool3d": lambda: nn.AvgPool3d(2)(torch.ones(1, 4, 8, 8, 8)),
    "adaptive_avg_pool2d": lambda: nn.AdaptiveAvgPool2d(1)(torch.ones(1, 4, 8, 8)),
    "adaptive_max_pool1d": lambda: nn.AdaptiveMaxPool1d(1)(torch.ones(1, 4, 8)),
    "lp_pool2d": lambda: nn.LPPool2d(2, 2)(torch.ones(1, 4, 8, 8)),
    "relu": lambda: nn.ReLU()(torch.ones(2)),
    "softmax": lambda: nn.Softmax(0)(torch.ones(2)),
    "dropout": lambda: nn.Dropout()(torch.ones(2)),
    "embedding": lambda: nn.Embedding(3, 2)(torch.tensor([1])),
    "interpolate": lambda: nn.Upsample(2)(torch.ones(1, 1, 1)),
    "pixel_shuffle": lambda: nn.PixelShuffle(2)(torch.ones(1, 4, 1, 1)),
    "cross_entropy": lambda: nn.CrossEntropyLoss()(torch.ones(1, 2), torch.tensor([1])),
    "mse_loss": lambda: nn.MSELoss()(torch.ones(2), torch.ones(2)),
    "multi_head_attention_forward": lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3),
}


@pytest.mark.parametrize("name", REPLACEABLE)
def test_layers_call_functions_by_name(name, monkeypatch):
    """Tools that count operations replace functions of `nn.functional`."""
    calls, function = [], getattr(nn.functional, name)
    monkeypatch.setattr(nn.functional, name, lambda *args, **kwargs: calls.append(name) or function(*args, **kwargs))
    REPLACEABLE[name]()
    assert calls == [name]


def test_replaced_attention_takes_sequences_first(monkeypatch):
    """A replacement has PyTorch's parameters: the layer passes `(L, N, E)` to it, and the results are the same."""
    attention, x = nn.MultiheadAttention(4, 2, batch_first=True).eval(), torch.rand(2, 3, 4)
    expected, seen, function = attention(x, x, x)[0], [], nn.functional.multi_head_attention_forward
    monkeypatch.setattr(
        nn.functional,
        "multi_head_attention_forward",
        lambda query, *args, **options: seen.append(query.shape) or function(query, *args, **options),
    )
    assert torch.allclose(attention(x, x, x)[0], expected)
    assert seen == [(3, 2, 4)]
