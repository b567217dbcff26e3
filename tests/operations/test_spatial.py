"""Image and sequence operations, compared with NumPy formulas: grid sampling, padding and adaptive pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch

F = torch.nn.functional


def _shapes(count: int, low: int = 1, high: int = 7, seed: int = 0) -> list[tuple[int, ...]]:
    return [tuple(map(int, shape)) for shape in np.random.default_rng(seed).integers(low, high, (count, 4))]


# --- sampling at points -------------------------------------------------------------------------------------------


def _bilinear(image: Any, grid: Any) -> Any:
    """Reference for bilinear `grid_sample` with `align_corners` and zero padding."""
    batch, channels, height, width = image.shape
    result = np.zeros((batch, channels, *grid.shape[1:3]))
    for n, row, column in np.ndindex(batch, *grid.shape[1:3]):
        x, y = (grid[n, row, column] + 1) * (np.array([width, height]) - 1) / 2
        for i in (int(np.floor(y)), int(np.floor(y)) + 1):
            for j in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= i < height and 0 <= j < width:
                    result[n, :, row, column] += image[n, :, i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return result


@pytest.mark.parametrize("shape", [*_shapes(6), (2, 40, 9, 50)])
def test_points_of_images_are_sampled_as_by_a_loop(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    image, grid = rng.standard_normal(shape), rng.uniform(-1.5, 1.5, (shape[0], 5, 4, 2))
    image[0, 0, 0, 0] = np.inf  # must not affect points outside of the image, which remain 0
    expected = _bilinear(image, grid)
    for given in (image, image.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)):
        output = F.grid_sample(torch.tensor(given), torch.tensor(grid), align_corners=True)
        np.testing.assert_allclose(output.tolist(), expected, 1e-9, 1e-12)


def test_sampled_points_pass_gradients_of_all_orders() -> None:
    torch.manual_seed(0)
    image, grid = torch.randn(2, 2, 3, 4, dtype=torch.float64), torch.rand(2, 2, 3, 2, dtype=torch.float64) * 2.6 - 1.3
    arguments = (image.requires_grad_(), grid.requires_grad_())
    for mode in ("bilinear", "bicubic"):
        assert torch.autograd.gradcheck(lambda x, g, mode=mode: F.grid_sample(x, g, mode, align_corners=False), arguments)
    assert torch.autograd.gradgradcheck(lambda x, g: F.grid_sample(x, g, align_corners=False), arguments)


@pytest.mark.parametrize("points", [(0, 3), (2, 0)])
def test_no_points_are_sampled(points: tuple[int, int]) -> None:
    image = torch.ones(2, 3, 4, 4, requires_grad=True)
    output = F.grid_sample(image, torch.zeros(2, *points, 2), align_corners=False)
    assert output.shape == (2, 3, *points)
    output.sum().backward()
    assert not image.grad.any()


# --- frequencies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*_shapes(8, seed=2), (1, 1, 1, 9), (2, 3, 1, 1), (3, 4, 20, 21), (2, 5, 9, 30)])
def test_spectra_of_real_numbers_are_whole(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    signal = rng.standard_normal(shape)
    for given in (signal, signal.transpose(2, 0, 3, 1).copy().transpose(1, 3, 0, 2)):
        for dims in ((3,), (1,), (2, 3), (3, 0), (1, 2, 0)):
            output = torch.fft.fftn(torch.tensor(given), dim=dims, norm="ortho")
            np.testing.assert_allclose(output.tolist(), np.fft.fftn(signal, axes=dims, norm="ortho"), 1e-10, 1e-12)
    for dim in (0, 3):
        np.testing.assert_allclose(
            torch.fft.ifft(torch.tensor(signal), dim=dim).tolist(), np.fft.ifft(signal, axis=dim), 1e-10, 1e-12
        )


# --- groups -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("space", [(2, 3), (20, 30), (5000,), (3, 17, 11)])
@pytest.mark.parametrize("center", [0, 300])
def test_groups_of_few_and_of_many_positions_are_normalized(groups: int, space: tuple[int, ...], center: int) -> None:
    rng = np.random.default_rng(4)
    images, weight, bias = rng.standard_normal((3, 4, *space)) + center, rng.standard_normal(4), rng.standard_normal(4)
    rows = images.reshape(3, groups, -1)
    normalized = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    expected = normalized.reshape(images.shape)
    along = (4, *(1,) * len(space))
    for parameters in ((None, None), (weight, None), (None, bias), (weight, bias)):
        factor, offset = (default if p is None else p.reshape(along) for p, default in zip(parameters, (1, 0), strict=True))
        tensors = [None if p is None else torch.tensor(p) for p in parameters]
        output = F.group_norm(torch.tensor(images), groups, *tensors)
        np.testing.assert_allclose(output.numpy(), expected * factor + offset, 1e-8, 1e-8)


# --- padding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*_shapes(6, 2, seed=5), (0, 2, 3, 4)])
def test_edges_are_added_and_cut_off(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    array = rng.integers(-9, 9, shape)
    for dtype in ("int64", "float32", "float16", "complex64", "bool"):
        given = array.astype(dtype)
        for before, after in rng.integers(-1, 4, (8, 2, 4)).tolist():
            amounts = [n for pair in zip(before[::-1], after[::-1], strict=True) for n in pair]
            if any(n + b + a < 0 or n + min(a, 0) + min(b, 0) < 0 for n, b, a in zip(shape, before, after, strict=True)):
                continue
            cut = given[tuple(slice(max(-b, 0), n + min(a, 0)) for n, b, a in zip(shape, before, after, strict=True))]
            added = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
            output = F.pad(torch.tensor(given.T.copy()).permute(3, 2, 1, 0), amounts, value=1)
            np.testing.assert_array_equal(output.numpy(), np.pad(cut, added, constant_values=1))
            assert output.numpy().dtype == given.dtype


# --- means of a given number of windows ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "count"), [(n, count) for n in (1, 2, 3) for count in (1, 2, 3, 5)])
def test_windows_of_uneven_sizes_are_averaged(n: int, count: int) -> None:
    rng = np.random.default_rng(7)
    images = rng.standard_normal((2, 3, *rng.integers(5, 9, n)))
    expected = images
    for dim in range(2, n + 2):
        length = images.shape[dim]
        windows = [slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        means = [expected[(*[slice(None)] * dim, window)].mean(dim, keepdims=True) for window in windows]
        expected = np.concatenate(means, dim)
    output = getattr(F, f"adaptive_avg_pool{n}d")(torch.tensor(images), count)
    np.testing.assert_allclose(output.numpy(), expected, 1e-12, 1e-12)


# --- distances of pairs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 7, 60, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_of_pairs_are_those_of_their_differences(count: int, dtype: str) -> None:
    points = (np.random.default_rng(8).standard_normal((count, 5)) + 50).astype(dtype)
    if count > 5:
        points[5], points[4] = points[1], points[2]  # equal and nearly equal rows
        points[4, 0] = np.nextafter(points[4, 0], points.dtype.type(99))
    exact = points.astype("float64")
    expected = [np.sqrt(((exact[i] - exact[j]) ** 2).sum()) for i in range(count) for j in range(i + 1, count)]
    output = torch.pdist(torch.tensor(points))
    assert output.numpy().dtype == points.dtype
    np.testing.assert_allclose(output.numpy(), np.array(expected).reshape(-1), 1e-6 if dtype == "float32" else 1e-12, 0)


def test_gradients_of_distances_of_pairs() -> None:
    torch.manual_seed(0)
    points = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.pdist, points) and torch.autograd.gradgradcheck(torch.pdist, points)
    equal = torch.ones(3, 2, requires_grad=True)
    torch.pdist(equal).sum().backward()
    assert not equal.grad.any()


# --- least squares ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 5), (9, 4), (4, 9), (3, 8, 2), (2, 3, 6, 6)])
@pytest.mark.parametrize("deficient", [False, True])
def test_least_squares_of_matrices_of_full_and_of_lower_rank(shape: tuple[int, ...], deficient: bool) -> None:
    rng = np.random.default_rng(9)
    A, B = rng.standard_normal(shape), rng.standard_normal((*shape[:-1], 3))
    if deficient:
        A[..., 1] = 2 * A[..., 0]
    result = torch.linalg.lstsq(torch.tensor(A), torch.tensor(B))
    np.testing.assert_allclose(result.solution.numpy(), np.linalg.pinv(A, rcond=1e-12) @ B, 1e-7, 1e-9)
    np.testing.assert_array_equal(result.rank.numpy(), np.linalg.matrix_rank(A))


# --- probabilities of channels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 5, 9, 11), (1, 300, 700), (700, 90), (3, 1, 64), (2, 0, 70), (40, 3, 100)])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_probabilities_along_a_dimension_that_is_not_the_last(shape: tuple[int, ...], scale: float) -> None:
    dim = 0 if len(shape) == 2 else 1
    logits, g = np.random.default_rng(10).standard_normal((2, *shape)) * scale
    if logits.size:
        logits.flat[0] = -np.inf
    powers = np.exp(logits - logits.max(dim, keepdims=True, initial=-np.inf, where=np.isfinite(logits)))
    expected = powers / powers.sum(dim, keepdims=True)
    slope = expected * (g - (g * expected).sum(dim, keepdims=True))
    input = torch.tensor(logits, requires_grad=True)
    output = input.softmax(dim)
    output.backward(torch.tensor(g))
    np.testing.assert_allclose(output.detach().numpy(), expected, 1e-9, 1e-12)
    np.testing.assert_allclose(input.grad.numpy(), slope, 1e-9, 1e-9)
    logarithms = torch.tensor(logits, requires_grad=True)
    output = logarithms.log_softmax(dim)
    output.backward(torch.tensor(g))
    np.testing.assert_allclose(output.detach().exp().numpy(), expected, 1e-9, 1e-12)
    np.testing.assert_allclose(logarithms.grad.numpy(), g - expected * g.sum(dim, keepdims=True), 1e-9, 1e-9)


@pytest.mark.parametrize("shapes", [((30, 4), (7, 4)), ((2, 3, 4), (40, 4)), ((5, 0), (50, 0)), ((3, 1, 9, 2), (2, 60, 2))])
def test_distances_of_many_points(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    first, second = (np.random.default_rng(11).standard_normal(shape) for shape in shapes)
    expected = np.sqrt(((first[..., :, None, :] - second[..., None, :, :] + 0.0) ** 2).sum(-1))
    output = torch.cdist(torch.tensor(first), torch.tensor(second))
    np.testing.assert_allclose(output.numpy(), expected, 1e-7, 1e-7)


@pytest.mark.parametrize("distances", [torch.cdist, lambda x, y, p: torch.pdist(torch.cat([x, y]), p)])
def test_each_largest_difference_gets_the_whole_gradient(distances):
    x, y = torch.tensor([[1.0, -1.0]], requires_grad=True), torch.zeros(1, 2, requires_grad=True)
    gradients = torch.autograd.grad(distances(x, y, float("inf")).sum(), (x, y))
    assert [gradient.tolist() for gradient in gradients] == [[[1, -1]], [[-1, 1]]]


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_excluded_elements_count_among_equal_extremes(reduce):
    x, y = torch.tensor([3.0, 1.0, 3.0], requires_grad=True), torch.tensor([3.0, 3.0, 1.0, 1.0], requires_grad=True)
    places = torch.tensor([0, 0, 1, 2])
    result = x.scatter_reduce(0, places, y, reduce, include_self=False)
    assert result.tolist() == [3, 1, 1]
    first, second = torch.autograd.grad(result.sum(), (x, y))
    assert first.tolist() == [0, 0, 0]
    torch.testing.assert_close(second, torch.tensor([1 / 3, 1 / 3, 1 / 2, 1]))
