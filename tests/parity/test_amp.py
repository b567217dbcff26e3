"""Mixed precision in flambeau and PyTorch: the dtype of every operation, a training run, and the gradient scaler."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import families  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SAMPLES = [each for table in families().values() for each in table if each.grad]
NAMES = sorted({each.name for each in SAMPLES})
DIGITS = {"bfloat16": 0.06, "float16": 0.01}
OTHERWISE = {
    "complex",  # flambeau has no complex32
    "linalg.det",  # flambeau always rejects half precision, PyTorch accepts it for empty matrices
    "linalg.matrix_power",  # PyTorch computes negative powers in float32
    "linalg.pinv",  # PyTorch composes it of products, which autocast casts; flambeau uses a single decomposition
    "nn.functional.local_response_norm",  # PyTorch does not cast 3-d inputs, flambeau does
    "nn.functional.pad",  # PyTorch casts the input only in some padding modes
}


def tensors_in(made):
    if isinstance(made, (tuple, list)):
        return [each for item in made for each in tensors_in(item)]
    return [made] if hasattr(made, "detach") else []


def run(torch, sample, given, region):
    tensors = [torch.tensor(each) for each in sample.arrays(np, "float64")]
    tensors = [each.to(getattr(torch, given)) if each.is_floating_point() else each for each in tensors]
    with torch.autocast("cpu", dtype=getattr(torch, region)):
        return tensors_in(sample.call(torch, *tensors))


@pytest.mark.parametrize("region", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", [each for each in NAMES if each not in OTHERWISE])
def test_precision(name, region):
    """Compare the dtype of every result, for float32, float64 and half precision inputs."""
    for sample in (each for each in SAMPLES if each.name == name):
        for given in ("float32", "float64", region):
            try:
                wanted = run(theirs, sample, given, region)
            except (RuntimeError, NotImplementedError):
                continue
            got = run(ours, sample, given, region)
            assert [str(each.dtype) for each in got] == [str(each.dtype) for each in wanted], given


METHODS = {
    "addbmm": lambda x: x.addbmm(x[None], x[None]), "addmm": lambda x: x.addmm(x, x), "addmv": lambda x: x[0].addmv(x, x[1]),
    "addr": lambda x: x.addr(x[0], x[1]), "baddbmm": lambda x: x[None].baddbmm(x[None], x[None]),
    "bmm": lambda x: x[None].bmm(x[None]), "cholesky": lambda x: x.cholesky(), "cholesky_inverse": lambda x: x.cholesky_inverse(),
    "cholesky_solve": lambda x: x.cholesky_solve(x), "cumprod": lambda x: x.cumprod(0), "dist": lambda x: x.dist(x),
    "dot": lambda x: x[0].dot(x[1]), "geqrf": lambda x: x.geqrf(), "inner": lambda x: x.inner(x), "inverse": lambda x: x.inverse(),
    "inner of vectors": lambda x: x[0].inner(x[1]), "lu": lambda x: x.lu(), "matmul": lambda x: x.matmul(x), "mv": lambda x: x.mv(x[0]),
    "index_copy": lambda x: x.index_copy(0, (x[:1, 0] > 9).long(), x[:1]), "mm": lambda x: x.mm(x), "prod": lambda x: x.prod(),
    "index_reduce": lambda x: x.index_reduce(0, (x[:1, 0] > 9).long(), x[:1], "mean"), "nanquantile": lambda x: x.nanquantile(0.5),
    "norm": lambda x: x.norm(), "orgqr": lambda x: x.orgqr(x[0]), "ormqr": lambda x: x.ormqr(x[0], x), "pow": lambda x: x.pow(2),
    "pinverse": lambda x: x.pinverse(), "prelu": lambda x: x.prelu(x[0]), "qr": lambda x: x.qr(), "quantile": lambda x: x.quantile(0.5),
    "renorm": lambda x: x.renorm(2, 0, 1), "stft": lambda x: x[0].repeat(8).stft(8, return_complex=True), "svd": lambda x: x.svd(),
    "trace": lambda x: x.trace(), "triangular_solve": lambda x: x.triangular_solve(x), "vdot": lambda x: x[0].vdot(x[1]),
    "addmm_": lambda x: x.clone().addmm_(x, x), "index_copy_": lambda x: x.clone().index_copy_(0, (x[:1, 0] > 9).long(), x[:1]),
    "@": lambda x: x @ x, "**": lambda x: 2**x,
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    """Autocast treats methods like the functions of the same name."""
    for region in ("bfloat16", "float16"):
        for given in ("float32", "float64", region):
            dtypes = []
            for torch in (theirs, ours):
                x = torch.tensor([[2.0, 0.0], [0.5, 3.0]], dtype=getattr(torch, given))
                with torch.autocast("cpu", dtype=getattr(torch, region)):
                    dtypes.append([str(each.dtype) for each in tensors_in(METHODS[name](x))])
            assert dtypes[0] == dtypes[1], given


def network(torch, recurrence):
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(11, 16)
            self.recurrent = getattr(torch.nn, recurrence)(16, 16, batch_first=True)
            smooth = {"activation": "gelu"}  # relu's gradient would depend on rounding near zero
            self.attend = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, **smooth)
            self.convolve = torch.nn.Sequential(torch.nn.Conv1d(16, 16, 3, padding=1), torch.nn.BatchNorm1d(16), torch.nn.GELU())
            self.out = torch.nn.Linear(16, 11)

        def forward(self, x):
            x = self.attend(self.recurrent(self.embed(x))[0])
            return self.out(self.convolve(x.transpose(1, 2)).transpose(1, 2) + x)

    torch.manual_seed(0)
    return Network()


def computes_lstm_in_bfloat16():
    """Whether PyTorch can compute a bfloat16 LSTM. It uses oneDNN, which needs AVX-512."""
    try:
        with theirs.autocast("cpu", dtype=theirs.bfloat16):
            theirs.nn.LSTM(2, 2)(theirs.ones(1, 1, 2))
    except RuntimeError:
        return False
    return True


LSTM = pytest.param("bfloat16", "LSTM", marks=pytest.mark.skipif(not computes_lstm_in_bfloat16(), reason="PyTorch cannot, here"))


@pytest.mark.parametrize(("region", "recurrence"), [LSTM, ("bfloat16", "GRU"), ("float16", "GRU")])
def test_a_step_of_training(region, recurrence):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 11, (4, 7)), rng.integers(0, 11, (4, 7))
    found = []
    for torch in (ours, theirs):
        model = network(torch, recurrence)
        with torch.autocast("cpu", dtype=getattr(torch, region)):
            out = model(torch.tensor(x))
            loss = torch.nn.functional.cross_entropy(out.transpose(1, 2), torch.tensor(y))
        loss.backward()
        assert (out.dtype, loss.dtype) == (getattr(torch, region), torch.float32)
        assert all(each.grad.dtype is torch.float32 for each in model.parameters())
        found.append([out.detach().float(), loss.detach(), *(each.grad for each in model.parameters())])
    for got, wanted in zip(*found, strict=True):
        scale = max(float(wanted.abs().max()), 0.01)
        np.testing.assert_allclose(got.numpy() / scale, wanted.numpy() / scale, rtol=0, atol=DIGITS[region])


@pytest.mark.parametrize(
    "layer", ["GRU(3, 4, 2, bidirectional=True)", "GRU(3, 4, bias=False)", "GRUCell(3, 4)", "LSTMCell(3, 4)"]
)
def test_states_of_recurrent_layers_stay_in_single_precision(layer):
    """On the CPU, autocast computes only the products of recurrent layers in half precision."""
    found = []
    for torch in (ours, theirs):
        torch.manual_seed(0)
        model = eval(f"torch.nn.{layer}", {"torch": torch})
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results = model(torch.randn(*((5, 2, 3) if layer.startswith("GRU(") else (2, 3))))
        found.append([each.detach() for each in (results if isinstance(results, tuple) else (results,))])
    for got, wanted in zip(*found, strict=True):
        assert got.dtype is ours.float32 and wanted.dtype is theirs.float32
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def scaled_training(torch, scaler, steps, overflows=()):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.arange(3.0)).square().sum() * (float("inf") if step in overflows else 1.0)
        scaler.scale(loss).backward()
        if step % 2:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        seen.append([scaler.get_scale(), *model.weight.flatten().tolist()])
    return seen


OPTIONS = {"init_scale": 64.0, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 3}


@pytest.mark.parametrize("options", [{}, OPTIONS, {"enabled": False}], ids=["default", "quick", "off"])
def test_scaler(options):
    found = []
    for torch in (ours, theirs):
        scaler = torch.amp.GradScaler("cpu", **options)
        found.append(scaled_training(torch, scaler, 12, () if "enabled" in options else (4, 5, 9)))
        assert scaler.is_enabled() == ("enabled" not in options)
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("source", "target"), [(ours, theirs), (theirs, ours)], ids=["to-torch", "from-torch"])
def test_scaler_goes_on_from_the_other_state_dict(source, target):
    scaler, other = source.amp.GradScaler("cpu", **OPTIONS), target.amp.GradScaler("cpu")
    scaled_training(source, scaler, 5, (1,))
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    np.testing.assert_allclose(scaled_training(target, other, 7), scaled_training(source, scaler, 7), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call", [
    lambda torch: torch.autocast("nowhere"), lambda torch: torch.autocast(3), lambda torch: torch.autocast("cpu")(3),
    lambda torch: torch.amp.GradScaler("cpu", growth_factor=0.5), lambda torch: torch.amp.GradScaler("cpu", backoff_factor=1.5),
    lambda torch: torch.amp.GradScaler("cpu").scale(3), lambda torch: torch.amp.GradScaler("cpu").update(),
    lambda torch: torch.amp.GradScaler("cpu").load_state_dict({}),
    lambda torch: torch.amp.GradScaler("cpu").unscale_(torch.optim.SGD([torch.ones(1)])),
    lambda torch: torch.amp.is_autocast_available("nowhere"), lambda torch: torch.amp.custom_fwd(len, device_type=1),
])  # fmt: skip
def test_messages(call):
    caught = []
    for torch in (ours, theirs):
        with pytest.raises(Exception) as info:
            call(torch)
        caught.append((info.type, str(info.value)))
    assert caught[0] == caught[1]
