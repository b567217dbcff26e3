"""Every layer on several devices: results and gradients match one device that processes the same chunks sequentially.

The tests run this file as a program in a process with virtual devices, where it checks all layers.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn

pytestmark = pytest.mark.slow

CASES: list[tuple[str, Callable[[], nn.Module], Callable[[], Any]]] = []


def case(name: str, *args: Any, given: Any, **kwargs: Any) -> None:
    """Add a case: a layer, its arguments, and its input as a shape or a function that creates the inputs."""
    make = given if callable(given) else lambda: torch.randn(given)
    CASES.append((name, lambda: getattr(nn, name)(*args, **kwargs), make))


class Called(nn.Module):
    """Wrap a layer that needs a special call: `forward` is `call(layer, *inputs)`."""

    def __init__(self, layer: nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.call(self.layer, *inputs)


def called(name: str, make: Callable[[], nn.Module], call: Callable[..., Any], given: Any) -> None:
    """Add a case for a layer created by `make` and called by `call`."""
    CASES.append((name, lambda: Called(make(), call), given if callable(given) else lambda: torch.randn(given)))


def pooled_at(layer: nn.Module, x: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Call a fractional pooling layer with the given random samples."""
    layer._random_samples = drawn
    return layer(x)


BATCH = 7  # not divisible by the number of devices
for _n, _space in enumerate([(6,), (6, 6), (6, 6, 6)], 1):
    _shape = (BATCH, 4, *_space)
    case(f"Conv{_n}d", 4, 6, 3, stride=2, padding=1, groups=2, given=_shape)
    case(f"ConvTranspose{_n}d", 4, 2, 3, stride=2, given=_shape)
    case(f"BatchNorm{_n}d", 4, given=_shape)
    case(f"BatchNorm{_n}d", 4, momentum=None, given=_shape)
    case(f"InstanceNorm{_n}d", 4, affine=True, track_running_stats=True, given=_shape)
    for _name in ("AvgPool", "MaxPool"):
        case(f"{_name}{_n}d", 2, given=_shape)
    case(f"LPPool{_n}d", 2, 2, given=_shape)
    case(f"MaxPool{_n}d", 2, return_indices=True, given=_shape)
    case(
        f"MaxUnpool{_n}d",
        2,
        given=lambda n=_n, shape=_shape: getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(torch.rand(shape)),
    )
    for _name in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
        case(f"{_name}{_n}d", 2, given=_shape)
    for _name in ("CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
        case(f"{_name}{_n}d", 1, given=_shape)
    case(f"ConstantPad{_n}d", 1, 2.5, given=_shape)
    case(f"Dropout{_n}d", 0.0, given=_shape)

for _name in (
    "CELU",
    "ELU",
    "GELU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Flatten",
):
    case(_name, given=(BATCH, 4))
for _name in ("LogSoftmax", "Softmax", "Softmin", "GLU"):
    case(_name, 1, given=(BATCH, 4))
case("Softmax2d", given=(BATCH, 4, 2, 2))
case("Threshold", 0.1, 2.0, given=(BATCH, 4))
case("RReLU", 0.2, 0.2, given=(BATCH, 4))
for _name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
    case(_name, 0.0, given=(BATCH, 4))

case("Linear", 4, 3, given=(BATCH, 4))
case("Bilinear", 4, 3, 2, given=lambda: (torch.randn(BATCH, 4), torch.randn(BATCH, 3)))
case("Embedding", 5, 3, padding_idx=1, given=lambda: torch.randint(5, (BATCH, 2)))
case("EmbeddingBag", 5, 3, given=lambda: torch.randint(5, (BATCH, 4)))
case("LayerNorm", 4, given=(BATCH, 4))
case("RMSNorm", 4, given=(BATCH, 4))
case("GroupNorm", 2, 4, given=(BATCH, 4, 3))
case("LocalResponseNorm", 2, given=(BATCH, 4, 3))
case("CrossMapLRN2d", 2, given=(BATCH, 4, 3, 3))
case("ChannelShuffle", 2, given=(BATCH, 4, 3, 3))
case("PixelShuffle", 2, given=(BATCH, 4, 3, 3))
case("PixelUnshuffle", 2, given=(BATCH, 4, 4, 4))
case("Unflatten", 1, (2, 2), given=(BATCH, 4))
case("Unfold", 2, given=(BATCH, 4, 3, 3))
case("Fold", (3, 3), 2, given=(BATCH, 8, 4))
case("Upsample", scale_factor=2, mode="bilinear", given=(BATCH, 4, 3, 3))
case("UpsamplingBilinear2d", scale_factor=2, given=(BATCH, 4, 3, 3))
case("UpsamplingNearest2d", scale_factor=2, given=(BATCH, 4, 3, 3))
for _n in (2, 3):
    called(
        f"FractionalMaxPool{_n}d",
        lambda n=_n: getattr(nn, f"FractionalMaxPool{n}d")(2, output_size=2),
        pooled_at,
        lambda n=_n: (torch.randn(BATCH, 4, *(5,) * n), torch.rand(BATCH, 4, n)),
    )

for _name in ("RNN", "LSTM", "GRU"):
    called(
        _name,
        lambda name=_name: getattr(nn, name)(3, 4, num_layers=2, batch_first=True, bidirectional=True),
        lambda layer, x: layer(x)[0],
        (BATCH, 5, 3),
    )  # without the final state, whose batch is not its first dimension
    case(f"{_name}Cell", 3, 4, given=(BATCH, 3))
case("MultiheadAttention", 4, 2, batch_first=True, given=lambda: (torch.randn(BATCH, 3, 4),) * 3)
case("TransformerEncoderLayer", 4, 2, 8, 0.0, batch_first=True, given=(BATCH, 3, 4))
case(
    "TransformerDecoderLayer", 4, 2, 8, 0.0, batch_first=True, given=lambda: (torch.randn(BATCH, 3, 4), torch.randn(BATCH, 2, 4))
)
CASES.append(
    (
        "TransformerEncoder",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2),
        lambda: torch.randn(BATCH, 3, 4),
    )
)
CASES.append(
    (
        "TransformerDecoder",
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 2),
        lambda: (torch.randn(BATCH, 3, 4), torch.randn(BATCH, 2, 4)),
    )
)
case("Transformer", 4, 2, 1, 1, 8, 0.0, batch_first=True, given=lambda: (torch.randn(BATCH, 3, 4), torch.randn(BATCH, 2, 4)))

