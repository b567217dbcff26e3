"""Compare flambeau with PyTorch on this machine: ratios of time and peak memory.

    python benchmarks/compare.py                    every workload, on every installed backend and kernel pack
    python benchmarks/compare.py --only LeNet       workloads whose name contains this, or a group: calls, networks, layers, ...
    python benchmarks/compare.py --against HEAD~3   also this repository at an earlier commit, and the ratio of new to old
    python benchmarks/compare.py --threads all      with 1, 2, 4, ... threads, up to 16 or the number of CPUs
    python benchmarks/compare.py --only inference --peers onnxruntime,torch-compile,jax    also other inference libraries
    python benchmarks/compare.py --only inference --peers onnxruntime --memory             peak memory of these
    python benchmarks/compare.py --json FILE --markdown FILE.md --plot FILE.svg

Both libraries run alternately, with the same number of threads and steps, and medians are printed. Rounds disturbed by
other programs are repeated. The results of the steps are also compared: the exit status is 1 if they differ.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from peers import PEERS, compare_memory, compare_peers
from plots import draw
from sides import Failed, Side, Worker, checked_out, flambeau_sides, pytorch_side
from workloads import GROUPS, Workload

TURN = 0.4  # seconds of PyTorch's computation per turn
PAUSE = 0.2  # seconds between turns; an idle thread pool spins for a while and would occupy a core
SPREAD = 0.2  # maximum relative deviation of a time from its median; rounds that exceed it are repeated
MEMORY_AIM = 1.1
LEAST_MEMORY = 4 << 20  # bytes; differences below are due to the allocators

Row = dict[str, Any]


# --- measuring ---


def steps_per_turn(worker: Worker) -> int:
    """Return the number of steps that PyTorch completes in `TURN` seconds."""
    once = worker.ask("run", 1)
    estimate = worker.ask("run", max(1, int(TURN / 10 / once)))
    return max(1, round(TURN / estimate))


def take_turns(workers: Sequence[Worker], steps: int, least: bool) -> list[float]:
    """Run one round. Return the seconds per step of each worker, or with `least` those of its fastest group of steps."""
    times = []
    for worker in workers:
        time.sleep(PAUSE)
        times.append(worker.ask("run_fastest" if least else "run", steps))
    return times


def deviations(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return, for each round, the largest relative deviation of a time from the median of its worker."""
    medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
    return [max(abs(seconds / median - 1) for seconds, median in zip(times, medians, strict=True)) for times in rounds]


def undisturbed_rounds(one_round: Callable[[], list[float]], count: int) -> list[list[float]]:
    """Run `count` rounds, then repeat the worst outliers, at most `count` times."""
    rounds = [one_round() for _ in range(count)]
    for _ in range(count):
        far = deviations(rounds)
        worst = far.index(max(far))
        if far[worst] <= SPREAD:
            break
        rounds[worst] = one_round()
    return rounds


def difference(theirs: list[list[float]], ours: list[list[float]]) -> float:
    """Return the largest difference between results, relative to the largest value. Return inf for unequal lengths or NaN."""
    if [len(values) for values in theirs] != [len(values) for values in ours]:
        return float("inf")
    pairs = [pair for both in zip(theirs, ours, strict=True) for pair in zip(*both, strict=True)]
    scale = max((abs(value) for value, _ in pairs), default=0.0) or 1.0
    largest = max((abs(a - b) for a, b in pairs), default=0.0) / scale
    return largest if all(b == b for _, b in pairs) else float("inf")


# --- rows of the table ---


def target_ratio(workload: Workload, side: Side) -> float | None:
    """Return the target ratio of a workload for a backend and kernel pack, or None if it has no target."""
    return {("numpy", ""): workload.alone, ("numpy", "fast"): workload.fast}.get((side.backend, side.pack))


def compare(workload: Workload, reference: Worker, workers: Sequence[Worker], rounds: int, least: bool) -> list[Row]:
    """Run a workload on all workers and return a table row for each."""
    expected = reference.ask("build", workload.name) if workload.unit == "s" else []
    rows: list[Row] = []
    usable = []
    for worker in workers:
        row: Row = {
            "workload": workload.name,
            "side": worker.side.label,
            "backend": worker.side.backend,
            "pack": worker.side.pack,
            "unit": workload.unit,
            "threads": worker.threads,
            "aim": target_ratio(workload, worker.side),
            "tolerance": workload.tolerance,
        }
        rows.append(row)
        try:
            if workload.unit == "s":
                row["difference"] = difference(expected, worker.ask("build", workload.name))
            usable.append((worker, row))
        except Failed as error:
            row["error"] = str(error)
    if workload.unit == "s":
        both = [reference, *(worker for worker, _ in usable)]
        steps = steps_per_turn(reference)
        measured = undisturbed_rounds(lambda: take_turns(both, steps, least), rounds)
        spread = max(deviations(measured)) if rounds > 1 else None
    else:
        measured = [[worker.ask("measure", workload.name) for worker in [reference, *(worker for worker, _ in usable)]]]
        spread = None
    theirs, *ours = [statistics.median(values) for values in zip(*measured, strict=True)]
    for (_, row), value in zip(usable, ours, strict=True):
        row.update(theirs=theirs, ours=value, ratio=value / theirs, spread=spread, disturbed=(spread or 0.0) > SPREAD)
    return rows


