"""Every operation with samples in PyTorch's own tests: results, views, gradients, errors and dtypes in both libraries."""

from __future__ import annotations

import functools
import itertools
import types
import warnings
from dataclasses import fields

import numpy as np
import pytest

theirs = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # required by PyTorch's own tests

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import flambeau as ours  # noqa: E402

# Entries of `op_db` that are not tested: kernel variants, sparse layouts and GPU compilers of PyTorch.
# Names that end with `_` or `.` are prefixes.
NO_PART_OF_THE_API = (
    "jiterator",
    "torch.",
    "sparse.",
    "_",
    "native_",
    "grid_sampler_",
    "to_sparse",
    "chalf",
    "slice",
    "max_pool2d_with_indices_backward",
    "resize_as_",
    "zero_",
)
IN_THE_API = ("__", "slice_scatter", "native_channel_shuffle")
COPIES = {
    "alias",
    "as_strided",
    "diagonal",
    "expand",
    "permute",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
}
WITH_MODULES = {"nn.functional.triplet_margin_with_distance_loss"}  # not tested: its samples contain PyTorch modules

UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
WRONG_THERE = {
    "as_strided_scatter",  # PyTorch passes the gradient of overwritten elements to the input
    "masked.prod",  # PyTorch's gradient is wrong for infinite products
}
DTYPES = [theirs.float32, theirs.int64, theirs.complex64, theirs.bool, theirs.uint8, theirs.bfloat16]
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-7, "complex128": 1e-7}


def is_covered(op):
    if (op.name.endswith("_copy") and op.name.removesuffix("_copy") in COPIES) or op.name in WITH_MODULES:
        return False
    if op.name.startswith(IN_THE_API):
        return True
    return not any(
        op.name == each or ((each[-1] in "_." or each == "jiterator") and op.name.startswith(each)) for each in NO_PART_OF_THE_API
    )


OPERATORS = [pytest.param(op, id=f"{op.name}-{op.variant_test_name}".rstrip("-")) for op in op_db if is_covered(op)]


# --- from one to the other ----------------------------------------------------------------------------------------


def converted(value, memories=None):
    """Convert a nested value of PyTorch to flambeau, preserving strides and shared memory of tensors."""
    memories = {} if memories is None else memories
    if isinstance(value, theirs.Tensor):
        return converted_tensor(value, memories)
    if isinstance(value, (theirs.dtype, theirs.memory_format)):
        return getattr(ours, str(value).split(".")[1])
    if isinstance(value, theirs.device):
        return ours.device(str(value))
    if isinstance(value, theirs.layout):
        return ours.strided
    if isinstance(value, theirs.nn.LinearCrossEntropyOptions):
        return ours.nn.LinearCrossEntropyOptions(**converted({each.name: getattr(value, each.name) for each in fields(value)}))
    if isinstance(value, slice):
        return slice(*(converted(each, memories) for each in (value.start, value.stop, value.step)))
    if isinstance(value, (tuple, list)):
        made = [converted(each, memories) for each in value]
        return tuple(made) if isinstance(value, tuple) else made
    return {key: converted(each, memories) for key, each in value.items()} if isinstance(value, dict) else value


