"""Conjugate and negative views: properties, operations, writes through them, and gradients."""

from __future__ import annotations

import copy
import inspect
import warnings

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

# Expressions of a complex matrix `x` and `c = x.conj()`.
ASKED = """
    c.is_conj(); T.is_conj(c); c._is_view(); c._base is x; c.conj().is_conj(); c.data_ptr() == x.data_ptr(); c.t().is_conj()
    c[0].is_conj(); c.reshape(4).is_conj(); c.clone().is_conj(); c.contiguous().is_conj(); c.t().contiguous().is_conj()
    c.detach().is_conj(); c.data.is_conj(); c.to(T.complex128).is_conj(); c.cpu().is_conj(); c.to("cpu").is_conj(); (c * 1).is_conj()
    c.resolve_conj().is_conj(); c.resolve_neg().is_conj(); c.real.is_conj(); c.real.is_neg(); c.imag.is_neg(); c.imag.neg().is_neg()
    c.imag.resolve_neg().is_neg(); c.imag.real.is_neg(); c.imag.conj().is_neg(); (-c).is_neg(); x.H.is_conj(); x.mH.is_conj()
    x.adjoint().is_conj(); c.H.is_conj(); T.empty_like(c).is_conj(); T.zeros_like(c).is_conj(); c.new_zeros(2).is_conj()
    c.unbind()[0].is_conj(); c.split(1)[0].is_conj(); c.expand(2, 2, 2).is_conj(); c.diagonal().is_conj(); c.unfold(0, 1, 1).is_conj()
    c.as_strided((2,), (1,)).is_conj(); T.stack([c, c]).is_conj(); c.conj_physical().is_conj(); T.as_tensor(c).is_conj()
    T.ones(2).conj().is_conj(); T.fft.ihfft(x.real).is_conj(); T.linalg.svd(x)[2].mH.is_conj(); T.linalg.inv(x).is_conj()
    c.real.data_ptr() == x.data_ptr(); c.storage_offset(); c.is_contiguous(); c.nbytes; len(c); bool(c[0, 0]); complex(c[0, 0])
    c.numpy(); c.imag.numpy(); c.__array__(); c.__dlpack__(); T.view_as_real(c); c.view(T.float32); c.imag.view(T.int32)
    c.tolist(); c[0, 0].item(); repr(c); repr(c.imag); c.imag.tolist(); int(c.imag[0, 0]); f"{c[0, 0]:.2f}"; c.storage().tolist()
    c.numpy(force=True).tolist(); c.imag.numpy(force=True).tolist(); copy.deepcopy(c); copy.copy(c)
"""
COMPUTED = """
    c + x; x + c; c + c; 2 * c; 2j - c; c / x; c**2; c == x; T.where(x.real > 1, c, x); c @ x; x @ c; c @ c; x.H @ x; x.mH @ x
    T.einsum("ij,jk->ik", c, x); c.sum(0); c.mean(); c.abs(); c.angle(); c.exp(); c.real; c.imag; c.imag + 1; c.imag @ x.real
    c[0, 1]; c[:, 1]; c[T.tensor([0, 1])]; c[x.real > 1]; c.index_select(0, T.tensor([1])); c.gather(0, T.tensor([[0, 1]]))
    c.flip(0); c.repeat(2, 1); c.tril(); T.linalg.inv(c); T.linalg.solve(c, x); T.linalg.norm(c); c.to(T.complex128); c.isfinite()
    T.equal(c, c); T.vdot(c[0], x[0]); T.outer(c[0], c[1]); T.fft.fft(c); T.fft.hfft(c); c.cumsum(0); c.prod(); c.reciprocal()
    T.nn.functional.pad(c, (1, 1)); c.t().reshape(4); c.flatten(); c.permute(1, 0)[0].conj(); T.complex(c.real, c.imag)
    T.stack([c, c]); T.stack([c, x]); T.cat([c, x]); c.split(1)[0]; c.unbind()[1]; list(c)[1]; c.diagonal(); c.narrow(0, 0, 1)
    c.masked_select(x.real > 1); c.index_put((T.tensor([0]),), T.tensor(1j)); c.scatter(0, T.tensor([[0, 1]]), 2j); T.tensor(c)
    T.vmap(lambda r: r * 2)(c); T.vmap(lambda r: r.conj() * 2)(c); T.func.jvp(lambda a: a.conj() * a, (x,), (c,))
    T.func.vjp(lambda a: a * 2, c)[1](c); T.addmm(x, c, c); T.tensordot(c, x, 1); c.H; c.mH; c.nonzero(); c.std(); T.cov(c)
    c.imag.abs(); -c.imag; c.imag * c.imag; c.imag.cumsum(0); c.imag.max(); c.imag.sort(0)[0]; c.imag.int(); c.imag.view(4)
    T.linalg.multi_dot([c, x, c]); T.baddbmm(c[None], c[None], x[None]); T.block_diag(c, x); T.view_as_real(c.resolve_conj())
"""
WRITTEN = """
    c.mul_(1j); c.__setitem__(0, 1j); c.__setitem__(0, c[1]); c.__setitem__(slice(None), x.conj()); x.__setitem__(0, c[1])
    c.fill_(1 + 1j); c.imag.fill_(7); c.real.fill_(7); c[0].add_(1j); c.copy_(x); x.copy_(c); c.zero_(); T.add(x, 1j, out=c)
    T.exp(x, out=c); c.conj().mul_(1j); c.imag.mul_(2); c.imag.copy_(x.real); c.imag.__setitem__(0, 9.0); c.imag[0].fill_(3)
    c.t_(); c.t().mul_(2j); c.unsqueeze_(0).mul_(1j); c.conj_physical_(); c.index_fill_(0, T.tensor([0]), 1j); c.neg_()
    c.masked_fill_(T.ones(2, 2).bool(), 1j); c.add_(c); c.mul_(x); x.mul_(c); x.add_(1j); setattr(c, "imag", T.ones(2, 2))
    setattr(c, "real", 5); setattr(c, "data", T.zeros(2, dtype=T.complex64)); c.index_add_(0, T.tensor([0]), x[:1])
    c.scatter_(0, T.tensor([[0, 1]]), x); c.__setitem__(x.real > 1, 3j); c.diagonal().fill_(2j); c.view(-1)[1:].mul_(2j)
    c.split(1)[0].mul_(2j); c.unbind()[1].mul_(2j); c.pow_(2); c.exp_(); c.imag.neg_(); c.addmm_(x, x); c.clamp_(0)
    c.detach().mul_(1j); c.data.mul_(1j); c.put_(T.tensor([0]), T.tensor([1j])); c.__iadd__(1j); c.tril_(); c.cumsum_(0)
"""
LOSSES = """
    (c * w).sum().abs(); (c * c).sum().abs(); c.imag.pow(2).sum(); c.real.pow(2).sum(); (c @ z.t()).sum().abs()
    c.t().reshape(-1)[0].abs(); c[0].abs().sum(); (c.conj() * w).sum().abs(); z.H.abs().pow(2).sum(); (z.mH @ z).abs().sum()
    c.clone().mul_(w).abs().sum(); c.resolve_conj().abs().sum(); T.stack([c, z]).abs().pow(2).sum(); (c.imag * c.real).sum()
    T.linalg.inv(c).abs().sum(); c.unbind()[0].abs().sum(); through_view(z); through_base(z); through_part(z)
"""
CASES = {
    kind: [each.strip() for line in inspect.cleandoc(text).splitlines() for each in line.split("; ")]
    for kind, text in (("asked", ASKED), ("computed", COMPUTED), ("written", WRITTEN), ("losses", LOSSES))
}


