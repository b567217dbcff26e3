"""flambeau loads files written by PyTorch, and PyTorch loads files written by flambeau."""

from __future__ import annotations

import collections
import io
import operator
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

BOTH_WAYS = pytest.mark.parametrize(("writer", "reader"), [(torch, flambeau), (flambeau, torch)], ids=["read", "write"])
DTYPES = [
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
    "complex128", "uint16", "uint32",
]  # fmt: skip


def through(obj, writer, reader, load_options=None, **options):
    file = io.BytesIO()
    writer.save(obj, file, **options)
    file.seek(0)
    return reader.load(file, **(load_options or {}))


def described(obj):
    """Replace the tensors in an object by descriptions that both libraries share."""
    if isinstance(obj, (torch.Tensor, flambeau.Tensor)):
        return (
            type(obj).__name__,
            str(obj.dtype),
            tuple(obj.shape),
            obj.stride(),
            obj.storage_offset(),
            obj.requires_grad,
            repr(obj.tolist()),
            obj.untyped_storage().nbytes(),
        )
    if isinstance(obj, collections.abc.Mapping):
        extra = described(vars(obj)) if hasattr(obj, "__dict__") else None
        return type(obj), [(key, described(value)) for key, value in obj.items()], extra
    if isinstance(obj, (list, tuple)):
        return type(obj).__name__, [described(each) for each in obj]
    if isinstance(obj, (torch.dtype, flambeau.dtype, torch.device, flambeau.device, torch.layout, flambeau.layout)):
        return str(obj)
    return type(obj), repr(obj)


@BOTH_WAYS
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors(writer, reader, legacy, dtype):
    if legacy and dtype in ("uint16", "uint32"):
        reader = flambeau  # PyTorch cannot read its own legacy files of these dtypes
    base = writer.arange(24).to(getattr(writer, dtype)).reshape(2, 3, 4)
    tensors = [base, base[1], base.permute(2, 0, 1), base[..., ::2], base[0, 0, 1], base[:0], base.clone()]
    got = through(tensors, writer, reader, _use_new_zipfile_serialization=not legacy)
    assert described(got) == described(tensors)
    got[0].view(-1)[4] = 0
    assert got[1].shape == (3, 4) and got[0].untyped_storage().data_ptr() == got[1].untyped_storage().data_ptr()


@BOTH_WAYS
def test_everything_that_weights_only_allows(writer, reader):
    parameter = writer.nn.Parameter(writer.ones(2))
    parameter.note = "kept"
    tensor = writer.ones(1)
    tensor.tag = 3
    data = {
        "parameter": parameter,
        "frozen": writer.nn.Parameter(writer.ones(2), False),
        "tagged": tensor,
        "leaf": writer.ones(2, requires_grad=True),
        "size": writer.Size([2, 3]),
        "dtype": writer.float16,
        "device": writer.device("cpu"),
        "layout": writer.strided,
        "bytes": b"\x00\xff",
        "complex": 1 - 2j,
        "set": {1},
        "bytearray": bytearray(b"x"),
        "none": None,
        "big": 10**30,
        "text": "\N{FIRE}",
        5: [(), {}, True],
        "ordered": collections.OrderedDict(b=1, a=2),
        "counter": collections.Counter("aab"),
    }
    for legacy in (False, True):
        got = through(data, writer, reader, _use_new_zipfile_serialization=not legacy)
        assert described(got) == described(data)
        assert got["parameter"].note == "kept" and got["tagged"].tag == 3
        assert type(got["size"]) is reader.Size and got["dtype"] is reader.float16


