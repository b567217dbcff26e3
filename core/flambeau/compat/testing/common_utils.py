"""`torch.testing._internal.common_utils`: the base class and decorators of PyTorch's own tests."""

from __future__ import annotations

import os
import platform
import sys
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Number
from typing import Any

import flambeau as torch

from ...testing import assert_close, make_tensor

__all__ = [
    "IS_LINUX", "IS_MACOS", "IS_WINDOWS", "IS_X86", "SEED", "TEST_CUDA", "TEST_HPU", "TEST_WITH_ASAN", "TEST_WITH_ROCM",
    "TEST_WITH_TSAN", "TEST_XPU", "TestCase", "freeze_rng_state", "instantiate_parametrized_tests", "make_tensor", "parametrize",
    "run_tests", "skipIfRocm", "skipIfTorchDynamo", "slowTest", "subtest",
]  # fmt: skip

IS_LINUX, IS_MACOS, IS_WINDOWS = sys.platform == "linux", sys.platform == "darwin", sys.platform == "win32"
IS_X86 = platform.machine() in ("x86_64", "AMD64", "i386")
SEED = 1234  # of the random numbers of each test; tests may change it
TEST_CUDA = torch.cuda.is_available()
TEST_HPU = TEST_WITH_ROCM = TEST_XPU = False  # devices that flambeau does not support
TEST_WITH_ASAN = TEST_WITH_TSAN = False  # PyTorch's own builds with sanitizers


