"""`torch.library` and `torch.ops`: user-defined operators, and flambeau's operators under PyTorch's names."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from flambeau.utils._python_dispatch import TorchDispatchMode

import flambeau as torch
from flambeau import Tensor


@torch.library.custom_op("tests::scale", mutates_args=())
def scale(x: Tensor, by: float, shift: float | None = None) -> Tensor:
    return x * by + (shift or 0.0)


@torch.library.custom_op("tests::join", mutates_args=())
def join(parts: Sequence[Tensor], by: float) -> Tensor:
    return torch.cat(list(parts)) * by


def test_an_operator_has_a_name_a_schema_and_a_place():
    assert torch.ops.tests.scale.default is scale._opoverload and repr(scale) == "<CustomOpDef(tests::scale)>"
    assert str(scale._opoverload._schema) == "tests::scale(Tensor x, float by, float? shift=None) -> Tensor"
    assert (str(torch.ops.tests.scale), str(torch.ops.tests.scale.default)) == ("tests.scale", "tests.scale.default")
    assert torch.ops.tests.scale.overloads() == ["default"] and torch.ops.tests.scale.default.name() == "tests::scale"
    assert pickle.loads(pickle.dumps(torch.ops.tests.scale.default)) is torch.ops.tests.scale.default
    assert copy.deepcopy(torch.ops.tests.scale) is torch.ops.tests.scale


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing value for argument 'x'"),
        ((torch.ones(1),), {}, "missing value for argument 'by'"),
        ((torch.ones(1), "a"), {}, "Expected a value of type 'float' for argument 'by' but instead found type 'str'"),
        ((torch.ones(1), 1.0), {"other": 2}, "Unknown keyword argument 'other'"),
        ((3, 1.0), {}, "Expected a value of type 'Tensor' for argument 'x'"),
        ((torch.ones(1), 1.0, None, 2), {}, "expected at most 3"),
    ],
)
def test_arguments_are_those_of_the_schema(args, kwargs, message):
    with pytest.raises(RuntimeError, match=message):
        scale(*args, **kwargs)


def test_without_a_derivative_backward_says_so():
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.tests.scale(x, 2.0)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


def test_derivative_with_lists_of_tensors():
    def setup(ctx, inputs, output):
        ctx.lengths, ctx.by = [len(part) for part in inputs[0]], inputs[1]
        ctx.save_for_backward(output)

    def backward(ctx, grad):
        assert ctx.needs_input_grad == ([True, False], False) and len(ctx.saved_tensors) == 1
        return [part * ctx.by for part in grad.split(ctx.lengths)], None

    join.register_autograd(backward, setup_context=setup)
    a, b = torch.ones(2, requires_grad=True), torch.ones(3)
    (join([a, b], 3.0) ** 2).sum().backward()
    assert torch.equal(a.grad, torch.full((2,), 18.0))


def test_operators_that_write():
    @torch.library.custom_op("tests::count", mutates_args={"x"})
    def count(x: Tensor) -> None:
        x.add_(1)

    x = torch.zeros(2)
    before = x._version
    assert count(x) is None and torch.equal(x, torch.ones(2)) and x._version > before
    assert str(count._opoverload._schema) == "tests::count(Tensor(a0!) x) -> ()"
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        count.register_autograd(lambda ctx: None)


def test_results_are_no_arguments():
    @torch.library.custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(1))


def test_vmap_autocast_and_kernels():
    @torch.library.custom_op("tests::half", mutates_args=())
    def half(x: Tensor) -> Tensor:
        return x / 2

    half.register_vmap(lambda info, in_dims, x: (half(x) * info.batch_size, in_dims[0]))
    assert torch.equal(torch.vmap(half)(torch.ones(4, 2)), torch.full((4, 2), 2.0))
    half.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        assert half(torch.ones(1)).dtype is torch.bfloat16
    half.register_kernel("cpu", lambda x: x * 0)
    assert half(torch.ones(1)).item() == 0
    with half.set_kernel_enabled("cpu", False):
        assert half(torch.ones(1)).item() == 0.5


def test_libraries():
    library = torch.library.Library("tests_library", "DEF")
    assert library.define("two(Tensor x, int k=1, *, float? s=None) -> (Tensor, int)") == "two"
    with pytest.raises(NotImplementedError, match=r"Could not run 'tests_library::two' with arguments from the 'CPU' backend"):
        torch.ops.tests_library.two(torch.ones(1))
    library.impl("two", lambda x, k=1, *, s=None: (x, k), "CPU")
    assert torch.ops.tests_library.two(torch.ones(1), 5)[1] == 5
    with pytest.raises(RuntimeError, match="multiple times"):
        library.define("two(Tensor x) -> Tensor")
    library._destroy()
    with pytest.raises(AttributeError, match="'_OpNamespace' 'tests_library' object has no attribute 'two'"):
        torch.ops.tests_library.two
    with pytest.raises(ValueError, match="reserved namespace"):
        torch.library.Library("aten", "DEF")


def test_schemas_are_inferred():
    def good(
        x: Tensor, d: torch.dtype, n: int | float | bool, m: float | None = None, *, o: Sequence[int] | None = None
    ) -> list[Tensor]:
        raise AssertionError

    schema = torch.library.infer_schema(good, mutates_args=("x",), op_name="a::b")
    assert schema == "a::b(Tensor(a0!) x, ScalarType d, Scalar n, float? m=None, *, SymInt[]? o=None) -> Tensor[]"
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        torch.library.infer_schema(lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match="form `namespace::name`"):
        torch.library.custom_op("nospace", mutates_args=())(scale._init_fn)


@pytest.mark.parametrize(
    ("operator", "args", "expected"),
    [
        ("add.Tensor", (torch.ones(2), 1), torch.full((2,), 2.0)),
        ("sum.dim_IntList", (torch.ones(2, 2), [0], True), torch.full((1, 2), 2.0)),
        ("relu_", (torch.tensor([-1.0, 2.0]),), torch.tensor([0.0, 2.0])),
        ("linalg_inv", (torch.eye(2),), torch.eye(2)),
        ("silu.default", (torch.zeros(1),), torch.zeros(1)),
    ],
)
def test_operators_of_pytorchs_own(operator, args, expected):
    found = torch.ops.aten
    for part in operator.split("."):
        found = getattr(found, part)
    assert torch.equal(found(*args), expected)


def test_operators_that_are_not_there():
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nothing_at_all'"):
        torch.ops.aten.nothing_at_all
    with pytest.raises(AttributeError, match="has no overload name 'bar'"):
        torch.ops.aten.add.bar
    with pytest.raises(OSError, match="compiled for PyTorch"):
        torch.ops.load_library("x.so")


def test_operators_of_pytorch_that_flambeau_lacks_can_be_named():
    table = {torch.ops.aten.convolution_backward.default: 1, torch.ops.aten.embedding_backward.default: 2}
    assert [str(operator) for operator in table] == ["aten.convolution_backward.default", "aten.embedding_backward.default"]
    with pytest.raises(NotImplementedError, match="aten::embedding_backward"):
        torch.ops.aten.embedding_backward(torch.ones(2))


def test_kernels_registered_before_their_operator():
    @torch.library.impl("early::double", ["CUDA"])
    def double_on_cuda(x):
        raise NotImplementedError

    torch.library.define("early::double", "(Tensor x) -> Tensor")
    torch.library.register_kernel("early::double", "default")(lambda x: 2 * x)
    assert torch.ops.early.double(torch.ones(2)).tolist() == [2, 2]
    torch.library.impl("early::triple", "default")(lambda x: 3 * x)
    torch.library.define("early::triple", "(Tensor x) -> Tensor")
    assert torch.ops.early.triple(torch.ones(2)).tolist() == [3, 3]


def test_memory_that_nothing_shares_is_written_to():
    """`Tensor!` marks a written argument without an alias set, as in bitsandbytes' schemas."""
    schema = torch.library.schema.parse("mylib::negate.out(Tensor x, Tensor! out) -> ()")
    assert schema.is_mutable and [argument.type for argument in schema.arguments] == ["Tensor", "Tensor"]


