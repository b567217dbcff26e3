"""Run the C kernels of this pack under the sanitizers for addresses, undefined behaviour and threads.

    python plugins/flambeau-fast/sanitizing.py               # each instruction set of this processor; requires gcc
    python plugins/flambeau-fast/sanitizing.py --calls 9000  # kernel calls per instruction set

The kernels are compiled into a temporary folder. They are called with the pack's sample calls, whose arrays are given random
layouts: transposed, with gaps, reversed, broadcast, unaligned, or sharing memory with each other. Results must be those of the
NumPy kernels. The tests of inference plans and of random samples also run under the sanitizer for addresses. The thread sanitizer
observes several Python threads that call kernels while the number of threads changes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

PACK = Path(__file__).parent
SANITIZERS = {
    "address": "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "thread": "-O1 -g1 -fsanitize=thread",
}
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
TESTS = {"inference plans": "test_inference.py", "random samples": "test_rejection.py"}  # which run under "address"
TOLERANCE = 5e-5  # error relative to the result's largest value


# --- layouts ---


def transposed(array: Any, random: Random) -> Any:
    return np.asarray(array.T.copy()).T


def with_gaps(array: Any, random: Random) -> Any:
    """Return the values with unused elements between them, in each dimension."""
    steps = [random.randrange(1, 4) for _ in array.shape]
    large = np.zeros([size * step for size, step in zip(array.shape, steps, strict=True)], array.dtype)
    result = large[tuple(slice(None, None, step) for step in steps)]
    result[...] = array
    return result


def reversed_(array: Any, random: Random) -> Any:
    flip = tuple(slice(None, None, random.choice([1, -1])) for _ in array.shape)
    return array[flip].copy()[flip]


def unaligned(array: Any, random: Random) -> Any:
    memory = np.zeros(array.nbytes + array.itemsize, np.uint8)
    start = random.randrange(1, max(2, array.itemsize))
    result = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def with_unaligned_strides(array: Any, random: Random) -> Any:
    """Return the values as a field of records whose size is not a multiple of the element's."""
    records = np.zeros(array.shape, np.dtype([("value", array.dtype), ("byte", np.uint8)]))
    records["value"] = array
    return records["value"]


def read_only(array: Any, random: Random) -> Any:
    result = array.copy()
    result.flags.writeable = False
    return result


def tight(array: Any, random: Random) -> Any:
    """Return the values at the end of an allocation."""
    memory = np.zeros(array.size + 5, array.dtype)
    result = memory[5:].reshape(array.shape)
    result[...] = array
    return result


LAYOUTS = [transposed, with_gaps, reversed_, unaligned, with_unaligned_strides, read_only, tight]


def written(call: Any) -> set[int]:
    """Return the positions of the arguments that a call writes to."""
    if call.name == "adam_step":  # all except the gradient
        return set(range(len(call.args))) - {1}
    return {0} if call.in_place else set()


def rearranged(args: tuple[Any, ...], random: Random, written: set[int]) -> tuple[Any, ...]:
    """Return the arguments with random layouts. Those that are written stay writable and share no memory."""
    result = list(args)
    for i, value in enumerate(args):
        if isinstance(value, np.ndarray) and value.ndim and random.random() < 0.6:
            layouts = [layout for layout in LAYOUTS if not (layout is read_only and i in written)]
            result[i] = random.choice(layouts)(value, random)
    arrays = [i for i, value in enumerate(args) if isinstance(value, np.ndarray) and value.size > 1 and i not in written]
    if len(arrays) > 1 and random.random() < 0.4:  # two inputs that share memory
        one, other = random.sample(arrays, 2)
        a, b = args[one], args[other]
        if a.dtype == b.dtype:
            memory = np.resize(a, max(a.size, b.size) + 1)
            result[one], result[other] = memory[: a.size].reshape(a.shape), memory[-b.size :].reshape(b.shape)
    if len(arrays) and random.random() < 0.1:
        i = random.choice(arrays)
        result[i] = np.broadcast_to(args[i].reshape(-1)[:1].reshape((1,) * args[i].ndim), args[i].shape)
    return tuple(result)


def _arrays(args: tuple[Any, ...]) -> list[Any]:
    return [value for value in args if isinstance(value, np.ndarray)]


def copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # with the same order of strides, because random numbers are drawn in memory order
        flip = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in value.strides)
        return value[flip].copy(order="K")[flip]
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value.clone() if hasattr(value, "clone") else value


def differ(ours: Any, theirs: Any, inputs: Sequence[Any]) -> bool:
    """Whether two results differ by more than the roundings of inputs that cancel each other, and of the result."""
    if isinstance(ours, tuple | list):
        return any(differ(one, other, inputs) for one, other in zip(ours, theirs, strict=True))
    if not isinstance(ours, np.ndarray | np.generic):
        return False
    theirs = np.asarray(theirs)
    if np.shape(ours) != theirs.shape:
        return True
    rounding = 4 * np.finfo(np.float32).eps * max(map(largest, inputs), default=0)
    tolerance = TOLERANCE * max(largest(theirs), 1e-6) + rounding
    return not np.allclose(ours.astype(np.float64), theirs.astype(np.float64), TOLERANCE, tolerance, equal_nan=True)


