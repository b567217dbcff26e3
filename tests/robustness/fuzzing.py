"""Fuzzer of the readers of files: each damaged file must be read or refused with the documented errors, without other effects.

    python tests/robustness/fuzzing.py --seconds 60            # all formats
    python tests/robustness/fuzzing.py --format zip --count 1 --first 1234       # a single case again

It fails if a file runs code, writes files, opens connections, takes more than 10 seconds of processor time or 300 MiB, or raises an error that is
neither `pickle.UnpicklingError` nor `RuntimeError`.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.serialization.npz import load_npz, save_npz
from flambeau.serialization.safetensors import save_safetensors
from flambeau_nnlib.distributed import checkpoint

sys.path.insert(0, str(Path(__file__).parent))
from mutations import damage

SECONDS, MEBIBYTES = 10, 300  # limits for one file
_events: list[str] = []


class Unexpected(Exception):
    """A damaged file had an effect other than a documented error."""


# --- files ---


def _state() -> dict[str, Any]:
    weight = torch.arange(12.0).reshape(3, 4)
    return {
        "weight": weight, "view": weight[1:], "half": torch.ones(2, dtype=torch.bfloat16), "nested": {"list": [1, 2.5, "text", None]},
        "parameter": nn.Parameter(torch.ones(2)), "set": {1, 2}, "size": torch.Size([1, 2]), (1, "key"): b"bytes",
    }  # fmt: skip


def _tensors() -> dict[str, Any]:
    return {"weight": torch.arange(12.0).reshape(3, 4), "bias": torch.arange(3), "empty": torch.ones(0, 2)}


def _saved(**options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(_state(), file, **options)
    return file.getvalue()


def _tar() -> bytes:
    """Return an archive in the format of PyTorch 0.1."""
    storage = pickle.dumps((1, "cpu", "FloatStorage"), 2).replace(b"X\x0c\x00\x00\x00FloatStorage", b"ctorch\nFloatStorage\n")
    tensor = pickle.dumps((2, 1, "FloatTensor"), 2).replace(b"X\x0b\x00\x00\x00FloatTensor", b"ctorch\nFloatTensor\n")
    members = {
        "storages": pickle.dumps(1, 2) + storage + struct.pack("<q", 4) + struct.pack("<4f", 1, 2, 3, 4) + pickle.dumps([], 2),
        "tensors": pickle.dumps(1, 2) + tensor + struct.pack("<i4x5q", 2, 2, 2, 2, 1, 0),
        "pickle": b"\x80\x02}X\x01\x00\x00\x00wX\x01\x00\x00\x002Qs.",
    }
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w:") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return result.getvalue()


class _Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        result = self.layer(input) * self.scale
        if result.sum() > 0:
            result = result + 1
        return result


def _script() -> bytes:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(_Module()), file)
    return file.getvalue()


def _program() -> bytes:
    file = io.BytesIO()
    torch.export.save(torch.export.export(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), (torch.ones(4, 2),)), file)
    return file.getvalue()


def _through_path(suffix: str, write: Callable[[str], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"file{suffix}")
        write(path)
        return Path(path).read_bytes()


# --- readers ---


def _load(data: bytes, folder: str) -> None:
    _use(torch.load(io.BytesIO(data), map_location="cpu"))
    torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) if data[:4] == b"PK\x03\x04" else None


def _load_mapped(data: bytes, folder: str) -> None:
    path = _write(data, folder, "file.pt")
    _use(torch.load(path, mmap=True))
    with torch.serialization.skip_data():
        torch.load(path)


def _inspect(suffix: str) -> Callable[[bytes, str], None]:
    def read(data: bytes, folder: str) -> None:
        from flambeau.cli.inspecting import _print_contents
        from flambeau.cli.tensor_files import contents_of

        path = _write(data, folder, f"file{suffix}")
        with redirect_stdout(io.StringIO()):
            _print_contents(path, contents_of(path))

    return read


def _load_safetensors(data: bytes, folder: str) -> None:
    _use(torch.load(_write(data, folder, "file.safetensors")))


def _load_npz(data: bytes, folder: str) -> None:
    _use(load_npz(_write(data, folder, "file.npz")))


def _load_script(data: bytes, folder: str) -> None:
    module = torch.jit.load(io.BytesIO(data))
    _use(dict(module.state_dict()))


def _load_program(data: bytes, folder: str) -> None:
    program = torch.export.load(io.BytesIO(data))
    _call(lambda: program.module()(torch.ones(4, 2)))


def _load_hub(data: bytes, folder: str) -> None:
    path = Path(_write(data, folder, "file.pth"))
    with tempfile.TemporaryDirectory(dir=folder) as downloads, redirect_stdout(io.StringIO()):
        _use(torch.hub.load_state_dict_from_url(path.as_uri(), downloads, progress=False))


_PARTS = (".metadata", "__0_0.distcp")


def _checkpoint() -> bytes:
    """Return a distributed checkpoint as a single string: the lengths and contents of its two files."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.save({"weight": torch.arange(12.0), "step": 3}, checkpoint_id=folder, no_dist=True)
        return pickle.dumps(tuple((Path(folder) / name).read_bytes() for name in _PARTS))