@BOTH_WAYS
def test_state_dicts(writer, reader):
    def make(library):
        library.manual_seed(1)
        net = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU(), library.nn.Linear(4, 1))
        optimizer = library.optim.Adam(net.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(library.ones(5, 3)).sum().backward()
            optimizer.step()
        return net, optimizer

    net, optimizer = make(writer)
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    got = through(state, writer, reader)
    assert got["net"]._metadata == net.state_dict()._metadata
    other, other_optimizer = make(reader)
    other.load_state_dict(got["net"])
    other_optimizer.load_state_dict(got["optimizer"])
    expected = net(writer.ones(1, 3)).item()
    assert other(reader.ones(1, 3)).item() == pytest.approx(expected, rel=1e-5)


@BOTH_WAYS
@pytest.mark.parametrize("name", [
    "tanh", "nn.functional.gelu", "nn.functional.relu_", "nn.functional.logsigmoid", "nn.functional.conv2d",
    "linalg.svd", "fft.fft", "special.i1", "Tensor.view", "Tensor.item",
])  # fmt: skip
def test_functions(writer, reader, name):
    found = through(operator.attrgetter(name)(writer), writer, reader, {"weights_only": False})
    assert found.__name__ == operator.attrgetter(name)(reader).__name__


@BOTH_WAYS
def test_named_results_and_generators(writer, reader):
    results = [writer.ones(2, 3).max(1), writer.linalg.qr(writer.eye(2)), writer.ones(3).topk(2)]
    found = through(results, writer, reader, {"weights_only": False})
    assert described(found) == described(results) and type(found[0]) is reader.return_types.max
    generator = writer.Generator().manual_seed(3)
    restored = through(generator, writer, reader, {"weights_only": False})
    assert reader.rand(3, generator=restored).tolist() == writer.rand(3, generator=generator).tolist()


@BOTH_WAYS
def test_storages(writer, reader):
    typed, untyped = through([writer.arange(3).storage(), writer.ones(2).untyped_storage()], writer, reader)
    assert typed.tolist() == [0, 1, 2] and str(typed.dtype) == "torch.int64" and untyped.nbytes() == 8


@BOTH_WAYS
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(writer, reader, protocol):
    data = {"x": writer.arange(3), "n": [1, "two", 3.0], "dtype": writer.int8}
    got = through(data, writer, reader, {"weights_only": False}, pickle_protocol=protocol)
    assert described(got) == described(data)


@pytest.mark.parametrize("zipped", [True, False])
def test_conjugated_tensors(zipped):
    """Conjugate views are saved and loaded, also in the legacy format, where tensors are built before their data are read."""
    tensor = torch.tensor([1 + 2j, 3 - 4j])
    options = {"_use_new_zipfile_serialization": zipped}
    assert through(tensor.conj(), torch, flambeau, **options).tolist() == [1 - 2j, 3 + 4j]
    assert through(tensor.conj().imag, torch, flambeau, **options).tolist() == [-2.0, 4.0]


def test_files_without_checksums():
    torch.serialization.set_crc32_options(False)
    try:
        assert through(torch.arange(5), torch, flambeau).tolist() == [0, 1, 2, 3, 4]
    finally:
        torch.serialization.set_crc32_options(True)


def test_mapped_files(tmp_path):
    flambeau.save({"x": flambeau.arange(1000.0), "y": flambeau.ones(3)}, tmp_path / "x.pt")
    got = torch.load(tmp_path / "x.pt", mmap=True)
    assert got["x"].sum() == 499500 and got["y"].tolist() == [1, 1, 1]
    torch.save({"x": torch.arange(1000.0), "y": torch.ones(3)}, tmp_path / "y.pt")
    got = flambeau.load(tmp_path / "y.pt", mmap=True)
    assert got["x"].sum() == 499500 and got["y"].tolist() == [1, 1, 1]
    assert torch.load(tmp_path / "x.pt", map_location="meta")["x"].shape == (1000,)


def test_files_of_python_2():
    """Files written by torch 0.4 on Python 2 can be loaded. They store words such as `storage` as byte strings."""
    storage = (b"storage", torch.FloatStorage, b"0", b"cpu", 2, None)

    class Pickler(pickle._Pickler):
        def persistent_id(self, thing):
            return storage if thing == "the storage" else None

        def save_bytes(self, text):
            self.write(pickle.SHORT_BINSTRING + bytes([len(text)]) + text)

        dispatch = pickle._Pickler.dispatch | {bytes: save_bytes}

    class Tensor:
        def __reduce__(self):
            return torch._utils._rebuild_tensor_v2, ("the storage", 0, (2,), (1,), False, collections.OrderedDict())

    file = io.BytesIO()
    for header in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(header, file, protocol=2)
    Pickler(file, protocol=2).dump({b"weight": Tensor()})
    Pickler(file, protocol=2).dump([b"0"])
    file.write((2).to_bytes(8, "little") + bytes.fromhex("0000803f 00000040"))
    for library in (torch, flambeau):
        assert library.load(io.BytesIO(file.getvalue()))["weight"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "obj", [print, pickle.Pickler, collections.deque([1]), torch.nn.Linear(1, 1)], ids=lambda obj: type(obj).__name__
)
def test_refusals_read_the_same(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    messages = []
    for library in (torch, flambeau):
        with pytest.raises(pickle.UnpicklingError) as error:
            library.load(io.BytesIO(file.getvalue()))
        messages.append(str(error.value))
    assert messages[1].count(" (in <BytesIO>)") == 1  # only flambeau's message names the file
    assert messages[0] == messages[1].replace(" (in <BytesIO>)", "")
    names = [library.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue())) for library in (torch, flambeau)]
    assert sorted(names[0]) == names[1]


@BOTH_WAYS
@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
def test_modules_with_hooks(writer, reader):
    layers = writer.nn.utils.spectral_norm(writer.nn.Linear(3, 4)), writer.nn.utils.weight_norm(writer.nn.Linear(4, 2))
    net = writer.nn.Sequential(*layers).eval()
    expected = net(writer.ones(1, 3)).flatten().tolist()
    loaded = through(net, writer, reader, {"weights_only": False})
    assert loaded(reader.ones(1, 3)).flatten().tolist() == pytest.approx(expected)
    assert loaded.state_dict()._metadata["0"]["spectral_norm"] == {"weight.version": 1}
    loaded.load_state_dict(loaded.state_dict())

    lazy = through(writer.nn.LazyLinear(3), writer, reader, {"weights_only": False})
    assert lazy(reader.ones(2, 5)).shape == (2, 3) and type(lazy) is reader.nn.Linear


def test_whole_modules_cross_over():
    file = io.BytesIO()
    flambeau.save(flambeau.nn.Linear(2, 1), file)
    file.seek(0)
    assert isinstance(torch.load(file, weights_only=False), torch.nn.Linear)
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 1), file)
    file.seek(0)
    assert isinstance(flambeau.load(file, weights_only=False), flambeau.nn.Linear)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.binary(min_size=1, max_size=5) | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    | st.tuples(inner, inner),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(plain)
def test_any_plain_data(data):
    for writer, reader in ((torch, flambeau), (flambeau, torch), (flambeau, flambeau)):
        assert through(data, writer, reader) == data


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_view(data):
    size = data.draw(st.integers(1, 40))
    offset = data.draw(st.integers(0, size - 1))
    shape, stride, reach = [], [], size - 1 - offset
    for _ in range(data.draw(st.integers(0, 3))):
        step = data.draw(st.integers(0, 5))
        # not length 1 with stride 0: NumPy would report another stride
        length = data.draw(st.integers(1, reach // step + 1) if step else st.integers(2, 3))
        reach -= max(length - 1, 0) * step
        shape.append(length)
        stride.append(step)
    for writer, reader in ((torch, flambeau), (flambeau, torch)):
        view = writer.arange(size).as_strided(shape, stride, offset)
        assert described(through(view, writer, reader)) == described(view)