_PAIR = (BATCH, 4), (BATCH, 4)
for _name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss"):
    case(_name, reduction="none", given=lambda: tuple(map(torch.randn, _PAIR)))
for _name in ("BCELoss", "BCEWithLogitsLoss", "KLDivLoss"):
    case(_name, reduction="none", given=lambda: tuple(map(torch.rand, _PAIR)))
case("MSELoss", given=lambda: tuple(map(torch.randn, _PAIR)))  # the devices' scalar losses are gathered into a vector
for _name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"):
    case(_name, reduction="none", given=lambda: (torch.randn(BATCH, 4), torch.randint(4, (BATCH,))))
case("NLLLoss2d", reduction="none", given=lambda: (torch.randn(BATCH, 4, 2, 2), torch.randint(4, (BATCH, 2, 2))))
case("MultiLabelMarginLoss", reduction="none", given=lambda: (torch.randn(BATCH, 4), torch.tensor([[0, 2, -1, 1]] * BATCH)))
case("MultiLabelSoftMarginLoss", reduction="none", given=lambda: (torch.randn(BATCH, 4), torch.ones(BATCH, 4)))
case(
    "SoftMarginLoss", reduction="none", given=lambda: (torch.randn(BATCH, 4), torch.ones(BATCH, 4).long())
)  # integer targets are not differentiable
case("HingeEmbeddingLoss", reduction="none", given=lambda: (torch.randn(BATCH, 4), torch.ones(BATCH, 4)))
case("MarginRankingLoss", reduction="none", given=lambda: (torch.randn(BATCH), torch.randn(BATCH), torch.ones(BATCH)))
case("CosineEmbeddingLoss", reduction="none", given=lambda: (*map(torch.randn, _PAIR), torch.ones(BATCH)))
case("GaussianNLLLoss", reduction="none", given=lambda: (*map(torch.randn, _PAIR), torch.rand(BATCH, 4) + 0.1))
for _name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
    case(_name, reduction="none", given=lambda: (*map(torch.randn, _PAIR), torch.randn(BATCH, 4)))
for _name in ("CosineSimilarity", "PairwiseDistance"):
    case(_name, given=lambda: tuple(map(torch.randn, _PAIR)))
case("AdaptiveLogSoftmaxWithLoss", 4, 6, [2, 4], given=lambda: (torch.randn(BATCH, 4), torch.randint(6, (BATCH,))))
case(
    "LinearCrossEntropyLoss", 4, 6, bias=True, reduction="sum", given=lambda: (torch.randn(BATCH, 4), torch.randint(6, (BATCH,)))
)
called(
    "CTCLoss",
    lambda: nn.CTCLoss(reduction="none"),  # takes log-probabilities with the batch as dimension 1
    lambda layer, x, targets, *lengths: layer(x.log_softmax(2).transpose(0, 1), targets, *lengths),
    lambda: (
        torch.randn(BATCH, 6, 5),
        torch.randint(1, 5, (BATCH, 3)),
        torch.full((BATCH,), 6),
        torch.tensor([3, 1, 2, 3, 1, 2, 3]),
    ),
)


