"""Nested tensors: same items, sizes, `repr`, gradients and exceptions as PyTorch's.

Features that PyTorch lacks are tested only in `tests/layouts/test_nested.py`: gradients of sums over the ragged dimension,
causal attention of any width, and the gradient of a softmax over the ragged dimension, which PyTorch computes wrongly across
items.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

# Nested tensors J, L: jagged, of equal sizes; S, U: strided; H: jagged, with holes; I: indices; A: attention heads.
# Dense tensors: D, E.
LINES = """
J
J.shape, J.stride(), J.dim(), J.numel(), J.layout, J.is_nested, J.offsets(), J.lengths(), J.is_contiguous(), len(J), J.size(-1)
str(J), str(J.transpose(1, 2)), str(J.requires_grad_()), str(J.detach())
S
str(S), S.layout, S.dim(), S.numel(), S.is_nested, S.size(0), S.size(2), S._nested_tensor_size(), S.is_contiguous()
S.size(1)
S.shape
S.size()
S.stride()
len(S)
S.tolist()
S.numpy()
J.tolist()
J.numpy()
J.item()
bool(J)
H, H.numel(), H.is_contiguous(), H.lengths(), H.offsets(), H.shape
H.clone(), H.contiguous().is_contiguous()
H.sum(1)
H.softmax(1)
J.shape[1] == J.shape[1], J.shape[1] == L.shape[1], J.shape[1] == 3, J.shape[1] >= 2, J.shape[1] > 1, J.shape == L.shape
J.shape[1] < 5
torch.nested.nested_tensor([])
torch.nested.nested_tensor([1, 2])
torch.nested.nested_tensor([[1, 2], [3]])
torch.nested.nested_tensor(D)
torch.nested.nested_tensor([D, D[0]])
torch.nested.nested_tensor([D, D.T], layout=torch.jagged)
torch.nested.nested_tensor([], layout=torch.jagged)
torch.nested.nested_tensor([D], layout=torch.sparse_coo)
torch.nested.nested_tensor([D.T, D.T[:, :2]], layout=torch.jagged)
torch.nested.as_nested_tensor(D), torch.nested.as_nested_tensor(D, layout=torch.jagged)
torch.nested.as_nested_tensor(D[0])
torch.nested.as_nested_tensor([1])
torch.nested.as_nested_tensor(J, layout=torch.jagged) is J
torch.nested.as_nested_tensor(J)
torch.nested.nested_tensor_from_jagged(D)
torch.nested.nested_tensor_from_jagged(D, torch.tensor([0, 1, 3]))
torch.nested.nested_tensor_from_jagged(D, lengths=torch.tensor([1, 2]))
torch.nested.nested_tensor_from_jagged(D, torch.tensor([0, 1, 4]), jagged_dim=2)
torch.nested.narrow(E, 1, torch.tensor([0, 1]), torch.tensor([1, 2]), layout=torch.jagged)
torch.nested.narrow(E, 2, 0, 2, layout=torch.jagged)
torch.nested.masked_select(D, D > 0)
torch.nested.to_padded_tensor(J, 7.0), torch.nested.to_padded_tensor(S, 7.0), J.to_padded_tensor(0.0, (2, 5, 4)), J.to_padded_tensor(0.0, (2, 2, 4))
S.to_padded_tensor(0.0, (2, 2, 4))
J + L
J + K, K * J, J / (K + 9), K - 2, 2 - K, K**2, K > J, torch.where(J > 0, J, K), J.maximum(K)
S + U, S * 2, S / U, S - U, S.abs(), S.relu(), S.cos(), S.neg(), S.tanh(), S.sqrt(), S.clone(), S.detach()
S + D[0]
J + D[0], J + E[:, :1], E[:, :1] - J, J * E[:1, :1, :1]
J + E[None]
J + E[:1].expand(3, -1, -1)
J.cos(), J.abs(), J.exp(), J.erf(), J.relu(), J.sigmoid(), J.clamp(0, 1), J.isnan(), F.gelu(J), F.silu(J), J.round(), J.double().dtype
torch.zeros_like(J), torch.ones_like(S), torch.full_like(J, 3.0), J.masked_fill(J > 0, 0.0), J.new_zeros(())
J.new_zeros(2, 3)
J.detach().clone().add_(1), S.clone().mul_(2), J.detach().clone().zero_()
J.sum(), J.mean(), J.max(), J.min(), J.prod(), J.any(), (J > 0).all()
J.sum(1), J.mean(1), J.prod(1), J.amax(1), J.amin(1), J.max(1), J.min(1), J.argmax(1), (J > 0).any(1), J.sum(1, keepdim=True)
J.sum(2), J.mean(2), J.amax(2), J.max(2).values, J.sum(2, keepdim=True), J.sum((0, 1)), J.mean((0, 1)), J.sum((0, 1, 2))
J.sum(0)
J.sum((1, 2))
J.mean(0)
S.sum(-1, keepdim=True)
S.sum(-1)
S.sum(1, keepdim=True)
S.sum()
S.mean()
S.max()
J.softmax(-1), J.softmax(1), J.log_softmax(-1), S.softmax(-1)
J.softmax(0)
J.log_softmax(1)
F.layer_norm(J, (4,)), F.layer_norm(J, (4,), D[0], D[1]), F.layer_norm(S, (4,), D[0], D[1]), F.rms_norm(J, (4,))
F.layer_norm(S, (4,))
F.linear(J, D), F.linear(J, D, D[:, 0]), F.linear(S, D), J @ D.T, J @ E.transpose(1, 2), torch.bmm(J, E.transpose(1, 2))
J.transpose(1, 2) @ K, S @ U.transpose(1, 2), torch.bmm(S, U.transpose(1, 2))
J @ K.transpose(1, 2)
J @ K
S @ D.T
F.embedding(I, D)
F.scaled_dot_product_attention(A, A, A), F.scaled_dot_product_attention(A, A, A, scale=0.5)
F.scaled_dot_product_attention(A, A, A.double())
F.scaled_dot_product_attention(A, A, A, attn_mask=D)
J.transpose(1, 2).shape, J.mT.shape, J.permute(0, 2, 1).shape, J.unsqueeze(-1).shape, J.unsqueeze(1).shape, J.unsqueeze(-1).squeeze(-1)
J.view(2, -1, 2, 2), J.view(2, J.shape[1], 2, 2), J.reshape(2, -1, 2, 2).shape, J.unflatten(-1, (2, 2)), J.unflatten(-1, (2, 2)).flatten(2, 3)
J.unsqueeze(-1).expand(2, J.shape[1], 4, 3), J.narrow(2, 1, 2), J[..., 0], J[..., 1:3], J[1], J[0, 1], J[-1], J.select(2, 1)
J.chunk(2, -1), J.chunk(2, 0), J.split(2, -1), J.split([1, 3], -1), torch.cat([J, K], -1), torch.stack([J, K], 2), J.unbind()
S[0], S[1, 0], S.unbind(), S.transpose(1, 2), S.unsqueeze(-1), S.chunk(2, -1), torch.cat([S, U]), S.select(0, 1), S.reshape(2, -1, 2, 2)
S.chunk(2, 0)
torch.stack([S, S])
J.unbind(1)
J[:, 0]
J[0:1]
J.transpose(0, 1)
J.T
J.permute(1, 0, 2)
J.chunk(2, 1)
J.unsqueeze(0)
J.squeeze(0)
J.flatten(1, 2)
J.view(-1)
J.expand(3, J.shape[1], 4)
J.narrow(1, 0, 1)
J.select(1, 0)
torch.cat([J, K], 0)
torch.cat([J, K], 1)
torch.cat([J, L], -1)
torch.stack([J, K], 0)
torch.stack([J, K], 1)
J.sort()
J.cumsum(1)
J.index_select(0, torch.tensor([0]))
torch.allclose(J, K)
grad(lambda x: x * x)
grad(lambda x: x.amax(1))
grad(lambda x: x.softmax(-1))
grad(lambda x: F.layer_norm(x, (4,)))
grad(lambda x: F.linear(x, D))
grad(lambda x: x @ E.transpose(1, 2))
grad(lambda x: x.transpose(1, 2) @ x)
grad(lambda x: x + E[:, :1])
grad(lambda x: x.to_padded_tensor(2.0))
grad(lambda x: x[1])
grad(lambda x: torch.cat([x, x * 2], -1))
""".strip().splitlines()


def space(torch):
    def tensor(*shape):
        return torch.tensor(np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32"))

    first, second = tensor(3, 4), tensor(2, 4)
    nested = torch.nested.nested_tensor
    J = nested([first, second], layout=torch.jagged)
    made = {
        "J": J,
        "K": torch.nested.nested_tensor_from_jagged(tensor(5, 4), J.offsets()),
        "L": nested([first, second], layout=torch.jagged),
        "S": nested([first, second]),
        "U": nested([second[:1].expand(3, 4) + 2, second + 1]),
        "H": torch.nested.nested_tensor_from_jagged(tensor(5, 4), torch.tensor([0, 3, 5]), torch.tensor([2, 1])),
        "I": nested([torch.tensor([0, 2]), torch.tensor([1])], layout=torch.jagged),
        "A": nested([tensor(3, 2, 4), tensor(2, 2, 4)], layout=torch.jagged).transpose(1, 2),
        "D": tensor(3, 4),
        "E": tensor(2, 3, 4),
    }

    def grad(function):
        leaf = nested([first, second], layout=torch.jagged, requires_grad=True)
        result = function(leaf)
        values = result.values() if result.is_nested else result
        (values * torch.arange(values.numel()).reshape(values.shape)).sum().backward()
        return leaf.grad

    return {**made, "torch": torch, "F": torch.nn.functional, "grad": grad}


def plain(value):
    """Convert a result to types that both libraries share."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
        return [plain(item) for item in value]
    if getattr(value, "is_nested", False):
        return [str(value.layout), value.requires_grad, [plain(item) for item in value.unbind()]]
    if hasattr(value, "detach"):
        return [str(value.dtype), np.round(value.detach().double().numpy(), 4) + 0.0]
    return [re.sub(r"j\d+", "j", re.sub(r"flambeau", "torch", str(value)))]


def outcome(torch, line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(line, space(torch)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("line", LINES)
def test_line(line):
    np.testing.assert_equal(outcome(ours, line), outcome(theirs, line))
