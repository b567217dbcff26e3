"""Operations on images and sequences against formulas in NumPy: sampling at points, padding, pooling to a given size."""

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
    """`grid_sample` with `align_corners`, pixel by pixel: zero outside the image."""
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
    image[0, 0, 0, 0] = np.inf  # what is outside is 0 all the same
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


@pytest.mark.parametrize("shape", [*_shapes(8, seed=2), (1, 1, 1, 9), (2, 3, 1, 1)])
def test_spectra_of_real_numbers_are_whole(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    signal = rng.standard_normal(shape)
    for given in (signal, signal.transpose(2, 0, 3, 1).copy().transpose(1, 3, 0, 2)):
        for dims in ((3,), (1,), (2, 3), (3, 0), (1, 2, 0)):
            output = torch.fft.fftn(torch.tensor(given), dim=dims, norm="ortho")
            np.testing.assert_allclose(output.tolist(), np.fft.fftn(signal, axes=dims, norm="ortho"), 1e-10, 1e-12)
    for dim in (0, 3):
        np.testing.assert_allclose(torch.fft.ifft(torch.tensor(signal), dim=dim).tolist(), np.fft.ifft(signal, axis=dim), 1e-10, 1e-12)