def _pair() -> tuple[nn.Module, nn.Module]:
    return nn.Linear(4, 4), nn.Tanh()


called("Sequential", lambda: nn.Sequential(*_pair()), lambda layers, x: layers(x), (BATCH, 4))
called("ModuleList", lambda: nn.ModuleList(_pair()), lambda layers, x: layers[1](layers[0](x)), (BATCH, 4))
called(
    "ModuleDict",
    lambda: nn.ModuleDict(zip("ab", _pair(), strict=True)),
    lambda layers, x: layers["b"](layers["a"](x)),
    (BATCH, 4),
)
called("ParameterList", lambda: nn.ParameterList(map(torch.randn, (4, 4))), lambda given, x: x * given[0] + given[1], (BATCH, 4))
called("ParameterDict", lambda: nn.ParameterDict({"a": torch.randn(4)}), lambda given, x: x * given["a"], (BATCH, 4))

NO_LAYERS = {
    "Container", "DataParallel", "Module", "RNNBase", "RNNCellBase",
    "SyncBatchNorm",  # works across processes, not devices
}  # fmt: skip


# --- the checks, in a process with virtual devices ----------------------------------------------------------------------


def joined(parts: list[Any]) -> Any:
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, torch.Tensor):
        return torch.cat(parts) if first.dim() else torch.stack(parts)
    return None if first is None else [joined(list(values)) for values in zip(*parts, strict=True)]


def floats(value: Any) -> list[torch.Tensor]:
    """Return the floating-point tensors of a nested result."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    return [] if value is None else [tensor for part in value for tensor in floats(part)]


def assert_close(found: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert found.device == torch.empty(0, device="cpu:0").device
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    elif expected is not None:
        for actual, wanted in zip(found, expected, strict=True):
            assert_close(actual, wanted)


def assert_layer_agrees(make: Callable[[], nn.Module], given: Callable[[], Any], devices: list[torch.device]) -> None:
    torch.manual_seed(0)
    alone, inputs = make(), given()
    inputs = list(inputs) if isinstance(inputs, tuple) else [inputs]
    together = nn.DataParallel(copy.deepcopy(alone), devices)
    wanted = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]
    mine = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]

    parts = zip(*(t.chunk(len(devices)) for t in mine), strict=True)
    buffers = [copy.deepcopy(dict(alone.named_buffers())) for _ in devices]  # each replica starts from the network's buffers
    outputs = [torch.func.functional_call(alone, buffers[number], part) for number, part in enumerate(parts)]
    expected, found = joined(outputs), together(*wanted)
    assert_close(found, expected)
    for result in (expected, found):
        total = sum(
            (values * torch.linspace(1, 2, max(values.numel(), 1)).reshape(values.shape)).sum() for values in floats(result)
        )
        if total.requires_grad:
            total.backward()
    for here, there in zip([*wanted, *together.module.parameters()], [*mine, *alone.parameters()], strict=True):
        assert (here.grad is None) == (there.grad is None)
        if there.grad is not None:
            assert_close(here.grad, there.grad)
    for name, there in buffers[0].items():  # the network keeps the buffers of the first device
        assert_close(dict(together.module.named_buffers())[name], there)


def assert_cases(count: int) -> None:
    import warnings

    warnings.simplefilter("ignore")
    devices = [torch.device("cpu", index) for index in range(count)]
    failed = []
    for name, make, given in CASES:
        try:
            assert_layer_agrees(make, given, devices)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
    sys.exit("\n".join(failed) or 0)


# --- the tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_layer(count: int) -> None:
    environment = {**os.environ, "FLAMBEAU_CPU_DEVICES": str(count), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, str(count)], env=environment, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr


def test_no_layer_is_forgotten() -> None:
    classes = {name for name in nn.__all__ if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)}
    lazy = {name for name in classes if name.startswith("Lazy")}
    assert classes - lazy - NO_LAYERS == {name for name, _, _ in CASES}


def test_lazy_layers_have_to_be_made_first() -> None:
    with pytest.raises(ValueError, match="uninitialized parameter"):
        nn.DataParallel(nn.LazyLinear(2), ["cpu", "cpu"])(torch.ones(4, 3))


if __name__ == "__main__":
    assert_cases(int(sys.argv[1]))
