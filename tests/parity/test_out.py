"""`out=` in flambeau and PyTorch: every operation of the sample table with many kinds of output tensors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import families  # noqa: E402
from flambeau.conformance.samples.sample import find, replaced  # noqa: E402

SAMPLES: dict = {}
for _table in families().values():
    for _sample in _table:
        if not _sample.name.startswith("Tensor."):
            SAMPLES.setdefault(_sample.name, []).append(_sample)


def of_dtype(name):
    return lambda torch, like: torch.empty(tuple(like.shape), dtype=getattr(torch, name))


def requiring_grad(torch, like):
    made = torch.empty(tuple(like.shape), dtype=like.dtype)
    return made.requires_grad_() if made.is_floating_point() or made.is_complex() else made


def reversed_in_memory(torch, like):
    dims = tuple(reversed(range(like.ndim)))
    return torch.empty(tuple(reversed(like.shape)), dtype=like.dtype).permute(dims)


PLACES = {
    "of the right shape": lambda torch, like: torch.empty(tuple(like.shape), dtype=like.dtype),
    "empty": lambda torch, like: torch.empty(0, dtype=like.dtype),
    "too large": lambda torch, like: torch.empty((7, *like.shape), dtype=like.dtype),
    "too small": lambda torch, like: torch.empty(1, dtype=like.dtype),
    "requiring grad": requiring_grad,
    "reversed in memory": reversed_in_memory,
    "no tensor": lambda torch, like: "out",
    **{name: of_dtype(name) for name in ("float32", "float64", "int64", "complex64", "bool", "float16")},
}
FURTHER = ("of inputs that require grad", "the input", "a part of the input", "a list", "one for several")

LEFT_OUT = {
    ("range", "int64"),  # PyTorch divides by zero
    ("nn.functional.logsigmoid", "a part of the input"),  # PyTorch's result depends on the memory layout
}
LEFT_OUT |= {  # given a list of outputs, PyTorch returns None and does not resize
    (name, place) for name in ("split_copy", "split_with_sizes_copy", "unbind_copy") for place in (*PLACES, *FURTHER)
}
WRONG_SIZES, SMALL_DTYPES = "too large, too small", "complex64, float16, float32"
VIEW_COPIES = [
    "alias_copy", "as_strided_copy", "diagonal_copy", "expand_copy", "permute_copy", "select_copy", "slice_copy", "squeeze_copy",
    "t_copy", "transpose_copy", "unfold_copy", "unsqueeze_copy", "view_copy",
]  # fmt: skip
# Accepted differences from PyTorch: reason -> operation -> kinds of output tensors.
REASONS = {
    "resizes ``out`` to what it works on, and back": {
        "matmul": "of the right shape, one for several, float64, reversed in memory, " + WRONG_SIZES,
        "nn.functional.linear": "of the right shape, one for several, float64, reversed in memory, the input, " + WRONG_SIZES,
        "linalg.matmul": "reversed in memory",
    },
    "wants the dtype of the result or not, as the other arguments are": {
        "clamp": SMALL_DTYPES, "ldexp": SMALL_DTYPES, "lerp": SMALL_DTYPES, "lu": "bool, int64",
        "linalg.matrix_power": SMALL_DTYPES, "fft.ifft": "complex64, of inputs that require grad",
        "fft.hfft2": "complex64", "fft.hfftn": "complex64", "narrow_copy": SMALL_DTYPES,
    },
    "writes in the order of the routine called, or warns of the shape before that is squeezed": {
        **dict.fromkeys(["cholesky_inverse", "geqrf", "kthvalue", "linalg.eig", "linalg.householder_product", "mode", "orgqr", "ormqr"],
                        WRONG_SIZES),
        **dict.fromkeys(["linalg.lstsq", "linalg.solve", "lu"], "empty, " + WRONG_SIZES), "nn.functional.avg_pool3d": "reversed in memory",
        "narrow_copy": "reversed in memory",
    },
    "does not warn": dict.fromkeys(["addbmm", "narrow_copy", "nn.functional.logsigmoid"], WRONG_SIZES),
    "reads what it has already written, where memory is shared": {
        **dict.fromkeys(["addmm", "bmm", "chain_matmul", "diff", "histc", "linalg.lu_solve", "linalg.matmul", "linalg.solve_triangular",
                         "linalg.vector_norm", "log_softmax", "matmul", "max", "min", "mm", "mv", "narrow_copy", "nn.functional.avg_pool2d",
                         "nn.functional.avg_pool3d", "nn.functional.linear", "norm", "prod", "softmax", "sum", "threshold", "tril", "triu"],
                        "a part of the input"),
        **dict.fromkeys(["amax", "amin", "linalg.matrix_power", "matrix_power", "mean", "nanmean", "nansum"],
                        "the input, a part of the input"),
    },
    "writes without a history, or refuses to; writes to shared memory": {
        **dict.fromkeys(["histc", "lu"], "requiring grad"), "linalg.matrix_power": "of inputs that require grad",
        **dict.fromkeys(VIEW_COPIES, "of inputs that require grad, a part of the input"), "detach_copy": "a part of the input",
    },
}  # fmt: skip
EXCEPTIONS = {(name, place) for table in REASONS.values() for name, places in table.items() for place in places.split(", ")}
UP_TO_SIGN = {"svd", "linalg.svd", "linalg.eigh", "linalg.eig", "qr", "linalg.qr", "linalg.lobpcg"}


def results(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]


def plain(tensor):
    return tensor.detach().resolve_conj().resolve_neg().numpy(force=True)


def attempt(torch, sample, place):
    """Run the sample's call with `out=`; return the exception or the output tensors."""
    found = {}

    def with_out(*args, **kwargs):
        function = find(torch, sample.name)
        made = function(*args, **kwargs)
        wanted = results(made)
        if "outcome" in found or not all(isinstance(each, torch.Tensor) for each in wanted):
            return made
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        args, outs = places(torch, place, wanted, args, tensors)
        if outs is None:
            return made
        out = outs[0] if len(outs) == 1 and place != "a list" else list(outs) if place == "a list" else tuple(outs)
        if place == "one for several" and len(outs) > 1:
            out = outs[0]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                given = function(*args, **kwargs, out=out)
            except Exception as error:
                found["outcome"] = type(error)
                return made
        warned = sorted(
            {str(each.message).partition("(Triggered")[0].strip() for each in caught if "resized" in str(each.message)}
        )
        same = None if given is None else [a is b for a, b in zip(results(given), outs, strict=True)]
        found["outcome"] = same, [(str(each.dtype), tuple(each.shape), steps(each)) for each in outs], warned
        found["values"] = [plain(each) for each in outs]
        return made

    sample.call(replaced(torch, sample.name, with_out), *[torch.tensor(each) for each in sample.arrays(np, sample.dtypes[0])])
    return found


