"""Checks that are run for every sample on every backend."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import flambeau as torch

from ..backend import for_device_type, selected
from .samples.sample import Bad, Input, Sample, find, find_or_none, replaced

__all__ = ["CHECKS", "IN_DOUBLE", "Checker"]

TOLERANCES = {
    "float64": (1e-9, 1e-11),
    "complex128": (1e-9, 1e-11),
    "float32": (2e-5, 2e-6),
    "complex64": (2e-5, 2e-6),
    "float16": (6e-3, 4e-3),
}
SHAPES: Sequence[Sequence[tuple[int, ...]]] = (  # input shapes for functions of up to three tensors: 0-d, empty, broadcast
    [(), (), ()], [(0,), (0,), (0,)], [(2, 0, 3), (1, 0, 1), (3,)], [(), (3,), (2, 1)], [(4, 1, 2), (3, 1), (1, 1, 2)],
)  # fmt: skip


class Checker:
    """Runs samples on one device.  Each check method tests one property of a sample and raises AssertionError if it fails.

    On the CPU, derivatives are checked in all directions.  With `quick`, and on other devices, they are checked in one random
    direction, because the formulas are the same on all devices, and calls take longer on other devices.
    """

    device: Any
    quick: bool

    def __init__(self, device: Any = None, quick: bool = False) -> None:
        self.device, self.quick = device, quick

    @cached_property
    def np(self) -> Any:
        """The array library of the CPU's backend, in which the reference results of samples are computed."""
        return for_device_type("cpu").xp

    @cached_property
    def backend(self) -> Any:
        return selected() if self.device is None else for_device_type(torch.device(self.device).type)

    @cached_property
    def supported(self) -> set[str]:
        """The names of the dtypes that the device supports."""
        return {dtype.name for dtype in self.backend.dtypes}

    @property
    def has_double(self) -> bool:
        return "float64" in self.supported

    def wide_dtypes(self, sample: Sample) -> list[str]:
        """Return those dtypes of the sample, supported by the device, that are precise enough for finite differences."""
        return [dtype for dtype in self.dtypes(sample) if dtype in ("float64", "complex128")]

    @property
    def on_cpu(self) -> bool:
        return self.backend.device_type == "cpu"  # type: ignore[no-any-return]  # `backend` is Any

    @property
    def alike(self) -> float:
        """The allowed difference between two equal backward passes: some devices add in a different order each time."""
        return 0.0 if self.on_cpu else 1e-12

    @property
    def mutable(self) -> bool:
        return self.backend.mutable  # type: ignore[no-any-return]  # `backend` is Any

    def dtypes(self, sample: Sample) -> list[str]:
        """Return the dtypes of the sample for which the device supports the input and result dtypes."""
        return [dtype for dtype in sample.dtypes if needed_dtypes(sample, dtype) <= self.supported]

    def lacking(self, sample: Sample) -> list[str]:
        """Return the dtypes that the sample needs and the device does not support."""
        return sorted(set().union(*[needed_dtypes(sample, dtype) for dtype in sample.dtypes]) - self.supported)

    # --- the checks ---

    def values(self, sample: Sample) -> None:
        """Check that values, shapes and dtypes of the results equal those of the sample's reference."""
        for dtype in self.dtypes(sample):
            self._assert_agrees_with_reference(sample, sample.arrays(self.np, dtype), dtype)

    def shapes(self, sample: Sample) -> None:
        """Check the results for 0-d, empty and broadcast inputs, and for random shapes."""
        dtype = self.dtypes(sample)[0]
        for shapes in (*SHAPES, self._random_shapes(sample.name)):
            arrays = sample.arrays(self.np, dtype, shapes=shapes[: len(sample.inputs)])
            self._assert_agrees_with_reference(sample, arrays, dtype)

    def layouts(self, sample: Sample) -> None:
        """Check that non-contiguous and read-only inputs give the same results, and that inputs are not changed."""
        dtype = self.dtypes(sample)[0]
        arrays = sample.arrays(self.np, dtype)
        expected = self._results(sample.call(torch, *self._tensors(arrays)))
        for arrange in (_transposed, _strided):
            tensors = [arrange(tensor) for tensor in self._tensors(arrays)]
            self._assert_same(sample, self._results(sample.call(torch, *tensors)), expected, arrange.__name__)
            for tensor, array in zip(tensors, arrays, strict=True):
                self.np.testing.assert_array_equal(self._to_numpy(tensor), array, "an input was changed")
        locked = self._tensors(arrays)
        for tensor in locked:
            _make_read_only(tensor)
        self._assert_same(sample, self._results(sample.call(torch, *locked)), expected, "read-only")

    def forms(self, sample: Sample) -> None:
        """Check that the method, the in-place form and `out=` give the same results as the function."""
        for dtype in self.dtypes(sample):
            arrays = sample.arrays(self.np, dtype)
            expected = self._results(sample.call(torch, *self._tensors(arrays)))
            for word, form in self._forms(sample, expected):
                actual = self._results(sample.call(replaced(torch, sample.name, form), *self._tensors(arrays)))
                self._assert_same(sample, actual, expected, f"{word}, {dtype}")

    def gradients(self, sample: Sample) -> None:
        """Check that gradients agree with finite differences."""
        tensors = self.differentiable(sample)
        torch.autograd.gradcheck(
            _differentiable_call(sample), tensors, nondet_tol=self.alike, fast_mode=self.quick or not self.on_cpu
        )

    def gradients_as_on_the_cpu(self, sample: Sample) -> None:
        """Check that gradients in float32 agree with the CPU's in float64, for devices without float64."""
        gradients = [self._gradients(sample, place, dtype) for place, dtype in (("cpu", "float64"), (self.device, "float32"))]
        for expected, actual in zip(*gradients, strict=True):
            torch.testing.assert_close(actual.cpu().double(), expected.double(), rtol=2e-3, atol=1e-3 + sample.atol)

    def _gradients(self, sample: Sample, place: Any, dtype: str) -> list[Any]:
        """Return the gradients of a weighted sum of the results, computed on a device in a dtype."""
        arrays = [array.astype(dtype) if array.dtype == "float32" else array for array in sample.arrays(self.np, "float32")]
        with torch.device(place or torch.get_default_device()):
            tensors = [torch.tensor(array) for array in arrays]
            leaves = [t.requires_grad_() for t, i in zip(tensors, sample.inputs, strict=True) if is_varied(i)]
            results = [result for result in results_of(_differentiable_call(sample)(*tensors)) if result.requires_grad]
            weights = self.np.random.default_rng(1)
            grads = [
                torch.tensor(weights.uniform(-1, 1, result.shape), dtype=result.dtype, device=result.device) for result in results
            ]
            found = torch.autograd.grad(results, leaves, grads, allow_unused=True)
        return [leaf.detach() * 0 if grad is None else grad for leaf, grad in zip(leaves, found, strict=True)]

    def second_gradients(self, sample: Sample) -> None:
        """Check that second derivatives agree with finite differences."""
        tensors = self.differentiable(sample)
        torch.autograd.gradgradcheck(
            _differentiable_call(sample),
            tensors,
            [tensor.clone() for tensor in self._like_results(sample, tensors)],
            nondet_tol=self.alike,
            fast_mode=not self.on_cpu,
        )

    def forward_mode(self, sample: Sample) -> None:
        """Check that forward-mode derivatives agree with finite differences."""
        torch.autograd.gradcheck(
            _differentiable_call(sample),
            self.differentiable(sample),
            check_forward_ad=True,
            check_backward_ad=False,
            check_undefined_grad=False,
            fast_mode=not self.on_cpu,
        )

    def vmap(self, sample: Sample) -> None:
        """Check that `vmap` over a batch gives the same results as a call for each example."""
        call, examples = self.examples(sample, 3)
        expected = [self._results(call(*tensors)) for tensors in examples]
        actual = self._results(torch.vmap(call)(*(torch.stack(tensors) for tensors in zip(*examples, strict=True))))
        self._assert_same(sample, actual, [self.np.stack(arrays) for arrays in zip(*expected, strict=True)], "vmap")

    def examples(self, sample: Sample, count: int) -> tuple[Callable[..., Any], list[list[Any]]]:
        """Return the sample's call, restricted to results that are tensors, and `count` lists of inputs to batch."""
        dtype = self.dtypes(sample)[0]

        def call(*tensors: Any) -> tuple[Any, ...]:
            return tuple(filter(is_tensor, results_of(sample.call(torch, *tensors))))

        return call, [self._tensors(sample.arrays(self.np, dtype, seed)) for seed in range(count)]

    def promotion(self, sample: Sample) -> None:
        """Check that inputs of two dtypes, 0-d or not, give the same results as inputs converted to the promoted dtype."""
        for dtypes in itertools.permutations(self.dtypes(sample), 2):
            for shapes in (((2, 3), (3,)), ((2, 3), ()), ((), (3,))):
                count = len(sample.inputs)
                ends = [self._tensors(sample.arrays(self.np, dtype, shapes=(shapes * 2)[:count])) for dtype in dtypes]
                mixed = [ends[number % 2][number] for number in range(count)]
                common = torch.result_type(mixed[0], mixed[1])
                if common.name in sample.dtypes and common.name in self.supported:
                    expected = self._results(sample.call(torch, *(tensor.to(common) for tensor in mixed)))
                    self._assert_same(sample, self._results(sample.call(torch, *mixed)), expected, f"{dtypes} {shapes}")

    def raises(self, bad: Bad) -> None:
        """Check that an invalid call raises the expected error, with a message."""
        import builtins

        expected = getattr(builtins, bad.error)
        if (bad.strides and not self.mutable) or (bad.values and self.backend.asynchronous):
            return
        tensors = self._tensors(bad.arrays(self.np, bad.dtype))
        try:
            bad.call(torch, *tensors)
        except Exception as error:
            assert type(error) is expected, f"{type(error).__name__} ({error}) instead of {bad.error}"
            assert str(error), f"{bad.error} without a message"
        else:
            raise AssertionError(f"no {bad.error} was raised")

    # --- helpers ---

    def _tensors(self, arrays: Sequence[Any]) -> list[Any]:
        return [torch.tensor(array, device=self.device) for array in arrays]

    def _to_numpy(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().cpu().numpy(force=True)
        return self.np.asarray(value, dtype=self.np.int64 if type(value) is int else None)

    def _results(self, value: Any) -> list[Any]:
        return [self._to_numpy(result) for result in results_of(value)]

    def _assert_agrees_with_reference(self, sample: Sample, arrays: Sequence[Any], dtype: str) -> None:
        actual = sample.call(torch, *self._tensors(arrays))
        with self.np.errstate(all="ignore"):
            expected = sample.reference(self.np, *(self._widened(array) for array in arrays))
        expected = results_of(expected)
        actual = self._results(actual)
        assert len(actual) == len(expected), f"{len(actual)} results instead of {len(expected)}"
        rules = sample.result if isinstance(sample.result, tuple) else (sample.result,) * len(actual)
        for result, reference, rule in zip(actual, expected, rules, strict=True):
            assert result.dtype.name == result_dtype(rule, dtype), (
                f"{dtype} gave {result.dtype.name}, not {result_dtype(rule, dtype)}"
            )
            with self.np.errstate(all="ignore"):
                self._assert_close(
                    result,
                    self.np.asarray(reference).astype(result.dtype),
                    dtype,
                    sample.atol,
                    f"{dtype}{[a.shape for a in arrays]}",
                )

    def _assert_close(self, actual: Any, expected: Any, dtype: str, atol: float, what: str) -> None:
        assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}: {what}"
        rtol, least = TOLERANCES.get(dtype, (2e-5, 2e-6))
        with self.np.errstate(all="ignore"):
            wrong = self.np.argwhere(~self.np.isclose(actual, expected, rtol, atol + least, equal_nan=True))
            if not len(wrong):
                return
            worst = abs(self.np.subtract(actual, expected, dtype=_wide_dtype(actual.dtype)))[tuple(wrong.T)].max()
        index = tuple(map(int, wrong[0]))
        raise AssertionError(
            f"wrong values: expected {expected[index]} at {list(index)}, found {actual[index]}; "
            f"{len(wrong)} of {actual.size} elements differ, by at most {worst:.3g} ({what})"
        )

    def _assert_same(self, sample: Sample, actual: Sequence[Any], expected: Sequence[Any], what: str) -> None:
        assert len(actual) == len(expected), what
        for a, b in zip(actual, expected, strict=True):
            assert a.dtype == b.dtype, f"{a.dtype}, not {b.dtype}: {what}"
            self._assert_close(a, b, a.dtype.name, sample.atol, what)

    def _widened(self, array: Any) -> Any:
        """Convert an input to the precision in which references are computed."""
        return array.astype("bool" if array.dtype.kind == "b" else _wide_dtype(array.dtype))

    def _random_shapes(self, name: str) -> list[tuple[int, ...]]:
        # seeded by the name, so that failures are reproducible and compiled programs are reused
        rng = self.np.random.default_rng(list(name.encode()))
        shape = tuple(rng.integers(1, 4, rng.integers(1, 5)).tolist())
        return [shape, shape[rng.integers(0, len(shape)) :], tuple(1 if rng.integers(2) else n for n in shape)]

    def _forms(self, sample: Sample, expected: Sequence[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
        function, method = find(torch, sample.name), sample.name.removeprefix("Tensor.")
        if sample.method and "." not in method and hasattr(torch.Tensor, method):
            yield (
                "method",
                lambda x, *args, **kwargs: getattr(x, method)(*args, **kwargs) if is_tensor(x) else function(x, *args, **kwargs),
            )
        if sample.inplace and sample.method and "." not in method and hasattr(torch.Tensor, f"{method}_"):
            write = getattr(torch.Tensor, f"{method}_")
            yield "in place", lambda x, *args, **kwargs: _in_place(write, function, x, expected, args, kwargs)
        beside = find_or_none(torch, f"{sample.name}_")
        if sample.inplace and beside is not None and not sample.name.startswith("Tensor."):
            yield "function in place", lambda x, *args, **kwargs: _in_place(beside, function, x, expected, args, kwargs)
        if takes_out(function) and not sample.name.endswith("_"):
            yield "out=", lambda *args, **kwargs: self._call_with_out(function, args, kwargs)

    def _call_with_out(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        outs = [
            torch.empty(result.shape, dtype=result.dtype, device=self.device) for result in results_of(function(*args, **kwargs))
        ]
        results = function(*args, **kwargs, out=outs[0] if len(outs) == 1 else tuple(outs))
        for out, result in zip(outs, results_of(results), strict=True):
            assert result is out, "the result is not the tensor given as out="
        return results

    def differentiable(self, sample: Sample) -> tuple[Any, ...]:
        dtype = self.wide_dtypes(sample)[0]
        tensors = self._tensors(sample.arrays(self.np, dtype))
        for tensor, input in zip(tensors, sample.inputs, strict=True):
            tensor.requires_grad_(is_varied(input) and (tensor.is_floating_point() or tensor.is_complex()))
        return tuple(tensors)

    def _like_results(self, sample: Sample, tensors: Sequence[Any]) -> list[Any]:
        results = results_of(_differentiable_call(sample)(*tensors))
        rng = self.np.random.default_rng(1)
        return [
            torch.tensor(rng.uniform(-1, 1, result.shape), dtype=result.dtype, device=self.device).requires_grad_()
            for result in results
            if result.requires_grad
        ]


def results_of(value: Any) -> Sequence[Any]:
    """Return the results of a call as a sequence."""
    return value if isinstance(value, (tuple, list)) else (value,)


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def is_varied(input: Input) -> bool:
    """Whether derivatives with respect to this input are checked."""
    return input.dtype is None


def takes_out(function: Callable[..., Any]) -> bool:
    """Whether a function has the parameter `out`."""
    try:
        return "out" in inspect.signature(function).parameters
    except ValueError:
        return False


def needed_dtypes(sample: Sample, dtype: str) -> set[str]:
    """Return a set of `dtype` and the dtypes of the sample's results for inputs of that dtype."""
    rules = sample.result if isinstance(sample.result, tuple) else (sample.result,)
    return {dtype, *(result_dtype(rule, dtype) for rule in rules)}


def result_dtype(rule: str, dtype: str) -> str:
    """Return the dtype of a result according to a sample's rule."""
    whole = dtype in ("bool", "uint8", "int64")
    if rule == "same":
        return dtype
    if rule == "float":
        return "float32" if whole else dtype
    if rule == "sum":
        return "int64" if whole else dtype
    if rule == "real":
        return {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)
    if rule == "complex":
        return {"float64": "complex128", "float32": "complex64", "float16": "complex32"}.get(dtype, dtype)
    return rule


def _differentiable_call(sample: Sample) -> Callable[..., Any]:
    """Return the sample's call, restricted to results that are differentiable."""

    def call(*tensors: Any) -> Any:
        results = sample.call(torch, *tensors)
        if not isinstance(results, (tuple, list)):
            return results
        return tuple(result for result in results if result.is_floating_point() or result.is_complex())

    return call


def _in_place(write: Any, function: Any, x: Any, expected: Sequence[Any], args: Any, kwargs: Any) -> Any:
    """Return `write(x, ...)` on a copy of `x` if the result has the shape and dtype of `x`, else `function(x, ...)`."""
    place = x.clone()
    if len(expected) > 1 or tuple(place.shape) != expected[0].shape or place.dtype != getattr(torch, expected[0].dtype.name):
        return function(x, *args, **kwargs)
    result = write(place, *args, **kwargs)
    assert result is place, f"{write.__name__} did not return its tensor"
    return result


def _transposed(tensor: Any) -> Any:
    """Copy the tensor to memory with the dimensions in reverse order."""
    dims = tuple(reversed(range(tensor.ndim)))
    return tensor.permute(dims).contiguous().permute(dims)


def _strided(tensor: Any) -> Any:
    """Copy the tensor to memory with a stride of 2 in the last dimension."""
    if not tensor.ndim:
        return torch.stack([tensor, tensor])[1]
    return torch.stack([tensor, tensor], -1)[..., 0]


def _make_read_only(tensor: Any) -> None:
    """Make the tensor's memory read-only, if its array has a flag for that."""
    flags = getattr(tensor._array, "flags", None)
    if flags is not None and hasattr(flags, "writeable"):
        flags.writeable = False


CHECKS: dict[str, Callable[[Sample], bool]] = {  # name of a method, and the condition for samples that it checks
    "values": lambda sample: True,
    "shapes": lambda sample: sample.elementwise,
    "layouts": lambda sample: sample.layouts,
    "forms": lambda sample: True,
    "gradients": lambda sample: sample.grad and _has_double(sample),
    "second_gradients": lambda sample: sample.grad and _has_double(sample),
    "forward_mode": lambda sample: sample.grad and _has_double(sample),
    "vmap": lambda sample: sample.vmap and bool(sample.inputs),
    "promotion": lambda sample: sample.promotes and sample.elementwise and len(sample.inputs) > 1,
}


IN_DOUBLE = frozenset({"gradients", "second_gradients", "forward_mode"})  # finite differences are too inaccurate in float32


def _has_double(sample: Sample) -> bool:
    return any(dtype in sample.dtypes for dtype in ("float64", "complex128")) and any(map(is_varied, sample.inputs))


def _wide_dtype(dtype: Any) -> str:
    """Return the widest dtype of the same kind; int64 for bool."""
    return {"f": "float64", "c": "complex128"}.get(dtype.kind, "int64")