def is_worse(ours: Any, theirs: Any, exact: Any) -> bool:
    """Whether a result is less exact than NumPy's: recurrent layers with large weights amplify the roundings of both."""
    if isinstance(ours, tuple | list):
        return any(is_worse(*results) for results in zip(ours, theirs, exact, strict=True))
    if not isinstance(ours, np.ndarray | np.generic):
        return False
    if np.asarray(theirs).dtype.kind != "f":
        return not np.array_equal(ours, theirs)
    errors = [largest(np.asarray(result) - exact) for result in (ours, theirs)]
    return bool(np.any(np.isfinite(ours) != np.isfinite(theirs))) or errors[0] > 4 * errors[1]


def as_float64(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else copied(value)


def largest(value: Any) -> float:
    """Return the largest finite magnitude of a floating-point array, 0 for other values."""
    if not isinstance(value, np.ndarray) or not np.can_cast(value.dtype, np.float64) or value.dtype.kind in "iub":
        return 0
    return float(np.abs(value[np.isfinite(value)].astype(np.float64)).max(initial=0))


# --- the process under a sanitizer ---


def kernels() -> tuple[Any, Any]:
    """Return the pack's kernels, and those that compute in place."""
    import flambeau_fast

    from flambeau_backends.numpy import NumpyBackend

    backend: Any = NumpyBackend()
    return flambeau_fast.flambeau_kernels(backend), flambeau_fast.flambeau_inplace_kernels(backend)


def call_with_layouts(calls_wanted: int, seed: int) -> dict[str, Any]:
    """Call kernels with random layouts. Return the number of calls, and the kernels that computed other values than NumPy."""
    from flambeau_fast.kernels import kernels as compiled
    from flambeau_fast.samples import calls

    from flambeau_backends.numpy.packs import kernels as numpy_kernels

    ours, in_place = kernels()
    compiled.set_thread_count(3)
    random, count, wrong = Random(seed), 0, set()
    for sample in itertools.count(seed):
        for call in calls(sample):
            if count >= calls_wanted:
                return {"calls": count, "wrong": sorted(wrong), "processor": compiled.processor}
            for arguments in (call.args, rearranged(call.args, random, written(call))):
                plain = tuple(map(copied, arguments))
                with np.errstate(all="ignore"):
                    if call.in_place:
                        in_place[call.name](*arguments, **call.options)
                        numpy_kernels.INPLACE[call.name](*plain, **call.options)
                        wrong |= {call.name} if differ(arguments[0], plain[0], call.args) else set()
                    else:
                        result = ours[call.name](*arguments, **call.options)
                        reference = numpy_kernels.KERNELS.get(call.name)
                        same = all(map(np.array_equal, *(_arrays(args) for args in (arguments, call.args))))
                        has_saved = any(isinstance(value, dict) for value in arguments)  # saved for the original values
                        # The two terms of log_sum_exp are not specified.
                        if reference is not None and call.name != "log_sum_exp" and (same or not has_saved):
                            in_float64 = tuple(map(as_float64, plain))
                            expected = reference(*plain, **call.options)
                            if differ(result, expected, arguments):
                                exact = reference(*in_float64, **call.options)
                                wrong |= {call.name} if is_worse(result, expected, exact) else set()
                count += 1


def call_in_threads(calls_wanted: int, seed: int) -> dict[str, Any]:
    """Call kernels in three threads, half as many in all, while another one changes the number of the pool's threads."""
    from flambeau_fast.kernels import kernels as compiled
    from flambeau_fast.samples import calls

    ours, in_place = kernels()
    counts, errors = [0, 0, 0], list[str]()

    def loop(which: int) -> None:
        for sample in itertools.count(seed + which, 3):
            for call in calls(sample):
                if counts[which] >= calls_wanted // 6:
                    return
                try:
                    (in_place if call.in_place else ours)[call.name](*map(copied, call.args), **call.options)
                except Exception as error:
                    errors.append(f"{call.name}: {error!r}")
                counts[which] += 1

    threads = [threading.Thread(target=loop, args=(which,)) for which in range(3)]
    for thread in threads:
        thread.start()
    random = Random(seed)
    while any(thread.is_alive() for thread in threads):
        compiled.set_thread_count(random.randrange(1, 6))
        time.sleep(0.05)
    return {"calls": sum(counts), "wrong": sorted(set(errors)), "processor": compiled.processor}


# --- the process that compiles and starts them ---


def supported_variants() -> list[str]:
    """Return the variants that this processor can run, the best one first, "plain" last."""
    if platform.machine() != "x86_64":
        return ["plain"]
    command = [*compiler(), "-march=native", "-dM", "-E", "-x", "c", os.devnull]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    required = {"amx": "__AMX_BF16__", "avx512_bf16": "__AVX512BF16__", "avx512": "__AVX512BW__", "avx2": "__AVX2__"}
    required["plain"] = "__SSE4_2__"
    return [name for name, macro in required.items() if macro in macros]


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def compile_pack(kind: str, folder: Path, variants: Collection[str]) -> None:
    """Compile variants of the pack for a sanitizer into a copy of its Python package."""
    shutil.copytree(PACK / "src", folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    os.environ["CFLAGS"] = SANITIZERS[kind]
    build = runpy.run_path(str(PACK / "c" / "build.py"))
    build["build"](folder / "flambeau_fast" / build["NAME"], variants)
    metadata = folder / "flambeau_fast-0.dist-info"  # which makes it an installed plugin
    metadata.mkdir()
    metadata.joinpath("METADATA").write_text("Name: flambeau-fast\nVersion: 0\n", encoding="utf-8")
    metadata.joinpath("entry_points.txt").write_text("[flambeau.plugins]\nfast = flambeau_fast\n", encoding="utf-8")


def run(kind: str, processor: str, folder: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a Python command with a copy of the pack that was compiled for a sanitizer."""
    found = subprocess.run([*compiler(), f"-print-file-name={LIBRARIES[kind]}"], capture_output=True, text=True, check=True)
    environment = os.environ | {
        "LD_PRELOAD": found.stdout.strip(),
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        "PYTHONMALLOC": "malloc",
        "FLAMBEAU_FAST_CPU": processor,
        "FLAMBEAU_FAST_LEAST": "0",
        "ASAN_OPTIONS": "detect_leaks=0,abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "report_bugs=1,exitcode=66",
        "OPENBLAS_NUM_THREADS": "1",
    }
    # The thread sanitizer of gcc 12 requires the addresses that processes get without randomization.
    fixed = ["setarch", platform.machine(), "-R"] if kind == "thread" and shutil.which("setarch") else []
    command = [*fixed, sys.executable, *command]
    return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)


def run_calls(kind: str, processor: str, folder: Path, calls: int, seed: int) -> tuple[int, str]:
    """Call kernels under a sanitizer. Return the number of calls, and a report of faults or an empty string."""
    done = run(kind, processor, folder, [__file__, "--inside", kind, "--calls", str(calls), "--seed", str(seed)])
    lines = done.stdout.splitlines()
    result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {"calls": 0, "wrong": []}
    report = done.stderr if done.returncode or "WARNING: ThreadSanitizer" in done.stderr else ""
    if result["wrong"]:
        report += f"other results than NumPy's: {', '.join(result['wrong'])}\n"
    if not report and result["processor"] != processor:
        report = f"the variant {result['processor']} was loaded\n"
    return result["calls"], report


def run_tests(file: str, kind: str, processor: str, folder: Path) -> tuple[int, str]:
    """Run a file of tests under a sanitizer. Return the number of tests that pass, and a report of faults."""
    options = ["-q", "--capture=no", "-c", str(PACK / "pyproject.toml"), "--rootdir", str(PACK)]  # reports end the process
    done = run(kind, processor, folder, ["-m", "pytest", *options, str(PACK / "tests" / file)])
    passed = re.search(r"(\d+) passed", done.stdout)
    if done.returncode or not passed:
        return 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return int(passed[1]), ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the C kernels of flambeau-fast under sanitizers.")
    parser.add_argument("--calls", type=int, default=2400, help="kernel calls per instruction set (default: 2400)")
    parser.add_argument("--seed", type=int, default=0, help="first seed of the random calls (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--inside", choices=SANITIZERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        function = call_with_layouts if options.inside == "address" else call_in_threads
        print(json.dumps(function(options.calls, options.seed)))
        return 0
    variants = supported_variants()
    results: dict[str, dict[str, int]] = {}

    def record(name: str, count: int, report: str) -> None:
        results[name] = {"calls": count, "failed": int(bool(report))}
        if report:
            print(f"{name}:\n{report}", file=sys.stderr)
        if not options.json:
            print(f"{name}: {results[name]}", flush=True)

    with tempfile.TemporaryDirectory() as place:
        for kind in SANITIZERS:
            tested = variants if kind == "address" else list(dict.fromkeys([variants[0], variants[-1]]))
            compile_pack(kind, folder := Path(place) / kind, tested)
            for processor in tested:
                name = f"{'address, undefined' if kind == 'address' else kind}: {processor}"
                record(name, *run_calls(kind, processor, folder, options.calls, options.seed))
                if kind == "address":
                    for subject, file in TESTS.items():
                        record(f"{subject}; {name}", *run_tests(file, kind, processor, folder))
    if options.json:
        print(json.dumps(results))
    return int(any(result["failed"] for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
