"""Strides of results and gradients compared with PyTorch, including channels-last inputs."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import flambeau  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# Functions of an image in channels-last format.
IMAGES = {
    **{name: lambda lib, x, name=name: getattr(lib.nn.functional, name)(x)
       for name in ("relu", "gelu", "silu", "sigmoid", "tanh", "elu", "hardtanh", "softplus", "mish", "dropout", "logsigmoid", "instance_norm")},
    **{f"pad {mode} {pad}": lambda lib, x, mode=mode, pad=pad: lib.nn.functional.pad(x, pad, mode)
       for mode in ("constant", "reflect", "replicate", "circular") for pad in ((1, 1, 1, 1), (0, 0, 0, 0), (0, -1, -1, 0))
       if mode != "replicate" or min(pad) >= 0},
    **{f"interpolate {mode}": lambda lib, x, mode=mode: lib.nn.functional.interpolate(x, scale_factor=2, mode=mode)
       for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")},
    "softmax": lambda lib, x: x.softmax(1), "glu": lambda lib, x: lib.nn.functional.glu(x, 1), "prelu": lambda lib, x: lib.nn.functional.prelu(x, lib.ones(4)),
    "group_norm": lambda lib, x: lib.nn.functional.group_norm(x, 2), "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (6, 6)),
    "batch_norm": lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    "pixel_unshuffle": lambda lib, x: lib.nn.functional.pixel_unshuffle(x, 2), "channel_shuffle": lambda lib, x: lib.nn.functional.channel_shuffle(x, 2),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x, 3, 1, 1, return_indices=True), "avg_pool2d": lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 1, 1),
    "adaptive_avg_pool2d": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 5), "adaptive_max_pool2d": lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x, 5),
    "max_unpool2d": lambda lib, x: lib.nn.functional.max_unpool2d(*lib.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
    "conv2d": lambda lib, x: lib.nn.functional.conv2d(x, lib.ones(8, 4, 3, 3)), "depthwise": lambda lib, x: lib.nn.functional.conv2d(x, lib.ones(4, 1, 3, 3), groups=4),
    "conv_transpose2d": lambda lib, x: lib.nn.functional.conv_transpose2d(x, lib.ones(4, 2, 3, 3)),
    "grid_sample": lambda lib, x: lib.nn.functional.grid_sample(x, lib.zeros(2, 3, 3, 2)), "normalize": lambda lib, x: lib.nn.functional.normalize(x),
    "cat": lambda lib, x: lib.cat([x, x], 1), "cat of both": lambda lib, x: lib.cat([x, x.contiguous()], 1), "stack": lambda lib, x: lib.stack([x, x]),
    "clone": lambda lib, x: x.clone(), "clone to rows": lambda lib, x: x.clone(memory_format=lib.contiguous_format), "to": lambda lib, x: x.to(lib.float64),
    "empty_like": lambda lib, x: lib.empty_like(x), "randint_like": lambda lib, x: lib.randint_like(x, 5), "empty": lambda lib, x: lib.empty(2, 3, 4, 5, memory_format=lib.channels_last),
    "where": lambda lib, x: lib.where(x > 1, x, 0.0), "lerp": lambda lib, x: x.lerp(x, 0.5), "sum": lambda lib, x: x.sum(1), "mean": lambda lib, x: x.mean((2, 3), keepdim=True),
    "cumsum": lambda lib, x: x.cumsum(1), "tril": lambda lib, x: x.tril(), "masked_fill": lambda lib, x: x.masked_fill(x > 1, 0.0), "nan_to_num": lambda lib, x: x.nan_to_num(),
    "index": lambda lib, x: x[:, lib.tensor([0, 2])], "roll": lambda lib, x: x.roll(1, 2), "flip": lambda lib, x: x.flip(2), "module": lambda lib, x: lib.nn.Conv2d(4, 8, 3).to(memory_format=lib.channels_last)(x),
}  # fmt: skip

# Functions of a 3-d tensor with two transposed dimensions.
TURNED = {
    name: lambda lib, x, name=name: getattr(lib, name)(x) for name in ("tril", "exp", "isnan", "logit", "clone", "nonzero", "zeros_like", "atleast_3d")
} | {
    name: lambda lib, x, name=name: getattr(lib, name)(x, 1)
    for name in ("cumsum", "cumprod", "logcumsumexp", "softmax", "mean", "sum", "prod", "amax", "std", "logsumexp", "roll", "topk", "argmax")
} | {
    "cat": lambda lib, x: lib.cat([x, x], 1), "stack": lambda lib, x: lib.stack([x, x]), "matmul": lambda lib, x: x @ lib.ones(3, 2),
    "linear": lambda lib, x: lib.nn.functional.linear(x, lib.ones(5, 3), lib.ones(5)), "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (3,)),
    "masked_fill": lambda lib, x: x.masked_fill(x > 1, 0.0), "sum along 0": lambda lib, x: x.sum(0), "mean along 0": lambda lib, x: x.mean(0), "repeat": lambda lib, x: x.repeat(1, 1, 2),
    "gather": lambda lib, x: x.gather(1, lib.zeros(2, 1, 3, dtype=lib.int64)), "index_add": lambda lib, x: x.index_add(1, lib.tensor([0]), lib.ones(2, 1, 3)),
    "conv1d": lambda lib, x: lib.nn.functional.conv1d(x, lib.ones(2, 4, 2)), "bmm": lambda lib, x: x.bmm(lib.ones(2, 3, 2)), "logsigmoid": lambda lib, x: lib.nn.functional.logsigmoid(x),
    "attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x, x), "einsum": lambda lib, x: lib.einsum("bij,bkj->bik", x, x), "circular": lambda lib, x: lib.nn.functional.pad(x, (1, 1), "circular"),
}  # fmt: skip


def strides(made):
    return [each.stride() for each in (made if isinstance(made, tuple) else (made,))]


def numbers(lib, *shape):
    return lib.tensor(np.arange(np.prod(shape), dtype="float32").reshape(shape) / 17)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name):
    ours, theirs = (
        IMAGES[name](lib, numbers(lib, 2, 4, 6, 6).contiguous(memory_format=lib.channels_last)) for lib in (flambeau, torch)
    )
    assert strides(ours) == strides(theirs)


@pytest.mark.parametrize("name", TURNED)
def test_turned_tensors(name):
    ours, theirs = (TURNED[name](lib, numbers(lib, 2, 3, 4).transpose(1, 2)) for lib in (flambeau, torch))
    assert strides(ours) == strides(theirs)


GRADIENTS = [
    "relu",
    "group_norm",
    "batch_norm",
    "max_pool2d",
    "conv2d",
    "conv_transpose2d",
    "cat",
    "softmax",
    "sum",
    "mean",
    "pad constant (1, 1, 1, 1)",
    "interpolate bilinear",
]


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("layout", ["channels_last", "contiguous_format", None])
def test_gradients_of_leaves(name, layout):
    found = []
    for lib in (flambeau, torch):
        x = numbers(lib, 2, 4, 6, 6)
        x = x.transpose(2, 3) if layout is None else x.contiguous(memory_format=getattr(lib, layout))
        x.requires_grad_()
        made = IMAGES[name](lib, x)
        ((made[0] if isinstance(made, tuple) else made) ** 2).sum().backward()
        found.append(x.grad.stride())
    assert found[0] == found[1]


def test_gradients_of_turned_products():
    found = []
    for lib in (flambeau, torch):
        w = lib.ones(3, 2, requires_grad=True)
        (w.T @ lib.ones(3, 4)).sum().backward()
        found.append((w.grad.stride(), lib.autograd.grad((w.T * 2).exp().sum(), w)[0].stride()))
    assert found[0] == found[1]
