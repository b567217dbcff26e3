"""The benchmark that compares flambeau with PyTorch runs, reports right ratios, and detects a busy machine."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def run(*arguments):
    command = [sys.executable, BENCHMARKS / "compare.py", "--backends", "numpy", "--rounds", "1", "--threads", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_workload(tmp_path):
    done = run("--only", "two-layer net, SGD", "--json", tmp_path / "rows.json", "--plot", tmp_path / "rows.png")
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((tmp_path / "rows.json").read_text())
    row = written["rows"][0]
    assert written["machine"]["threads"] == 1
    assert (row["workload"], row["side"]) == ("two-layer net, SGD step", "numpy")
    assert row["ratio"] == row["ours"] / row["theirs"] and 1e-6 < row["ours"] < 10 and 1e-6 < row["theirs"] < 10
    assert 0 <= row["difference"] < 1e-5
    assert (row["aim"], row["memory"]["aim"]) == (0.6, 1.1)
    assert "two-layer net, SGD step" in done.stdout and f"{row['ratio']:.2f}" in done.stdout
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")


def test_unknown_workload():
    done = run("--only", "no such workload")
    assert done.returncode == 2 and "no such workload" in done.stderr


def test_names_are_told_apart(module):
    groups = module("workloads").GROUPS
    names = [each.name for group in groups.values() for each in group]
    assert len(names) == len(set(names))
    assert [each.name for each in module("compare").select_workloads("calls")] == names[: len(groups["calls"])]


def test_a_disturbed_round_is_repeated(module):
    times = iter([[1.0, 2.0], [1.1, 2.1], [1.0, 6.0], [0.9, 2.0], [1.0, 2.0], [1.0, 2.1]])
    rounds = module("compare").undisturbed_rounds(lambda: next(times), 5)
    assert rounds == [[1.0, 2.0], [1.1, 2.1], [1.0, 2.1], [0.9, 2.0], [1.0, 2.0]]
    assert next(times, None) is None


def test_repetition_ends_on_a_machine_that_never_rests(module):
    times = iter(range(1, 100))
    assert len(module("compare").undisturbed_rounds(lambda: [float(next(times) % 2 + 1)], 4)) == 4
    assert next(times) <= 9


def test_differences_are_seen(module):
    difference = module("compare").difference
    assert difference([[1.0, 2.0], [4.0]], [[1.0, 2.0], [4.0]]) == 0
    assert difference([[1.0, 2.0], [4.0]], [[1.0, 2.2], [4.0]]) == pytest.approx(0.05)
    assert difference([[1.0]], [[float("nan")]]) == difference([[1.0]], [[1.0, 2.0]]) == float("inf")
    assert difference([[]], [[]]) == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the system does not tell a process's peak memory")
def test_peak_memory_is_seen(module):
    anonymous_memory = module("worker").anonymous_memory
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = anonymous_memory()
    held = bytearray(b"x") * (64 << 20)
    assert anonymous_memory() - before > 60 << 20
    del held
    assert anonymous_memory() - before < 30 << 20 < 60 << 20 < anonymous_memory(peak=True) - before


def test_a_worker_says_what_went_wrong(module):
    sides = module("sides")
    with sides.Worker(sides.Side("flambeau", "nosuch"), 1) as worker, pytest.raises(sides.Failed, match="nosuch"):
        worker.ask("build", "a + b, 10 elements")


def test_numbers_of_threads(module, monkeypatch):
    compare = module("compare")
    assert compare.thread_counts("2") == [2] and compare.thread_counts("1,4") == [1, 4]
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert compare.thread_counts("all") == [1, 2, 4, 8]


def rows_of(*measured):
    return [
        {"workload": name, "side": side, "threads": threads, "ratio": ratio, "aim": None}
        for name, side, threads, ratio in measured
    ]


def test_curves_have_their_points(module):
    plots, curves = module("plots"), module("workloads").CURVES
    names = {curve: {size: workload.name for size, workload in points.items()} for curve, points in curves.items()}
    width, batch = [*names][:2]
    rows = rows_of(
        (names[width][64], "numpy", 1, 0.5), (names[width][16], "numpy", 1, 0.4), (names[batch][1], "numpy", 1, 0.9),
        (names[width][16], "numpy, old", 1, 0.6), ("a + b, 10 elements", "numpy", 1, 0.7),
    )  # fmt: skip
    assert plots.curve_points(rows) == {
        width: {"numpy": [(64, 0.5), (16, 0.4)], "numpy, old": [(16, 0.6)]},
        batch: {"numpy": [(1, 0.9)]},
    }
    assert plots.row_labels(rows[:1] + rows_of(("x", "numpy", 4, 1.0))) == ["numpy, 1 threads", "numpy, 4 threads"]


def test_pictures_are_drawn(module, tmp_path):
    names = [workload.name for points in module("workloads").CURVES.values() for workload in points.values()]
    rows = rows_of(*((name, "numpy", 2, 0.5) for name in [*names, "a + b, 10 elements"]))
    module("plots").draw(rows, str(tmp_path / "rows.svg"))
    drawn = (tmp_path / "rows.svg").read_text()
    assert drawn.startswith("<?xml") and "</svg>" in drawn


def test_old_and_new_are_paired(module, capsys):
    rows = [{**row, "ours": row["ratio"]} for row in rows_of(("x", "numpy", 1, 0.5), ("x", "numpy, old", 1, 1.0))]
    module("compare").print_changes(rows)
    assert "0.50" in capsys.readouterr().out