class TestCase(unittest.TestCase):
    """A `unittest.TestCase` whose `assertEqual` allows for rounding in tensors and containers of tensors.

    Each test starts with the same random seed.

    >>> TestCase().assertEqual({"x": torch.tensor([0.1 + 0.2])}, {"x": torch.tensor([0.3])})
    """

    __test__: bool

    __test__ = False
    precision: float = 0.0
    rel_tol: float = 0.0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        torch.manual_seed(SEED)

    def assertEqual(
        self,
        first: Any,
        second: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Fail unless two values are equal.  Tensors and numbers, also in sequences and mappings, may differ by tolerances.

        Args:
            msg: the message of a failure, or a function that receives the default message and returns another one.
            atol, rtol: absolute and relative tolerance, both or neither.  By default the class's `precision` and `rel_tol` if
                one of them is not 0, else the tolerances of `torch.testing.assert_close`.
            equal_nan: whether NaN equals NaN.
            exact_dtype, exact_device, exact_layout, exact_stride: whether these attributes of tensors must be equal.
        """
        options = {
            "atol": atol, "rtol": rtol, "equal_nan": equal_nan, "exact_dtype": exact_dtype, "check_device": exact_device,
            "check_layout": exact_layout, "check_stride": exact_stride,
        }  # fmt: skip
        self._compare(first, second, msg, options)

    def _compare(self, first: Any, second: Any, msg: Any, options: dict[str, Any]) -> None:
        values = (first, second)
        if type(first) is type(second) is int and first == second:  # torchdata's tests compare long lists of integers
            return
        if any(isinstance(value, torch.Tensor) for value in values) and all(_is_numeric(value) for value in values):
            self._compare_numbers(first, second, msg, options)
        elif all(isinstance(value, Mapping) for value in values):
            super().assertEqual(set(first), set(second), msg if isinstance(msg, str) else None)
            for key in first:
                self._compare(first[key], second[key], msg, options)
        elif all(isinstance(value, Sequence) and not isinstance(value, (str, bytes)) for value in values):
            super().assertEqual(len(first), len(second), msg if isinstance(msg, str) else None)
            for one, other in zip(first, second, strict=True):
                self._compare(one, other, msg, options)
        elif all(isinstance(value, Number) and not isinstance(value, bool) for value in values):
            self._compare_numbers(first, second, msg, {**options, "exact_dtype": False})
        else:
            super().assertEqual(first, second, msg if isinstance(msg, str) else None)

    def _compare_numbers(self, first: Any, second: Any, msg: Any, options: dict[str, Any]) -> None:
        options = dict(options)
        both = isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
        exact = options.pop("exact_dtype") and both
        if not both and any(isinstance(value, torch.Tensor) for value in (first, second)):
            first, second = (torch.as_tensor(value) for value in (first, second))
        if (self.precision or self.rel_tol) and options["atol"] is None:
            options["atol"], options["rtol"] = self.precision, self.rel_tol
        assert_close(first, second, check_dtype=exact, msg=msg if isinstance(msg, str) or callable(msg) else None, **options)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Fail if `assertEqual` passes."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(first, second, msg, **options)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, Number)) or hasattr(value, "__array__")


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Restore the state of the default random generator at the end of a `with` block."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


class subtest:
    """The values of one case of `parametrize`, with a name."""

    arg_values: Any
    name: str | None
    decorators: list[Callable[..., Any]]

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Callable[..., Any]] = ()) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators)


class parametrize:
    """Run a test method once per case; `instantiate_parametrized_tests` must decorate its class.

    Args:
        arg_str: the names of the arguments, separated by commas.
        arg_values: the cases, each a value, a tuple of values if there are several names, or a `subtest`.
        name_fn: returns the suffix of the test's name for the values of a case.
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.names: list[str] = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.cases: list[Any] = list(arg_values)
        self.name_fn = name_fn

    def __call__(self, test: Callable[..., None]) -> Callable[..., None]:
        test.__dict__.setdefault("_parametrized_by", []).append(self)
        return test

    def expanded(self) -> Iterator[tuple[str, dict[str, Any], list[Callable[..., Any]]]]:
        """Yield (name suffix, arguments, decorators) of each case."""
        for index, case in enumerate(self.cases):
            named = case if isinstance(case, subtest) else subtest(case)
            values = named.arg_values if len(self.names) > 1 else (named.arg_values,)
            suffix = named.name
            if suffix is None and self.name_fn is not None:
                suffix = self.name_fn(*values)
            if suffix is None:
                suffix = "_".join(_name_part(index, name, value) for name, value in zip(self.names, values, strict=True))
            yield suffix, dict(zip(self.names, values, strict=True)), named.decorators


def _name_part(index: int, name: str, value: Any) -> str:
    """Return the part of a test's name for one argument: its value if that is short, otherwise the index of the case."""
    if isinstance(value, torch.dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (int, float, str)):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{index}"


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace each test method that `parametrize` decorates by one method per case.  Return the class."""
    for name, test in list(vars(generic_cls).items()):
        if not getattr(test, "_parametrized_by", None):
            continue
        delattr(generic_cls, name)
        cases: list[tuple[str, dict[str, Any], list[Callable[..., Any]]]] = [("", {}, [])]
        for parameters in reversed(test._parametrized_by):  # the outermost decorator first
            cases = [
                (f"{end}_{suffix}", {**given, **arguments}, [*before, *decorators])
                for end, given, before in cases
                for suffix, arguments, decorators in parameters.expanded()
            ]
        for end, arguments, decorators in cases:
            setattr(generic_cls, f"{name}{end}", _with_arguments(test, f"{name}{end}", arguments, decorators))
    return generic_cls


def _with_arguments(
    test: Callable[..., None], name: str, arguments: dict[str, Any], decorators: Sequence[Callable[..., Any]]
) -> Callable[..., None]:
    def run(self: Any) -> None:
        test(self, **copy(arguments))

    run.__name__, run.__doc__ = name, test.__doc__
    marks = vars(test).items()  # those of decorators above, such as `pytest.mark.skipif` and `unittest.skip`
    vars(run).update({mark: value for mark, value in marks if mark not in ("_parametrized_by", "__wrapped__")})
    for decorator in decorators:
        run = decorator(run)
    return run


def skipIfRocm(func: Any = None, *, msg: str = "") -> Any:
    """Return the test, or a decorator that returns it: no device uses ROCm."""
    return func if func is not None else lambda test: test


def skipIfTorchDynamo(msg: str = "") -> Callable[[Any], Any]:
    """Return a decorator that returns the test: tests do not run inside `torch.compile`."""
    return lambda test: test


def slowTest(fn: Any) -> Any:
    """Skip a test unless the environment variable PYTORCH_TEST_WITH_SLOW is 1."""
    is_enabled = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"
    return unittest.skipUnless(is_enabled, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")(fn)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the main module."""
    unittest.main(argv=argv)
