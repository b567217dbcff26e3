"""Fused elementwise kernels that compiled steps use on CuPy, tested without a GPU.

The C++ source is compiled for and run on the host. In the tox environment `cuda`, NVRTC compiles CuPy's version of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import nvrtc
import pytest
from standin import run

pytestmark = pytest.mark.slow

# --- numbers --------------------------------------------------------------------------------------------------------------------

EXACT = """
import random
import warnings

UNARY = [torch.neg, torch.abs, torch.square, torch.sqrt, torch.relu, torch.sign, torch.floor, lambda x: x.clamp(-1, 2), F.relu6,
         torch.reciprocal, F.hardtanh, lambda x: F.leaky_relu(x, 0.1), F.hardswish, lambda x: F.threshold(x, 0.1, 20.0)]
BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, lambda x, y: torch.where(x > y, x * 0.5, y),
          lambda x, y: x.masked_fill((x < 0) & ~(y >= 1) | (x != x), 0.25), lambda x, y: torch.where(torch.isfinite(x), x, y)]
IN_PLACE = [lambda x, y: x.mul_(y), lambda x, y: x.add_(2 * y), lambda x, y: x.clamp_(-3, 3), lambda x, y: x.copy_(y),
            lambda x, y: x.div_(y), lambda x, y: x.neg_().sub_(1.5)]

def program(seed):
    '''Random operations on a tensor, a row, a column and a number, some of which write to what was given.'''
    choose = random.Random(seed)
    steps = [(choose.choice('uubbbbi'), choose.randrange(100), choose.randrange(100)) for _ in range(14)]
    def call(x, row, column, number):
        values, masks = [x * number, x + row, x * column - 0.5], []
        for kind, first, second in steps:
            value, other = values[first % len(values)], values[second % len(values)]
            if kind == 'u':
                values.append(UNARY[first % len(UNARY)](value))
            elif kind == 'b':
                values.append(BINARY[second % len(BINARY)](value, other))
                masks.append(value <= other)
            else:
                IN_PLACE[first % len(IN_PLACE)](x, other)
        return [*values, *masks]
    return call

def given(shape, dtype, device):
    row, column = shape[-1:], (*shape[:-1], 1) if shape else ()
    tensors = [torch.randn(size, dtype=dtype) for size in (shape, row, column, ())]
    if len(shape) == 2:
        tensors[0] = tensors[0].t().contiguous().t()  # its elements do not lie in order
    return [tensor.to(device) for tensor in tensors]
"""


def test_chains_compute_the_numbers_of_the_numpy_backend() -> None:
    """Random programs of correctly rounded operations, compiled for the host through the CuPy stand-in, match NumPy
    bit for bit.
    """
    run(
        EXACT
        + """
loops = 0
with warnings.catch_warnings():
    warnings.filterwarnings("error", message="torch.compile")
    for seed, shape, dtype in [
        (0, (3, 4), torch.float32), (1, (2, 3, 4), torch.float64), (2, (), torch.float32), (3, (0, 3), torch.float32),
        (4, (5, 1), torch.float32), (5, (7,), torch.float64),
    ]:
        compiled = torch.compile(program(seed), fullgraph=True)
        for number in range(3):
            torch.manual_seed(number)
            host = given(shape, dtype, "cpu")
            device = [tensor.clone().cuda() for tensor in host]
            results, expected = compiled(*device), program(seed)(*host)
            for one, other in zip([*results, *device], [*expected, *host], strict=True):
                assert torch.equal(one.cpu().nan_to_num(9e9), other.nan_to_num(9e9)) and one.dtype == other.dtype, (seed, one, other)
        [[entry]] = compiled.compiled.entries.values()
        assert entry.verified
        [program_] = compiled.compiled.programs
        names = [call.name for call in program_.calls]
        loops += sum(name.startswith("fused_") for name in names)
        assert len(names) <= 6, names  # of 20 and more
