"""PyTorch loads archives written by flambeau's `torch.jit.save`, and computes the same."""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035  # as scripted code writes them

import pytest
import torch as pytorch

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.nn import functional as F
from flambeau_vision import models


def theirs(value):
    if isinstance(value, torch.Tensor):
        return pytorch.tensor(value.detach().numpy())
    if isinstance(value, (list, tuple)):
        return type(value)(map(theirs, value))
    return {key: theirs(item) for key, item in value.items()} if isinstance(value, dict) else value


def assert_saved_agrees(module, path, *inputs, atol=1e-5):
    """Save a module, and assert that it computes the same when loaded by PyTorch and by flambeau."""
    module.save(path)
    loaded, ours = pytorch.jit.load(path), torch.jit.load(path)
    for given in inputs:
        expected = theirs(module(*given))
        pytorch.testing.assert_close(loaded(*theirs(given)), expected, rtol=1e-4, atol=atol)
        pytorch.testing.assert_close(theirs(ours(*given)), expected, rtol=1e-4, atol=atol)
    assert loaded.code and str(loaded.graph)
    if isinstance(module, nn.Module):
        assert list(loaded.state_dict()) == list(module.state_dict())
        assert [name for name, _ in loaded.named_parameters()] == [name for name, _ in module.named_parameters()]
        assert [name for name, _ in loaded.named_modules()] == [name for name, _ in module.named_modules()]
        assert loaded.training is module.training
    return loaded


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.tanh(self.conv2(x)), (2, 2))
        return F.log_softmax(self.head(x.view(x.size(0), -1)), dim=1)


class Classifier(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding, self.recurrent = nn.Embedding(10, 4, padding_idx=0), kind(4, 5, 2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 2)

    def forward(self, ids):
        outputs, _ = self.recurrent(self.embedding(ids))
        return self.head(outputs[:, -1])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.all = nn.Embedding(11, 8), nn.LayerNorm(8), nn.Linear(8, 24)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, ids):
        batch, length = ids.size()
        x = self.embedding(ids) + torch.arange(length, device=ids.device).view(1, length, 1)
        q, k, v = (part.view(batch, length, 2, 4).transpose(1, 2) for part in self.all(self.norm(x)).split(8, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        return F.gelu((F.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, 8), approximate="tanh")


def autoencoder():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.PReLU(), nn.ConvTranspose2d(4, 1, 2, stride=2), nn.Sigmoid(),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.InstanceNorm2d(1, affine=True), nn.AdaptiveAvgPool2d((3, 3)), nn.Flatten(),
    )  # fmt: skip


NETWORKS = {
    "lenet": (LeNet, (3, 1, 28, 28)),
    "autoencoder": (autoencoder, (2, 1, 12, 12)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), (4, 5, 8)),
    "lstm": (lambda: Classifier(nn.LSTM), (3, 4)),
    "gru": (lambda: Classifier(nn.GRU), (3, 4)),
    "attention": (Attention, (3, 9)),
}


def example(shape):
    return torch.randint(0, 10, shape) if len(shape) == 2 else torch.randn(shape)


@pytest.mark.parametrize("name", NETWORKS)
def test_traced_networks(name, tmp_path):
    make, shape = NETWORKS[name]
    network = make().eval()
    assert_saved_agrees(torch.jit.trace(network, example((1, *shape[1:]))), tmp_path / "net.pt", (example(shape),))


@pytest.mark.parametrize("name", ["lenet", "autoencoder", "encoder", "lstm", "gru"])
def test_scripted_networks(name, tmp_path):
    make, shape = NETWORKS[name]
    loaded = assert_saved_agrees(
        torch.jit.script(make().eval()), tmp_path / "net.pt", (example(shape),), (example((1, *shape[1:])),)
    )
    assert loaded.train().training


def test_training_mode_and_its_statistics(tmp_path):
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.0))
    for number, scripted in enumerate((torch.jit.trace(network, torch.randn(2, 3)), torch.jit.script(network))):
        scripted.save(tmp_path / f"{number}.pt")
        loaded, x = pytorch.jit.load(tmp_path / f"{number}.pt"), torch.randn(5, 3)
        pytorch.testing.assert_close(loaded(theirs(x)), theirs(scripted(x)), rtol=1e-5, atol=2e-6)
        pytorch.testing.assert_close(dict(loaded.state_dict()), theirs(dict(scripted.state_dict())))
        loaded(theirs(x)).sum().backward()
        assert all(parameter.grad is not None for parameter in loaded.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5",
                                  "mnasnet0_5", "regnet_y_400mf", "efficientnet_b0", "convnext_tiny", "googlenet", "densenet121",
                                  "vit_b_32"])  # fmt: skip
