"""Copies of the NumPy backend."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau_backends.numpy.kernels import KERNELS


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.complex128])
@pytest.mark.parametrize("shape", [(70, 512), (3, 40, 1024), (256, 2, 128)])
def test_contiguous_copies_of_large_strides(dtype, shape):
    """Copies of arrays whose last strides are multiples of 1024 bytes are made in slabs."""
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for view in (x.T, np.moveaxis(x, 0, -1), np.moveaxis(x, 0, -1)[..., ::-1], np.moveaxis(x, 0, -1)[..., ::2]):
        result = KERNELS["contiguous"](view)
        np.testing.assert_array_equal(result, view)
        assert result.flags.c_contiguous and not np.shares_memory(result, x)
    np.testing.assert_array_equal(torch.from_numpy(x).mT.contiguous().numpy(), np.swapaxes(x, -1, -2))