assert loops >= 6
""",
        STANDIN_COMPILES="1",
    )


def test_every_expression_computes_what_its_ufunc_does() -> None:
    """Compile a single kernel for the host, with a step for each operation and dtype."""
    run(
        """
        from flambeau.backend import FusionChain, FusionInput, FusionStep, Operand
        from flambeau_backends.cupy import loops

        values = np.array([0.0, -0.0, 1.0, -1.0, 0.3, -2.7, 5.5, 100.0, -1e-3, np.nan, np.inf, -np.inf])
        other_names = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}
        exact = {"add", "subtract", "multiply", "divide", "reciprocal", "square", "negative", "absolute", "sign", "maximum", "minimum",
                 "copysign", "where", "ceil", "floor", "rint", "trunc", "sqrt"}
        for floats, tolerance in (("float32", 3e-7), ("float64", 1e-15)):
            numbers = np.concatenate([values, np.random.default_rng(0).normal(size=500)]).astype(floats)
            numbers, others = numbers, numbers[::-1].copy()
            masks, other_masks = numbers > 0, others < 0.5
            given = {"f": (numbers, others, others * 2), "b": (masks, other_masks, masks)}
            inputs, arrays, steps, expected, inexact = [], [], [], [], []
            for name, forms in loops._UFUNCS.items():
                for signature, _ in forms.items():
                    letters, seen = signature.partition(">")[0], {"f": 0, "b": 0}
                    operands = []
                    for letter in letters:
                        arrays.append(given[letter][seen[letter]])
                        seen[letter] += 1
                        operands.append(Operand(len(inputs)))
                        inputs.append(FusionInput("full", str(arrays[-1].dtype)))
                    steps.append(FusionStep(name, signature, tuple(operands), floats))
                    with np.errstate(all="ignore"):
                        expected.append(getattr(np, other_names.get(name, name))(*arrays[-len(letters):]))
                    inexact.append(name not in exact and signature[-1] == "f")
            chain = FusionChain(steps, inputs, [len(inputs) + number for number in range(len(steps))], [], numbers.shape, 0)
            loop = loops.Loops().loop(chain, None)
            found = loop(*map(cupy.asarray, arrays))
            for step, one, other, is_inexact in zip(steps, found, expected, inexact, strict=True):
                one = one.get()
                assert one.dtype == other.dtype, step
                if is_inexact:
                    np.testing.assert_allclose(one, other, rtol=tolerance, atol=0, err_msg=step.name)
                else:
                    np.testing.assert_array_equal(one, other, err_msg=step.name)
        """,
        STANDIN_COMPILES="1",
    )


def test_a_kernel_that_does_not_compile_is_replaced_by_the_operations() -> None:
    run("""
        import warnings
        from flambeau_backends.cupy import loops
        class Broken:
            def __init__(self, *args, **kwargs):
                pass
            def __call__(self, *args):
                raise cupy.cuda.compiler.CompileException("no such thing")
        cupy.ElementwiseKernel = Broken
        step = torch.compile(lambda x: (x * 2 + 1).relu())
        x = torch.tensor([-3.0, 2.0]).cuda()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(5):
                assert step(x).tolist() == [0.0, 5.0]
        assert [str(one.message) for one in caught if "could not compile" in str(one.message)] and len(caught) == 1
    """)


# --- NVIDIA's compiler ----------------------------------------------------------------------------------------------------------

WITH_NVRTC = pytest.mark.skipif(not nvrtc.available(), reason="NOT CHECKED: NVRTC is not installed (nvidia-cuda-nvrtc-cu12)")


def functions_and_expressions() -> tuple[str, dict[str, dict[str, str]]]:
    """Return the helper functions of kernels, and the C++ expression of each operation and signature."""
    code = "import json; from flambeau_backends.cupy import loops; print(json.dumps([loops.FUNCTIONS, loops._UFUNCS, loops._IN_PLACE]))"
    functions, ufuncs, in_place = json.loads(run(code))
    return functions, {**ufuncs, **in_place}


def function(name: str, body: str, letters: str, result: str, floats: str) -> str:
    types = {"f": floats, "b": "bool"}
    parameters = "".join(f"const {types[letter]}* p{i}, " for i, letter in enumerate(letters))
    reads = " ".join(f"const {types[letter]} in{i} = *p{i};" for i, letter in enumerate(letters))
    names = " ".join(f"typedef {types[letter]} in{i}_type;" for i, letter in enumerate(letters))
    kind = types[result]
    return (
        f'extern "C" __global__ void {name}({parameters}{kind}* to) '
        f"{{ {names} typedef {kind} out0_type; {reads} out0_type out0; {body}; *to = out0; }}\n"
    )


def ours(functions: str, forms: dict[str, dict[str, str]]) -> tuple[str, list[str]]:
    source, names = functions, []
    for operation, signatures in forms.items():
        for signature, form in signatures.items():
            letters, _, result = signature.partition(">")
            for floats in ("float", "double"):
                names.append(f"k_{operation}_{letters}_{floats}")
                body = "out0 = " + form.format(*(f"in{i}" for i in range(len(letters))), f=floats)
                source += function(names[-1], body, letters, result, floats)
    return source, names


@WITH_NVRTC
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_nvrtc_compiles_every_expression(architecture: str) -> None:
    source, names = ours(*functions_and_expressions())
    code = nvrtc.compile_kernels(source, architecture, options=("-ftz=true",))
    assert all(name.encode() in code for name in names) and len(names) > 140


def assembly(source: str) -> dict[str, list[str]]:
    """Return the arithmetic PTX instructions of each kernel. The suffix `.rn` is removed, as it is the default rounding."""
    text = nvrtc.compile_kernels(source, "compute_80", options=("-ftz=true",), assembly=True).decode()
    found = {}
    for name, body in re.findall(r"\.entry (\w+)\(.*?\{(.*?)\n\}", text, re.DOTALL):
        lines = re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]*)[^\n;]*;", body, re.MULTILINE)
        plain = [re.sub(r"^(add|sub|mul|fma)\.rn\b", r"\1", line) for line in lines]
        found[name] = [line for line in plain if not line.startswith(("ld", "st", "mov", "cvta", "ret", "bra", "reg"))]
    return found


@WITH_NVRTC
def test_each_expression_is_compiled_to_what_cupys_own_kernel_is() -> None:
    """Results match CuPy's bit for bit, because the compiled instructions are those of CuPy's ufunc."""
    cupy = pytest.importorskip("cupy", reason="NOT CHECKED: CuPy is not installed", exc_type=ImportError)
    functions, forms = functions_and_expressions()
    other_names = {f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
    compared, own, theirs = [], functions, "#define NAN __int_as_float(0x7fffffff)\n"
    for operation, signatures in forms.items():
        ufunc = getattr(cupy, other_names.get(operation, operation), None)
        if operation == "where":
            from cupy._sorting.search import _where_ufunc as ufunc
        for signature, form in signatures.items():
            letters, _, result = signature.partition(">")
            if "f" not in signature:
                continue
            for floats, code in (("float", "f"), ("double", "d")):
                wanted = letters.replace("b", "?").replace("f", code)
                of_ufunc = ufunc._ops.ops if hasattr(ufunc, "_ops") else ()
                routines = [op.routine for op in of_ufunc if "".join(kind.char for kind in op.in_types) == wanted]
                if routines:
                    name = f"k_{operation}_{letters}_{floats}"
                    compared.append(name)
                    theirs += function(name, routines[0], letters, result, floats)
                    own += function(
                        name, "out0 = " + form.format(*(f"in{i}" for i in range(len(letters))), f=floats), letters, result, floats
                    )
    ours_, theirs_ = assembly(own), assembly(theirs)
    assert len(compared) > 90 and ours_.keys() == theirs_.keys() == set(compared)
    different = {name: (ours_[name], theirs_[name]) for name in compared if ours_[name] != theirs_[name]}
    assert not different, different


@WITH_NVRTC
def test_operations_are_not_fused_across_their_borders() -> None:
    """A multiplication followed by an addition rounds twice. `add_` with `alpha` rounds once, as in CuPy's kernel."""
    functions, forms = functions_and_expressions()
    product, total, scaled = forms["multiply"]["ff>f"], forms["add"]["ff>f"], forms["add_"]["fff>f"]
    source = functions + "".join(
        function(f"apart_{floats}", "out0 = " + total.format(product.format("in0", "in1"), "in2"), "fff", "f", floats)
        + function(f"scaled_{floats}", "out0 = " + scaled.format("in0", "in1", "in2"), "fff", "f", floats)
        + function(f"cupys_{floats}", "out0 = in0 + in2 * in1", "fff", "f", floats)
        for floats in ("float", "double")
    )
    found = assembly(source)
    for floats, suffix in (("float", ".ftz.f32"), ("double", ".f64")):
        assert found[f"apart_{floats}"] == [f"mul{suffix}", f"add{suffix}"]
        assert found[f"scaled_{floats}"] == found[f"cupys_{floats}"] == [f"fma{suffix}"]


