"""flambeau raises the same warnings as PyTorch, with the same categories."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402


def without_grad(torch, function):
    with torch.no_grad():
        return function(torch.ones(1, requires_grad=True))


CALLS = {
    "cholesky": lambda t: t.cholesky(t.eye(2)), "lu": lambda t: t.lu(t.eye(2)), "qr": lambda t: t.eye(2).qr(), "svd": lambda t: t.svd(t.eye(2)),
    "lu_solve": lambda t: t.ones(2, 1).lu_solve(*t.linalg.lu_factor(t.eye(2))), "chain_matmul": lambda t: t.chain_matmul(t.eye(2), t.eye(2)),
    "triangular_solve": lambda t: t.triangular_solve(t.ones(2, 1), t.eye(2)), "cross": lambda t: t.cross(t.ones(2, 3), t.ones(2, 3)),
    "meshgrid": lambda t: t.meshgrid(t.ones(2), t.ones(3)), "range": lambda t: t.range(0, 3), "norm": lambda t: t.norm(t.eye(2)),
    "T": lambda t: t.ones(2, 3, 4).T, "T of a vector": lambda t: t.ones(3).T, "T of a number": lambda t: t.ones(()).T, "T of a matrix": lambda t: t.eye(2).T,
    "H of a number": lambda t: t.ones(()).H, "mT of a number": lambda t: t.ones(()).mT, "mH of a number": lambda t: t.ones(()).mH,
    "stft": lambda t: t.stft(t.ones(20), 8, return_complex=False), "stft, complex": lambda t: t.stft(t.ones(20), 8, return_complex=True),
    "stft with a window": lambda t: t.stft(t.ones(20), 8, window=t.ones(8), return_complex=True),
    **{name: lambda t, name=name: getattr(t, name)(t.ones(1)) for name in ("var", "std", "var_mean", "std_mean")},
    "index_reduce": lambda t: t.ones(3).index_reduce(0, t.tensor([0]), t.ones(1), "prod"),
    "scatter": lambda t: t.ones(3).scatter_(0, t.tensor([0]), t.ones(1), reduce="add"),
    "scatter of a number": lambda t: t.ones(3).scatter(0, t.tensor([0]), 2.0, reduce="add"),
    "padding": lambda t: t.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding="same"), "tensor of a tensor": lambda t: t.tensor(t.ones(2)),
    "list of arrays": lambda t: t.tensor([np.ones(2), np.ones(2)]), "bytes in an index": lambda t: t.ones(2)[t.ones(2, dtype=t.uint8)],
    "list as an index": lambda t: t.ones(2, 2)[[[0, 1], [0, 1]]], "list of numbers as an index": lambda t: t.ones(2)[[0, 1]],
    "where": lambda t: t.where(t.ones(2, dtype=t.uint8), t.ones(2), t.zeros(2)), "add": lambda t: t.add(t.ones(2), 1, t.ones(2)),
    "addmm": lambda t: t.addmm(1, t.eye(2), 1, t.eye(2), t.eye(2)), "addcmul": lambda t: t.addcmul(t.ones(2), 1, t.ones(2), t.ones(2)),
    "to": lambda t: t.ones(2, dtype=t.complex64).to(t.float32), "to bool": lambda t: t.ones(2, dtype=t.complex64).bool(),
    "copy_": lambda t: t.zeros(2).copy_(t.ones(2, dtype=t.complex64)), "gradient of complex": lambda t: (
        t.ones(2, requires_grad=True) * t.ones(2, dtype=t.complex64)).abs().sum().backward(),
    "float": lambda t: float(t.ones(1, requires_grad=True)), "float without grad": lambda t: without_grad(t, float), "float of a constant": lambda t: float(t.ones(1)), "int": lambda t: int(t.ones(1, requires_grad=True)),
    "item": lambda t: t.ones(1, requires_grad=True).item(), "resize": lambda t: t.ones(2).resize(2), "resized out": lambda t: t.add(t.ones(2), 1, out=t.ones(3)),
    "set_default_tensor_type": lambda t: t.set_default_tensor_type(t.FloatTensor), "sdp_kernel": lambda t: t.backends.cuda.sdp_kernel(),
    "gumbel_softmax": lambda t: t.nn.functional.gumbel_softmax(t.ones(2, 3), eps=1e-3), "softmax": lambda t: t.nn.functional.softmax(t.ones(2)),
    "upsample": lambda t: t.nn.functional.upsample(t.ones(1, 1, 2, 2), scale_factor=2), "mse_loss": lambda t: t.nn.functional.mse_loss(t.ones(2), t.ones(2, 1)),
    "size_average": lambda t: t.nn.MSELoss(size_average=True), "kl_div": lambda t: t.nn.functional.kl_div(t.ones(2), t.ones(2)),
    "dropout2d": lambda t: t.nn.functional.dropout2d(t.ones(2, 2)), "grid_sample": lambda t: t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.zeros(1, 2, 2, 2)),
    "dropout of one layer": lambda t: t.nn.LSTM(2, 2, dropout=0.5), "init": lambda t: t.nn.init.uniform(t.ones(2)), "nothing to init": lambda t: t.nn.init.xavier_uniform_(t.ones(0, 2)),
    "weight_norm": lambda t: t.nn.utils.weight_norm(t.nn.Linear(2, 2)), "clip_grad_norm": lambda t: t.nn.utils.clip_grad_norm([t.ones(1)], 1.0),
    "scheduler": lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([t.ones(1)], 0.1), 1).step(3), "same twice": lambda t: t.optim.SGD([t.ones(1)] * 1, 0.1),
    "create_graph": lambda t: t.ones(1, requires_grad=True).exp().backward(create_graph=True), "grad": lambda t: t.ones(1, requires_grad=True).exp().grad,
    "cuda.amp": lambda t: t.cuda.amp.GradScaler(enabled=False), "cpu.amp": lambda t: t.cpu.amp.autocast(), "Wishart": lambda t: t.distributions.Wishart(t.tensor(1.5), t.eye(2)),
}  # fmt: skip


def warned(torch, call):
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(torch)
    finally:
        torch.set_warn_always(False)
    return sorted({(each.category, str(each.message)[:30]) for each in caught}, key=str)


@pytest.mark.parametrize("name", CALLS)
def test_warnings(name):
    """Compare the categories of warnings and the beginnings of their messages."""
    assert warned(ours, CALLS[name]) == warned(theirs, CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_program(name):
    """Warnings report the line of the calling program, even where PyTorch reports a line of its own code."""
    torch = ours
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CALLS[name](torch)
    finally:
        torch.set_warn_always(False)
    assert {warning.filename for warning in caught} <= {__file__}


def test_most_come_once():
    for torch in (ours, theirs):
        torch.eye(2).qr()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.eye(2).qr()
        assert not caught