def through_view(z):
    y = z * 1
    shown = y.conj()
    shown.mul_(2j)
    return y.abs().pow(2).sum() + shown.imag.sum()


def through_base(z):
    y = z * 1
    shown = y.conj()
    y.mul_(2j)
    return shown.abs().pow(2).sum() + shown.imag.pow(2).sum()


def through_part(z):
    y = z * 1
    shown = y.conj().imag
    shown[0] = shown[1] * 3
    return y.abs().pow(2).sum() + shown.pow(2).sum()


def described(value, torch):
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        elements = [complex(each) for each in value.flatten().tolist()]
        return str(value.dtype), tuple(value.shape), pytest.approx(elements, 1e-4, 1e-6) if torch is theirs else elements
    return [described(each, torch) for each in value] if isinstance(value, (tuple, list)) else value


def outcome(torch, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(run(), torch)
        except Exception as error:
            return type(error), str(error).split(".")[0]


def matrix(torch, **options):
    return torch.tensor([[1 + 2j, 3 - 1j], [0 + 1j, 2 + 0.5j]], **options)


@pytest.mark.parametrize("text", [*CASES["asked"], *CASES["computed"]])
def test_what_is_made_of_them(text):
    def run(torch):
        x = matrix(torch)
        return eval(text, {"T": torch, "x": x, "c": x.conj(), "copy": copy})

    assert outcome(ours, lambda: run(ours)) == outcome(theirs, lambda: run(theirs))


@pytest.mark.parametrize("text", CASES["written"])
def test_what_is_written_through_them(text):
    def run(torch):
        x = matrix(torch)
        c = x.conj()
        eval(text, {"T": torch, "x": x, "c": c})
        return x, c, c.is_conj(), x._version

    assert outcome(ours, lambda: run(ours)) == outcome(theirs, lambda: run(theirs))


@pytest.mark.parametrize("text", CASES["losses"])
def test_gradients(text):
    """Compare first and second derivatives."""

    def run(torch):
        z = matrix(torch, dtype=torch.complex128, requires_grad=True)
        w = torch.tensor([[1j, 2], [3, 4 - 1j]], dtype=torch.complex128)
        names = {"T": torch, "w": w, "through_view": through_view, "through_base": through_base, "through_part": through_part}
        (first,) = torch.autograd.grad(eval(text, names | {"z": z, "c": z.conj()}), z, create_graph=True)
        (second,) = torch.autograd.grad(first.abs().pow(2).sum(), z, allow_unused=True)
        eval(text, names | {"z": z, "c": z.conj()}).backward()
        return first, second, z.grad

    assert outcome(ours, lambda: run(ours)) == outcome(theirs, lambda: run(theirs))