def peak_memory(workload: Workload, side: Side, threads: int) -> int | None:
    """Return the peak memory of a training step in bytes, measured in a separate process."""
    with Worker(side, threads) as worker:
        return worker.ask("memory", workload.name)


def add_memory(rows: Sequence[Row], workload: Workload, reference: Side, sides: Sequence[Side], threads: int) -> None:
    theirs = peak_memory(workload, reference, threads)
    for row, side in zip(rows, sides, strict=True):
        if "error" not in row and theirs is not None:
            ours = peak_memory(workload, side, threads)
            assert ours is not None
            ratio = ours / theirs if max(theirs, ours) > LEAST_MEMORY else None
            row["memory"] = {"theirs": theirs, "ours": ours, "ratio": ratio, "aim": MEMORY_AIM}


# --- output ---


def format_value(value: float, unit: str) -> str:
    if unit == "B":
        return f"{value / 1e6:.1f} MB"
    scale, name = next(((scale, name) for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= scale), (1e-6, "us"))
    return f"{value / scale:.2f} {name}"


HEADER = (
    f"{'workload':55s} {'flambeau on':11s} {'PyTorch':>10s} {'flambeau':>10s} {'ratio':>6s} {'aim':>5s} {'spread':>7s}"
    f" {'peak memory':>19s} {'ratio':>6s} {'aim':>5s}"
)


def format_row(row: Row) -> str:
    start = f"{row['workload']:55s} {row['side']:11s}"
    if "error" in row:
        return f"{start} FAILS: {row['error']}"
    spread = "" if row["spread"] is None else f"{row['spread']:.0%}{'*' if row['disturbed'] else ''}"
    text = (
        f"{start} {format_value(row['theirs'], row['unit']):>10s} {format_value(row['ours'], row['unit']):>10s}"
        f" {row['ratio']:6.2f}"
        f" {row['aim'] or '':>5} {spread:>7s}"
    )
    if memory := row.get("memory"):
        ratio = "small" if memory["ratio"] is None else f"{memory['ratio']:.2f}"
        text += f" {memory['theirs'] / 1e6:7.1f} {memory['ours'] / 1e6:7.1f} MB {ratio:>7s} {memory['aim']:>5}"
    return text if agrees(row) else f"{text}  DISAGREES by {row['difference']:.1e}"


def agrees(row: Row) -> bool:
    return "error" not in row and row.get("difference", 0.0) <= row["tolerance"]


def print_changes(rows: Sequence[Row]) -> None:
    """Print the ratio of new to old time for each workload, and the geometric mean of the ratios."""
    times = {(row["workload"], row["side"], row["threads"]): row["ours"] for row in rows if "ours" in row}
    changes = {
        key: times[key] / old
        for (workload, side, threads), old in times.items()
        if (key := (workload, side.removesuffix(", old"), threads)) != (workload, side, threads)
    }
    print("\nnew / old")
    for (workload, side, _), ratio in changes.items():
        print(f"{workload:55s} {side:11s} {ratio:6.2f}")
    if changes:
        print(f"{'geometric mean':55s} {'':11s} {statistics.geometric_mean(changes.values()):6.2f}")


