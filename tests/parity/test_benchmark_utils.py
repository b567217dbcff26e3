"""`utils.benchmark` prints and samples the same as PyTorch's."""

from __future__ import annotations

import itertools
import re

import pytest

from flambeau.utils import benchmark as ours

torch = pytest.importorskip("torch")
from torch.utils import benchmark as theirs  # noqa: E402

BOTH = (ours, theirs)


def shown(obj) -> str:
    return re.sub("0x[0-9a-f]+", "0x", str(obj))


def measurements(library):
    for row, column, threads in itertools.product(range(3), ("first", "second"), (1, 4)):
        if (row, column) == (1, "second"):
            continue
        times = [0.001 * (row + 1) * (1 + 0.02 * row * i) for i in range(8)]
        task = library.TaskSpec("x + y", "pass", label="sums", sub_label=f"{row}", description=column, num_threads=threads)
        yield library.Measurement(100, times, task)
    yield library.Measurement(3, [1, 2.0, 9.0, 4.0], library.TaskSpec("x\ny", "import a\nimport b", description="first"))


def test_measurements():
    for pair in zip(*map(measurements, BOTH), strict=True):
        a, b = (
            [shown(m), m.significant_figures, m.has_warnings, round(m.iqr, 12), round(m.mean, 12), m.title, m.as_row_name]
            for m in pair
        )
        assert a == b
    a, b = (shown(library.Measurement(1, [0.5], library.TaskSpec("x", "setup = 1", description="one"))) for library in BOTH)
    assert a == b


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("highlight", [False, True])
@pytest.mark.parametrize("colors", [None, False, True])
def test_tables(trim, highlight, colors):
    tables = []
    for library in BOTH:
        table = library.Compare(list(measurements(library)))
        if trim:
            table.trim_significant_figures()
        if highlight:
            table.highlight_warnings()
        if colors is not None:
            table.colorize(rowwise=colors)
        tables.append(str(table))
    assert tables[0] == tables[1]


def test_environments():
    a, b = (
        str(
            library.Compare(
                [
                    library.Measurement(1, [1e-6 * (i + 1)] * 4, library.TaskSpec("x + y", "pass", "", "s", f"{i}", "d", env))
                    for env in ("old", "newer")
                    for i in range(2)
                ]
            )
        )
        for library in BOTH
    )
    assert a == b


@pytest.mark.parametrize("seconds", [1e-9, 2e-7, 1e-6, 9.99e-4, 1e-3, 0.5, 1, 20])
def test_units(seconds):
    assert ours.select_unit(seconds) == theirs.select_unit(seconds)


@pytest.mark.parametrize(("number", "figures"), [(3141.59, 2), (0.00123456, 3), (9.99, 1), (1, 4), (-25.5, 2)])
def test_figures(number, figures):
    assert ours.trim_sigfig(number, figures) == theirs.trim_sigfig(number, figures)


def fuzzer(library, seed):
    return library.Fuzzer(
        [
            [library.FuzzedParameter(f"k{i}", 1, 64, "loguniform") for i in range(3)],
            library.FuzzedParameter("dim", 1, 3, "uniform", strict=True),
            library.FuzzedParameter("scale", 0.5, 2.0, "uniform"),
        ],
        [
            library.FuzzedTensor(
                "x",
                ("k0", "k1", "k2"),
                ("k2", 2),
                probability_contiguous=0.3,
                min_elements=4,
                max_elements=4096,
                dim_parameter="dim",
            ),
            library.FuzzedTensor("n", ("k1",), dtype=(torch if library is theirs else __import__("flambeau")).int64),
        ],
        [lambda parameters: parameters["k0"] != 3],
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(5))
def test_fuzzed_tensors(seed):
    a, b = fuzzer(ours, seed), fuzzer(theirs, seed)
    for (x, x_properties, parameters), (y, y_properties, expected) in zip(a.take(4), b.take(4), strict=True):
        assert parameters == expected and x_properties.keys() == y_properties.keys()
        for name in x:
            assert x[name].stride() == y[name].stride() and x[name].tolist() == y[name].tolist()
            mine, wanted = x_properties[name], y_properties[name]
            assert list(mine.pop("order")) == list(wanted.pop("order")) and mine == wanted
    assert a.rejection_rate == b.rejection_rate


@pytest.mark.parametrize("length", [5, 25])
@pytest.mark.parametrize("inclusive", [False, True])
def test_counts(length, inclusive):
    def texts(library):
        rows = tuple(library.FunctionCount(100 - 9 * i, "name" * 3 * i) for i in range(length))
        counts = library.FunctionCounts(rows, inclusive)
        shorter = counts.transform(lambda name: name[:30])
        return [shown(each) for each in (counts, counts[1:3], counts - counts * 2, shorter, shorter + counts, counts.denoise())]

    assert texts(ours) == texts(theirs)