def _load_checkpoint(data: bytes, folder: str) -> None:
    for name, content in zip(_PARTS, pickle.loads(data), strict=True):  # written by `_damage_checkpoint`
        (Path(folder) / name).write_bytes(content)
    state = {"weight": torch.zeros(12), "step": 0}
    try:
        checkpoint.load(state, checkpoint_id=folder, no_dist=True)
    except checkpoint.CheckpointException as error:
        (failure,) = error.failures.values()
        if not isinstance(failure, AssertionError | FileNotFoundError | ValueError):  # another shape, kind or file is documented
            raise failure from error
    _use(state)


def _damage_checkpoint(data: bytes, random: Random) -> bytes:
    parts = list(pickle.loads(data))
    which = random.randrange(2)
    parts[which] = damage(parts[which], random)
    return pickle.dumps(tuple(parts))


def _export_onnx(data: bytes, folder: str) -> None:
    """Export a random network, and compare the results of ONNX Runtime.  Nothing in flambeau reads ONNX files."""
    import onnx
    import onnxruntime

    random = Random(data)
    width, layers = random.randrange(1, 9), list[nn.Module]()
    for _ in range(random.randrange(1, 5)):
        following = random.randrange(1, 9)
        layers += [nn.Linear(width, following), random.choice([nn.ReLU, nn.Tanh, nn.GELU, nn.Softplus, nn.Identity])()]
        width = following
    network, inputs = nn.Sequential(*layers), torch.randn(random.randrange(1, 5), layers[0].in_features)
    path = f"{folder}/file.onnx"
    torch.onnx.export(network, (inputs,), path, verbose=False)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    (result,) = session.run(None, {session.get_inputs()[0].name: inputs.numpy()})
    if not torch.allclose(torch.from_numpy(result), network(inputs), atol=1e-5):
        raise Unexpected("ONNX Runtime computes other values than the exported network")


def _random_bytes(data: bytes, random: Random) -> bytes:
    return random.randbytes(8)


def _write(data: bytes, folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def _call(call: Callable[[], Any]) -> None:
    """Call a function whose errors do not matter."""
    try:
        call()
    except Unexpected:
        raise
    except Exception:
        return


def _use(values: Any) -> None:
    """Read all elements of the tensors in nested containers, whose memory must be that of the file."""
    pending, count = [values], 0
    while pending and count < 1000:
        value = pending.pop()
        count += 1
        if (
            isinstance(value, torch.Tensor)
            and value.device.type == "cpu"
            and value.layout is torch.strided
            and value.numel() < 10**6
        ):
            _call(lambda value=value: value.detach().clone().sum())
        elif isinstance(value, dict):
            pending += list(value.values())[:1000]
        elif isinstance(value, list | tuple):
            pending += value[:1000]


class Format:
    """A file format: an undamaged file, the functions that read it, and how to damage it."""

    def __init__(
        self, make: Callable[[], bytes], *readers: Callable[[bytes, str], None], damage: Callable[[bytes, Random], bytes] = damage
    ) -> None:
        self.make, self.readers, self.damage = make, readers, damage


FORMATS = {
    "zip": Format(_saved, _load, _load_mapped, _inspect(".pt")),
    "zip, protocol 4": Format(lambda: _saved(pickle_protocol=4), _load, _inspect(".pt")),
    "legacy": Format(lambda: _saved(_use_new_zipfile_serialization=False), _load, _inspect(".pt")),
    "tar": Format(_tar, _load, _inspect(".pt")),
    "safetensors": Format(
        lambda: _through_path(".safetensors", lambda path: save_safetensors(_tensors(), path)),
        _load_safetensors,
        _inspect(".safetensors"),
    ),
    "npz": Format(lambda: _through_path(".npz", lambda path: save_npz(_tensors(), path)), _load_npz, _inspect(".npz")),
    "TorchScript": Format(_script, _load_script),
    "pt2": Format(_program, _load_program, _inspect(".pt2")),
    "hub": Format(_saved, _load_hub),
    "distributed checkpoint": Format(_checkpoint, _load_checkpoint, damage=_damage_checkpoint),
    "ONNX": Format(bytes, _export_onnx, damage=_random_bytes),
}


# --- running ---

_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "os.kill")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN:
        _events.append(f"{event} {arguments!r:.200}")
    elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+") and _watching:
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if path and not path.startswith(_watching):
            _events.append(f"opens {path} to write")