@WITH_NVRTC
def test_nvrtc_compiles_what_cupy_makes_of_chains() -> None:
    """NVRTC compiles CuPy's source of fused kernels with inputs of several shapes, a scalar, in-place and multiple outputs."""
    cupy = pytest.importorskip("cupy", reason="NOT CHECKED: CuPy is not installed", exc_type=ImportError)
    from cupy._core import _carray, _kernel, _scalar

    from flambeau.backend import FusionChain, FusionInput, FusionStep, Operand
    from flambeau_backends.cupy.loops import FUNCTIONS, body, parameters

    inputs = [FusionInput(layout, "float32") for layout in ("full", "row", "number")] + [FusionInput("full", "bool")]
    steps = [
        FusionStep("multiply", "ff>f", (Operand(0), Operand(1)), "float32"),
        FusionStep("add_", "fff>f", (Operand(0), Operand(4), Operand(2)), "float32"),
        FusionStep("less", "ff>b", (Operand(5), 0.1), "float32"),
        FusionStep("where", "bff>f", (Operand(3), Operand(5), 2), "float32"),
    ]
    chain = FusionChain(steps, inputs, [6, 7], [(0, 5)], (3, 4), 0)
    kernel = cupy.ElementwiseKernel(*parameters(chain), body(chain), "flambeau_chain", preamble=FUNCTIONS)

    def array(dtype: str, ndim: int, contiguous: bool = True) -> object:
        return _kernel._ArgInfo(1, cupy.ndarray, cupy.dtype(dtype), ndim, contiguous, True)

    number = _kernel._ArgInfo(3, _scalar.CScalar, cupy.dtype("float32"), 0, True, True)
    indexer = _kernel._ArgInfo(2, _carray.Indexer, None, 2, True, True)
    infos = (
        array("f", 2, False),
        array("f", 2),
        number,
        array("?", 2),
        array("?", 2),
        array("f", 2),
        array("f", 2, False),
        indexer,
    )
    code = _kernel._get_elementwise_kernel_code(
        infos, _kernel._TypeMap(()), kernel.params, kernel.operation, kernel.name, kernel.preamble
    )
    headers = "".join(f"#include <cupy/{name}.cuh>\n" for name in ("complex", "carray", "atomics"))
    include = Path(cupy.__file__).parent / "_core" / "include"
    folders = [include, *sorted(include.glob("cupy/_cccl/*")), *nvrtc.include_folders()]
    options = ["-ftz=true", *(f"-I{folder}" for folder in folders)]
    compiled = nvrtc.compile_kernels(headers + code, "sm_80", options=options)
    assert b"flambeau_chain" in compiled
