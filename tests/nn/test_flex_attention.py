"""flex_attention: attention with score_mod and mask_mod functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flambeau.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)
from flambeau.utils._pytree import tree_map

import flambeau as torch

B, H, L, S, E = 2, 4, 5, 6, 3
bias = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
table = torch.tensor(np.random.default_rng(1).standard_normal((H, L, S)))


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def inputs(dtype=torch.float64, heads=H):
    rng = np.random.default_rng(0)
    shapes = [(B, H, L, E), (B, heads, S, E), (B, heads, S, 2)]
    return [torch.tensor(rng.standard_normal(shape)).to(dtype) for shape in shapes]


def reference_attention(query, key, value, score_mod, mask_mod, scale):
    """Reference implementation of flex_attention with loops over positions."""
    q, k, v = (tensor.double().numpy() for tensor in (query, key, value))
    groups = q.shape[1] // k.shape[1]
    output, lse, highest = np.zeros((*q.shape[:3], v.shape[-1])), np.full(q.shape[:3], -math.inf), np.full(q.shape[:3], -math.inf)
    for b, h, i in np.ndindex(*q.shape[:3]):
        scores = []
        for j in range(k.shape[2]):
            score, place = scale * (q[b, h, i] @ k[b, h // groups, j]), [torch.tensor(n) for n in (b, h, i, j)]
            scores.append(float(score_mod(torch.tensor(score, dtype=torch.float64), *place)) if mask_mod(*place) else -math.inf)
        highest[b, h, i] = max(scores)
        if max(scores) > -math.inf:
            weights = np.exp(scores)
            lse[b, h, i] = np.log(weights.sum())
            output[b, h, i] = weights / weights.sum() @ v[b, h // groups]
    return output, lse, highest


SCORES = {
    "none": lambda s, b, h, i, j: s,
    "distance": lambda s, b, h, i, j: s - (i - j) * bias[h],
    "soft cap": lambda s, b, h, i, j: 2 * torch.tanh(s / 2),
    "table": lambda s, b, h, i, j: s * (b + 1) + table[h, i, j],
    "masking": lambda s, b, h, i, j: torch.where(i == j, s, -math.inf),
}
MASKS = {
    "noop": noop_mask,
    "causal": causal,
    "window": and_masks(causal, lambda b, h, i, j: i - j < 2),
    "prefix": or_masks(causal, lambda b, h, i, j: j < h),
    "some rows": lambda b, h, i, j: i > 2,
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", MASKS)
def test_the_definition(score, mask):
    tensors = inputs()
    block_mask = create_block_mask(MASKS[mask], B, H, L, S, "cpu", BLOCK_SIZE=2)
    output, statistics = flex_attention(
        *tensors,
        None if score == "none" else SCORES[score],
        block_mask,
        scale=0.7,
        return_aux=AuxRequest(lse=True, max_scores=True),
    )
    expected = reference_attention(*tensors, SCORES[score], MASKS[mask], 0.7)
    for actual, numbers in zip((output, statistics.lse, statistics.max_scores), expected, strict=True):
        np.testing.assert_allclose(actual.numpy(), numbers, rtol=1e-9, atol=1e-12)


def test_groups_of_heads_and_the_usual_scale():
    tensors = inputs(heads=2)
    expected = reference_attention(*tensors, SCORES["none"], noop_mask, 1 / math.sqrt(E))[0]
    np.testing.assert_allclose(flex_attention(*tensors, enable_gqa=True).numpy(), expected, rtol=1e-9)


def test_keys_for_all_batches():
    query, key, value = inputs()
    mask = create_block_mask(causal, B, None, L, S, "cpu")
    repeated = flex_attention(query, key[:1].repeat(B, 1, 1, 1), value[:1].repeat(B, 1, 1, 1), block_mask=mask)
    torch.testing.assert_close(flex_attention(query, key[:1], value[:1], block_mask=mask), repeated)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes(dtype):
    tensors = inputs(dtype)
    output = flex_attention(*tensors, lambda s, b, h, i, j: s + h)
    assert output.dtype is dtype
    expected = reference_attention(*tensors, lambda s, b, h, i, j: s + h, noop_mask, 1 / math.sqrt(E))[0]
    np.testing.assert_allclose(output.double().numpy(), expected, atol=1e-6 if dtype is torch.float32 else 2e-2)


def test_gradients():
    mask = create_block_mask(MASKS["some rows"], None, None, L, S, "cpu", BLOCK_SIZE=2)

    def attend(query, key, value, slope):
        return flex_attention(query, key, value, lambda s, b, h, i, j: s - slope[h] * (i - j) ** 2, mask)

    tensors = [tensor.requires_grad_() for tensor in (*inputs(), bias.clone())]
    assert torch.autograd.gradcheck(attend, tensors)
    attend(*tensors).sum().backward()
    assert tensors[0].grad[:, :, :3].eq(0).all() and tensors[3].grad.isfinite().all()


def test_on_meta():
    query, key, value = (tensor.to("meta") for tensor in inputs())
    assert flex_attention(query, key, value, lambda s, b, h, i, j: s * 2).shape == (B, H, L, 2)


def test_the_old_form_of_statistics():
    tensors = inputs()
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        _, lse = flex_attention(*tensors, return_lse=True)
    torch.testing.assert_close(lse, flex_attention(*tensors, return_aux=AuxRequest(lse=True))[1].lse)
    assert flex_attention(*tensors, return_aux=AuxRequest(lse=True))[1].max_scores is None
    with pytest.raises(ValueError, match="Cannot specify both"):
        flex_attention(*tensors, return_lse=True, return_aux=AuxRequest())


def test_what_does_not_fit():
    query, key, value = inputs()
    mask = create_block_mask(causal, None, None, L, S, "cpu")
    for error, match, arguments, options in (
        (ValueError, "same embedding dimension", (query, value, value), {}),
        (NotImplementedError, "must be 4D", (query[0], key[0], value[0]), {}),
        (ValueError, "same number of heads", (query, key[:, :2], value[:, :2]), {}),
        (ValueError, "multiple of kv heads", (query[:, :3], key[:, :2], value[:, :2]), {"enable_gqa": True}),
        (ValueError, "non-none block_mask", (query, key[:1], value[:1]), {}),
        (ValueError, "larger length", (query[:, :, :3], key, value), {"block_mask": mask}),
        (ValueError, "smaller length", (query.repeat(1, 1, 2, 1), key, value), {"block_mask": mask}),
        (RuntimeError, "sliced BlockMask", (query, key, value), {"block_mask": mask[0]}),
        (RuntimeError, "same device", (query, key, value), {"block_mask": mask.to("meta")}),
    ):
        with pytest.raises(error, match=match):
            flex_attention(*arguments, **options)


# --- masks --------------------------------------------------------------------------------------------------------


def test_masks_of_positions():
    expected = np.tril(np.ones((3, 4), bool))
    assert (create_mask(causal, None, None, 3, 4, "cpu").numpy() == expected).all()
    from_scores = create_mask(lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf), 2, 3, 3, 4, "cpu")
    assert from_scores.shape == (2, 3, 3, 4) and (from_scores.numpy() == expected).all()
    assert create_mask(noop_mask, 2, 3, 4, 5, "cpu").all() and create_mask(noop_mask, 2, 3, 4, 5, "cpu").shape == (2, 3, 4, 5)
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 1"):
        create_mask(lambda b: b, 1, 1, 2, 2)
    with pytest.raises(AssertionError, match="requires a mask_mod"):
        create_block_mask(lambda s, b, h, i, j: s, 1, 1, 2, 2)
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(causal, None)


@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("size", [(2, 3), (4, 4)])
def test_blocks(size, separate):
    rows, columns = size
    shape = (2, 3, 9, 13)

    def mask_mod(b, h, i, j):
        return (i >= j - b) & (j != h * 4)

    dense = create_mask(mask_mod, *shape, "cpu").numpy()
    padded = np.pad(dense, ((0, 0), (0, 0), (0, -9 % rows), (0, -13 % columns)))
    blocks = padded.reshape(2, 3, padded.shape[2] // rows, rows, padded.shape[3] // columns, columns).sum((3, 5))
    mask = create_block_mask(mask_mod, *shape, "cpu", BLOCK_SIZE=size, separate_full_blocks=separate)
    assert (mask.to_dense().numpy() == (blocks > 0)).all() and mask.to_dense().dtype is torch.int32
    assert mask.shape == shape and mask.numel() == math.prod(shape) and size == mask.BLOCK_SIZE
    assert mask.sparsity() == pytest.approx(100 * (1 - (blocks > 0).sum() * rows * columns / math.prod(shape)))
    full = (blocks == rows * columns) & separate
    for place in np.ndindex(2, 3):
        for kind, chosen in (("", (blocks > 0) & ~full), ("full_", full)):
            if kind and not separate:
                assert mask.full_kv_num_blocks is mask.full_q_indices is None
                continue
            for side, matrix in (("kv", chosen[place]), ("q", chosen[place].T)):
                counts, indices = (getattr(mask, f"{kind}{side}_{what}")[place].tolist() for what in ("num_blocks", "indices"))
                for count, row, expected in zip(counts, indices, matrix, strict=True):
                    assert row[:count] == list(np.flatnonzero(expected))


def test_parts_of_block_masks():
    mask = create_block_mask(lambda b, h, i, j: i >= j + b + h, 2, 3, 8, 8, "cpu", BLOCK_SIZE=2)
    dense = mask.to_dense()
    assert torch.equal(mask[1].to_dense(), dense[1:]) and torch.equal(mask[:, -1].to_dense(), dense[:, -1:])
    assert torch.equal(mask[0:2, 1:2, torch.tensor([1])].to_dense(), dense[:, 1:2, 1:2])
    cut = mask._adjust(5, 3)
    assert cut.shape == (2, 3, 5, 3) and torch.equal(cut.to_dense(), dense[:, :, :3, :2])
    moved = mask.to("meta")
    assert moved.kv_indices.is_meta and moved.mask_mod is mask.mask_mod
    doubled = tree_map(lambda tensor: tensor * 2, mask)
    assert isinstance(doubled, BlockMask) and torch.equal(doubled.kv_num_blocks, 2 * mask.kv_num_blocks)
    assert len(mask.as_tuple()) == 17 and mask.as_tuple(flatten=False)[0] == (8, 8)


def test_block_masks_from_lists():
    counts, columns = torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=4)
    assert mask.shape == (1, 1, 8, 8) and mask.to_dense().tolist() == [[[[0, 1], [1, 1]]]] and mask.sparsity() == 25.0
    assert mask.q_num_blocks.tolist() == [[[1, 2]]] and mask.mask_mod is noop_mask
    assert BlockMask.from_kv_blocks(counts, columns, compute_q_blocks=False).q_indices is None
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        BlockMask.from_kv_blocks(counts, columns[0, 0, 0])
    with pytest.raises(AssertionError, match="both provided or omitted"):
        BlockMask.from_kv_blocks(counts, columns, counts)


def test_pictures():
    mask = create_block_mask(causal, 1, 1, 8, 8, "cpu", BLOCK_SIZE=2)
    assert mask.to_string() == "(0, 0)\n██      \n████    \n██████  \n████████\n"
    assert mask.to_string(2) == "(0, 0)\n░░  \n██░░\n"
    assert str(mask).startswith("BlockMask(shape=(1, 1, 8, 8), sparsity=37.50%, \n(0, 0)\n██")
    assert repr(mask).endswith("sparsity=37.50%,\n    mask_mod=causal\n)")
    assert "To print out more" in create_block_mask(causal, 2, 3, 4, 4, "cpu").to_string()


@pytest.mark.parametrize("descending", [True, False])
def test_ranks_of_blocks_in_their_rows(descending):
    mask = create_block_mask(causal, 1, 1, 6, 6, "cpu", BLOCK_SIZE=2, compute_dq_write_order=True, dq_kv_order=descending)
    dense = mask.to_dense()[0, 0].tolist()
    for column in range(3):
        for slot in range(mask.q_num_blocks[0, 0, column]):
            row = mask.q_indices[0, 0, column, slot]
            needed = [j for j in range(3) if dense[row][j]]
            rank = needed[::-1].index(column) if descending else needed.index(column)
            assert mask.dq_write_order[0, 0, column, slot] == rank