def test_traced_vision_models(name, tmp_path):
    options = {"aux_logits": False} if name == "googlenet" else {}
    size = 224 if name == "vit_b_32" else 64
    network = getattr(models, name)(weights=None, **options).eval()
    assert_saved_agrees(
        torch.jit.trace(network, torch.randn(1, 3, size, size)), tmp_path / "net.pt", (torch.randn(2, 3, size, size),), atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet1_1", "regnet_y_400mf", "efficientnet_b0"])
def test_scripted_vision_models(name, tmp_path):
    network = getattr(models, name)(weights=None).eval()
    assert_saved_agrees(torch.jit.script(network), tmp_path / "net.pt", (torch.randn(2, 3, 64, 64),), atol=1e-5)


# --- what PyTorch's tutorial on TorchScript shows ---


class MyDecisionGate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        else:
            return -x


class MyCell(nn.Module):
    def __init__(self, dg):
        super().__init__()
        self.dg = dg
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h):
        new_h = torch.tanh(self.dg(self.linear(x)) + h)
        return new_h, new_h


class MyRNNLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.jit.trace(MyCell(torch.jit.script(MyDecisionGate())), (torch.randn(3, 4), torch.randn(3, 4)))

    def forward(self, xs):
        h, y = torch.zeros(3, 4), torch.zeros(3, 4)
        for i in range(xs.size(0)):
            y, h = self.cell(xs[i], h)
        return y, h


class WrapRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.loop = torch.jit.script(MyRNNLoop())

    def forward(self, xs):
        y, h = self.loop(xs)
        return torch.relu(y)


def test_the_tutorial(tmp_path):
    path, x, h = tmp_path / "net.pt", torch.randn(3, 4), torch.randn(3, 4)
    assert_saved_agrees(torch.jit.script(MyDecisionGate()), path, (torch.ones(2),), (-torch.ones(2),))
    assert_saved_agrees(torch.jit.script(MyCell(MyDecisionGate())), path, (x, h), (-x, h))
    assert_saved_agrees(torch.jit.trace(MyCell(torch.jit.script(MyDecisionGate())), (x, h)), path, (x, h), (-x, h))
    assert_saved_agrees(torch.jit.script(MyRNNLoop()), path, (torch.randn(7, 3, 4),), (torch.randn(2, 3, 4),))
    assert_saved_agrees(torch.jit.trace(WrapRNN(), torch.randn(10, 3, 4)), path, (torch.randn(5, 3, 4),))


class Language(nn.Module):
    """A module with the Python statements and types that TorchScript supports."""

    size: torch.jit.Final[int]
    cache: Optional[Tensor]  # noqa: UP045

    def __init__(self):
        super().__init__()
        self.size, self.scale, self.cache = 2, 1.5, None
        self.cells = nn.ModuleList([nn.LSTMCell(3, 4), nn.LSTMCell(4, 4)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})

    def forward(self, xs: List[Tensor], hx: Optional[Tuple[Tensor, Tensor]] = None, name: str = "x"):  # noqa: UP006, UP045
        x = xs[0]
        state: List[Tuple[Tensor, Tensor]] = []  # noqa: UP006
        for cell in self.cells:
            h = hx if hx is not None else (torch.zeros(x.size(0), 4), torch.zeros(x.size(0), 4))
            x, c = cell(x, h)
            state.append((x, c))
        outputs: Dict[str, Tensor] = {}  # noqa: UP006
        for key, head in self.heads.items():
            outputs[key] = head(x) * self.scale
        best = -1
        for place, value in enumerate(xs):
            if float(value.sum()) > 0.0:
                best = place
                break
            elif place > 5:
                continue
        with torch.no_grad():
            x = x + best
        if self.cache is None:
            self.cache = x
        cached = self.cache
        assert cached is not None, "there is one"
        if name not in ["x", "y"]:
            raise ValueError(f"no such name: {name}")
        count = self.size
        while count > 0:
            count -= 1
            x += torch.cat([pair[0] for pair in state], dim=1)[:, :4].view(-1, 4)
        return F.softmax(x, dim=-1) + cached.to(torch.float32), outputs, f"{name}={best}"