def converted_tensor(value, memories):
    dtype = converted(value.dtype)
    if not value.numel():
        return ours.empty(tuple(value.shape), dtype=dtype)
    storage = value.untyped_storage()
    if storage.data_ptr() not in memories:
        memory = theirs.as_strided(value.detach(), (storage.nbytes() // value.element_size(),), (1,), 0)
        memory = memory.float() if value.dtype is theirs.bfloat16 else memory.clone()
        memories[storage.data_ptr()] = ours.from_numpy(memory.numpy()).to(dtype)
    memory = memories[storage.data_ptr()]
    memory = memory if memory.dtype is dtype else memory.view(dtype)
    return memory.as_strided(tuple(value.shape), value.stride(), value.storage_offset())


def counterpart(function):
    """Return the flambeau version of a function: test helpers are rebuilt with another `torch`, others are looked up by name."""
    if isinstance(function, functools.partial):
        return functools.partial(counterpart(function.func), *function.args, **function.keywords)
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing"):
        cells = tuple(
            types.CellType(counterpart(each.cell_contents)) if callable(each.cell_contents) else each
            for each in function.__closure__ or ()
        )
        made = types.FunctionType(
            function.__code__, {**function.__globals__, "torch": ours}, function.__name__, function.__defaults__, cells
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made
    return function


def on_flambeau(op):
    made = counterpart(op.op)
    if made is not op.op:
        return made
    for name in (op.name, f"Tensor.{op.name}", f"nn.functional.{op.op.__name__}", op.op.__name__):
        try:
            found = functools.reduce(getattr, name.split("."), ours)
        except AttributeError:
            continue
        if callable(found):  # skips a dtype that has the name of the function
            return found
    raise AttributeError(op.name)


def samples_of(op, dtype, count):
    theirs.manual_seed(0)
    found = list(itertools.islice(op.sample_inputs("cpu", dtype), 24))
    return found[:: max(1, len(found) // count)]


def flat(made):
    return [each for one in made for each in flat(one)] if isinstance(made, (tuple, list)) else [made]


def called(torch, function, input, args, kwargs):
    torch.manual_seed(42)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flat(function(input, *args, **kwargs))


def plain(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy(force=True)


def assert_alike(got, wanted, what):
    if isinstance(wanted, theirs.Tensor):
        assert str(got.dtype) == str(wanted.dtype), what
        assert tuple(got.shape) == tuple(wanted.shape), what
    else:
        assert str(got) == str(wanted) or got == pytest.approx(wanted), what


def assert_same(got, wanted, what, exact=None):
    """Assert that `got` is close to PyTorch's result `wanted`, or that its error is about as small as PyTorch's.

    The error is measured against the float64 result, which `exact` returns.
    """
    assert_alike(got, wanted, what)
    if not isinstance(wanted, theirs.Tensor):
        return
    tolerance = TOLERANCE.get(str(wanted.dtype).split(".")[1], 0)
    a, b = plain(got), plain(wanted)
    if exact is None or not tolerance or np.allclose(a, b, tolerance, tolerance, equal_nan=True):
        np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=what)
        return
    c = plain(exact())
    error = np.abs(b - c)[np.isfinite(b) & np.isfinite(c)].max(initial=0.0)
    rounding = 4 * theirs.finfo(wanted.dtype).eps * np.abs(c[np.isfinite(c)]).max(initial=1.0)
    np.testing.assert_allclose(a, c, rtol=0, atol=max(2 * error, rounding), err_msg=what)


def float64_results(op, sample):
    """Return PyTorch's results of the sample, computed in float64 or complex128."""
    given = [widened(each) for each in (sample.input, sample.args, sample.kwargs)]
    return well_defined_parts(op, theirs, sample, given[0], called(theirs, op.op, *given))


def widened(value):
    if isinstance(value, theirs.Tensor):
        inexact = value.is_floating_point() or value.is_complex()
        return value.detach().to(theirs.promote_types(value.dtype, theirs.float64)) if inexact else value
    if isinstance(value, (tuple, list)):
        return type(value)(widened(each) for each in value)
    return {key: widened(each) for key, each in value.items()} if isinstance(value, dict) else value


# --- what of the results is determined ----------------------------------------------------------------------------


def well_defined_parts(op, torch, sample, input, made):
    """Return what all correct implementations agree on: drop signs and phases, complex branches, and the order of ties."""
    if op.name in ("linalg.eig", "linalg.eigh"):
        return [made[0], abs(made[1])]
    if op.name in ("pca_lowrank", "svd_lowrank"):
        return [abs(each) for each in made]
    if op.name == "logcumsumexp" and made[0].is_complex():
        return [made[0].exp()]
    if op.name in ("argsort", "mode", "sort"):
        return replace_indices_by_elements(input, made, sample.args, sample.kwargs)
    if op.name in ("kthvalue", "topk"):
        return replace_indices_by_elements(input, made, sample.args[1:], sample.kwargs)
    return made


def replace_indices_by_elements(input, made, args, kwargs):
    """Replace the indices (the last result) by the input elements at these indices, which do not depend on ties."""
    if not input.ndim:
        return [*made[:-1], input]
    dim, places = kwargs.get("dim", args[0] if args else -1), made[-1]
    return [*made[:-1], input.gather(dim, places if places.ndim == input.ndim else places.unsqueeze(dim))]


def layout(tensor):
    """Return the strides of dimensions longer than 1; other strides are arbitrary."""
    return [step for step, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1] if tensor.numel() else []


def shares(view, base):
    return bool(view.numel() and base.numel()) and view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


# --- tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPERATORS)
def test_results(op):
    """Compare values, dtypes, shapes and strides, and whether the result is a view of the input."""
    function = on_flambeau(op)
    for dtype in (each for each in DTYPES if each in op.dtypes):
        for sample in samples_of(op, dtype, 8):
            given = converted((sample.input, sample.args, sample.kwargs))
            try:
                wanted = called(theirs, op.op, sample.input, sample.args, sample.kwargs)
            except RuntimeError:
                continue  # PyTorch has no kernel for this call
            what = f"{dtype} {sample.summary()}"[:300]
            got = called(ours, function, *given)
            assert len(got) == len(wanted), what
            for a, b in zip(got, wanted, strict=True):
                assert_alike(a, b, what)
                if isinstance(b, theirs.Tensor):
                    assert layout(a) == layout(b), what
                if isinstance(sample.input, theirs.Tensor) and isinstance(b, theirs.Tensor) and b._is_view() and not b.is_conj():
                    assert shares(a, given[0]) == shares(b, sample.input), what
            if op.name not in UNINITIALISED:
                got = well_defined_parts(op, ours, sample, given[0], got)
                wanted = well_defined_parts(op, theirs, sample, sample.input, wanted)
                for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
                    assert_same(a, b, what, lambda sample=sample, number=number: float64_results(op, sample)[number])


WITH_ERRORS = [each for each in OPERATORS if each.values[0].error_inputs_func is not None]


@pytest.mark.parametrize("op", WITH_ERRORS)
def test_errors(op):
    """Compare the exception types for the invalid calls of PyTorch's own tests."""
    function = on_flambeau(op)
    for each in op.error_inputs("cpu"):
        bad = each.sample_input
        if has_sparse_or_meta((bad.input, bad.args, bad.kwargs)):
            continue
        wanted = raised(lambda bad=bad: called(theirs, op.op, bad.input, bad.args, bad.kwargs))
        got = raised(lambda bad=bad: called(ours, function, *converted((bad.input, bad.args, bad.kwargs))))
        assert wanted is None or got is wanted, f"{got} for {wanted}: {bad.summary()} {each.error_regex}"[:400]


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def has_sparse_or_meta(value):
    """Whether an argument has a sparse layout or is a meta tensor, which this test does not convert."""
    if isinstance(value, theirs.layout):
        return value is not theirs.strided
    if isinstance(value, theirs.Tensor):
        return value.is_meta
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return any(map(has_sparse_or_meta, parts))


DIFFERENTIABLE = [
    each
    for each in OPERATORS
    if each.values[0].supports_autograd
    and theirs.float64 in each.values[0].dtypes
    and each.values[0].name not in UNINITIALISED | WRONG_THERE
]


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_gradients(op):
    function = on_flambeau(op)
    for dtype in (each for each in (theirs.float64, theirs.complex128) if each in op.dtypes):
        for sample in samples_of(op, dtype, 3):
            given = converted((sample.input, sample.args, sample.kwargs))
            try:
                wanted = gradients(theirs, op, op.op, sample, sample.input, sample.args, sample.kwargs)
            except RuntimeError:
                continue
            got = gradients(ours, op, function, sample, *given)
            for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
                what = f"input {number} of {sample.summary()}"[:300]
                if a is None or b is None:  # a gradient of None is equivalent to zeros
                    assert not plain(b if a is None else a).any() if a is not b else True, what
                else:
                    assert_same(a, b, what)


def gradients(torch, op, function, sample, *given):
    leaves = [each.requires_grad_() for each in tensors_in(given, torch) if each.is_floating_point() or each.is_complex()]
    made = well_defined_parts(op, torch, sample, given[0], called(torch, function, *given))
    made = [each for each in made if isinstance(each, torch.Tensor) and each.requires_grad]
    rng = np.random.default_rng(0)
    weights = [torch.tensor(rng.uniform(0.5, 1.5, tuple(each.shape))).to(each.dtype) for each in made]
    return torch.autograd.grad(made, leaves, weights, allow_unused=True) if made else [None] * len(leaves)


def tensors_in(value, torch):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [each for part in parts for each in tensors_in(part, torch)]


# --- arguments by name --------------------------------------------------------------------------------------------

NUMPY_NAMES = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}
RANDOM = {"bernoulli", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like"}


NAMED = {
    each.values[0].name: each for each in reversed(OPERATORS) if theirs.float32 in each.values[0].dtypes
}  # only one variant of each operation


@pytest.mark.parametrize("op", [each for name, each in NAMED.items() if name not in UNINITIALISED | RANDOM])
def test_names(op):
    """Functions and methods accept the same keyword names as PyTorch, including NumPy's names such as `axis`."""
    for path in (op.name, f"Tensor.{op.name}"):
        try:
            functions = [functools.reduce(getattr, path.split("."), torch) for torch in (ours, theirs)]
        except AttributeError:
            continue
        if all(map(callable, functions)):
            samples = samples_of(op, theirs.float32, 4)
            sample = max(samples, key=lambda each: len(each.args) + len(each.kwargs))
            given = converted((sample.input, sample.args, sample.kwargs))
            for names in {tuple(names_in(each)) for each in schemas_of(op.name)}:
                check_names(*functions, path, names, given, (sample.input, sample.args, sample.kwargs))


def schemas_of(name):
    dashed = name.replace(".", "_")
    return [
        schema
        for each in {dashed, dashed.removeprefix("nn_functional_")}
        for schema in theirs._C._jit_get_schemas_for_operator(f"aten::{each}")
    ]


def names_in(schema):
    return ["input" if each.name == "self" else each.name for each in schema.arguments if not each.kwarg_only]


def check_names(function, their_function, path, names, given, their_given):
    (input, args, kwargs), their_kwargs = given, their_given[2]
    by_name, their_by_name = (dict(zip(names, (each[0], *each[1]), strict=False)) for each in (given, their_given))
    if len(by_name) <= len(args) or by_name.keys() & kwargs or raised(lambda: called(ours, function, input, args, kwargs)):
        return
    renamed = [(each, other) for each in {**by_name, **kwargs} for other in NUMPY_NAMES.get(each, ())]
    for name, other in [("", ""), *renamed]:
        calls = []
        for named, options in ((by_name, kwargs), (their_by_name, their_kwargs)):
            named = {other if each == name else each: value for each, value in {**named, **options}.items()}
            calls.append(([named.pop("input")] if path.startswith("Tensor.") and "input" in named else [], named))
        if raised(lambda calls=calls: their_function(*calls[1][0], **calls[1][1])) is None:
            function(*calls[0][0], **calls[0][1])


# --- all dtypes ---------------------------------------------------------------------------------------------------

WIDE = {"uint16", "uint32", "uint64"}  # dtypes for which PyTorch has few kernels
HALF = {"float16", "bfloat16"}
SMALL = {"uint8", "int8", "int16", "int32"}
INTEGERS = SMALL | {"int64"}
ALL_DTYPES = ["float32", "float64", *sorted(HALF), "complex64", "complex128", "bool", *sorted(INTEGERS), *sorted(WIDE)]
# dtypes of PyTorch's samples: the first one that the operation supports is used
SOURCES = [theirs.float32, theirs.int64, theirs.complex64, theirs.bool, theirs.uint8]
MORE_KERNELS = {  # dtypes supported by flambeau without a PyTorch CPU kernel, in addition to WIDE and HALF
    **dict.fromkeys([f"nn.functional.avg_pool{n}d" for n in (1, 2, 3)] + ["nn.functional.local_response_norm"], SMALL),
    **dict.fromkeys([f"nn.functional.conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)], SMALL),
    **dict.fromkeys(["nn.functional.interpolate", "nn.functional.upsample_bilinear", "nn.functional.upsample_nearest"], INTEGERS),
    "round": INTEGERS,  # only with the default `decimals=0`
}  # fmt: skip
NOT_COMPARED = {
    ("complex", "float16"), ("view_as_complex", "float16"),  # PyTorch returns complex32, which NumPy lacks
    ("matrix_exp", "float16"), ("matrix_exp", "bfloat16"),  # PyTorch's result is wrong: 1e30 for exp([[.1, .2], [.3, .4]])
    *(("masked.prod", each) for each in sorted(WIDE)),  # PyTorch returns the input dtype for 0-d inputs only
    ("tensordot", "bool"),  # PyTorch accepts bool only if the result has one element
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_all_dtypes(op):
    """For all dtypes, compare result dtypes and values, or exception types."""
    source = next((each for each in SOURCES if each in op.dtypes), None)
    function = on_flambeau(op)
    for sample in samples_of(op, source, 2)[:2] if source else ():
        for name in (each for each in ALL_DTYPES if (op.name, each) not in NOT_COMPARED):
            given = tuple(recast(each, source, getattr(theirs, name)) for each in (sample.input, sample.args, sample.kwargs))
            wanted, got = attempt(theirs, op.op, given), attempt(ours, function, converted(given))
            what = f"{name}: {got} for {wanted}: {sample.summary()}"[:300]
            if isinstance(got, type) or isinstance(wanted, type):
                assert is_rejected_alike(op.name, name, got, wanted, given), what
                continue
            for a, b in zip(got, wanted, strict=True):
                assert_alike(a, b, what)
            if op.name not in UNINITIALISED and name not in WIDE:
                got, wanted = (
                    well_defined_parts(op, ours, sample, converted(given)[0], got),
                    well_defined_parts(op, theirs, sample, given[0], wanted),
                )
                for a, b in zip(got, wanted, strict=True):
                    assert_near(a, b, 5e-2 if name in HALF else 1e-3, what)


def recast(value, source, dtype):
    """Cast tensors of dtype `source` to `dtype`. Negative values are made positive for integer dtypes."""
    if isinstance(value, theirs.Tensor) and value.dtype is source:
        whole = not (dtype.is_floating_point or dtype.is_complex or dtype is theirs.bool)
        return (value.detach().abs() if whole else value.detach()).to(dtype)
    if type(value) in (tuple, list):
        return type(value)(recast(each, source, dtype) for each in value)
    if isinstance(value, dict):
        return {key: recast(each, source, dtype) for key, each in value.items()}
    return dtype if value is source else value


def attempt(torch, function, given):
    """Return the results of a call, or the type of its exception."""
    try:
        return called(torch, function, *given)
    except Exception as error:
        return type(error)


def assert_near(got, wanted, tolerance, what):
    """Assert that errors are small relative to the largest finite absolute value in `wanted`."""
    if isinstance(wanted, theirs.Tensor):
        a, b = plain(got), plain(wanted)
        largest = np.abs(b[np.isfinite(b)].astype(complex)).max(initial=1.0)
        np.testing.assert_allclose(a, b, tolerance, tolerance * largest, err_msg=what)


def is_rejected_alike(name, dtype, got, wanted, given):
    if got is wanted:
        return True
    if wanted is NotImplementedError and not isinstance(got, type):  # flambeau supports a dtype without a PyTorch kernel
        return dtype in WIDE | HALF | MORE_KERNELS.get(name, set())
    if got is NotImplementedError and any(not each.numel() for each in tensors_in(given, theirs)):
        return True  # PyTorch accepts empty tensors of dtypes without a kernel
    return isinstance(wanted, type) and dtype in WIDE


# --- methods, in place and not ------------------------------------------------------------------------------------


def method_names(op):
    """Return the names of the methods and operators that PyTorch's tests call."""
    found = [
        form.__name__
        for form in (op.method_variant, op.inplace_variant, op.operator_variant, op.inplace_operator_variant)
        if form is not None and hasattr(form, "__name__")
    ]
    return [each if hasattr(theirs.Tensor, each) else f"__{each}__" for each in dict.fromkeys(found)]


WITH_METHODS = [each for each in OPERATORS if any(hasattr(theirs.Tensor, name) for name in method_names(each.values[0]))]


@pytest.mark.parametrize("op", WITH_METHODS)
def test_methods(op):
    """Compare results or exceptions of methods and operators, including in-place ones."""
    for dtype in (each for each in DTYPES[:4] if each in op.dtypes):
        for sample, name in itertools.product(samples_of(op, dtype, 3), method_names(op)):
            if not (isinstance(sample.input, theirs.Tensor) and hasattr(theirs.Tensor, name)):
                continue
            given, mine = [
                (copy_without_overlap(each[0], torch), *each[1:])
                for each, torch in (
                    ((sample.input, sample.args, sample.kwargs), theirs),
                    (converted((sample.input, sample.args, sample.kwargs)), ours),
                )
            ]
            wanted, got = attempt(theirs, getattr(theirs.Tensor, name), given), attempt(ours, getattr(ours.Tensor, name), mine)
            what = f"{name} {dtype}: {got} for {wanted}: {sample.summary()}"[:300]
            if isinstance(wanted, type) or isinstance(got, type):
                assert got is wanted or (wanted is NotImplementedError and not isinstance(got, type)), what
                continue
            for a, b in zip(got, wanted, strict=True):
                assert_alike(a, b, what)
            if name.endswith("_") and not name.endswith("__"):
                assert got[0] is mine[0] or wanted[0] is not given[0], what
            if op.name not in UNINITIALISED:
                got, wanted = (
                    well_defined_parts(op, ours, sample, mine[0], got),
                    well_defined_parts(op, theirs, sample, given[0], wanted),
                )
                for a, b in zip(got, wanted, strict=True):
                    assert_near(a, b, 1e-3, what)


def copy_without_overlap(tensor, torch):
    """Return a copy of the tensor without overlapping elements."""
    return tensor.detach().clone(memory_format=torch.preserve_format)