@torch.library.custom_op("opaque::sorted", mutates_args=())
def sorted_copy(x: torch.Tensor) -> torch.Tensor:
    assert bool(x.sum() > 0)  # reads a value, which a compiled function cannot record
    return torch.from_numpy(np.sort(x.numpy()))


def test_compiled_functions_do_not_look_inside_operators():
    compiled = torch.compile(lambda x: torch.ops.opaque.sorted(x) * 2, fullgraph=True)
    for values in ([3.0, 1.0], [1.0, 5.0, 2.0], [9.0, 1.0]):
        assert compiled(torch.tensor(values)).tolist() == [2 * value for value in sorted(values)]


@torch.library.custom_op("opaque::sort_into", mutates_args={"out"})
def sort_into(x: torch.Tensor, out: torch.Tensor) -> None:
    out.numpy()[...] = np.sort(x.numpy())


def test_compiled_functions_call_operators_that_change_their_arguments():
    def sorted_twice(x):
        out = torch.empty_like(x)
        torch.ops.opaque.sort_into(x, out)
        return out * 2

    def sorted_given(x, out):
        torch.ops.opaque.sort_into(x + 1, out)
        return out - 1

    compiled = torch.compile(sorted_twice, fullgraph=True)
    for values in ([3.0, 1.0], [1.0, 5.0], [9.0, 1.0]):
        assert compiled(torch.tensor(values)).tolist() == [2 * value for value in sorted(values)]
    compiled = torch.compile(sorted_given, fullgraph=True)
    for values in ([3.0, 1.0], [1.0, 5.0], [9.0, 1.0]):
        out = torch.zeros(2)
        assert compiled(torch.tensor(values), out).tolist() == sorted(values)
        assert out.tolist() == [value + 1 for value in sorted(values)]