def test_statements_of_scripts(tmp_path):
    network = torch.jit.script(Language())
    network.save(tmp_path / "net.pt")
    loaded, ours = pytorch.jit.load(tmp_path / "net.pt"), torch.jit.load(tmp_path / "net.pt")
    xs = [-torch.rand(2, 3), torch.rand(2, 3)]
    expected = theirs(network(xs))
    assert loaded(theirs(xs))[2] == ours(xs)[2] == expected[2] == "x=1"
    pytorch.testing.assert_close(loaded(theirs(xs))[:2], expected[:2], rtol=1e-5, atol=2e-6)
    pytorch.testing.assert_close(theirs(ours(xs)[:2]), expected[:2], rtol=1e-5, atol=2e-6)
    with pytest.raises(pytorch.jit.Error, match="no such name: z"):
        loaded(theirs(xs), None, "z")
    with pytest.raises(torch.jit.Error, match="no such name: z"):
        ours(xs, None, "z")


def test_what_pytorch_wrote_is_written_again(tmp_path):
    network = pytorch.nn.Sequential(pytorch.nn.Linear(3, 4), pytorch.nn.ReLU(), pytorch.nn.BatchNorm1d(4)).eval()
    pytorch.jit.script(network).save(tmp_path / "theirs.pt")
    torch.jit.load(tmp_path / "theirs.pt").save(tmp_path / "again.pt")
    x = pytorch.randn(5, 3)
    pytorch.testing.assert_close(pytorch.jit.load(tmp_path / "again.pt")(x), network(x))


@pytest.mark.parametrize("name", ["lenet", "autoencoder", "encoder", "lstm"])
@pytest.mark.parametrize("how", ["script", "trace"])
def test_frozen_networks(name, how, tmp_path):
    make, shape = NETWORKS[name]
    network, x = make().eval(), example(shape)
    frozen = torch.jit.freeze(torch.jit.script(network) if how == "script" else torch.jit.trace(network, x))
    frozen.save(tmp_path / "net.pt")
    loaded = pytorch.jit.load(tmp_path / "net.pt")
    pytorch.testing.assert_close(loaded(theirs(x)), theirs(frozen(x)), rtol=1e-4, atol=1e-5)
    assert not loaded.state_dict() and not list(loaded.children()) and not hasattr(loaded, "training")


def test_what_pytorch_froze_and_what_it_wrote_is_frozen(tmp_path):
    network = pytorch.nn.Sequential(pytorch.nn.Linear(3, 4), pytorch.nn.BatchNorm1d(4), pytorch.nn.Dropout()).eval()
    x = pytorch.randn(5, 3)
    pytorch.jit.freeze(pytorch.jit.script(network)).save(tmp_path / "theirs.pt")
    ours = torch.jit.load(tmp_path / "theirs.pt")
    assert not ours.state_dict() and not hasattr(ours, "training")
    pytorch.testing.assert_close(theirs(ours(torch.tensor(x.numpy()))), network(x).detach())
    for number, theirs_written in enumerate((pytorch.jit.script(network), pytorch.jit.trace(network, x))):
        theirs_written.save(tmp_path / f"{number}.pt")
        torch.jit.freeze(torch.jit.load(tmp_path / f"{number}.pt")).save(tmp_path / "again.pt")
        again = pytorch.jit.load(tmp_path / "again.pt")
        assert not again.state_dict()
        pytorch.testing.assert_close(again(x), network(x).detach())


class Pair(NamedTuple):
    first: Tensor
    second: Optional[Tensor]  # noqa: UP045
    count: int = 3


class Pairs(nn.Module):
    def forward(self, x) -> Pair:
        pair = Pair(x, None)
        other = Pair(first=x + 1, second=pair.first, count=pair.count + 1)
        return Pair(other.first * pair[2], other.second, 5) if other.second is not None else other


class UsesPairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.pairs = Pairs()

    def forward(self, x):
        pair = self.pairs(x)
        first, _, count = pair
        return pair.first * count + first


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.shift = torch.zeros(2)

    def add(self, number: int) -> int:
        self.count += number
        return self.count

    def scaled(self, x):
        return x * self.count + self.shift


