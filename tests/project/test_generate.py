"""`examples/generate.py` trains, saves and loads a language model; decoding with caches agrees with the complete model."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLLOWS_CACHE = """
import sys
from pathlib import Path

import torch
from language_model import Cache, generate, load_model

model = load_model(Path(sys.argv[1]))
tokens = torch.arange(12)[None] * 3
with torch.inference_mode():
    expected = model(tokens)[0]
    caches = [Cache(12) for _ in model.model.layers]
    logits = [model.next_logits(tokens[:, :5], caches)]
    logits += [model.next_logits(tokens[:, place : place + 1], caches) for place in range(5, 12)]
torch.testing.assert_close(torch.stack(logits), expected[4:], rtol=1e-4, atol=1e-5)
best = []
for _ in range(4):
    best.append(int(model(torch.tensor([[1, 2, *best]]))[0, -1].argmax()))
assert list(generate(model, [1, 2], 4)) == best
assert list(generate(model, [1, 2], 4, stops={best[2]})) == best[: best.index(best[2])]
"""


def run(*arguments: object) -> str:
    command = [sys.executable, "-m", "flambeau", *map(str, arguments)]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a model that was trained for ten steps."""
    folder = tmp_path_factory.mktemp("model")
    printed = run(EXAMPLES / "generate.py", "--steps", 10, "--tokens", 5, "--save", folder)
    assert re.search(r"step +10  loss [\d.]+\n", printed) and f"saved to {folder}" in printed
    return folder


def continued(directory: Path, *options: object) -> str:
    """Return the text that the most probable tokens continue."""
    printed = run(EXAMPLES / "generate.py", directory, "Mary had", "--tokens", 12, "--temperature", 0, *options)
    assert re.search(r"prompt: 8 tokens in .*\ntext: 12 tokens, [\d.]+ tokens per second", printed)
    return printed.partition("\n\nloaded in")[0]


def read_safetensors(path: Path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    return header, data[8 + length :]


def write_safetensors(path: Path, header: dict, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_caches(directory: Path, tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n{FOLLOWS_CACHE}", encoding="utf-8")
    run(script, directory)


def test_shards(directory: Path, tmp_path: Path) -> None:
    header, data = read_safetensors(directory / "model.safetensors")
    weight_map = {}
    for number, names in enumerate((list(header)[::2], list(header)[1::2])):
        entries, part = {}, b""
        for name in names:
            begin, end = header[name]["data_offsets"]
            entries[name] = {**header[name], "data_offsets": [len(part), len(part) + end - begin]}
            part += data[begin:end]
            weight_map[name] = f"model-{number}.safetensors"
        write_safetensors(tmp_path / f"model-{number}.safetensors", entries, part)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    assert continued(tmp_path) == continued(directory)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_dtype(directory: Path, dtype: str) -> None:
    assert continued(directory, "--dtype", dtype)[:9] == continued(directory)[:9]


QUANTIZED = """
import sys
from pathlib import Path

import torch
from language_model import Int4Linear, Int8Linear, load_model

layers = {"int8": Int8Linear, "int4": Int4Linear}
tokens = torch.arange(12)[None]
with torch.inference_mode():
    expected = load_model(Path(sys.argv[1]))(tokens)
    for name, error in (("int8", 0.02), ("int4", 0.2)):
        model = load_model(Path(sys.argv[1]), quantized=name)
        assert sum(isinstance(module, layers[name]) for module in model.modules()) == 14
        difference = (model(tokens) - expected).norm() / expected.norm()
        assert 1e-5 < difference < error, (name, difference)
"""


def test_quantized_weights(directory: Path, tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n{QUANTIZED}", encoding="utf-8")
    run(script, directory)
    printed = run(EXAMPLES / "generate.py", directory, "Mary had", "--tokens", 3, "--quantize", "int8")
    assert "text: 3 tokens" in printed


def test_unsupported_models_are_refused(directory: Path, tmp_path: Path) -> None:
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), encoding="utf-8")
    command = [sys.executable, "-m", "flambeau", str(EXAMPLES / "generate.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 1 and "'gpt2' are not supported: expected llama" in done.stderr
