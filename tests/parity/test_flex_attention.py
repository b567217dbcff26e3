"""flex_attention compared with PyTorch's eager implementation."""

from __future__ import annotations

import importlib

import flambeau.nn.attention.flex_attention as ours
import numpy as np
import pytest
import torch
import torch.nn.attention.flex_attention as theirs

import flambeau

MASKS = {
    "causal": lambda m: lambda b, h, i, j: i >= j,
    "window": lambda m: m.and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < 9),
    "by head": lambda m: m.or_masks(lambda b, h, i, j: j < h, lambda b, h, i, j: i > 20 + b),
    "empty rows": lambda m: lambda b, h, i, j: (i > 5) & (j > 30),
}


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def both():
    return ((torch, theirs), (flambeau, ours))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("mask", MASKS)
def test_values(mask, dtype):
    results = []
    for library, module in both():
        rng = np.random.default_rng(0)
        q, k, v = (library.tensor(rng.standard_normal(shape)).to(getattr(library, dtype)) for shape in
                   ((2, 4, 33, 8), (2, 2, 40, 8), (2, 2, 40, 6)))  # fmt: skip
        slopes = library.tensor([0.1, -0.2, 0.3, 0.0])
        block_mask = module.create_block_mask(MASKS[mask](module), 2, 4, 33, 40, "cpu", BLOCK_SIZE=(4, 8))
        output, auxiliary = module.flex_attention(
            q, k, v, lambda s, b, h, i, j, slopes=slopes: s + slopes[h] * (i - j), block_mask, enable_gqa=True,
            return_aux=module.AuxRequest(lse=True),
        )  # fmt: skip
        results.append([output.double().numpy(), auxiliary.lse.double().numpy()])
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-2 if dtype == "bfloat16" else 1e-6)


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_block_masks(mask, separate):
    described = []
    for _, module in both():
        arguments, options = (MASKS[mask](module), 2, 3, 45, 50, "cpu"), {"BLOCK_SIZE": (8, 4), "separate_full_blocks": separate}
        block_mask = module.create_block_mask(*arguments, **options)
        for part in (block_mask, block_mask[1], block_mask[:, -1], block_mask._adjust(30, 50)):
            numbers = [part.shape, part.sparsity(), part.numel(), part.to_dense().tolist(), str(part), part.to_string(5)]
            numbers += [part.kv_num_blocks.tolist(), part.q_num_blocks.tolist()]
            described.append((module is ours, numbers))
        block_mask = module.create_block_mask(*arguments, **options, compute_dq_write_order=True)
        lists = [getattr(block_mask, name) for name in module.BlockMask._TENSOR_ATTRS]
        described.append((module is ours, [None if tensor is None else tensor.tolist() for tensor in lists]))
    expected, actual = ([numbers for is_ours, numbers in described if is_ours == side] for side in (False, True))
    assert actual == expected


def test_names():
    assert set(theirs.__all__) <= set(ours.__all__)
    assert importlib.import_module("flambeau.nn.attention.flex_attention") is ours