_watching = ""  # while a file is read, the folder in which files may be written


def install_canary() -> None:
    """Define the function that damaged pickles try to call, and start recording forbidden events."""
    canary: Any = types.ModuleType("fuzzed_canary")
    canary.touched = lambda *args: _events.append("code of the file ran")
    sys.modules["fuzzed_canary"] = canary
    sys.addaudithook(_audit)


def check(kind: str, seed: int, original: bytes, folder: str) -> str:
    """Read one damaged file.  Return "read" or "refused".

    Raises:
        Unexpected: the file has another effect.
    """
    global _watching
    data = FORMATS[kind].damage(original, Random(f"{kind} {seed}"))
    outcome = "read"
    for read in FORMATS[kind].readers:
        _events.clear()
        memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        _watching = folder
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(data, folder)
        except (pickle.UnpicklingError, RuntimeError) as error:
            outcome = "refused"
            if type(error) not in (RuntimeError, pickle.UnpicklingError) and not isinstance(error, pickle.UnpicklingError):
                raise Unexpected(f"raises {type(error).__name__}: {error}") from error
            if any(isinstance(cause, MemoryError) for cause in (error.__cause__, error.__context__)):
                raise Unexpected(f"allocates too much memory: {error}") from error
        except Unexpected:
            raise
        except Exception as error:
            raise Unexpected(f"raises {type(error).__name__}: {error}") from error
        finally:
            _watching = ""
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        if _events:
            raise Unexpected(_events[0])
        if grown > MEBIBYTES or time.process_time() - start > SECONDS:
            raise Unexpected(f"takes {grown:.0f} MiB and {time.process_time() - start:.0f} s")
    return outcome


def fuzz(kind: str, seconds: float, count: int, first: int) -> dict[str, int]:
    """Check files until `seconds` have passed or `count` files were checked.  Return {outcome: number of files}."""
    original = FORMATS[kind].make()
    outcomes = {"read": 0, "refused": 0, "failed": 0}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            if time.monotonic() > end:
                break
            faulthandler.dump_traceback_later(6 * SECONDS, exit=True)
            try:
                outcomes[check(kind, seed, original, folder)] += 1
            except Unexpected as error:
                outcomes["failed"] += 1
                print(f"{kind}, file {seed}: {error}", file=sys.stderr, flush=True)
                if count == 1:
                    raise
            finally:
                faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Read damaged files of all formats.")
    parser.add_argument("--seconds", type=float, default=60, help="time in total (default: 60)")
    parser.add_argument("--format", choices=FORMATS, help="only this format, in this process")
    parser.add_argument("--count", type=int, default=10**9, help="number of files of each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first file: the same number damages it equally")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    if options.format:
        install_canary()
        outcomes = fuzz(options.format, options.seconds, options.count, options.first)
        print(json.dumps(outcomes))
        return int(outcomes["failed"] > 0)
    results, each = {}, options.seconds / len(FORMATS)
    for kind in FORMATS:  # one process each, so that a crash or a hang is noticed and ends only one
        command = [sys.executable, __file__, "--format", kind, "--seconds", str(each)]
        done = subprocess.run(
            [*command, "--count", str(options.count), "--first", str(options.first)], stdout=subprocess.PIPE, text=True
        )
        lines = done.stdout.splitlines()
        results[kind] = json.loads(lines[-1]) if lines else {"read": 0, "refused": 0, "failed": 1}
        if not options.json:
            print(f"{kind}: {results[kind]}" + (f", exit status {done.returncode}" if done.returncode else ""), flush=True)
    if options.json:
        print(json.dumps(results))
    return int(any(outcomes["failed"] for outcomes in results.values()))


if __name__ == "__main__":
    sys.exit(main())