def describe_machine(threads: int, versions: Sequence[str]) -> Row:
    """Return the date, the machine and the versions of the measurement."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": time.strftime("%Y-%m-%d"),
        "platform": platform.platform(),
        "processor": processor_name(),
        "cpus": os.cpu_count(),
        "threads": threads,
        "python": platform.python_version(),
        "load": load,
        "versions": list(versions),
    }


def processor_name() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text(encoding="utf-8").splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor()


def print_machine(facts: Row) -> None:
    print(
        f"{facts['date']}, {facts['processor']}, {facts['cpus']} CPUs, {facts['threads']} threads, Python {facts['python']}, "
        + ", ".join(facts["versions"])
    )
    if facts["load"] and facts["load"] > 0.5:
        print(f"The machine is not idle (load {facts['load']:.1f}), so times are uncertain.")


def markdown(facts: Row, rows: Sequence[Row]) -> str:
    """Format the rows as a Markdown table, preceded by a description of the machine."""
    lines = [
        f"Measured {facts['date']} on {facts['processor']}, {facts['threads']} threads, Python {facts['python']}, "
        f"{', '.join(facts['versions'])}; medians within one run.",
        "",
        "| workload | flambeau on | PyTorch | flambeau | ratio | ratio of peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['workload']} | {row['side']} | | fails | | |")
            continue
        times = [format_value(row[side], row["unit"]) for side in ("theirs", "ours")]
        memory = (row.get("memory") or {}).get("ratio")
        lines.append(
            f"| {row['workload']} | {row['side']} | {times[0]} | {times[1]} | {row['ratio']:.2f} | "
            f"{'' if memory is None else format(memory, '.2f')} |"
        )
    return "\n".join(lines) + "\n"


# --- the command line ---


def select_workloads(only: str | None) -> list[Workload]:
    """Return the workloads of a group or those whose name contains `only`; None selects all."""
    if only in GROUPS:
        return GROUPS[only]
    return [workload for group in GROUPS.values() for workload in group if only is None or only.lower() in workload.name.lower()]


def thread_counts(text: str) -> list[int]:
    """Parse the option `--threads`. `all` is 1, 2, 4, 8 and 16, up to the number of CPUs."""
    if text == "all":
        return [count for count in (1, 2, 4, 8, 16) if count <= (os.cpu_count() or 1)]
    return [int(number) for number in text.split(",")]


def measure(
    workloads: Sequence[Workload], sides: Sequence[Side], rounds: int, threads: int, least: bool
) -> tuple[Row, list[Row]]:
    """Measure the workloads and return the machine and the rows. Print each row immediately."""
    rows: list[Row] = []
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(side, threads)) for side in sides]
        references = {
            device: stack.enter_context(Worker(pytorch_side(device), threads))
            for device in sorted({side.device for side in sides})
        }
        versions = {worker.ask("versions"): None for worker in [*references.values(), *workers]}
        facts = describe_machine(threads, list(versions))
        print_machine(facts)
        print(HEADER)
        for workload in workloads:
            for device, reference in references.items():
                device_workers = [worker for worker in workers if worker.side.device == device]
                new = compare(workload, reference, device_workers, rounds, least)
                if workload.training:
                    add_memory(new, workload, reference.side, [worker.side for worker in device_workers], threads)
                rows += new
                print("\n".join(map(format_row, new)), flush=True)
    return facts, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help=f"a group ({', '.join(GROUPS)}) or part of a workload's name")
    parser.add_argument("--backends", metavar="NAMES", help="comma-separated backends (default: all that are usable)")
    parser.add_argument("--against", metavar="COMMIT", help="also measure this repository at an earlier commit")
    parser.add_argument("--json", metavar="FILE", help="write the rows and a description of the machine")
    parser.add_argument("--markdown", metavar="FILE", help="write the rows as a table")
    parser.add_argument("--plot", metavar="FILE.svg", help="plot the ratios (requires matplotlib: the extra `plot`)")
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds (default: %(default)s)")
    parser.add_argument(
        "--threads", type=thread_counts, default=[2], metavar="N,...", help="numbers of threads, or `all` (default: 2)"
    )
    parser.add_argument("--least", action="store_true", help="use the fastest steps of each turn, for busy machines")
    parser.add_argument("--peers", metavar="NAMES", help=f"compare inference with other libraries: {', '.join(PEERS)}")
    parser.add_argument("--memory", action="store_true", help="with --peers: compare peak memory instead of time")
    args = parser.parse_args()
    workloads = select_workloads(args.only)
    if not workloads:
        parser.error(f"no workload has {args.only!r} in its name")
    if args.peers and (args.markdown or args.plot):
        parser.error("--peers does not support --markdown and --plot; use --json")
    if args.peers:
        deployed = [workload for workload in workloads if workload.model is not None]
        functions = (lambda workers, steps: take_turns(workers, steps, args.least), steps_per_turn, difference)
        names, threads = args.peers.split(","), args.threads[0]
        if args.memory:
            table = compare_memory(deployed, names, threads)
        else:
            table = compare_peers(deployed, names, args.rounds, threads, functions)
        if args.json:
            facts_now = describe_machine(args.threads[0], [])
            Path(args.json).write_text(json.dumps({"machine": facts_now, "rows": table}, indent=1) + "\n", encoding="utf-8")
        return 0
    sides = [side for side in flambeau_sides() if args.backends is None or side.backend in args.backends.split(",")]
    if not sides:
        parser.error(f"none of the backends {args.backends!r} is usable")
    rows: list[Row] = []
    facts: list[Row] = []
    with ExitStack() as stack:
        if args.against:
            tree = stack.enter_context(checked_out(args.against))
            sides += [replace(side, tree=tree) for side in sides if not side.pack]
        for threads in args.threads:
            measured_on, new = measure(workloads, sides, args.rounds, threads, args.least)
            rows += new
            facts.append(measured_on)
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": facts[0], "rows": rows}, indent=1) + "\n", encoding="utf-8")
    if args.markdown:
        Path(args.markdown).write_text(markdown(facts[0], rows), encoding="utf-8")
    if args.plot:
        draw(rows, args.plot)
    if args.against:
        print_changes(rows)
    if any(row.get("disturbed") for row in rows):
        print(f"* times still vary by more than {SPREAD:.0%} after repeating as many rounds as requested")
    return 0 if all(map(agrees, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
