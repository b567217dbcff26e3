"""Nested tensors, compared with loops over their items."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import flambeau as torch

F = torch.nn.functional
LENGTHS = (3, 1, 4)


def items_of(*shape, lengths=LENGTHS, dtype=torch.float64):
    return [torch.randn(length, *shape, dtype=dtype) for length in lengths]


def jagged(items, requires_grad=False):
    return torch.nested.nested_tensor(items, layout=torch.jagged, requires_grad=requires_grad)


def strided(items, requires_grad=False):
    return torch.nested.nested_tensor(items, requires_grad=requires_grad)


def assert_close(result, expected):
    assert result.is_nested
    found = result.unbind()
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def assert_gradients_agree(function, items, layout, per_item=None):
    """Assert that gradients through a function of a nested tensor equal those of the function applied to each item."""
    nested = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
    result = function(nested)
    leaves = [item.clone().requires_grad_() for item in items]
    expected = [(per_item or function)(leaf) for leaf in leaves]
    assert_close(result, expected)
    torch.manual_seed(1)
    weights = [torch.randn_like(one) for one in expected]
    sum((one * weight).sum() for one, weight in zip(result.unbind(), weights, strict=True)).backward()
    sum((one * weight).sum() for one, weight in zip(expected, weights, strict=True)).backward()
    assert_close(nested.grad, [leaf.grad for leaf in leaves])


BOTH = pytest.mark.parametrize("layout", [torch.jagged, torch.strided])

# --- what they are ------------------------------------------------------------------------------------------------


def test_parts_of_the_jagged_layout():
    items = items_of(2)
    nested = jagged(items)
    ragged = nested.shape[1]
    assert nested.is_nested and nested.layout is torch.jagged and nested.dim() == nested.ndim == 3 and len(nested) == 3
    assert nested.shape == torch.Size([3, ragged, 2]) and nested.size(1) is ragged and nested.size(-1) == 2
    assert nested.stride() == (ragged * 2, 2, 1) and nested.numel() == 16 and nested.is_contiguous()
    assert nested.offsets().tolist() == [0, 3, 4, 8] and nested.lengths() is None
    torch.testing.assert_close(nested.values(), torch.cat(items))
    assert_close(nested, items)
    number = str(ragged)
    assert number.startswith("j") and repr(nested) == (
        f"NestedTensor(size=(3, {number}, 2), offsets=tensor([0, 3, 4, 8]), contiguous=True)"
    )
    assert "requires_grad=True" in repr(jagged(items, True)) and "grad_fn=<MulBackward0" in repr(jagged(items, True) * 2)


def test_sizes_that_differ_from_item_to_item():
    first, second = jagged(items_of()).shape[1], jagged(items_of()).shape[1]
    assert isinstance(first, torch.SymInt) and first == first and first != second and first != 3
    assert len({first, first, second}) == 2 and str(2 * first) == f"2*{first}" and 2 * first != first
    assert first > 1 and first >= 2 and not first < 2 and bool(first)
    for undecided in (lambda: first < 5, lambda: first > 2, lambda: first <= second):
        with pytest.raises(ValueError, match="indeterminate"):
            undecided()
    for refused in (lambda: int(first), lambda: first + 1, lambda: range(first)):
        with pytest.raises(TypeError, match="ragged dimension"):
            refused()


def test_parts_of_the_strided_layout():
    items = [torch.arange(6.0).view(2, 3), torch.arange(4.0).view(1, 4)]
    nested = strided(items)
    assert nested.is_nested and nested.layout is torch.strided and nested.dim() == 3 and nested.numel() == 10
    assert nested.size(0) == 2 and nested._nested_tensor_size().tolist() == [[2, 3], [1, 4]]
    assert nested._nested_tensor_strides().tolist() == [[3, 1], [4, 1]]
    assert nested._nested_tensor_storage_offsets().tolist() == [0, 6]
    with pytest.raises(RuntimeError, match="dimension 1 is irregular"):
        nested.size(1)
    for refused in (lambda: nested.shape, lambda: nested.size(), lambda: len(nested), lambda: nested[:, 0]):
        with pytest.raises(RuntimeError, match="doesn't support sizes"):
            refused()
    assert strided(items_of(2)).size(2) == 2
    assert repr(strided([torch.arange(2), torch.arange(1)])) == "nested_tensor([\n  tensor([0, 1]),\n  tensor([0])\n])"
    assert repr(strided([])) == "nested_tensor([\n\n])"
    assert_close(nested, items)
    assert torch.equal(nested[1], items[1]) and torch.equal(nested[1, 0], items[1][0]) and nested[-1].shape == (1, 4)


def test_how_they_are_made():
    assert [item.tolist() for item in strided([[1, 2], [3]])] == [[1, 2], [3]]
    rows = torch.randn(3, 4, 2)
    for layout in (torch.jagged, torch.strided):
        nested = torch.nested.as_nested_tensor(rows, layout=layout)
        assert_close(nested, list(rows))
        assert torch.nested.as_nested_tensor(nested, layout=layout) is nested
        with pytest.raises(RuntimeError, match="Converting between"):
            torch.nested.as_nested_tensor(nested, layout=torch.sparse_coo)
        assert torch.nested.nested_tensor(items_of(), layout=layout, dtype=torch.float32).dtype is torch.float32
    with pytest.raises(TypeError, match="Only lists"):
        torch.nested.nested_tensor(rows)
    with pytest.raises(TypeError, match="tensor or a list"):
        torch.nested.as_nested_tensor([1, 2])
    with pytest.raises(RuntimeError, match="must have the same dimension"):
        strided([torch.ones(1), torch.ones(1, 1)])
    with pytest.raises(RuntimeError, match="single ragged dimension"):
        jagged([torch.ones(1, 2), torch.ones(2, 1)])
    with pytest.raises(RuntimeError, match="empty tensor list"):
        jagged([])
    with pytest.raises(RuntimeError, match="dim\\(\\) > 1"):
        torch.nested.as_nested_tensor(torch.ones(2))
    transposed = jagged([torch.ones(2, 3), torch.ones(2, 5)])
    assert transposed._ragged_idx == 2 and transposed.shape[1] == 2


def test_items_are_copied_or_keep_their_history():
    items = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    for layout in (torch.jagged, torch.strided):
        leaf = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
        assert leaf.is_leaf and leaf.requires_grad and leaf.grad_fn is None and leaf.grad is None
        nested = torch.nested.as_nested_tensor(items, layout=layout)
        assert not nested.is_leaf
        (nested * 3).values().sum().backward()
        assert [item.grad.tolist() for item in items] == [[3, 3], [3, 3, 3]]
        for item in items:
            item.grad = None


def test_views_of_values():
    values = torch.arange(12.0).view(6, 2)
    nested = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 6]))
    assert_close(nested, [values[:2], values[2:]])
    values[0] = -1
    assert nested[0][0].tolist() == [-1, -1] and nested.values() is values
    by_length = torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([2, 4]))
    assert by_length.offsets().tolist() == [0, 2, 6] and by_length.lengths() is None
    holes = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 6]), torch.tensor([1, 3]))
    assert_close(holes, [values[:1], values[2:5]])
    assert holes.numel() == 8 and not holes.is_contiguous() and holes.lengths().tolist() == [1, 3]
    torch.testing.assert_close(holes.sum(), values[:1].sum() + values[2:5].sum())
    assert_close(holes.contiguous(), [values[:1], values[2:5]])
    assert holes.contiguous().is_contiguous()
    with pytest.raises(RuntimeError, match="with holes"):
        holes.sum(1)
    with pytest.raises(RuntimeError, match="At least one"):
        torch.nested.nested_tensor_from_jagged(values)
    with pytest.raises(ValueError, match="jagged_dim"):
        torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 6]), jagged_dim=0)
    inner = torch.nested.nested_tensor_from_jagged(torch.arange(6).view(2, 3), torch.tensor([0, 1, 3]), jagged_dim=2)
    assert inner.shape[1] == 2 and [item.tolist() for item in inner.unbind()] == [[[0], [3]], [[1, 2], [4, 5]]]


def test_parts_of_rows():
    rows = torch.randn(3, 5, 2)
    starts, lengths = torch.tensor([0, 1, 2]), torch.tensor([3, 2, 1])
    part = torch.nested.narrow(rows, 1, starts, lengths, layout=torch.jagged)
    assert_close(part, [row[s : s + n] for row, s, n in zip(rows, starts.tolist(), lengths.tolist(), strict=True)])
    assert part.lengths().tolist() == [3, 2, 1]
    rows[0, 0] = 7
    assert part[0][0].tolist() == [7, 7]
    assert_close(torch.nested.narrow(rows, 1, 1, 2), [row[1:3] for row in rows])
    whole = torch.nested.narrow(rows, 1, 0, 5, layout=torch.jagged)
    assert whole.is_contiguous()
    for arguments, layout in (((1, starts, 2), torch.strided), ((2, 0, 1), torch.jagged), ((1, "0", 1), torch.jagged)):
        with pytest.raises(RuntimeError):
            torch.nested.narrow(rows, *arguments, layout=layout)


def test_what_a_mask_chooses():
    x, mask = torch.randn(3, 4), torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=torch.bool)
    assert_close(torch.nested.masked_select(x, mask), [row[chosen] for row, chosen in zip(x, mask, strict=True)])


@BOTH
def test_rows_filled_up(layout):
    items = items_of(2)
    nested = torch.nested.nested_tensor(items, layout=layout)
    expected = torch.stack([F.pad(item, (0, 0, 0, 4 - len(item)), value=-1.0) for item in items])
    torch.testing.assert_close(torch.nested.to_padded_tensor(nested, -1.0), expected)
    torch.testing.assert_close(nested.to_padded_tensor(-1.0, (3, 6, 2))[:, :4], expected)
    assert_gradients_agree(lambda x: x * 1, items, layout)
    leaf = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
    leaf.to_padded_tensor(0.0).square().sum().backward()
    assert_close(leaf.grad, [2 * item for item in items])
    if layout is torch.strided:
        with pytest.raises(RuntimeError, match="Truncation is not supported"):
            nested.to_padded_tensor(0.0, (3, 2, 2))


# --- element by element ---------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", ["abs", "cos", "relu", "sigmoid", "tanh", "silu", "neg", "sqrt", "exp", "square"])
def test_functions_of_one_number(name, layout):
    function = F.silu if name == "silu" else getattr(torch, name)
    assert_gradients_agree(function, [item.abs() + 0.1 for item in items_of(2)], layout)


@BOTH
@pytest.mark.parametrize("name", [
    "entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "round", "bessel_j0", "airy_ai",
])  # fmt: skip
def test_special_functions(name, layout):
    function = getattr(torch.special, name)
    items = [torch.rand(length, 2) * 0.8 + 0.1 for length in (3, 5)]
    result = function(torch.nested.nested_tensor(items, layout=layout))
    assert result.layout is layout
    assert_close(result, [function(item) for item in items])


@BOTH
@pytest.mark.parametrize("name", ["round", "expit", "exp2", "log1p"])
def test_operators_of_special(name, layout):
    items = [torch.rand(length, 2) + 0.1 for length in (3, 5)]
    operator = getattr(torch.ops.aten, f"special_{name}")
    assert_close(operator(torch.nested.nested_tensor(items, layout=layout)), [operator(item) for item in items])


@BOTH
@pytest.mark.parametrize("name", ["xlog1py", "zeta", "gammainc", "igamma"])
def test_special_functions_of_two(name, layout):
    function = getattr(torch, name) if name == "igamma" else getattr(torch.special, name)
    items = [torch.rand(length, 2) + 1.1 for length in (3, 5)]
    nested = torch.nested.nested_tensor(items, layout=layout)
    assert_close(function(nested, nested + 0.5), [function(item, item + 0.5) for item in items])


@BOTH
def test_results_of_which_there_are_two(layout):
    items = items_of(2)
    mantissa, exponent = torch.frexp(torch.nested.nested_tensor(items, layout=layout))
    assert_close(mantissa, [torch.frexp(item).mantissa for item in items])
    assert_close(exponent, [torch.frexp(item).exponent for item in items])


@BOTH
def test_arithmetic(layout):
    items, others = items_of(2), items_of(2)
    other = torch.nested.nested_tensor(others, layout=layout)
    nested = torch.nested.nested_tensor(items, layout=layout)
    if layout is torch.jagged:  # jagged operands must share their offsets
        other = torch.nested.nested_tensor_from_jagged(other.values(), nested.offsets())
    for function in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.atan2):
        assert_close(function(nested, other), [function(a, b) for a, b in zip(items, others, strict=True)])
    assert_close(2 - nested, [2 - item for item in items])
    assert_close(nested**2 / 3 + 1, [item**2 / 3 + 1 for item in items])
    assert_close(nested > other, [a > b for a, b in zip(items, others, strict=True)])
    assert_close(torch.where(nested > 0, nested, other), [torch.where(a > 0, a, b) for a, b in zip(items, others, strict=True)])
    assert_close(nested.clone().add_(1).mul_(2), [(item + 1) * 2 for item in items])
    assert_close(nested.masked_fill(nested > 0, 0.0), [item.masked_fill(item > 0, 0.0) for item in items])
    assert_close(nested.float(), [item.float() for item in items])
    assert_close(torch.zeros_like(nested), [torch.zeros_like(item) for item in items])
    assert torch.randn_like(nested).is_nested and torch.equal(nested, nested.clone()) and not torch.equal(nested, other)
    assert nested.is_same_size(other) and nested.to(torch.float64) is nested and nested.to(torch.float32).dtype is torch.float32
    nested += 1
    assert_close(nested, [item + 1 for item in items])


def test_dense_tensors_meet_items():
    items = items_of(2)
    nested, row, rows, single = (
        jagged(items),
        torch.randn(2).double(),
        torch.randn(3, 1, 2).double(),
        torch.randn(3, 1, 1).double(),
    )
    assert_close(nested + row, [item + row for item in items])
    assert_close(nested * row.view(1, 1, 2), [item * row for item in items])
    for dense in (rows, single):
        assert_close(nested - dense, [item - part for item, part in zip(items, dense, strict=True)])
        assert_close(dense - nested, [part - item for item, part in zip(items, dense, strict=True)])
    padded = torch.randn(3, 4, 2).double()
    assert_close(nested + padded, [item + part[: len(item)] for item, part in zip(items, padded, strict=True)])
    leaf = rows.clone().requires_grad_()
    (nested * leaf).sum().backward()
    torch.testing.assert_close(leaf.grad, torch.stack([item.sum(0, keepdim=True) for item in items]))
    with pytest.raises(NotImplementedError, match="larger dim"):
        nested + torch.ones(1, 3, 1, 2)
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        nested + jagged(items)
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        nested + torch.ones(2, 1, 2)
    assert_close(strided(items) * torch.tensor(2.0), [item * 2 for item in items])
    with pytest.raises(RuntimeError, match="non-nested other"):
        strided(items) + torch.ones(2)


# --- along dimensions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin"])
def test_reductions(name):
    items = items_of(2)
    nested, function = jagged(items), getattr(torch, name)
    torch.testing.assert_close(function(nested, 1), torch.stack([function(item, 0) for item in items]))
    torch.testing.assert_close(
        function(nested, 1, keepdim=True), torch.stack([function(item, 0, keepdim=True) for item in items])
    )
    assert_close(function(nested, 2), [function(item, 1) for item in items])
    assert_close(function(nested, -1, keepdim=True), [function(item, 1, keepdim=True) for item in items])
    if name != "prod":
        torch.testing.assert_close(function(nested, (0, 1)), function(torch.cat(items), 0))
    leaf, leaves = jagged(items, True), [item.clone().requires_grad_() for item in items]
    function(leaf, 1).square().sum().backward()
    sum(function(item, 0).square().sum() for item in leaves).backward()
    assert_close(leaf.grad, [item.grad for item in leaves])


def test_other_reductions():
    items = items_of(2)
    nested, whole = jagged(items), torch.cat(items)
    for name in ("sum", "mean", "max", "min"):
        torch.testing.assert_close(getattr(nested, name)(), getattr(whole, name)())
    values, indices = nested.max(1)
    torch.testing.assert_close(values, torch.stack([item.max(0).values for item in items]))
    assert torch.equal(indices, torch.stack([item.argmax(0) for item in items])) and torch.equal(indices, nested.argmax(1))
    assert_close(nested.min(2).values, [item.min(1).values for item in items])
    assert torch.equal((nested > 0).any(1), torch.stack([(item > 0).any(0) for item in items]))
    for dims, message in ((0, "batch dimension but not"), ((1, 2), "ragged and non-batch")):
        with pytest.raises(RuntimeError, match=message):
            nested.sum(dims)


def test_softmax():
    items = items_of(2)
    assert_gradients_agree(lambda x: x.softmax(-1), items, torch.jagged)
    assert_gradients_agree(lambda x: x.softmax(-1), items, torch.strided)
    assert_gradients_agree(lambda x: F.log_softmax(x, -1), items, torch.jagged)
    assert_gradients_agree(lambda x: torch.softmax(x, 1), items, torch.jagged, lambda item: item.softmax(0))
    for name, dim in (("softmax", 0), ("log_softmax", 1)):
        with pytest.raises(RuntimeError, match=f"{name}\\(\\): not supported"):
            getattr(jagged(items), name)(dim)


def test_normalization():
    items, weight, bias = items_of(3, 2), torch.randn(2).double(), torch.randn(2).double()
    for layout in (torch.jagged, torch.strided):
        assert_gradients_agree(lambda x: F.layer_norm(x, (2,), weight, bias), items, layout)
    assert_close(F.layer_norm(jagged(items), (4, 3, 2)), [F.layer_norm(item, item.shape) for item in items])
    assert_close(F.rms_norm(jagged(items), (2,)), [F.rms_norm(item, (2,)) for item in items])
    with pytest.raises(ValueError, match="ragged dim"):
        F.rms_norm(jagged(items), (4, 3, 2))
    with pytest.raises(ValueError, match="weight and bias"):
        F.layer_norm(strided(items), (2,))


# --- products -------------------------------------------------------------------------------------------------------


@BOTH
def test_layers(layout):
    layer = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU(), torch.nn.Linear(3, 2)).double()
    items = items_of(2)
    assert_gradients_agree(layer, items, layout)
    found = [parameter.grad / 2 for parameter in layer.parameters()]  # gradients were accumulated twice
    layer.zero_grad()
    torch.manual_seed(1)
    outputs = [layer(item) for item in items]
    weights = [torch.randn_like(one) for one in outputs]
    sum((one * weight).sum() for one, weight in zip(outputs, weights, strict=True)).backward()
    for parameter, expected in zip(layer.parameters(), found, strict=True):
        torch.testing.assert_close(parameter.grad, expected)


def test_matrices():
    items, others = items_of(2), items_of(3)
    nested = jagged(items)
    other = torch.nested.nested_tensor_from_jagged(torch.cat(others), nested.offsets())
    one, several = torch.randn(2, 5).double(), torch.randn(3, 2, 5).double()
    assert_close(nested @ one, [item @ one for item in items])
    assert_close(nested @ several, [item @ part for item, part in zip(items, several, strict=True)])
    assert_close(torch.bmm(nested, several), [item @ part for item, part in zip(items, several, strict=True)])
    torch.testing.assert_close(nested.transpose(1, 2) @ other, torch.stack([a.T @ b for a, b in zip(items, others, strict=True)]))
    with pytest.raises(RuntimeError, match="matmul\\(\\): not supported"):
        nested @ nested.transpose(1, 2)
    with pytest.raises(ValueError, match="must be 3D"):
        torch.bmm(nested, one)
    assert_close(strided(items) @ strided([item.T for item in items]), [
        item @ item.T for item in items])  # fmt: skip
    with pytest.raises(RuntimeError, match="nested self and non-nested other"):
        strided(items) @ one


@BOTH
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(layout, is_causal):
    items = [torch.randn(length, 2, 4, dtype=torch.float64) for length in LENGTHS]

    def attend(x):
        heads = x.transpose(-3, -2)
        return F.scaled_dot_product_attention(heads, heads * 2, heads - 1, is_causal=is_causal).transpose(-3, -2)

    assert_gradients_agree(attend, items, layout)
    heads = torch.nested.nested_tensor(items, layout=layout).transpose(1, 2)
    with pytest.raises(ValueError, match="[Mm]ask"):
        F.scaled_dot_product_attention(heads, heads, heads, torch.ones(1))
    with pytest.raises(ValueError, match="same dtype" if layout is torch.jagged else "[Mm]ask"):
        if layout is torch.strided:
            raise ValueError("mask")
        F.scaled_dot_product_attention(heads, heads.float(), heads)


@BOTH
def test_embedding(layout):
    indices = [torch.tensor([0, 2, 1]), torch.tensor([3])]
    layer = torch.nn.Embedding(4, 2)
    assert_close(layer(torch.nested.nested_tensor(indices, layout=layout)), [layer(one) for one in indices])


# --- shapes ---------------------------------------------------------------------------------------------------------


def test_shapes_of_the_jagged_layout():
    items = items_of(4)
    nested = jagged(items)
    ragged = nested.shape[1]
    assert_close(nested.transpose(1, 2), [item.T for item in items])
    assert_close(nested.mT.permute(0, 2, 1), items)
    assert nested.transpose(1, 2).shape == torch.Size([3, 4, ragged]) and not nested.mT.is_contiguous()
    for shape in ((3, -1, 2, 2), (3, ragged, 2, 2), (-1, ragged, 2, 2)):
        assert_close(nested.view(*shape) if shape[0] == 3 else nested.reshape(shape), [item.view(-1, 2, 2) for item in items])
    assert_close(nested.unflatten(-1, (2, 2)), [item.view(-1, 2, 2) for item in items])
    assert_close(nested.unflatten(-1, (2, 2)).flatten(2, 3), items)
    assert_close(nested.unsqueeze(1), [item.unsqueeze(0) for item in items])
    assert_close(nested.unsqueeze(-1).squeeze(-1), items)
    assert_close(nested.unsqueeze(1).squeeze(1), items)
    assert_close(nested.unsqueeze(-1).expand(3, ragged, 4, 5), [item.unsqueeze(-1).expand(-1, 4, 5) for item in items])
    assert_close(nested.narrow(2, 1, 2), [item[:, 1:3] for item in items])
    assert_close(nested[..., 0], [item[:, 0] for item in items])
    assert_close(nested[..., 1:3], [item[:, 1:3] for item in items])
    assert_close(nested.select(2, -1), [item[:, -1] for item in items])
    for found in (nested.chunk(2, -1), nested.split(2, -1), nested.split([2, 2], 2)):
        assert_close(found[1], [item[:, 2:] for item in items])
    assert [len(part) for part in nested.chunk(2, 0)] == [2, 1]
    assert_close(nested.chunk(2)[1], items[2:])
    assert_close(torch.cat([nested, nested * 2], -1), [torch.cat([item, item * 2], -1) for item in items])
    assert_close(torch.stack([nested, nested * 2], 2), [torch.stack([item, item * 2], 1) for item in items])
    assert torch.equal(nested[1], items[1]) and torch.equal(nested[0, 2], items[0][2]) and torch.equal(nested[-1], items[-1])
    assert nested.new_zeros(()).item() == 0 and nested.dtype is torch.float64
    assert torch.equal(nested[nested > 0], torch.cat(items)[torch.cat(items) > 0])
    changed = nested.clone()
    changed[0] = 0.0
    changed[1, 0] = torch.ones(4).double()
    assert changed[0].abs().sum() == 0 and changed[1][0].tolist() == [1] * 4


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.unbind(1), RuntimeError),
        (lambda x: x[:, 0], RuntimeError),
        (lambda x: x[0:1], RuntimeError),
        (lambda x: x.transpose(0, 1), ValueError),
        (lambda x: x.T, ValueError),
        (lambda x: x.permute(0, 1), ValueError),
        (lambda x: x.chunk(2, 1), RuntimeError),
        (lambda x: x.unsqueeze(0), RuntimeError),
        (lambda x: x.flatten(1, 2), RuntimeError),
        (lambda x: x.view(-1), RuntimeError),
        (lambda x: torch.cat([x, x], 0), RuntimeError),
        (lambda x: torch.cat([x, x], 1), RuntimeError),
        (lambda x: torch.stack([x, x], 0), RuntimeError),
        (lambda x: x.narrow(1, 0, 1), RuntimeError),
        (lambda x: x.select(1, 0), RuntimeError),
        (lambda x: x.select(0, 3), IndexError),
        (lambda x: x.expand(4, -1, 4), RuntimeError),
        (lambda x: x.sort(), NotImplementedError),
        (lambda x: x.cumsum(1), NotImplementedError),
        (lambda x: x.new_zeros(2, 3), RuntimeError),
        (lambda x: x.tolist(), RuntimeError),
        (lambda x: x.numpy(), RuntimeError),
        (lambda x: x.item(), RuntimeError),
        (lambda x: x.as_subclass(torch.Tensor), NotImplementedError),
        (lambda x: torch.vmap(torch.neg)(x), NotImplementedError),
        (lambda x: Twice.apply(x.requires_grad_()), NotImplementedError),
        (bool, RuntimeError),
    ],
)
def test_what_is_refused(call, error):
    with pytest.raises(error):
        call(jagged(items_of(4)))


def test_shapes_of_the_strided_layout():
    items = [torch.randn(2, 4), torch.randn(3, 4)]
    nested = strided(items)
    assert_close(nested.transpose(1, 2), [item.T for item in items])
    assert_close(nested.unsqueeze(-1), [item.unsqueeze(-1) for item in items])
    assert_close(nested.reshape(2, -1, 2, 2), [item.view(-1, 2, 2) for item in items])
    assert_close(nested.chunk(2, -1)[1], [item[:, 2:] for item in items])
    assert_close(torch.cat([nested, nested]), items + items)
    assert_close(nested.narrow(0, 1, 1), items[1:])
    assert_close(nested.select(2, 1), [item[:, 1] for item in items])
    assert_close(nested.sum(-1, keepdim=True), [item.sum(-1, keepdim=True) for item in items])
    for refused in (
        lambda: nested.sum(-1),
        lambda: nested.sum(1, keepdim=True),
        lambda: nested.chunk(2, 0),
        lambda: nested.unbind(1),
    ):
        with pytest.raises(RuntimeError):
            refused()
    for refused in (nested.mean, nested.max, nested.sum, lambda: torch.stack([nested, nested])):
        with pytest.raises(NotImplementedError):
            refused()


# --- graphs, copies, files ------------------------------------------------------------------------------------------


@BOTH
def test_gradients(layout):
    items = items_of(2)
    nested = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
    seen = []
    result = nested * 3
    result.retain_grad()
    handle = result.register_hook(lambda gradient: seen.append(gradient.is_nested))
    result.backward(torch.ones_like(result))
    assert_close(nested.grad, [torch.full_like(item, 3) for item in items])
    assert_close(result.grad, [torch.ones_like(item) for item in items])
    assert seen == [True]
    handle.remove()
    nested.grad = None
    (found,) = torch.autograd.grad((nested**2).values().sum(), nested)
    assert_close(found, [2 * item for item in items])
    (found,) = torch.autograd.grad(nested**2, [nested], torch.ones_like(nested))
    assert_close(found, [2 * item for item in items])
    assert nested.grad is None and not nested.detach().requires_grad
    with torch.no_grad():
        assert not (nested * 2).requires_grad


@BOTH
def test_copies_and_files(layout):
    items = items_of(2)
    nested = torch.nested.nested_tensor(items, layout=layout, requires_grad=True)
    copied, unpickled = copy.deepcopy(nested), pickle.loads(pickle.dumps(nested))
    file = io.BytesIO()
    torch.save({"x": nested}, file)
    file.seek(0)
    for other in (copied, unpickled, torch.load(file)["x"]):
        assert_close(other, items)
        assert other.requires_grad and other.is_leaf and other.layout is layout
        with torch.no_grad():
            other.zero_()
        assert_close(nested, items)


def test_private_parts():
    from flambeau.nested._internal.nested_tensor import NestedTensor, _tensor_symint_registry
    from flambeau.nested._internal.ops import extract_kwargs

    items = items_of(2)
    nested = jagged(items)
    other = NestedTensor(nested._values * 2, **extract_kwargs(nested))
    assert_close(nested + other, [3 * item for item in items])
    offsets = nested.offsets().clone()
    _tensor_symint_registry[offsets] = _tensor_symint_registry[nested.offsets()]
    assert_close(nested + NestedTensor(nested._values, offsets), [2 * item for item in items])
    assert nested._get_max_seqlen() == 4 and nested._get_min_seqlen() == 1 and nested._maybe_max_seqlen == 4
    parts = strided(items)
    buffer = parts._values
    again = torch._nested_view_from_buffer(
        buffer, parts._nested_tensor_size(), parts._nested_tensor_strides(), parts._nested_tensor_storage_offsets()
    )
    assert_close(again, items)
    buffer.zero_()
    assert again[0].abs().sum() == 0
    moved = nested.to("meta")
    assert moved.shape == nested.shape and moved.is_meta
    assert nested.is_floating_point() and nested.element_size() == 8 and nested.get_device() == -1 and not nested.is_complex()
    assert torch.is_floating_point(nested) and torch.numel(nested) == 16 and torch.is_tensor(nested)


@BOTH
def test_foreach(layout):
    items = items_of(2)
    nested = torch.nested.nested_tensor(items, layout=layout)
    (total,) = torch._foreach_add([nested], [nested])
    assert_close(total, [2 * item for item in items])
    torch._foreach_mul_([nested], 3)
    assert_close(nested, [3 * item for item in items])


def test_operands_that_strided_nested_tensors_do_not_take():
    nested, vectors = strided(items_of(2)), strided([torch.ones(2), torch.ones(3)])
    with pytest.raises(RuntimeError, match="Expected both self and other to be nested"):
        nested * torch.tensor([2.0])
    with pytest.raises(RuntimeError, match="2nd input has rank: 2"):
        nested @ vectors
    assert len(torch.softmax(strided([]), 1).unbind()) == 0
