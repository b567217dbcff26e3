"""Inference in other libraries: ONNX Runtime, PyTorch's compiler and JAX, next to flambeau with and without `torch.compile`."""

from __future__ import annotations

import io
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from sides import Failed, Side, Worker, flambeau_sides, pytorch_side
from workloads import Workload

__all__ = ["PEERS", "compare_peers", "make_step"]

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
        compiled = torch.compile(model)

        def run_compiled() -> Any:
            with torch.no_grad():
                result = compiled(x)
            if os.environ.get("FLAMBEAU_BACKEND") == "jax":
                result.numpy()  # JAX computes asynchronously
            return result

        for _ in range(4):
            run_compiled()
        return run_compiled
    import onnxruntime

    file = io.BytesIO()
    torch.onnx.export(model, (x,)).save(file)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, inputs)


def compare_peers(
    workloads: Sequence[Workload], peers: Sequence[str], rounds: int, threads: int, measure: Any
) -> list[dict[str, Any]]:
    """Print a table: time in PyTorch eager, then ratios to it. Return its rows.

    Args:
        measure: the functions `take_turns(workers, steps)`, `steps_per_turn(worker)` and `difference(results, results)`.
    """
    take, steps_per_turn, difference = measure
    own = [side for side in flambeau_sides() if side.backend == "numpy"]
    sides = [*own, *(Side(side.library, side.backend, side.pack, side.distribution, mode="compile") for side in own)]
    sides += [PEERS[name] for name in peers]
    labels = [*[side.label for side in sides[: 2 * len(own)]], *peers]
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
