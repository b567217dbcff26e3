"""Replace each argument of each operation by values of wrong types, and compare the exceptions with PyTorch's."""

from __future__ import annotations

from copy import deepcopy

import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from .test_operators import OPERATORS, SOURCES, converted, on_flambeau, samples_of  # noqa: E402

WRONG = {
    "None": None,
    "a string": "a",
    "a fraction": 1.5,
    "a list": ["a"],
    "an int": 3,
    "a tensor": theirs.ones(2),
    "True": True,
    "a dict": {},
}
# Accepted differences: reason -> operation -> "argument: given value" entries separated by semicolons.
LEFT: dict[str, dict[str, str]] = {
    "PyTorch has a function without the parameter, and in that with it None is nothing to give; here None is its default": {
        **dict.fromkeys(["median", "nanmedian"], "dim: None"),
        "arange": "0: None; 1: None",
        "randint_like": "2: None",
        **dict.fromkeys(["eye", "squeeze", "squeeze-multiple", "trapz", "trapezoid", "cumulative_trapezoid"], "1: None"),
        "repeat_interleave": "repeats: None",
    },
    "``var(input, unbiased)``: here, that ``dim`` is not given by name": dict.fromkeys(
        ["std", "std_mean", "var", "var_mean"], "dim: True"
    ),
    "of Python, where nothing is said of types: True is 1, and a tensor may be true": {
        "pca_lowrank": "q: a tensor; q: True",
        "svd_lowrank": "q: True",
        "nn.functional.multi_head_attention_forward": "4: True",
        **dict.fromkeys(["unique", "unique_consecutive"], "return_inverse: a tensor; return_counts: a tensor"),
        "stft": "n_fft: a tensor; onesided: a string",
        **dict.fromkeys(
            [
                f"signal.windows.{name}"
                for name in ("hamming", "hann", "bartlett", "blackman", "kaiser", "general_cosine", "general_hamming", "nuttall")
            ],
            "0: True",
        ),
    },
    "asks for the length of a dimension that is missing before it says how many are wanted, or splits before it multiplies": {
        **dict.fromkeys(["addbmm", "baddbmm"], "1: a tensor; 2: a tensor"),
        "linalg.ldl_solve": "2: a tensor",
        **dict.fromkeys(["nn.functional.unfold", "nn.functional.avg_pool2d"], "0: a tensor"),
        "nn.functional.multi_head_attention_forward": "5: a tensor",
    },
    "takes what others of its family refuse, or refuses what they take": {
        "nn.functional.max_unpool3d": "stride: a fraction",
        "trapz": "dx: True",
        "broadcast_shapes": "0: a string; 1: a string",  # flambeau treats strings as sequences
    },
    "has no effect here": {"normal-number_mean": "; ".join(f"layout: {kind}" for kind in WRONG if kind != "None")},
}


LEFT_OF_METHODS = {
    "an int by name is as good as one by position": {"flip": "dims: an int"},
    "of Python there, and said of sizes or dims here": {
        "unflatten": "2: None; 2: a tensor; 2: a dict", "movedim": "1: a list; 2: a list"},
}  # fmt: skip


def accepted_differences(op, tables=LEFT):
    """Return the accepted differences of an operation."""
    name = f"{op.name}-{op.variant_test_name}".rstrip("-")
    return {each for table in tables.values() for each in table.get(name, "").split("; ") if each}


def replaced(sample, place, value):
    given = [sample.input, *sample.args], dict(sample.kwargs)
    given[isinstance(place, str)][place] = value
    return given


def outcome(function, given):
    """Call the function; return its exception or None."""
    args, options = given
    try:
        function(*args, **options)
    except Exception as error:
        return error
    return None


def agree(got, wanted):
    """Whether both calls succeed, or a handler for `wanted` also catches `got`."""
    if got is None or wanted is None:
        return got is wanted
    if str(wanted).startswith("descriptor"):  # Python's error for a method called on a non-tensor
        return isinstance(got, (TypeError, AttributeError))
    if isinstance(wanted, AttributeError) and "must be Tensor, not" in str(got):
        # PyTorch functions written in Python fail at the first method call on a non-tensor. In flambeau, a non-tensor
        # argument raises a TypeError with the argument's name, as in PyTorch's compiled functions.
        return isinstance(got, TypeError)
    return type(wanted).__name__ in [each.__name__ for each in type(got).__mro__]


def differing(op, wanted_of, got_of, first):
    """Return the arguments, from position `first` on, and the wrong values for which the exceptions differ."""
    source = next((each for each in SOURCES if each in op.dtypes), None)
    seen, found = set(), {}
    for sample in samples_of(op, source, 4) if source else ():
        for place in [*range(first, 1 + len(sample.args)), *sample.kwargs]:
            if place in seen:
                continue
            seen.add(place)
            for kind, value in WRONG.items():
                wanted = outcome(wanted_of, replaced(sample, place, deepcopy(value)))
                got = outcome(got_of, converted(replaced(sample, place, deepcopy(value))))
                if not agree(got, wanted):
                    found[f"{place}: {kind}"] = f"{got!r} for {wanted!r}"
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPERATORS)
def test_wrong_types(op):
    found = differing(op, op.op, on_flambeau(op), 0)
    assert found.keys() == accepted_differences(op), found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "op", [each for each in OPERATORS if hasattr(theirs.Tensor, getattr(each.values[0].method_variant, "__name__", " "))]
)
def test_wrong_types_given_to_methods(op):
    name = op.method_variant.__name__
    found = differing(op, op.method_variant, lambda input, *args, **options: getattr(input, name)(*args, **options), 1)
    assert found.keys() == accepted_differences(op) | accepted_differences(op, LEFT_OF_METHODS), found