@torch.library.custom_op("opaque::scale", mutates_args=())
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    CALLS.append(by)
    return x * by if float(x.sum()) > 0 else x.clone()


CALLS: list[float] = []
scaled.register_autograd(
    lambda ctx, grad: (grad * ctx.by, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1])
)


def test_operators_in_compiled_functions_are_differentiated():
    x = torch.ones(2, requires_grad=True)
    compiled = torch.compile(lambda x: torch.ops.opaque.scale(x, 4.0).sum(), fullgraph=True)
    for step in (1, 2, 3):
        CALLS.clear()
        compiled(x).backward()
        assert x.grad.tolist() == [4 * step] * 2
    assert CALLS == [4.0]  # earlier steps are computed twice, to compare the program with the function


def test_operators_and_kernels_registered_in_a_library():
    library = torch.library.Library("listed", "DEF")

    @torch.library.define(library, "triple(Tensor x) -> Tensor")
    def triple(x):
        return 3 * x

    library.define("negated(Tensor x) -> Tensor")

    @torch.library.impl(library, "negated", "CPU")
    def negated(x):
        return -x

    assert torch.ops.listed.triple(torch.ones(1)).tolist() == [3]
    assert torch.ops.listed.negated(torch.ones(1)).tolist() == [-1]


class Recorded(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), [a for a in args if not isinstance(a, torch.Tensor)], kwargs))
        return func(*args, **kwargs)


def test_modes_receive_factory_functions_with_a_list_of_sizes_and_a_device():
    cpu = {"device": torch.device("cpu"), "pin_memory": False}
    with Recorded() as mode:
        made = [torch.empty([]), torch.zeros(2, 3), torch.rand(2, requires_grad=True), torch.full((2,), 1.0), torch.arange(3)]
        made += [torch.ones_like(made[1]), made[1].new_zeros(2, 1)]
    assert mode.calls == [
        ("aten.empty.memory_format", [[]], cpu),
        ("aten.zeros.default", [[2, 3]], cpu),
        ("aten.rand.default", [[2]], cpu),
        ("aten.full.default", [[2], 1.0], cpu),
        ("aten.arange.default", [3], cpu),
        ("aten.ones_like.default", [], {"pin_memory": False}),
        ("aten.new_zeros.default", [[2, 1]], {"pin_memory": False}),
    ]
    assert [list(tensor.shape) for tensor in made] == [[], [2, 3], [2], [2], [3], [2, 3], [2, 1]]
    assert made[2].requires_grad


