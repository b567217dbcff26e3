"""utils.benchmark: timers, measurements, tables and fuzzers."""

from __future__ import annotations

import pickle
import shutil
import time

import numpy as np
import pytest
from flambeau.utils.benchmark import Compare, FuzzedParameter, FuzzedTensor, Fuzzer, Measurement, ParameterAlias, TaskSpec, Timer

import flambeau as torch
from flambeau.utils import benchmark

TASK = TaskSpec("x + y", "pass", label="sums", sub_label="small", description="here")


class Clock:
    """A fake clock that advances by 0.1 microseconds each time it is read."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-7
        return self.now


def timer_of_a_statement(clock, seconds, **options):
    def step():
        clock.now += seconds

    return Timer("step()", globals={"step": step}, timer=clock, **options)


def test_one_time_of_many_runs():
    result = timer_of_a_statement(Clock(), 1e-3, label="steps", num_threads=2).timeit(50)
    assert result.number_per_run == 50 and result.raw_times == pytest.approx([0.05], rel=1e-4)
    assert result.median == result.mean == pytest.approx(1e-3, rel=1e-4) and result.iqr == 0
    assert (result.title, result.num_threads, result.stmt) == ("steps", 2, "step()")
    with pytest.raises(AttributeError, match="'Measurement' object has no attribute 'colour'"):
        result.colour


def test_blocks_are_as_long_as_the_timer_does_not_count():
    calls = []
    result = timer_of_a_statement(Clock(), 1e-5).blocked_autorange(lambda number, seconds: calls.append(number), min_run_time=1.0)
    assert result.number_per_run == 100  # 100 runs take 1e-3 seconds, 10,000 times as long as reading the clock
    assert calls == [100] * len(result.raw_times) and sum(result.raw_times) >= 1.0
    assert result.median == pytest.approx(1e-5, rel=1e-3)


@pytest.mark.parametrize(("growth", "expected"), [(0.0, 4), (1.0, None)])
def test_adaptive_ranges_go_on_until_the_times_agree(growth, expected):
    clock, blocks = Clock(), []

    def step():
        clock.now += 0.06 * (1 + growth * len(blocks) ** 2)

    timer = Timer("step()", globals={"step": step}, timer=clock)
    result = timer.adaptive_autorange(max_run_time=30.0, callback=lambda number, seconds: blocks.append(seconds))
    assert result.raw_times == blocks
    assert len(blocks) == expected if expected else sum(blocks) > 30 and not result.meets_confidence()


def test_statements_know_torch_and_are_dedented():
    timer = Timer(
        """
        for _ in range(2):
            x = x + torch.ones(2)
        """,
        """
        x = torch.zeros(2)
        """,
    )
    result = timer.timeit(2)
    assert result.setup == "x = torch.zeros(2)" and result.stmt.startswith("for _") and result.median > 0


def test_real_time_passes():
    result = Timer("time.sleep(0.01)", "import time").blocked_autorange(min_run_time=0.05)
    assert result.number_per_run in (1, 10) and 0.01 <= result.median < 1
    assert benchmark.timer() <= time.perf_counter()


def test_threads_are_set_for_the_statement_alone():
    before, seen = torch.get_num_threads(), []
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=before + 1).timeit(3)
    assert set(seen) == {before + 1} and torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stmt": lambda: 1}, ValueError, "Currently only a `str` stmt is supported."),
        ({"language": "cobol"}, ValueError, "Invalid language `cobol`."),
        ({"language": "c++"}, RuntimeError, r"no C\+\+ interface"),
        ({"global_setup": "x"}, ValueError, "global_setup is C\\+\\+ only, got `x`"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        Timer(**options)


def test_statistics_are_numpys():
    times = np.random.default_rng(0).uniform(1, 2, 11)
    result = Measurement(10, list(10 * times), TASK)
    assert result.median == pytest.approx(np.median(times)) and result.mean == pytest.approx(times.mean())
    assert result.iqr == pytest.approx(np.subtract(*np.quantile(times, [0.75, 0.25])))
    assert result.meets_confidence(1.0) and not result.meets_confidence(0.01)
    assert pickle.loads(pickle.dumps(result)) == result


def test_a_measurement_is_printed_as_pytorch_does():
    result = Measurement(100, [1e-4, 2e-4, 3e-4, 8e-4], TaskSpec("x + y", "x, y = 1, 2", description="ints"))
    assert str(result).splitlines()[1:] == [
        "x + y",
        "ints",
        "setup: x, y = 1, 2",
        "  Median: 2.50 us",
        "  IQR:    2.50 us (1.75 to 4.25)",
        "  4 measurements, 100 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 100.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]


def test_a_table_is_printed_as_pytorch_does():
    results = [
        Measurement(1, [seconds], TaskSpec(f"x.{name}()", "pass", label="methods", description=size, num_threads=threads))
        for name, size, threads, seconds in [
            ("sin", "10", 1, 1e-6),
            ("cos", "10", 1, 2e-6),
            ("sin", "1000", 1, 4e-5),
            ("sin", "10", 2, 3e-6),
        ]
    ]
    assert str(Compare(results)).splitlines() == [
        "[--------- methods ----------]",
        "               |   10  |  1000",
        "1 threads: -------------------",
        "      x.sin()  |  1.0  |  40.0",
        "      x.cos()  |  2.0  |      ",
        "2 threads: -------------------",
        "      x.sin()  |  3.0  |      ",
        "",
        "Times are in microseconds (us).",
    ]
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([1])


def test_repeated_measurements_are_merged():
    merged = Measurement.merge(
        [Measurement(10, [10.0, 20.0], TASK), Measurement(2, [6.0], TASK), Measurement(1, [1.0], TaskSpec("z", ""))]
    )
    assert [(each.number_per_run, each.raw_times) for each in merged] == [(1, [1.0, 2.0, 3.0]), (1, [1.0])]


def test_fuzzers_draw_what_fits():
    fuzzer = Fuzzer(
        [
            FuzzedParameter("n", 1, 100, "loguniform"),
            FuzzedParameter("m", distribution={1: 0.5, ParameterAlias("n"): 0.5}),
            FuzzedParameter("dim", 1, 2, "uniform", strict=True),
        ],
        [FuzzedTensor("x", ("n", "m"), steps=(2, 1), max_elements=200, dim_parameter="dim", dtype=torch.int64)],
        [lambda parameters: parameters["n"] > 3],
        seed=3,
    )
    drawn = list(fuzzer.take(30))
    for tensors, properties, parameters in drawn:
        sizes = (parameters["n"], parameters["m"])[: parameters["dim"]]
        assert tuple(tensors["x"].shape) == sizes and parameters["n"] > 3 and tensors["x"].numel() <= 200
        assert parameters["m"] in (1, parameters["n"]) and properties["x"]["numel"] == tensors["x"].numel()
        assert tensors["x"].min() >= 1 and tensors["x"].max() < 127
    assert {parameters["dim"] for _, _, parameters in drawn} == {1, 2} and 0 < fuzzer.rejection_rate < 1
    again = list(fuzzer.take(30))
    assert all(torch.equal(a["x"], b["x"]) for (a, _, _), (b, _, _) in zip(drawn, again, strict=True))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: FuzzedParameter("n", 1, 2, "gauss"), AssertionError, "Unknown distribution: gauss"),
        (lambda: FuzzedParameter("n", distribution={1: 0.4, 2: 0.4}), AssertionError, "not normalized"),
        (lambda: FuzzedParameter("n", distribution={1: -1.0, 2: 2.0}), AssertionError, "cannot be negative"),
        (lambda: FuzzedParameter("n", 1, distribution={1: 1.0}), AssertionError, "'minval' must be None"),
        (lambda: Fuzzer([FuzzedParameter("x", 1, 2, "uniform")], [FuzzedTensor("x", ("x",))]), ValueError, "Duplicate names"),
        (
            lambda: list(Fuzzer([FuzzedParameter("n", 1, 2, "uniform")], [], [lambda p: False], seed=0).take(1)),
            ValueError,
            "Failed to",
        ),
        (
            lambda: list(Fuzzer([FuzzedParameter("n", distribution={ParameterAlias("n"): 1.0})], [], seed=0).take(1)),
            ValueError,
            "cycle",
        ),
    ],
)
def test_what_cannot_be_drawn(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_sparse_tensors():
    parameters = [FuzzedParameter(name, distribution={value: 1.0}) for name, value in (("density", 0.5), ("coalesced", False))]
    tensor = benchmark.FuzzedSparseTensor("x", (4, 6), density="density", coalesced="coalesced")
    ((tensors, properties, _),) = Fuzzer(parameters, [tensor], seed=0).take(1)
    assert tensors["x"].is_sparse and tensors["x"]._nnz() == 10 and properties["x"]["sparsity"] == 0.5
    assert properties["x"]["is_coalesced"] is False and properties["x"]["sparse_dim"] == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs Valgrind")
def test_instructions_are_counted():
    globals_ = {"n": benchmark.CopyIfCallgrind(300), "torch": torch}
    few, many = (Timer("; ".join(["[i for i in range(n)]"] * times), globals=globals_).collect_callgrind(2) for times in (1, 3))
    assert few.counts() > few.baseline_exclusive_stats.sum() > 0 and few.stmt_callgrind_out is None
    assert many.counts() - few.counts() > 0 and many.delta(few).sum() == many.counts() - few.counts()
    assert "2 runs per measurement, 1 thread" in str(few)
    with pytest.raises(ValueError, match="requires that globals be wrapped in `CopyIfCallgrind`"):
        Timer("x", globals={"x": 1}).collect_callgrind(1)