def places(torch, place, wanted, args, tensors):
    """Return the arguments and the output tensors of the given kind, or None if the kind does not apply."""
    if place in PLACES:
        return args, [PLACES[place](torch, each) for each in wanted]
    if place == "of inputs that require grad":
        for each in tensors:
            if each.is_floating_point() or each.is_complex():
                each.requires_grad_()
    if place == "the input":
        alike = [each for each in tensors if each.shape == wanted[0].shape and each.dtype is wanted[0].dtype]
        return args, alike[:1] if alike and len(wanted) == 1 else None
    if place == "a part of the input":
        like, first = wanted[0], tensors[0] if tensors else None
        if len(wanted) > 1 or first is None or first.dtype is not like.dtype or first.numel() < 2 or not like.numel():
            return args, None
        memory = torch.zeros(max(first.numel(), like.numel()) + 1, dtype=first.dtype)
        shared = memory[: first.numel()].reshape(first.shape)
        shared.copy_(first)
        return tuple(shared if each is first else each for each in args), [memory[1 : 1 + like.numel()].reshape(like.shape)]
    return args, [PLACES["of the right shape"](torch, each) for each in wanted]


def steps(tensor):
    return [step for step, length in zip(tensor.stride(), tensor.shape, strict=True) if length > 1] if tensor.numel() else []


def takes_out(sample):
    outcome = attempt(theirs, sample, "of the right shape").get("outcome", TypeError)
    return not (isinstance(outcome, type) and issubclass(outcome, TypeError))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(name for name, samples in SAMPLES.items() if any(map(takes_out, samples))))
def test_out(name):
    ours.set_warn_always(True)
    theirs.set_warn_always(True)
    try:
        for sample in SAMPLES[name]:
            if takes_out(sample):
                for place in (*PLACES, *FURTHER):
                    if (name, place) not in LEFT_OUT | EXCEPTIONS:
                        assert_out_agrees(name, sample, place)
    finally:
        ours.set_warn_always(False)
        theirs.set_warn_always(False)


def assert_out_agrees(name, sample, place):
    got, wanted = (attempt(torch, sample, place) for torch in (ours, theirs))
    if wanted.get("outcome") is NotImplementedError:
        return  # flambeau may support a call that PyTorch does not implement
    assert got.get("outcome") == wanted.get("outcome"), place
    if name not in UP_TO_SIGN:
        for a, b in zip(got.get("values", ()), wanted.get("values", ()), strict=True):
            np.testing.assert_allclose(a, b, 1e-3, 1e-3, err_msg=place)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted({name for name, _ in EXCEPTIONS}))
def test_exceptions_are_needed(name):
    """Each difference in EXCEPTIONS still occurs in at least one sample."""
    for place in (place for each, place in EXCEPTIONS if each == name):
        samples = [each for each in SAMPLES[name] if takes_out(each)]
        outcomes = [[attempt(torch, each, place) for torch in (ours, theirs)] for each in samples]
        assert any(not is_same(*each) for each in outcomes), place


def is_same(got, wanted):
    values = zip(got.get("values", ()), wanted.get("values", ()), strict=False)
    return got.get("outcome") == wanted.get("outcome") and all(np.allclose(a, b, 1e-3, 1e-3, equal_nan=True) for a, b in values)