COUNTED = {"convolution", "mm", "addmm", "bmm", "mv", "dot", "linear", "matmul", "conv2d"}
SMALL, ROWS, BATCH = torch.ones(3), torch.ones(2, 3), torch.ones(4, 2, 3)
F = torch.nn.functional


@pytest.mark.parametrize(
    ("call", "operators"),
    [
        (lambda: F.linear(ROWS, torch.ones(5, 3)), ["mm"]),
        (lambda: F.linear(BATCH, torch.ones(5, 3), torch.ones(5)), ["addmm"]),
        (lambda: torch.nn.Linear(3, 5)(SMALL), ["addmm"]),
        (lambda: SMALL @ SMALL, ["dot"]),
        (lambda: ROWS @ SMALL, ["mv"]),
        (lambda: BATCH @ ROWS.mT, ["mm"]),
        (lambda: torch.matmul(SMALL, BATCH.mT), ["bmm"]),
        (lambda: torch.ones(6, 1, 2, 3).matmul(BATCH.mT), ["bmm"]),
        (lambda: F.conv1d(torch.ones(3, 7), torch.ones(2, 3, 3), stride=2, padding=1), ["convolution"]),
        (lambda: F.conv2d(torch.ones(1, 4, 6, 7), torch.ones(4, 2, 3, 3), padding="same", groups=2), ["convolution"]),
        (lambda: F.conv_transpose2d(torch.ones(1, 3, 4, 5), torch.ones(3, 2, 3, 3), stride=2, output_padding=1), ["convolution"]),
        (lambda: torch.nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, need_weights=False)[0], ["addmm"] * 2),
    ],
)
def test_modes_receive_the_contractions_that_pytorch_calls(call, operators):
    torch.manual_seed(0)
    expected = call()
    torch.manual_seed(0)
    with Recorded() as mode:
        result = call()
    called = [name.split(".")[1] for name, _, _ in mode.calls]
    assert [name for name in called if name in COUNTED] == operators
    torch.testing.assert_close(result, expected)


def test_a_mode_that_resets_its_counts_on_entry_counts_contractions():
    class Counter(Recorded):
        def __enter__(self):
            self.calls.clear()
            return super().__enter__()

    with Counter() as counter:
        F.linear(F.linear(ROWS, torch.eye(3)), torch.eye(3))
    assert [name for name, _, _ in counter.calls].count("aten.mm.default") == 2


def test_an_operator_whose_extension_is_missing_uses_its_general_kernel():
    torch.library.define("test_missing::twice", "(Tensor x) -> Tensor")
    torch.library.impl("test_missing::twice", "default", lambda x: 2 * x)
    torch.library.impl("test_missing::twice", "CPU", lambda x: torch.utils.cpp_extension.load("kernels", sources=["kernels.cpp"]))
    assert torch.ops.test_missing.twice(torch.ones(2)).tolist() == [2, 2]
    torch.library.define("test_missing::thrice", "(Tensor x) -> Tensor")
    torch.library.impl(
        "test_missing::thrice", "CPU", lambda x: torch.utils.cpp_extension.load("kernels", sources=["kernels.cpp"])
    )
    with pytest.raises(RuntimeError, match="kernels: extensions compiled for PyTorch"):
        torch.ops.test_missing.thrice(torch.ones(2))


def test_errors_of_overrides_are_not_changed():
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            raise TypeError("refused")

    with pytest.raises(TypeError, match="^refused$"):
        torch.ops.aten.relu(torch.ones(2).as_subclass(Refuses))


def test_arguments_of_an_aten_operator_that_do_not_fit() -> None:
    for args in ((), (1, 2)):
        with pytest.raises(RuntimeError, match=r"aten::relu\(\)"):
            torch.ops.aten.relu(*args)


def test_overloads_without_an_output_refuse_out() -> None:
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'out' for operator 'aten::add'. Schema: aten::add.Tensor"):
        torch.ops.aten.add.Tensor(x, x, out=x)
    assert torch.ops.aten.add.out(x, x, out=x).tolist() == torch.ops.aten.mul(x, 1, out=x).tolist() == [2.0, 2.0]
