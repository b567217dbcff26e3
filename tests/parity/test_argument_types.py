"""Arguments of a wrong type: a string, a list of strings and a fraction in the place of each argument of each operation."""

from __future__ import annotations

import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from .test_operators import OPERATORS, SOURCES, converted, on_flambeau, samples_of  # noqa: E402

WRONG = ["a", ["a"], 1.5]
NOT_LOOKED_AT = """
    nn.functional.cross_entropy ignore_index; nn.functional.nll_loss ignore_index; nn.functional.embedding_bag padding_idx
    nn.functional.embedding norm_type; nn.functional.dropout 0; nn.functional.alpha_dropout 0
    nn.functional.feature_alpha_dropout 0; nn.functional.pad 3; constant_pad_nd 2; normal layout; randint 0
"""  # where it is without effect, or PyTorch's own layers hand it on to what refuses it
REFUSED_OTHERWISE = """
    nn.functional.linear_cross_entropy reduction; nn.functional.adaptive_avg_pool2d 1; nn.functional.adaptive_avg_pool3d 1
    nn.functional.adaptive_max_pool2d 1; nn.functional.adaptive_max_pool3d 1; nn.functional.pad 2; to 2; to 3; to 4; einsum 1
    new_empty_strided 1; new_empty_strided 2; histogramdd 1
"""  # for its value, as no such mode, device, equation or size
REFUSED_HERE = """
    nn.functional.max_unpool1d kernel_size; nn.functional.max_unpool1d stride; nn.functional.max_unpool2d kernel_size
    nn.functional.max_unpool2d stride; nn.functional.max_unpool3d kernel_size; signal.windows.general_cosine a
    masked.sum keepdim; masked.amax keepdim; masked.amin keepdim; masked.argmax keepdim; masked.argmin keepdim
    masked.mean keepdim; masked.norm keepdim; masked.var keepdim; masked.std keepdim
    __rmatmul__ 0; __rmod__ 0; __rpow__ 0; __rpow__ 1; __rsub__ 0
"""  # what PyTorch's functions in Python do not look at, and operators, which let Python refuse it


def listed(text):
    return {each.strip() for line in text.splitlines() for each in line.split(";")}


TAKEN, REFUSED = listed(NOT_LOOKED_AT) | listed(REFUSED_OTHERWISE), listed(REFUSED_HERE)


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
