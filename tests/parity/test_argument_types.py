"""Arguments of a wrong type: a string, a list of strings and a fraction in the place of each argument of each operation."""

from __future__ import annotations

import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from .test_operators import OPERATORS, SOURCES, converted, on_flambeau, samples_of  # noqa: E402

WRONG = ["a", ["a"], 1.5]
TAKEN = {
    "normal layout",  # without effect
    "nn.functional.linear_cross_entropy reduction", "nn.functional.embedding norm_type",  # refused for their values, as no such
}  # fmt: skip
REFUSED = {
    *(f"nn.functional.max_unpool{n}d {name}" for n in (1, 2, 3) for name in ("kernel_size", "stride")),  # Python's arithmetic there
    "signal.windows.general_cosine a", "__rmatmul__ 0", "__rmod__ 0", "__rpow__ 0", "__rpow__ 1", "__rsub__ 0",
}  # fmt: skip


def replaced(sample, place, value):
    given = [sample.input, *sample.args], dict(sample.kwargs)
    given[isinstance(place, str)][place] = value
    return given


def outcome(function, given):
    """The exception, or None."""
    args, options = given
    try:
        function(*args, **options)
    except Exception as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPERATORS)
def test_wrong_types(op):
    """A TypeError where PyTorch has one, and nothing refused that PyTorch takes."""
    source = next((each for each in SOURCES if each in op.dtypes), None)
    function, seen = on_flambeau(op), set()
    for sample in samples_of(op, source, 4) if source else ():
        for place in [*range(1 + len(sample.args)), *sample.kwargs]:
            if place in seen:
                continue
            seen.add(place)
            for value in WRONG:
                wanted = outcome(op.op, replaced(sample, place, value))
                got = outcome(function, converted(replaced(sample, place, value)))
                what = f"{place}={value!r}: {got!r} for {wanted!r}"
                if isinstance(wanted, TypeError) and not is_of_python(wanted) and f"{op.name} {place}" not in TAKEN:
                    assert isinstance(got, TypeError), what
                if wanted is None and f"{op.name} {place}" not in REFUSED:
                    assert got is None, what


def is_of_python(error):
    """Whether Python itself found that a method was not called on a tensor."""
    return str(error).startswith("descriptor")
