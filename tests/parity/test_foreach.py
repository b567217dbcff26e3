"""`torch._foreach_*` in flambeau and PyTorch: every overload, with values, dtypes, graph nodes and gradients."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

FORMS = [
    (name, schema)
    for name in dir(theirs)
    if name.startswith("_foreach_")
    for schema in theirs._C._jit_get_schemas_for_operator(f"aten::{name}")
    if "out" not in schema.overload_name
]
NO_DERIVATIVE = (
    "copy_",
    "maximum_",
    "minimum_",
    "powsum",
    "addcmul.Tensor",
    "addcdiv.Tensor",
    "addcmul_.Tensor",
    "addcdiv_.Tensor",
)
NO_DERIVATIVE += ("mm",)


def of_arguments(torch, schema, dtype, seed):
    """Create random arguments for an overload; return the leaves and the positional arguments."""
    rng = np.random.default_rng(seed)
    leaves, args, square = [], [], "_foreach_mm" in schema.name
    for position, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        if argument.has_default_value():
            break
        if kind == "List[Tensor]":
            shapes = ((2, 2), (2, 2)) if square else ((3,), (2, 2))
            group = [torch.tensor(rng.uniform(0.1, 0.9, shape), dtype=getattr(torch, dtype)) for shape in shapes]
            if dtype.startswith("float"):
                group = [t.requires_grad_() for t in group]
            leaves += group
            args.append([t * 1 for t in group] if position == 0 and schema.name.endswith("_") else group)
        elif kind == "List[number]":
            args.append([0.25, 0.75])
        elif kind == "number":
            args.append(0.5)
        else:
            args.append(torch.tensor([0.25, 0.75]) if "addc" in schema.name else torch.tensor(0.5, dtype=torch.float64))
    return leaves, args


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize(("name", "schema"), FORMS, ids=[f"{n}.{s.overload_name}" for n, s in FORMS])
def test_form(name, schema, dtype):
    outcomes = []
    form = f"{name.removeprefix('_foreach_')}.{schema.overload_name}".rstrip(".")
    for torch in (theirs, ours):
        leaves, args = of_arguments(torch, schema, dtype, 0)
        try:
            results = getattr(torch, name)(*args)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            outcomes.append((type(error), leaves))
            continue
        rows = [(str(r.dtype), tuple(r.shape), np.asarray(r.detach())) for r in results]
        nodes = [r.grad_fn.name() if r.grad_fn is not None else None for r in results]
        gradients = []
        if leaves and leaves[0].requires_grad and not form.startswith(NO_DERIVATIVE):
            sum(r.sum() for r in results).backward()
            gradients = [None if leaf.grad is None else np.asarray(leaf.grad) for leaf in leaves]
        outcomes.append((type(results), rows, nodes, gradients))
    a, b = outcomes
    if isinstance(a[0], type) and issubclass(a[0], Exception):
        assert issubclass(a[0], b[0])  # for integers, PyTorch's `lerp_` raises a subclass
        return
    assert a[0] is b[0]
    for (dtype_a, shape_a, values_a), (dtype_b, shape_b, values_b) in zip(a[1], b[1], strict=True):
        assert dtype_a == dtype_b.replace("flambeau", "torch") and shape_a == shape_b
        np.testing.assert_allclose(values_b, values_a, rtol=1e-6)
    if not name.endswith("_") and not form.startswith(NO_DERIVATIVE):
        assert a[2] == b[2]
    for gradient_a, gradient_b in zip(a[3], b[3], strict=True):
        if gradient_a is None or gradient_b is None:
            assert not np.any(gradient_a if gradient_b is None else gradient_b)
        else:
            np.testing.assert_allclose(gradient_b, gradient_a, rtol=1e-5, atol=1e-7)
