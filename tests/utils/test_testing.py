"""`torch.testing`: tolerances, error messages, random tensors and FileCheck."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest

import flambeau as torch

assert_close, make_tensor = torch.testing.assert_close, torch.testing.make_tensor
FileCheck = torch.testing.FileCheck
inf, nan = float("inf"), float("nan")


def message(actual, expected, error=AssertionError, **options):
    with pytest.raises(error) as raised:
        assert_close(actual, expected, **options)
    return str(raised.value)


# --- what is close ---


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"),
    [
        ("float16", 1e-3, 1e-5),
        ("float32", 1.3e-6, 1e-5),
        ("float64", 1e-7, 1e-7),
        ("complex64", 1.3e-6, 1e-5),
        ("complex128", 1e-7, 1e-7),
        ("int64", 0, 0),
    ],
)
def test_default_tolerances_are_those_of_the_dtype(dtype, rtol, atol):
    for expected in (0, 3, 1000):
        dtype_ = getattr(torch, dtype)
        allowed = atol + rtol * expected
        reference = np.array([expected], dtype=dtype)
        near, far = reference + 0.8 * allowed, reference + 1.3 * allowed + (dtype == "int64")
        if near.astype(dtype) != reference:
            assert_close(torch.tensor(near, dtype=dtype_), torch.tensor(reference, dtype=dtype_))
        assert_close(torch.tensor(reference, dtype=dtype_), torch.tensor(reference, dtype=dtype_))
        if abs(far.astype(dtype) - reference) > allowed:
            with pytest.raises(AssertionError):
                assert_close(torch.tensor(far, dtype=dtype_), torch.tensor(reference, dtype=dtype_))


def test_agrees_with_numpy_on_random_values():
    generator = np.random.default_rng(0)
    for _ in range(200):
        values = [0.0, 1.0, -3.0, 1e4, inf, -inf, nan]
        expected = generator.choice(values, size=generator.integers(0, 4, size=2))
        actual = expected * (1 + generator.choice([0, 1e-3, -1e-2])) + generator.choice([0, 1e-4])
        rtol, atol = generator.choice([0, 5e-3, 1e-1]), generator.choice([0, 1e-3])
        equal_nan = bool(generator.integers(2))
        close = bool(np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan).all())
        options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
        if close:
            assert_close(torch.tensor(actual), torch.tensor(expected), **options)
        else:
            message(torch.tensor(actual), torch.tensor(expected), **options)


def test_what_else_is_close():
    assert_close(None, None)
    assert_close(True, np.bool_(True))
    assert_close(1, 1)
    assert_close(1.0, 1.0 + 1e-8)
    assert_close(np.float32(0.5), 0.5)
    assert_close(1 + 2j, 1 + 2j)
    assert_close(inf, inf)
    assert_close(nan, nan, equal_nan=True)
    assert_close(1, 1.0, check_dtype=False)
    assert_close([], ())
    assert_close(torch.zeros(0, 3), torch.zeros(0, 3))
    assert_close(np.arange(3), np.arange(3))
    nested = {"a": [torch.ones(2), None], "b": (1, {"c": 2.0})}
    assert_close(nested, {"b": [1, {"c": 2.0}], "a": (torch.ones(2), None)})
    assert_close(torch.ones(2, requires_grad=True), torch.ones(2))
    assert_close(torch.nn.Parameter(torch.ones(2)), torch.ones(2))
    assert_close(torch.ones(2), torch.ones(2, dtype=torch.float64), check_dtype=False)
    assert_close(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8), check_dtype=False)
    assert_close(torch.arange(4).reshape(2, 2).t(), torch.tensor([[0, 2], [1, 3]]))


# --- what the errors say ---


def test_tensors():
    assert message(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 4.0, 2.0])) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 2 / 3 (66.7%)\n"
        "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)"
    )
    assert message(torch.tensor([[1, 2], [3, 7]]), torch.tensor([[0, 2], [3, 4]])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 3 at index (1, 1)\n"
        "Greatest relative difference: inf at index (0, 0)"
    )
    assert message(torch.tensor([True, False]), torch.tensor([True, True])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1 at index (1,)\n"
        "Greatest relative difference: 1.0 at index (1,)"
    )
    assert message(torch.tensor([nan, 1.0]), torch.tensor([nan, 1.0])) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: nan at index (0,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: nan at index (0,) (up to 1.3e-06 allowed)"
    )
    assert message(torch.tensor(1.5), torch.tensor(1.0), rtol=0.25, atol=0.0) == (
        "Scalars are not close!\n\n"
        "Expected 1.0 but got 1.5.\n"
        "Absolute difference: 0.5 (up to 0.0 allowed)\n"
        "Relative difference: 0.5 (up to 0.25 allowed)"
    )


SPARSE = {
    "COO": lambda dense: dense.to_sparse(),
    "CSR": lambda dense: dense.to_sparse_csr(),
    "CSC": lambda dense: dense.to_sparse_csc(),
    "BSR": lambda dense: dense.to_sparse_bsr((1, 1)),
    "BSC": lambda dense: dense.to_sparse_bsc((1, 1)),
}


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_tensors(layout):
    sparse, eye = SPARSE[layout], torch.eye(3)
    assert_close(sparse(eye), sparse(eye * (1 + 1e-7)))
    assert_close(sparse(eye), eye, check_layout=False)
    assert_close(sparse(eye), sparse(eye.double()), check_dtype=False)
    plain = {"COO": "indices", "CSC": "row_indices", "BSC": "row_indices"}.get(layout, "col_indices")
    for other, text in (
        (eye * 1.5, f"Sparse {layout} values are not close!\n\nMismatched elements: 3 / 3 (100.0%)\n"),
        (eye + eye.roll(1, 0), f"The number of specified values in sparse {layout} tensors does not match: 3 != 6"),
        (eye[[1, 0, 2]], f"Sparse {layout} {plain} are not equal!\n\nMismatched elements: 2 / "),
    ):
        with pytest.raises(AssertionError, match=re.escape(text)):
            assert_close(sparse(eye), sparse(other))


def test_repeated_entries_of_sparse_tensors_are_not_summed():
    repeated = torch.sparse_coo_tensor([[0, 0, 1]], [1.0, 2.0, 3.0], (2,))
    assert_close(repeated, repeated.clone())
    with pytest.raises(AssertionError, match="3 != 2"):
        assert_close(repeated, repeated.coalesce())
    with pytest.raises(AssertionError, match="number of sparse dimensions in sparse COO tensors does not match: 1 != 2"):
        assert_close(torch.eye(3).to_sparse(1), torch.eye(3).to_sparse(2))


def test_scalars():
    assert message(1.5, 0.0) == (
        "Scalars are not close!\n\n"
        "Expected 0.0 but got 1.5.\n"
        "Absolute difference: 1.5 (up to 1e-07 allowed)\n"
        "Relative difference: inf (up to 1e-07 allowed)"
    )
    assert message(3, 4) == ("Scalars are not equal!\n\nExpected 4 but got 3.\nAbsolute difference: 1\nRelative difference: 0.25")
    assert message(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert message(True, False) == "Booleans mismatch: True is not False"
    assert message(None, 0) == "None mismatch: None is not 0"
    assert message(nan, nan).startswith("Scalars are not close!\n\nExpected nan but got nan.")


@pytest.mark.parametrize(
    ("actual", "expected", "options", "text"),
    [
        (
            torch.zeros(2, 3),
            torch.zeros(3, 2),
            {},
            "'shape' do not match: torch.Size([2, 3]) != torch.Size([3, 2])",
        ),
        (torch.zeros(2), torch.zeros(2).double(), {}, "'dtype' do not match: torch.float32 != torch.float64"),
        (
            torch.zeros(2, 2).t(),
            torch.zeros(2, 2),
            {"check_stride": True},
            "'stride()' do not match: (1, 2) != (2, 1)",
        ),
    ],
)
def test_attributes(actual, expected, options, text):
    assert message(actual, expected, **options) == f"The values for attribute {text}."


def test_structures():
    assert message([1, 2], [1]) == "The length of the sequences mismatch: 2 != 1"
    assert message({"a": 1, "b": 2}, {"b": 2, "c": 3}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['c']\n"
        "Additional keys in the actual mapping: ['a']"
    )
    assert message({"x": [1, (2, 3)]}, {"x": [1, (2, 4)]}).endswith("\n\nThe failure occurred for item ['x'][1][1]")
    # structural mismatches are reported before value mismatches
    assert message([1, [2]], [0, [2, 3]]) == ("The length of the sequences mismatch: 1 != 2\n\nThe failure occurred for item [1]")


def test_what_cannot_be_compared():
    expected = "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>."
    assert message("a", "a", error=TypeError) == expected
    assert "<class 'int'>" in message(torch.tensor(1), 1, error=TypeError)
    parameter = torch.nn.Parameter(torch.ones(2))
    assert "Parameter" in message(parameter, torch.ones(2), error=TypeError, allow_subclasses=False)


def test_bad_tolerances():
    text = "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
    assert message(torch.zeros(1), torch.zeros(1), error=ValueError, rtol=0.1) == f"{text}atol."
    assert message(1, 1, error=ValueError, atol=0.1) == f"{text}rtol."
    assert message([1], [1], error=ValueError, atol=0.1).endswith("The failure occurred for item [0]")


def test_own_message():
    assert message(1, 2, msg="custom") == "custom"
    assert message([1], [2], msg=lambda text: f"<{text}>").startswith("<Scalars are not equal!")
    assert message([1], [2], msg=lambda text: f"<{text}>").endswith("item [0]>")


def test_assert_allclose():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose([1.0, nan], [1.00001, nan])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_allclose(torch.ones(2), torch.ones(2, dtype=torch.float64))
        with pytest.raises(AssertionError, match=r"up to 0.0001 allowed"):
            torch.testing.assert_allclose(1.0, 1.001)


# --- make_tensor ---

SIGNED = dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), (-9, 10))
INTEGERS = {torch.uint8: (0, 10)} | SIGNED


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_random_floats(dtype):
    tensor = make_tensor(40, 50, dtype=dtype, device="cpu", requires_grad=True)
    assert tensor.shape == (40, 50) and tensor.dtype == dtype and tensor.requires_grad and tensor.is_leaf
    parts = np.array(tensor.tolist()).view("float64")
    assert -9 <= parts.min() < -8 and 8 < parts.max() <= 9 and abs(parts.mean()) < 1
    narrow = np.array(make_tensor((300,), dtype=dtype, device="cpu", low=0.25, high=0.5).tolist()).view("float64")
    assert 0.25 <= narrow.min() <= narrow.max() <= 0.5


@pytest.mark.parametrize("dtype", INTEGERS)
def test_random_integers(dtype):
    low, high = INTEGERS[dtype]
    values = make_tensor([30, 40], dtype=dtype, device="cpu")
    assert values.dtype == dtype and set(values.flatten().tolist()) == set(range(low, high))
    assert set(make_tensor(200, dtype=dtype, device="cpu", low=2.5, high=4.5).tolist()) == {3, 4}
    assert 0 not in make_tensor(500, dtype=dtype, device="cpu", exclude_zero=True).tolist()
    assert set(make_tensor(300, dtype=torch.bool, device="cpu").tolist()) == {True, False}


def test_random_tensors_of_any_shape_and_stride():
    for _ in range(20):
        shape = [random.randint(0, 4) for _ in range(random.randint(0, 4))]
        assert make_tensor(shape, dtype=torch.float32, device="cpu").shape == tuple(shape)
        strided = make_tensor(shape, dtype=torch.int64, device="cpu", noncontiguous=True)
        assert strided.shape == tuple(shape) and strided.is_contiguous() == (strided.numel() < 2)


def test_random_range_is_cut_to_the_dtype():
    assert np.isfinite(make_tensor(100, dtype=torch.float16, device="cpu", low=-1e9, high=1e9).tolist()).all()
    assert set(make_tensor(5000, dtype=torch.uint8, device="cpu", low=-50, high=999).tolist()) == set(range(256))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"low": 2, "high": 1}, "`low` must be less than `high`, but got 2 >= 1"),
        ({"low": nan}, "`low` and `high` cannot be NaN, but got low=nan and high=9"),
        (
            {"noncontiguous": True, "memory_format": "x"},
            "`noncontiguous` and `memory_format` are mutually exclusive",
        ),
        (
            {"dtype": torch.int8, "requires_grad": True},
            "`requires_grad=True` is not supported for boolean and integral",
        ),
        ({"dtype": torch.uint8, "low": 300, "high": 400}, "but torch.uint8 only supports [0, 256)"),
    ],
)
def test_bad_random_tensors(options, text):
    with pytest.raises(ValueError) as error:
        make_tensor(2, **{"dtype": torch.float32, "device": "cpu"} | options)
    assert text in str(error.value)


def test_random_tensors_follow_the_seed():
    options = {"dtype": torch.float32, "device": "cpu"}
    torch.manual_seed(3)
    first = make_tensor(5, **options)
    torch.manual_seed(3)
    assert first.tolist() == make_tensor(5, **options).tolist() != make_tensor(5, **options).tolist()


# --- FileCheck ---

TEXT = "alpha beta\ngamma delta\nalpha epsilon\n"


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("alpha").check_same("beta").check_next("gamma").check("epsilon"),
        FileCheck().check("gamma").check_not("beta").check("alpha"),
        FileCheck().check_not("omega"),
        FileCheck().check_not("gamma").check("beta"),
        FileCheck().check_count("alpha", 2).check("epsilon"),
        FileCheck().check_count("alpha", 2, exactly=True),
        FileCheck().check_count("omega", 0, exactly=True),
        FileCheck().check_dag("gamma").check_dag("beta").check("epsilon"),
        FileCheck().check_regex("g.m+a"),
    ],
)
def test_file_check(check):
    assert check.run(TEXT) is None


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (
            FileCheck().check("zeta"),
            'Expected to find "zeta" but did not find it\nSearched string:\nalpha beta',
        ),
        (FileCheck().check("gamma").check("beta"), 'Expected to find "beta" but did not find it'),
        (FileCheck().check("alpha").check_same("gamma"), r'Expected to not find "\n" but found it'),
        (FileCheck().check("alpha").check_next("beta"), 'Expected to find "beta" but did not find it'),
        (FileCheck().check("alpha").check_next("epsilon"), r'Expected to not find "\n" but found it'),
        (
            FileCheck().check("alpha").check_not("gamma").check("delta"),
            'Expected to not find "gamma" but found it',
        ),
        (
            FileCheck().check("gamma").check_not("alpha"),
            "alpha epsilon\n~~~~~ <--- HERE\nFrom CHECK-NOT: alpha",
        ),
        (FileCheck().check_count("alpha", 3), "From CHECK-COUNT-3: alpha"),
        (FileCheck().check_count("alpha", 1, exactly=True), "From CHECK-NOT: alpha"),
        (FileCheck().check_dag("gamma").check_dag("zeta"), "From CHECK-DAG: zeta"),
        (FileCheck().check_regex("g.x"), 'Expected to find regex "g.x" but did not find it'),
        (FileCheck(), "No checks have been added"),
    ],
)
def test_file_check_fails(check, text):
    with pytest.raises(RuntimeError) as error:
        check.run(TEXT)
    assert text in str(error.value)


def test_file_check_requires_absence_before_the_first_match_in_any_order():
    checks = FileCheck().check_not("3").check_dag("1").check_dag("2").check_not("3")
    checks.run("1 3 2")
    checks.run("2 3 1")
    with pytest.raises(RuntimeError, match='Expected to not find "3"'):
        checks.run("3 2 1")


def test_file_check_of_highlighted_source():
    FileCheck().check_source_highlighted("x + y").run("a = x + y\n    ~~~~~ <--- HERE\n")
    FileCheck().check_source_highlighted("x").run("undefined value x:\n  return x\n         ~ <--- HERE\n")
    with pytest.raises(RuntimeError, match="highlighted but it is not"):
        FileCheck().check_source_highlighted("x + y").run("a = x + y\n    ~~~\n")


def test_file_check_reads_its_checks_from_comments():
    FileCheck().run("# CHECK: alpha\n# CHECK-NEXT: gamma\n# CHECK-NOT: zeta\n", TEXT)
    FileCheck().run("x = 1  # CHECK-COUNT-2: alpha\n#CHECK-SAME: epsilon", TEXT)
    with pytest.raises(RuntimeError, match="From CHECK-NOT: alpha"):
        FileCheck().run("# CHECK-COUNT-EXACTLY-1: alpha", TEXT)
    with pytest.raises(RuntimeError, match="No checks"):
        FileCheck().run("nothing", TEXT)
