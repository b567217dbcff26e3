"""The float8 dtypes compared with PyTorch: bits, limits and errors."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import flambeau

NAMES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
named = pytest.mark.parametrize("name", NAMES)


@named
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16", "int32", "bool"])
def test_conversions_bit_by_bit(name, source):
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.standard_normal(500) * 10.0 ** rng.integers(-6, 6, 500), np.arange(-20, 20), [0.0, -0.0]])
    special = [] if source in ("int32", "bool") else [np.inf, -np.inf, 1e30, -1e30, 448, 464, 465, 240, 248, 57344, 61440, 61441]
    numbers = np.append(numbers, special)
    codes = []
    for library in (torch, flambeau):
        given = library.tensor(numbers).to(getattr(library, source))
        codes.append(given.to(getattr(library, name)).view(library.uint8).numpy())
    np.testing.assert_array_equal(codes[1], codes[0])


@named
@pytest.mark.parametrize("target", ["float64", "float32", "float16", "bfloat16", "int32", "bool", "float8_e5m2"])
def test_conversions_back(name, target):
    results = []
    for library in (torch, flambeau):
        codes = library.arange(250 if target in ("int32", "float8_e5m2") else 256, dtype=library.uint8)
        numbers = codes.view(getattr(library, name))
        if target in ("int32", "float8_e5m2"):  # only numbers in the range of the target
            numbers = numbers[(numbers.float().abs() < 1e4)]
        results.append(numbers.to(getattr(library, target)).double().numpy())
    np.testing.assert_array_equal(results[1], results[0])


@named
def test_limits_and_text(name):
    described = []
    for library in (torch, flambeau):
        dtype = getattr(library, name)
        x = library.tensor([[1.0, 2.25], [-3.0, 0.5]]).to(dtype)
        described.append([
            repr(library.finfo(dtype)), library.finfo(dtype).bits, repr(x), repr(x[0, 0]), x.type(), x.tolist(), dtype.itemsize,
            dtype.is_floating_point, dtype.is_signed, repr(x.to("meta")), repr(dtype), library.result_type(x, 1.0) is dtype,
        ])  # fmt: skip
    assert described[0] == described[1]


CALLS = {
    "x + x": lambda t, x: x + x, "x * 2": lambda t, x: x * 2, "-x": lambda t, x: -x, "x < x": lambda t, x: x < x, "x == x": lambda t, x: x == x,
    "abs": lambda t, x: x.abs(), "exp": lambda t, x: x.exp(), "sum": lambda t, x: x.sum(), "max": lambda t, x: x.max(), "sort": lambda t, x: x.sort(),
    "flip": lambda t, x: x.flip(0), "roll": lambda t, x: x.roll(1), "cat": lambda t, x: t.cat([x, x]), "clamp": lambda t, x: x.clamp(0, 1),
    "where": lambda t, x: t.where(x.float() > 1, x, x), "x[mask]": lambda t, x: x[x.float() > 1], "tril": lambda t, x: x.view(2, 2).tril(),
    "x + float32": lambda t, x: x + t.ones(4), "numpy": lambda t, x: x.numpy(), "mm": lambda t, x: x.view(2, 2) @ x.view(2, 2),
    "arange": lambda t, x: t.arange(3, dtype=x.dtype), "rand": lambda t, x: t.rand(3, dtype=x.dtype), "any": lambda t, x: x.any(),
    "eye": lambda t, x: t.eye(3, dtype=x.dtype), "add_": lambda t, x: x.add_(1), "fill_": lambda t, x: x.fill_(2.0),
    "gather": lambda t, x: x.gather(0, t.tensor([0])), "isnan": lambda t, x: x.isnan(), "+ complex": lambda t, x: x + 1j,
    "default": lambda t, x: t.set_default_dtype(x.dtype), "promote": lambda t, x: t.promote_types(x.dtype, t.int8),
}  # fmt: skip


@named
@pytest.mark.parametrize("call", CALLS)
def test_what_is_computed_and_what_is_refused(name, call):
    outcomes = []
    for library in (torch, flambeau):
        x = library.tensor([1.0, 2.25, -3.0, 0.5]).to(getattr(library, name))
        try:
            result = CALLS[call](library, x)
            outcomes.append((str(result.dtype), result.float().tolist()))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


@named
def test_files_are_exchanged(name):
    for writer, reader in ((torch, flambeau), (flambeau, torch)):
        file = io.BytesIO()
        writer.save({"x": writer.tensor([1.0, 2.0, 0.5]).to(getattr(writer, name))}, file)
        file.seek(0)
        loaded = reader.load(file)["x"]
        assert loaded.dtype is getattr(reader, name) and loaded.tolist() == [1.0, 2.0, 0.5]


def test_tensors_on_meta_are_exchanged():
    for writer, reader in ((torch, flambeau), (flambeau, torch)):
        file = io.BytesIO()
        writer.save({"x": writer.nn.Parameter(writer.empty(3, 4, device="meta").t())}, file)
        file.seek(0)
        loaded = reader.load(file)["x"]
        assert loaded.is_meta and loaded.stride() == (1, 4) and loaded.requires_grad and isinstance(loaded, reader.nn.Parameter)
