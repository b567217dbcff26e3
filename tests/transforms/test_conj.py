"""Conjugate views of complex tensors, and negative views, which are the imaginary parts of conjugate views."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import flambeau as torch

VIEWS = {  # name: (view of a conjugated matrix, the same view of the conjugated NumPy array)
    "all": (lambda c: c, lambda a: a),
    "a row": (lambda c: c[0], lambda a: a[0]),
    "the transpose": (lambda c: c.t(), lambda a: a.T),
    "flat": (lambda c: c.view(-1), lambda a: a.reshape(-1)),
    "the diagonal": (lambda c: c.diagonal(), lambda a: a.diagonal()),
    "a part of several": (lambda c: c.unbind(1)[1], lambda a: a[:, 1]),
    "stretched": (lambda c: c.expand(3, 2, 2), lambda a: np.broadcast_to(a, (3, 2, 2))),
}


def matrix(**options):
    return torch.tensor([[1 + 2j, 3 - 1j], [0 + 1j, 2 + 0.5j]], **options)


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    see, numpys = VIEWS[name]
    x = matrix()
    shown = see(x.conj())
    assert shown.is_conj() and shown._base is x and shown.data_ptr() == see(x).data_ptr()
    wanted = numpys(x.numpy().conj())
    np.testing.assert_array_equal(shown.resolve_conj().numpy(), wanted)
    assert shown.tolist() == wanted.tolist()
    np.testing.assert_array_equal((shown * 2j).numpy(), wanted * np.complex64(2j))
    assert not shown.conj().is_conj() and shown.conj().tolist() == wanted.conj().tolist()
    assert shown.imag.is_neg() and shown.imag.tolist() == wanted.imag.tolist()
    assert not shown.real.is_neg() and shown.real.data_ptr() == see(x).data_ptr()


def test_matrices():
    x = matrix()
    for adjoint in (x.H, x.mH, torch.adjoint(x)):
        assert adjoint.is_conj() and adjoint.data_ptr() == x.data_ptr()
        torch.testing.assert_close(adjoint @ x, torch.tensor(x.numpy().conj().T @ x.numpy()))


def test_writes_are_seen_both_ways():
    x = matrix()
    c, imag = x.conj(), x.conj().imag
    c[0, 0] = 5 + 6j
    assert x[0, 0].item() == 5 - 6j and imag[0, 0].item() == 6
    imag[1, 1] = 9
    assert x[1, 1].item() == 2 - 9j and c[1, 1].item() == 2 + 9j
    x.mul_(1j)
    assert c[0, 0].item() == (6 + 5j).conjugate() and x._version == c._version == 3
    c.copy_(c.clone().conj())
    assert c[0, 0].item() == 6 + 5j


def test_what_makes_them_end():
    x = matrix()
    c = x.conj()
    for made in (c.clone(), c.resolve_conj(), c + 0, c.conj_physical(), c.to(torch.complex128), c.t().contiguous()):
        assert not made.is_conj() and made.data_ptr() != x.data_ptr()
    assert c.resolve_neg() is c and x.resolve_conj() is x and not c.imag.resolve_neg().is_neg()
    assert c.detach().is_conj() and c.cpu().is_conj() and c.contiguous() is c
    real = torch.ones(2)
    assert real.conj() is real and not real.is_conj()


def test_what_wants_memory_refuses_them():
    x = matrix()
    with pytest.raises(RuntimeError, match=r"has conjugate bit set. Use tensor.resolve_conj\(\)"):
        x.conj().numpy()
    with pytest.raises(RuntimeError, match=r"has negative bit set. Use tensor.resolve_neg\(\)"):
        x.conj().imag.numpy()
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(x.conj())
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors"):
        x.conj().view(torch.float32)
    with pytest.raises(BufferError, match="conjugate bit"):
        x.conj().__dlpack__()
    np.testing.assert_array_equal(x.conj().imag.numpy(force=True), -x.numpy().imag)


def test_copies_and_files_hold_what_is_shown():
    c = matrix().conj()
    file = io.BytesIO()
    torch.save(c, file)
    file.seek(0)
    for made in (copy.deepcopy(c), torch.load(file)):
        assert made.tolist() == c.tolist()


def losses():
    def through_the_view(z):
        y = z * 1
        y.conj().mul_(2 - 1j)
        return y.abs().pow(2).sum() + y.imag.sum()

    def through_the_base(z):
        y = z * 1
        shown = y.conj()
        y[0] = y[1] * 2j
        return (shown * shown).sum().abs() + shown.imag.pow(3).sum()

    def through_the_part(z):
        y = z * 1
        y.conj().imag[0] = z.real[1] ** 2
        return y.abs().pow(2).sum()

    return {
        "product": lambda z: (z.conj() * z * 2j).sum().abs(),
        "adjoint": lambda z: (z.mH @ z @ z).abs().sum(),
        "imaginary part": lambda z: z.conj().imag.pow(2).sum(),
        "part": lambda z: (z.conj()[0] * z[1]).imag.sum(),
        "twice": lambda z: z.conj().t().conj().abs().pow(3).sum(),
        "joined": lambda z: torch.cat([z.conj(), z]).abs().pow(3).sum(),
        "through the view": through_the_view,
        "through the base": through_the_base,
        "through the part": through_the_part,
    }


@pytest.mark.parametrize("name", losses())
def test_gradients(name):
    z = matrix(dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(losses()[name], z) and torch.autograd.gradgradcheck(losses()[name], z)


def test_gradients_that_are_conjugate_views():
    z = matrix(requires_grad=True)
    weight = matrix()
    z.backward(weight.conj())
    assert z.grad.tolist() == weight.conj().tolist() and not z.grad.is_conj()
    z.register_hook(lambda g: g.conj())
    z.grad = weight.conj()
    (z * 1).backward(weight)
    assert z.grad.tolist() == (2 * weight.conj()).tolist()


def test_a_leaf_has_memory_of_its_own():
    x = matrix()
    leaf = x.conj().requires_grad_()
    (leaf * 2).sum().real.backward()
    assert leaf.grad.tolist() == [[2, 2], [2, 2]] and leaf.tolist() == x.conj().tolist() and not leaf.is_conj()


def test_transforms():
    x = matrix()
    assert torch.vmap(lambda row: row.conj() * 2)(x.conj()).tolist() == (x * 2).tolist()
    value, tangent = torch.func.jvp(lambda z: z.conj() * z, (x,), (x.conj(),))
    torch.testing.assert_close(tangent, x * x + x.conj() * x.conj())
    torch.testing.assert_close(value, x.abs().pow(2).to(x.dtype))


def test_a_write_may_read_the_conjugate_of_the_written_memory():
    """Operations resolve the conjugate first, so the memory that they read is a copy."""
    x = torch.tensor([1 + 2j, 3 - 1j])
    x.index_add_(0, torch.tensor([0]), x.conj()[:1])
    assert x.tolist() == [2, 3 - 1j]
    x.conj().index_put_((torch.tensor([0]),), x[1])
    assert x.tolist() == [3 + 1j, 3 - 1j]