class UsesCounter(nn.Module):
    def forward(self, x, number: int = 2):
        counter = Counter(3)
        counter.add(number)
        return counter.scaled(x)


def multiplied(x, y: int):
    return x * y


class Forking(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        first = torch.jit.fork(multiplied, x, 3)
        second = torch.jit.fork(self.linear, x)
        futures: List[torch.jit.Future[Tensor]] = []  # noqa: UP006
        for i in range(2):
            futures.append(torch.jit.fork(multiplied, x, i))
        return torch.jit.wait(first) + torch.jit.wait(second) + torch.jit.wait(futures[1])


class Property(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 3.0

    @property
    def twice(self) -> float:
        return self.factor * 2

    def forward(self, x):
        return x * self.twice


class Texts(nn.Module):
    def forward(self, x, names: List[str]):  # noqa: UP006
        sizes = {name: len(name) for name in names}
        joined, first = "_".join(names), names[0].upper().replace("A", "b").split("B")
        return x * len(joined) + sizes["ab"] + len(first) + float(names[1].startswith("c"))


class Attends(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **options)

    def forward(self, x):
        return self.attention(x, x, x)


class Itself(nn.Module):
    def __init__(self, transformer):
        super().__init__()
        self.transformer = transformer

    def forward(self, x):
        return self.transformer(x, x)


class Stages(nn.ModuleDict):
    def forward(self, x):
        results: Dict[str, Tensor] = {}  # noqa: UP006
        for name, stage in self.items():
            x = stage(x)
            results[name] = x
        return results


SCRIPTS = {
    "layers of another library": (lambda: models.convnext.LayerNorm2d(3), (2, 3, 4, 5)),
    "containers that can be called": (lambda: Stages({"first": nn.Linear(2, 3), "second": nn.ReLU()}), (4, 2)),
    "named tuples": (Pairs, (2,)), "fields": (UsesPairs, (2,)), "classes": (UsesCounter, (2,)), "forks": (Forking, (1, 2)),
    "properties": (Property, (2,)), "bias_kv": (lambda: Attends(add_bias_kv=True), (3, 2, 8)),
    "zeros": (lambda: Attends(add_zero_attn=True, batch_first=True), (3, 2, 8)),
    "transformer": (lambda: Itself(nn.Transformer(8, 2, 1, 1, 16, batch_first=True)), (2, 3, 8)),
    "decoder": (lambda: Itself(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, norm_first=True), 2)), (2, 3, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name, tmp_path):
    make, shape = SCRIPTS[name]
    x, network = torch.randn(shape), torch.jit.script(make().eval())
    network.save(tmp_path / "net.pt")
    expected = tuple(network(x)) if name == "named tuples" else network(x)
    for loaded, given, convert in ((pytorch.jit.load, theirs(x), lambda value: value), (torch.jit.load, x, theirs)):
        got = loaded(tmp_path / "net.pt")(given)
        pytorch.testing.assert_close(
            convert(tuple(got) if isinstance(got, tuple) else got), theirs(expected), rtol=1e-5, atol=2e-6
        )


def test_strings_and_dictionaries_of_loops(tmp_path):
    assert_saved_agrees(torch.jit.script(Texts()), tmp_path / "net.pt", (torch.ones(2), ["ab", "cd"]))


@pytest.mark.parametrize("how", ["loaded", "theirs", "frozen"])
def test_what_was_loaded_or_frozen_inside_of_others(how, tmp_path):
    inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    if how == "theirs":
        pytorch.jit.script(pytorch.nn.Sequential(pytorch.nn.Linear(2, 2), pytorch.nn.ReLU()).eval()).save(tmp_path / "inner.pt")
    else:
        torch.jit.script(inner).save(tmp_path / "inner.pt")
    held = torch.jit.freeze(torch.jit.script(inner)) if how == "frozen" else torch.jit.load(tmp_path / "inner.pt")
    outer = nn.Sequential(held, nn.Linear(2, 3), torch.jit.script(Property())).eval()
    assert_saved_agrees(torch.jit.script(outer), tmp_path / "outer.pt", (torch.randn(4, 2),))


def test_reading_what_scripts_of_pytorch_contain(tmp_path):
    @pytorch.jit.script
    def shifted(x, n: int):
        with pytorch.no_grad():
            y = x * 2
        values = [3, 1, 2]
        values.sort()
        lengths: dict[str, int] = {"a": n}
        return y, values, lengths.get("a"), n**2, n << 1, hex(n), math.cos(0.5), "%d of %s" % (n, "x"), x.device.type  # noqa: UP031

    @pytorch.jit.script
    def resized(x, y):
        pooled, places = pytorch.nn.functional.adaptive_max_pool2d(x, [2, 3], return_indices=True)
        return pytorch.nn.functional.interpolate(x, size=y.shape[-2:], mode="bilinear"), pooled, places

    image, other = torch.arange(32.0).reshape(1, 2, 4, 4).sin(), torch.zeros(1, 1, 7, 5)
    for function, given in ((shifted, (torch.ones(2), 5)), (resized, (image, other))):
        pytorch.jit.save(function, str(tmp_path / "of_pytorch.pt"))
        results = torch.jit.load(tmp_path / "of_pytorch.pt")(*given)
        for result, expected in zip(theirs(results), function(*map(theirs, given)), strict=True):
            if isinstance(expected, pytorch.Tensor):
                pytorch.testing.assert_close(result, expected)
            else:
                assert result == expected
                assert type(result) is type(expected)


def test_pooling_with_an_adaptive_window(tmp_path):
    assert_saved_agrees(
        torch.jit.script(nn.AdaptiveMaxPool2d(2)), tmp_path / "pool.pt", (torch.arange(64.0).reshape(2, 2, 4, 4).sin(),)
    )


class WithState(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return x + self.shift

    @torch.jit.export
    def __getstate__(self):
        return self.shift, 1, self.training

    @torch.jit.export
    def __setstate__(self, state):
        self.shift = state[0] + state[1] - 1
        self.training = state[2]


def test_exported_states(tmp_path):
    assert_saved_agrees(torch.jit.script(WithState().eval()), tmp_path / "net.pt", (torch.ones(2),))


def test_a_traced_dictionary_keyed_by_tensors(tmp_path):
    traced = torch.jit.trace(lambda a, b: {a: b + 1, b: a}, (torch.zeros(1), torch.zeros(1)), strict=False)
    traced.save(tmp_path / "net.pt")
    found = pytorch.jit.load(tmp_path / "net.pt")(pytorch.ones(1), 2 * pytorch.ones(1))
    assert [(key.item(), value.item()) for key, value in found.items()] == [(1, 3), (2, 1)]


@torch.jit.interface
class Activation(nn.Module):
    def forward(self, x: Tensor, power: int = 1) -> Tensor:
        pass


class Sine(nn.Module):
    def forward(self, x: Tensor, power: int = 1) -> Tensor:
        return x.sin() ** power


class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0]))

    def forward(self, x: Tensor, power: int = 1) -> Tensor:
        return x.cos() ** power * self.scale


class ChosenByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"sine": Sine(), "cosine": Cosine()})

    def forward(self, x: Tensor, name: str) -> Tensor:
        chosen: Activation = self.inner[name]
        return chosen.forward(x, 2)


class ChosenByPlace(nn.ModuleList):
    def __init__(self):
        super().__init__([Sine(), Cosine()])

    def forward(self, x: Tensor, place: int) -> Tensor:
        first: Activation = self[place]
        second: Activation = self[1 - place]
        return first.forward(x) - second.forward(x)


@pytest.mark.parametrize(("kind", "keys"), [(ChosenByName, ("sine", "cosine")), (ChosenByPlace, (0, 1))])
def test_containers_indexed_by_values(kind, keys, tmp_path):
    x = torch.randn(3)
    scripted = torch.jit.script(kind())
    assert_saved_agrees(scripted, tmp_path / "net.pt", *((x, key) for key in keys))
    nodes = {node.kind(): node for node in scripted.graph.nodes()}
    assert {"prim::ModuleContainerIndex", "prim::CallMethod"} <= nodes.keys()
    assert str(nodes["prim::CallMethod"].output().type()) == "Tensor"
    with pytest.raises(RuntimeError, match="KeyError" if kind is ChosenByName else "IndexError"):
        torch.jit.load(tmp_path / "net.pt")(x, "tangent" if kind is ChosenByName else 2)
