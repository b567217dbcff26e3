"""Inference in other libraries: ONNX Runtime, PyTorch's compiler and JAX, next to flambeau with and without `torch.compile`."""

from __future__ import annotations

import importlib
import io
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sides import Failed, Side, Worker, flambeau_sides, pytorch_side
from workloads import Workload

__all__ = ["PEERS", "compare_memory", "compare_peers", "export", "loader", "make_step"]

PEERS = {
    "onnxruntime": Side("flambeau", "numpy", mode="onnx"),  # runs the file that flambeau exports
    "torch-compile": Side("torch", mode="compile"),
    "jax": Side("flambeau", "jax", mode="compile"),  # the model as one program of XLA
}


def make_step(torch: Any, workload: Workload, mode: str) -> Callable[[], Any]:
    """Return the step of a workload, run by `torch.compile` or by ONNX Runtime."""
    assert workload.model is not None
    model, x = workload.model(torch)
    if mode == "compile":
        return _run_compiled(torch, model, x)
    file = io.BytesIO()
    torch.onnx.export(model, (x,)).save(file)
    return _run_by_onnxruntime(file.getvalue(), x.numpy())


def _run_compiled(torch: Any, model: Any, x: Any) -> Callable[[], Any]:
    compiled = torch.compile(model)

    def run() -> Any:
        with torch.no_grad():
            result = compiled(x)
        if os.environ.get("FLAMBEAU_BACKEND") == "jax":
            result.cpu()  # JAX computes asynchronously
        return result

    for _ in range(4):
        run()
    return run


def _run_eager(torch: Any, model: Any, x: Any) -> Callable[[], Any]:
    def run() -> Any:
        with torch.no_grad():
            return model(x)

    return run


def _run_by_onnxruntime(model: Any, x: Any) -> Callable[[], Any]:
    """Return the step of a network in a file, given by its path or contents."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, inputs)


def export(torch: Any, workload: Workload, path: str) -> None:
    """Write the network of a workload to an ONNX file, and its parameters and its input next to it."""
    assert workload.model is not None
    model, x = workload.model(torch)
    torch.onnx.export(model, (x,)).save(path)
    torch.save(model.state_dict(), f"{path}.pt")
    np.save(f"{path}.npy", x.numpy())


def loader(torch: Any, workload: Workload, mode: str | None, path: str) -> Callable[[], Callable[[], Any]]:
    """Return a function that loads a network from files and returns its step. The libraries are imported first."""
    x = np.load(f"{path}.npy")
    if mode == "onnx":
        importlib.import_module("onnxruntime")
        return lambda: _run_by_onnxruntime(path, x)

    def load() -> Callable[[], Any]:
        assert workload.model is not None
        with torch.device("meta"):
            model, _ = workload.model(torch)
        model.load_state_dict(torch.load(f"{path}.pt"), assign=True)
        return (_run_compiled if mode else _run_eager)(torch, model, torch.from_numpy(x))

    return load


def _sides(names: Sequence[str]) -> dict[str, Side]:
    """Return flambeau on NumPy, without and with its kernel packs and `torch.compile`, and the named libraries."""
    own = [side for side in flambeau_sides() if side.backend == "numpy"]
    own += [replace(side, mode="compile") for side in own]
    return {**{side.label: side for side in own}, **{name: PEERS[name] for name in names}}


def compare_memory(workloads: Sequence[Workload], peers: Sequence[str], threads: int) -> list[dict[str, Any]]:
    """Print the peak memory of inference in MB, of the first / second network in a process. Return the rows in bytes."""
    sides = {"PyTorch": pytorch_side("cpu"), **_sides(peers)}
    print(f"{'peak memory in MB':50s} " + " ".join(f"{label:>18s}" for label in sides))
    rows = []
    with tempfile.TemporaryDirectory() as folder, Worker(Side("flambeau", "numpy"), threads) as exporter:
        for workload in workloads:
            path = str(Path(folder) / "model.onnx")
            exporter.ask("export", workload.name, path)
            row: dict[str, Any] = {"workload": workload.name}
            for label, side in sides.items():
                with Worker(side, threads) as worker:
                    row[label] = worker.ask("inference_memory", workload.name, path)
            rows.append(row)
            cells = ["-" if row[label] is None else " / ".join(f"{size / 1e6:.1f}" for size in row[label]) for label in sides]
            print(f"{workload.name:50s} " + " ".join(f"{cell:>18s}" for cell in cells), flush=True)
    return rows


def compare_peers(
    workloads: Sequence[Workload], peers: Sequence[str], rounds: int, threads: int, measure: Any
) -> list[dict[str, Any]]:
    """Print a table: time in PyTorch eager, then ratios to it. Return its rows.

    Args:
        measure: the functions `take_turns(workers, steps)`, `steps_per_turn(worker)` and `difference(results, results)`.
    """
    take, steps_per_turn, difference = measure
    labels, sides = zip(*_sides(peers).items(), strict=True)
    rows = []
    with ExitStack() as stack:
        reference = stack.enter_context(Worker(pytorch_side("cpu"), threads))
        workers = [stack.enter_context(Worker(side, threads)) for side in sides]
        print(f"{'workload':50s} {'PyTorch':>10s} " + " ".join(f"{label:>14s}" for label in labels))
        for workload in workloads:
            expected = reference.ask("build", workload.name)
            usable, wrong = {}, {}
            for label, worker in zip(labels, workers, strict=True):
                try:
                    far = difference(expected, worker.ask("build", workload.name))
                    usable[label] = worker
                    if far > workload.tolerance:
                        wrong[label] = far
                except Failed as error:
                    print(f"{workload.name}: {error}")
            steps = steps_per_turn(reference)
            measured = [take([reference, *usable.values()], steps) for _ in range(rounds)]
            theirs, *ours = [statistics.median(times) for times in zip(*measured, strict=True)]
            ratios = {label: seconds / theirs for label, seconds in zip(usable, ours, strict=True)}
            rows.append({"workload": workload.name, "PyTorch": theirs, **ratios})
            cells = [
                f"{ratios[label]:13.2f}{'!' if label in wrong else ' '}" if label in ratios else f"{'-':>14s}" for label in labels
            ]
            print(f"{workload.name:50s} {1e3 * theirs:7.3f} ms {' '.join(cells)}", flush=True)
    means = [statistics.geometric_mean([row[label] for row in rows if label in row] or [float("nan")]) for label in labels]
    print(f"{'geometric mean':50s} {'':10s} " + " ".join(f"{mean:13.2f} " for mean in means))
    return rows
