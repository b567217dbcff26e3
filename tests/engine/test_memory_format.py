"""Memory formats: strides of results, and which results share memory."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional
LAST = torch.channels_last


def image(*shape):
    return torch.tensor(np.random.default_rng(0).standard_normal(shape or (2, 4, 6, 6)), dtype=torch.float32)


ON_IMAGES = {
    "relu": F.relu, "dropout": F.dropout, "add": lambda x: x + 1, "compare": lambda x: x > 1,
    "glu": lambda x: F.glu(x, 1), "batch_norm": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
    "group_norm": lambda x: F.group_norm(x, 2), "constant pad": lambda x: F.pad(x, (1, 1, 1, 1)),
    "crop": lambda x: F.pad(x, (-1, 0)), "reflect": lambda x: F.pad(x, (1, 1, 1, 1), "reflect"),
    "replicate": lambda x: F.pad(x, (1, 1, 1, 1), "replicate"), "pixel_shuffle": lambda x: F.pixel_shuffle(torch.cat([x, x], 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2), "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2), "cubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 1, 1), "where its maxima are": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 1, 1), "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 5),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 5), "conv2d": lambda x: F.conv2d(x, image(3, 4, 3, 3)),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), "cat": lambda x: torch.cat([x, x], 1),
    "sort": lambda x: x.sort(1)[0], "argsort": lambda x: x.argsort(2, descending=True), "index": lambda x: x[[1, 0]],
    "mask": lambda x: x[torch.tensor([True, True])], "clone": torch.clone, "to": lambda x: x.to(torch.float64), "zeros_like": torch.zeros_like, "rand_like": torch.rand_like,
}  # fmt: skip


@pytest.mark.parametrize("name", ON_IMAGES)
def test_channels_last_is_kept(name):
    x = image()
    torch.manual_seed(0)
    made = ON_IMAGES[name](x.contiguous(memory_format=LAST))
    assert made.is_contiguous(memory_format=LAST) and not made.is_contiguous()
    torch.manual_seed(0)
    plain = ON_IMAGES[name](x)
    assert plain.is_contiguous()
    if name not in ("dropout", "rand_like"):  # random values are drawn in memory order, which differs
        torch.testing.assert_close(made, plain)


ON_TWO_IMAGES = {
    "add": torch.add, "sub": lambda x, y: x.sub(y, alpha=2), "float64": lambda x, y: x * y.double(), "lt": torch.lt,
    "half": lambda x, y: x.half() / y.half(), "maximum": torch.maximum, "lerp": lambda x, y: torch.lerp(x, y, 0.5),
    "where": lambda x, y: torch.where(x > 0, y, 0.0), "addcmul": lambda x, y: torch.addcmul(x, y, y), "and": lambda x, y: (x > 0) & (y > 0),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", ON_TWO_IMAGES)
def test_results_have_the_memory_order_of_the_first_operand(name, device):
    x, y = image().to(device), image().to(device) - 1
    last = x.contiguous(memory_format=LAST)
    first = ON_TWO_IMAGES[name](last, y)
    assert first.is_contiguous(memory_format=LAST) and not first.is_contiguous()
    if name != "where":
        assert ON_TWO_IMAGES[name](y, last).is_contiguous()
    if device == "cpu":
        torch.testing.assert_close(first, ON_TWO_IMAGES[name](x, y))


def test_the_order_of_a_broadcast_or_expanded_first_operand_is_not_taken():
    last = image().contiguous(memory_format=LAST)
    assert (image(1, 4, 1, 1) + last).is_contiguous(memory_format=LAST)
    assert (last[..., :1].expand(2, 4, 6, 6) + image()).is_contiguous()
    assert (image()[:, :, 1:] + image()[:, :, 1:].clone()).is_contiguous()
    assert (image().permute(3, 1, 0, 2) * image(6, 4, 2, 6)).stride() == (1, 36, 144, 6)


ON_SLICES = {
    name: ON_IMAGES[name] for name in (
        "batch_norm", "group_norm", "constant pad", "reflect", "nearest", "cubic", "max_pool2d", "where its maxima are", "avg_pool2d",
        "adaptive_avg_pool2d", "adaptive_max_pool2d", "conv2d", "max_unpool2d", "channel_shuffle",
    )
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", ON_SLICES)
def test_channels_last_is_kept_for_slices(name, device):
    last = image(2, 8, 6, 6).contiguous(memory_format=LAST)
    part = last[:, ::2]
    assert not part.is_contiguous() and not part.is_contiguous(memory_format=LAST)
    if device == "meta":
        if name in ("conv2d", "batch_norm"):
            pytest.skip("the parameters are on the CPU")
        part = part.to("meta")
    made = ON_SLICES[name](part)
    assert made.is_contiguous(memory_format=LAST) and not made.is_contiguous()
    if device == "cpu":
        torch.testing.assert_close(made, ON_SLICES[name](part.contiguous()))


def test_strides_of_single_elements_are_ignored():
    x = torch.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    made = F.batch_norm(x, torch.zeros(2), torch.ones(2))
    assert x.is_contiguous(memory_format=LAST) and made.is_contiguous(memory_format=LAST)


def test_index_select_returns_rows():
    x = image()
    made = x.contiguous(memory_format=LAST).index_select(0, torch.tensor([1, 0]))
    assert made.is_contiguous() and torch.equal(made, x[[1, 0]])


def test_sorted_values_have_the_memory_order_of_the_input():
    values, indices = image(3, 4).t().sort()
    assert values.stride() == indices.stride() == (1, 4)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_empty_slices_keep_the_strides_of_the_tensor(device):
    x = torch.zeros(2, 3, 4, 5, device=device)[..., 1]
    assert x[:, 1:1].stride() == x[1:1].stride() == x.narrow(2, 1, 0).stride() == (60, 20, 5)
    assert x[:, 1:1].is_contiguous() and x[:, 1:1].clone().stride() == (4, 4, 1)
    assert torch.zeros(2, 0, 4).stride() == (4, 4, 1) and torch.zeros(3, 0).stride() == (1, 1)


def test_empty_in_channels_last():
    made = torch.empty(2, 3, 4, 5, memory_format=LAST)
    assert made.stride() == (60, 1, 15, 3)


TURNED = {
    "cat": lambda x: torch.cat([x, x], 1), "stack": lambda x: torch.stack([x, x]), "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(1), "prod": lambda x: x.prod(0), "cumsum": lambda x: x.cumsum(1), "tril": torch.tril,
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0), "logsumexp": lambda x: x.logsumexp(0), "logsigmoid": F.logsigmoid,
    "circular": lambda x: F.pad(x, (1, 1), "circular"), "roll": lambda x: x.roll(1, 1), "matmul": lambda x: x @ torch.ones(3, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_results_of_turned_tensors_can_be_viewed(name):
    x = image(2, 3, 4).transpose(1, 2)
    made = TURNED[name](x)
    assert made.is_contiguous() and torch.equal(made.view(-1), TURNED[name](x.contiguous()).view(-1))


@pytest.mark.parametrize("layout", [lambda x: x, lambda x: x.transpose(2, 3), lambda x: x.contiguous(memory_format=LAST)])
def test_gradients_lie_in_memory_as_their_leaves_do(layout):
    for use in (
        lambda x: x.sum(),
        lambda x: x.transpose(0, 3).exp().sum(),
        lambda x: (x.permute(1, 0, 2, 3) * image(4, 2, 6, 6)).sum(),
    ):
        x = layout(image()).detach().requires_grad_()
        use(x).backward()
        assert x.grad.stride() == x.stride()
        use(x).backward()
        assert x.grad.stride() == x.stride()


COPIES = {
    "pad by nothing": lambda x: F.pad(x, (0, 0)), "crop": lambda x: F.pad(x, (-1, 0, 0, -1)), "reflect": lambda x: F.pad(x, (0, 0), "reflect"),
    "circular": lambda x: F.pad(x, (0, -1), "circular"), "replicate": lambda x: F.pad(x, (0, 0), "replicate"),
    "ZeroPad2d": torch.nn.ZeroPad2d(0), "pixel_shuffle": lambda x: F.pixel_shuffle(x, 1), "channel_shuffle": lambda x: F.channel_shuffle(x, 1),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 1), "max_pool1d": lambda x: F.max_pool1d(x, 1), "flip": lambda x: x.flip(()),
    "interpolate": lambda x: F.interpolate(x, scale_factor=1), "repeat": lambda x: x.repeat(1, 1, 1), "cat": lambda x: torch.cat([x]),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_results_that_are_no_views(name):
    x = image(2, 4, 6)
    before = x.clone()
    COPIES[name](x).add_(1)
    assert torch.equal(x, before)


def test_expansions_that_repeat_nothing_can_be_written_to():
    x = torch.zeros(3)
    x.expand(1, 3)[0, 1] = 5
    x.expand_as(x).add_(1)
    assert x.tolist() == [1, 6, 1] and torch.broadcast_to(x, (3,)).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        x.expand(2, 3).add_(1)


REDUCTIONS = {
    "amax": (lambda x, dim, keep: x.amax(dim, keep), lambda a, dim, keep: a.max(dim, keepdims=keep)),
    "amin": (lambda x, dim, keep: x.amin(dim, keep), lambda a, dim, keep: a.min(dim, keepdims=keep)),
    "sum": (lambda x, dim, keep: x.sum(dim, keep), lambda a, dim, keep: a.sum(dim, keepdims=keep)),
    "mean": (lambda x, dim, keep: x.mean(dim, keep), lambda a, dim, keep: a.mean(dim, keepdims=keep)),
    "var": (lambda x, dim, keep: x.var(dim, correction=0, keepdim=keep), lambda a, dim, keep: a.var(dim, keepdims=keep)),
    "std": (lambda x, dim, keep: x.std(dim, correction=0, keepdim=keep), lambda a, dim, keep: a.std(dim, keepdims=keep)),
    "var_mean": (
        lambda x, dim, keep: torch.var_mean(x, dim, correction=0, keepdim=keep)[0],
        lambda a, dim, keep: a.var(dim, keepdims=keep),
    ),
    "norm": (lambda x, dim, keep: x.norm(2, dim, keep), lambda a, dim, keep: np.sqrt((a * a).sum(dim, keepdims=keep))),
    "maximum norm": (
        lambda x, dim, keep: torch.linalg.vector_norm(x, float("inf"), dim, keep),
        lambda a, dim, keep: abs(a).max(dim, keepdims=keep),
    ),
    "all": (lambda x, dim, keep: torch.all(x > 0, dim, keep), lambda a, dim, keep: (a > 0).all(dim, keepdims=keep)),
    "any": (lambda x, dim, keep: torch.any(x > 1, dim, keep), lambda a, dim, keep: (a > 1).any(dim, keepdims=keep)),
    "any of numbers": (lambda x, dim, keep: x.any(dim, keep), lambda a, dim, keep: (a != 0).any(dim, keepdims=keep)),
    "max": (lambda x, dim, keep: x.max(dim[0], keep).values, lambda a, dim, keep: a.max(dim[0], keepdims=keep)),
    "min": (lambda x, dim, keep: x.min(dim[0], keep).values, lambda a, dim, keep: a.min(dim[0], keepdims=keep)),
    "aminmax": (lambda x, dim, keep: torch.aminmax(x, dim=dim[0], keepdim=keep).max, lambda a, dim, keep: a.max(dim[0], keepdims=keep)),
    "prod": (lambda x, dim, keep: x.prod(dim[0], keep), lambda a, dim, keep: a.prod(dim[0], keepdims=keep)),
    "cummax": (lambda x, dim, keep: x.cummax(dim[0]).values, lambda a, dim, keep: np.maximum.accumulate(a, dim[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REDUCTIONS))
def test_reductions_are_in_rows_whatever_the_order_of_the_input(name: str) -> None:
    reduce, formula = REDUCTIONS[name]
    rng = np.random.default_rng(0)
    for _ in range(40):
        ndim = int(rng.integers(2, 5))
        array = rng.standard_normal(rng.integers(1, 5, ndim)).transpose(rng.permutation(ndim))
        if rng.random() < 0.3:
            array = array[::2] if rng.random() < 0.5 else np.broadcast_to(array[:1], array.shape)
        dims = tuple(map(int, rng.permutation(ndim)[: rng.integers(1, ndim)]))
        keep = bool(rng.random() < 0.5)
        x = torch.from_numpy(np.require(array, requirements="W") if array.flags.writeable else array.copy("K"))
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
            result = reduce(x.to(dtype), dims, keep)
            np.testing.assert_allclose(result.numpy(), formula(array, dims, keep), rtol=tolerance, atol=tolerance)
            assert result.is_contiguous() and result.view(-1).numel() == result.numel()
    assert reduce(torch.zeros(2, 0, 3).mT, (0,), False).is_contiguous()


def test_padded_images_are_in_rows_or_channels_last() -> None:
    x = torch.randn(2, 4, 5, 3)
    for turned in (x.permute(0, 3, 1, 2), x.mT, x.permute(3, 2, 1, 0), x[:, ::2], x[:1].expand(3, 4, 5, 3)):
        padded = F.pad(turned, (1, 0, 2, 1), value=0.5)
        np.testing.assert_array_equal(
            padded.numpy(), np.pad(turned.numpy(), ((0, 0), (0, 0), (2, 1), (1, 0)), constant_values=0.5)
        )
        last = turned.is_contiguous(memory_format=LAST)
        assert padded.is_contiguous(memory_format=LAST if last else torch.contiguous_format)


def test_conversions_to_the_memory_format_of_a_tensor_return_it() -> None:
    """`contiguous_format` is the format of all tensors that are not in channels-last format, even if they are not contiguous."""
    turned, images = torch.ones(2, 3).t(), torch.ones(2, 3, 4, 4).to(memory_format=LAST)
    for x, layout in ((turned, torch.contiguous_format), (images, LAST), (images[:, :, ::2], LAST)):
        assert x.to(memory_format=layout) is x and x.float(memory_format=layout) is x
        assert x.to(torch.float32, memory_format=layout, copy=True) is not x
    assert turned.double(memory_format=torch.contiguous_format).stride() == (2, 1)
    assert images.to(memory_format=torch.contiguous_format).is_contiguous()


def test_resize_keeps_the_strides_of_the_same_shape() -> None:
    x = torch.arange(6.0).view(2, 3).t()
    version = x._version
    assert x.resize_(3, 2).stride() == (1, 3) and x.tolist() == [[0, 3], [1, 4], [2, 5]] and x._version == version
    assert torch.zeros(2, 3).t().resize_as_(x).stride() == (1, 3)
    assert x.resize_(3, 2, memory_format=torch.contiguous_format).stride() == (2, 1)


def test_resize_to_a_memory_format() -> None:
    x = torch.ones(1, 2, 3, 4).resize_((1, 2, 3, 4), memory_format=torch.channels_last)
    assert x.stride() == (24, 1, 8, 2)
    assert torch.empty(0).resize_as_(x, memory_format=torch.preserve_format).stride() == (24, 1, 8, 2)
    assert torch.empty(0).resize_as_(x).stride() == (24, 12, 4, 1)
    with pytest.raises(RuntimeError, match="Unsupported memory format"):
        x.resize_((1, 2, 3, 4), memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="required rank 4"):
        x.resize_((2, 3), memory_format=torch.channels_last)
