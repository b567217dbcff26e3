"""Time and memory of loading a language model and of generating its first tokens, each in a new process.

    python benchmarks/generation.py                               a file of 1,000 MB in bfloat16
    python benchmarks/generation.py --megabytes 200 --dtype float32 --tokens 8

The program runs on PyTorch, if installed, and on flambeau with NumPy and with each kernel pack. `read` is the time in
which a process reads the whole file into memory, without computing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sides import THREADS, flambeau_sides
from worker import unregister_other_packs

EXAMPLES = Path(__file__).parents[1] / "examples"
CONFIG = {
    "model_type": "llama", "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16,
    "num_key_value_heads": 4, "rms_norm_eps": 1e-5,
}  # fmt: skip
CODES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}
PROMPT = 16  # tokens
HEADER = f"{'':12s} {'loaded':>8s} {'first token':>12s} {'tokens/s':>9s} {'memory':>9s} {'of the file':>12s} {'library':>9s}"


def write_model(directory: Path, dtype: str, megabytes: int) -> int:
    """Write a model with random weights in files of about this size. Return the size in bytes."""
    import numpy as np

    width, hidden, words = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["vocab_size"]
    itemsize = 4 if dtype == "float32" else 2
    sizes = {"q": (width, width), "k": (width // 4, width), "v": (width // 4, width), "o": (width, width)}
    layer: dict[str, tuple[int, ...]] = {f"self_attn.{name}_proj": shape for name, shape in sizes.items()}
    layer |= {"mlp.gate_proj": (hidden, width), "mlp.up_proj": (hidden, width), "mlp.down_proj": (width, hidden)}
    layer |= {"input_layernorm": (width,), "post_attention_layernorm": (width,)}
    size = itemsize * sum(int(np.prod(shape)) for shape in layer.values())
    count = max(1, round((megabytes * 10**6 - 2 * words * width * itemsize) / size))
    shapes = {"model.embed_tokens.weight": (words, width), "lm_head.weight": (words, width), "model.norm.weight": (width,)}
    shapes |= {f"model.layers.{number}.{name}.weight": shape for number in range(count) for name, shape in layer.items()}
    header, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + itemsize * int(np.prod(shape))
        header[name] = {"dtype": CODES[dtype], "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(0)
    with (directory / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes.values():
            numbers = random.standard_normal(shape, np.float32) * 0.02 if len(shape) > 1 else np.ones(shape, np.float32)
            if dtype == "bfloat16":
                numbers = (numbers.view(np.uint32) >> 16).astype(np.uint16)
            file.write(numbers.astype(np.float16 if dtype == "float16" else numbers.dtype).tobytes())
    (directory / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": count}), encoding="utf-8")
    return (directory / "model.safetensors").stat().st_size


def measure(library: str, pack: str, directory: Path, count: int, threads: int) -> dict[str, float]:
    """Generate tokens in this process. Return times in seconds and memory in bytes."""
    torch: Any = importlib.import_module("torch")
    if library == "flambeau":
        unregister_other_packs(pack)
    torch.set_num_threads(threads)
    torch.nn.functional.linear(torch.ones(1, 2), torch.ones(2, 2))  # loads the kernels
    sys.path.insert(0, str(EXAMPLES))
    language_model = importlib.import_module("language_model")
    before = peak_memory()
    start = time.perf_counter()
    model = language_model.load_model(directory)
    loaded = time.perf_counter() - start
    times = []
    for _ in language_model.generate(model, list(range(1, 1 + PROMPT)), count):
        times.append(time.perf_counter() - start)
    return {
        "library": before,
        "loaded": loaded,
        "first": times[0],
        "rate": (count - 1) / (times[-1] - times[0]),
        "peak": peak_memory(),
    }


def peak_memory() -> int:
    """Return the largest resident memory of this process in bytes. (`ru_maxrss` also counts the process that started it.)"""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def run(library: str, pack: str, arguments: list[str], threads: int) -> dict[str, float]:
    launcher = ["-m", "flambeau"] if library == "flambeau" else []
    command = [sys.executable, *launcher, __file__, "--child", library, "--pack", pack, "--threads", str(threads), *arguments]
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--dtype", choices=CODES, default="bfloat16")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    for option in ("--child", "--pack", "--directory"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child, args.pack, Path(args.directory), args.tokens, args.threads)))
        return
    with tempfile.TemporaryDirectory() as folder:
        size = write_model(Path(folder), args.dtype, args.megabytes)
        start = time.perf_counter()
        (Path(folder) / "model.safetensors").read_bytes()
        print(f"{size / 1e6:,.0f} MB in {args.dtype}, {args.threads} threads; read in {time.perf_counter() - start:.2f} s")
        print(HEADER)
        sides = [("torch", "")] if find_spec("torch") else []
        sides += [("flambeau", side.pack) for side in flambeau_sides() if side.backend == "numpy"]
        for library, pack in sides:
            row = run(library, pack, ["--directory", folder, "--tokens", str(args.tokens)], args.threads)
            name = "PyTorch" if library == "torch" else f"NumPy{pack and '+'}{pack}"
            print(
                f"{name:12s} {row['loaded']:6.2f} s {row['first']:10.2f} s {row['rate']:9.2f} {row['peak'] / 1e6:6.0f} MB "
                f"{row['peak'] / size:12.2f} {row['library'] / 1e6:6.0f} MB"
            )


if __name__ == "__main__":
    main()
