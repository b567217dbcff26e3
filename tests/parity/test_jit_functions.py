"""Functions of `torch.nn.functional` are scripted and saved: PyTorch and flambeau's `jit.load` compute the same from the file."""

from __future__ import annotations

from typing import List  # noqa: UP035  # as scripted code writes it

import pytest
import torch as pytorch

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F


def theirs(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(theirs, value))
    return pytorch.tensor(value.detach().numpy()) if isinstance(value, torch.Tensor) else value


def assert_script_agrees(script, path, *inputs):
    script.save(path)
    expected = theirs(script(*inputs))
    pytorch.testing.assert_close(pytorch.jit.load(path)(*theirs(inputs)), expected, rtol=1e-4, atol=1e-5)
    pytorch.testing.assert_close(theirs(torch.jit.load(path)(*inputs)), expected, rtol=1e-4, atol=1e-5)


class Resizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor, self.mode = 2, "bilinear"

    def forward(self, x, size: List[int]):  # noqa: UP006
        rows = F.interpolate(x[:, :, 0], scale_factor=1.5, mode="linear", align_corners=False)
        return (
            rows,
            F.interpolate(x, scale_factor=self.factor, mode=self.mode),
            F.interpolate(x, size=[7, 3], mode="bicubic", align_corners=True),
            F.interpolate(x, size=(x.shape[-2] * 2, x.shape[-1]), mode="bilinear", align_corners=False),
            F.interpolate(x, size=x.shape[-2:], mode="bilinear", antialias=True),
            F.interpolate(x, size, mode="nearest"),
            F.interpolate(x, size=3),
            F.interpolate(rows, scale_factor=2.0),
            F.interpolate(x, scale_factor=(0.5, 2.0), mode="nearest-exact"),
            F.interpolate(x, size=[3, 2], mode="area"),
            F.interpolate(x, scale_factor=0.5, mode="area"),
        )


def test_interpolation(tmp_path):
    assert_script_agrees(torch.jit.script(Resizes()), tmp_path / "net.pt", torch.randn(2, 3, 4, 6), [5, 9])


@torch.jit.script
def activations(x):
    return (
        F.celu(x, 0.5), F.hardshrink(x), F.softshrink(x, 0.3), F.threshold(x, 0.1, 20.0), F.softmin(x, dim=1), F.rrelu(x, 0.1, 0.3),
        F.rms_norm(x, [4], None, 1e-5), F.pairwise_distance(x, x + 1), F.feature_alpha_dropout(x, 0.5, False),
    )  # fmt: skip


@torch.jit.script
def losses(x, y, signs):
    return (
        F.huber_loss(x, y, delta=0.5), F.soft_margin_loss(x, y.sign()), F.hinge_embedding_loss(x, y.sign()),
        F.poisson_nll_loss(x, y.abs()), F.kl_div(x.log_softmax(1), y.softmax(1), reduction="sum"),
        F.cosine_embedding_loss(x, y, signs), F.margin_ranking_loss(x[:, 0], y[:, 0], signs, margin=0.1),
        F.triplet_margin_loss(x, y, x * y, reduction="none"),
    )  # fmt: skip


@torch.jit.script
def contractions(x, y, signs):
    first, second = torch.broadcast_tensors(x, signs.unsqueeze(1))
    rows, columns = torch.meshgrid([signs, signs], indexing="ij")
    return torch.tensordot(x, y, dims=([0, 1], [0, 1])), torch.tensordot(x.t(), y, 1), first + second, rows - columns


@torch.jit.script
def images(x):
    grid = torch.stack([torch.linspace(-1, 1, 5)] * 2, -1).reshape(1, 5, 1, 2).expand(2, 5, 1, 2)
    columns = F.unfold(x, 2, stride=2)
    pooled, places = F.adaptive_max_pool2d(x, [2, 2], return_indices=True)
    return (
        F.grid_sample(x, grid, mode="nearest", padding_mode="border", align_corners=True), F.channel_shuffle(x, 2), columns,
        F.fold(columns, (4, 6), kernel_size=2, stride=2), F.pixel_unshuffle(x, 2), F.instance_norm(x), pooled, places,
        F.adaptive_max_pool2d(x, 2),
    )  # fmt: skip


@pytest.mark.parametrize(("function", "shapes"), [
    (activations, [(3, 4)]), (losses, [(3, 4), (3, 4), (3,)]), (contractions, [(3, 3), (3, 3), (3,)]), (images, [(2, 4, 4, 6)]),
])  # fmt: skip
def test_functions(function, shapes, tmp_path):
    assert_script_agrees(
        function,
        tmp_path / "function.pt",
        *(torch.randn(shape).sign() if len(shape) == 1 else torch.randn(shape) for shape in shapes),
    )


@torch.jit.script
def normalized(x, order: float, last: int):
    return F.normalize(torch.tanh(x)), F.normalize(x, p=1, dim=-1), F.normalize(x + torch.exp(x), order, last, eps=1.0)


def test_normalize_computes_its_input_once(tmp_path):
    assert_script_agrees(normalized, tmp_path / "function.pt", torch.randn(3, 4), 3.0, 0)
    assert [normalized.code.count(name) for name in ("torch.tanh", "torch.exp")] == [1, 1]


@torch.jit.script
def comprehensions(x, y):
    pairs = [(x, 1), (y, 2)]
    scaled = [tensor * factor for tensor, factor in pairs]
    sums = {place: tensor.sum() for place, tensor in enumerate(scaled)}
    return scaled[0] + sums[1], sums[0]


def test_comprehensions_of_several_names(tmp_path):
    assert_script_agrees(comprehensions, tmp_path / "function.pt", torch.randn(3), torch.randn(3))
