"""PyTorch's private names that libraries use: each listed name exists and works."""

from __future__ import annotations

import importlib
import io
import typing
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.compat.__main__ import document, main
from flambeau.compat.table import MODULES, NAMES, SECOND_NAMES

DOCUMENT = Path(__file__).parents[2] / "docs/private_names.md"


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name):
    found, path = torch, "flambeau"
    for part in name.split("."):
        path += f".{part}"
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize("name", [*MODULES, *SECOND_NAMES])
def test_module_is_served_by_its_target(name):
    target = MODULES[name][0] if name in MODULES else SECOND_NAMES[name]
    assert importlib.import_module(f"flambeau.{name}") is importlib.import_module(target)


@pytest.mark.parametrize("name", [name for name, (source, _) in NAMES.items() if source and name != "torch"])
def test_definition_has_the_name_that_the_table_gives(name):
    source, _, renamed = NAMES[name][0].partition(":")
    assert hasattr(importlib.import_module(source), renamed or name.rpartition(".")[2])


def test_page_is_up_to_date(tmp_path, capsys):
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run `python -m flambeau.compat`"
    stale = tmp_path / "private_names.md"
    stale.write_text("old")
    assert main(["--check", str(stale)]) == 1 and "out of date" in capsys.readouterr().out
    assert main([str(stale)]) == 0 and main(["--check", str(stale)]) == 0


def test_what_is_not_there_is_said_not_to_be():
    assert not hasattr(torch._C, "_cuda_getDevice") and torch.torch is torch


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        (("cpu",), {}, (torch.device("cpu"), None, False, None)),
        ((torch.float32,), {}, (None, torch.float32, False, None)),
        (("cpu", torch.float32, True), {}, (torch.device("cpu"), torch.float32, True, None)),
        ((torch.ones(1, dtype=torch.int8),), {}, (torch.device("cpu"), torch.int8, False, None)),
        ((), {"dtype": torch.half, "memory_format": torch.channels_last}, (None, torch.half, False, torch.channels_last)),
        ((), {}, (None, None, False, None)),
    ],
)
def test_arguments_of_to(args, kwargs, expected):
    assert torch._C._nn._parse_to(*args, **kwargs) == expected
    with pytest.raises(RuntimeError, match="does not accept copy"):
        torch._C._nn._parse_to("cpu", copy=True)


def test_checks():
    torch._check(True)
    torch._assert_async(torch.tensor(1))
    for error, check in ((RuntimeError, torch._check), (ValueError, torch._check_value), (IndexError, torch._check_index)):
        with pytest.raises(error, match="as said"):
            check(False, lambda: "as said")
    with pytest.raises(RuntimeError, match="as said"):
        torch._assert_async(torch.tensor(0), "as said")


def test_batches_are_known():
    seen = []

    def look(x):
        seen.append(torch._C._functorch.is_batchedtensor(x))
        return x

    torch.vmap(look)(torch.ones(4, 2))
    assert seen == [True] and not torch._C._functorch.is_batchedtensor(torch.ones(1))


def test_activations_by_name():
    function = torch.nn.modules.transformer._get_activation_fn
    assert function("gelu") is torch.nn.functional.gelu
    with pytest.raises(RuntimeError, match="relu/gelu"):
        function("tanh")


def test_foreach_supports_registered_subclasses(monkeypatch):
    """optimi and other libraries of optimizers read and extend the list of types."""
    from flambeau.utils import _foreach_utils

    class Custom(torch.Tensor):
        pass

    tensors = [torch.ones(1), None, torch.ones(1).as_subclass(Custom)]
    assert not _foreach_utils._has_foreach_support(tensors, torch.device("cpu"))
    monkeypatch.setattr(_foreach_utils, "_foreach_supported_types", [torch.Tensor, Custom])
    assert _foreach_utils._has_foreach_support(tensors, torch.device("cpu"))
    assert not _foreach_utils._has_foreach_support(tensors, torch.device("meta"))


def test_optimizers_written_for_pytorch():
    """Private optimizer helpers that timm and schedulefree use: per-group options, recorded steps, grouping by device
    and dtype.
    """
    from flambeau.optim.optimizer import (
        Optimizer,
        _default_to_fused_or_foreach,
        _dispatch_sqrt,
        _get_value,
        _use_grad_for_differentiable,
        _view_as_real,
    )  # fmt: skip
    from flambeau.utils._foreach_utils import _group_tensors_by_device_and_dtype

    class Mine(Optimizer):
        def __init__(self, params, lr, differentiable=False):
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self, closure=None):
            recorded.append(torch.is_grad_enabled())
            for group in self.param_groups:
                lists = [group["params"], [p.grad for p in group["params"]]]
                for (params, grads), _ in _group_tensors_by_device_and_dtype(lists).values():
                    torch._foreach_add_(params, grads, alpha=-group["lr"])

    recorded = []
    p, q = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.float64, requires_grad=True)
    (p.sum() + q.sum()).backward()
    Mine([p, q], 0.5).step()
    assert p.tolist() == q.tolist() == [0.5, 0.5]
    Mine([torch.ones(1)], 0.5, differentiable=True).param_groups.clear()
    assert recorded == [False]
    assert _get_value(torch.tensor(3.0)) == 3.0 == _dispatch_sqrt(9.0) and _dispatch_sqrt(torch.tensor(4.0)) == 2
    assert _default_to_fused_or_foreach([p], False, use_fused=True) == (True, False)
    assert _default_to_fused_or_foreach([p], True) == (False, False)
    params, grads = [torch.ones(1, dtype=torch.complex64), torch.ones(1)], [torch.ones(1, dtype=torch.complex64), torch.ones(1)]
    _view_as_real(params, grads)
    assert [t.shape for t in params + grads] == [(1, 2), (1,), (1, 2), (1,)]


def test_attention_written_with_pytorchs_helpers():
    F = torch.nn.functional
    x, y, w, b = torch.randn(5, 2, 4), torch.randn(3, 2, 4), torch.randn(12, 4), torch.randn(12)
    expected = [F.linear(t, w[i : i + 4], b[i : i + 4]) for t, i in ((x, 0), (y, 4), (y, 8))]
    for found in (F._in_projection_packed(x, y, y, w, b), F._in_projection(x, y, y, *w.split(4), *b.split(4))):
        assert all(torch.allclose(a, e, atol=1e-6) for a, e in zip(found, expected, strict=True))
    assert len(F._in_projection_packed(x, x, x, w)) == 3
    assert F._mha_shape_check(x, y, y, None, None, 2) and not F._mha_shape_check(x[0], y[0], y[0], None, None, 2)
    with pytest.raises(AssertionError, match="2D or batched 3D"):
        F._mha_shape_check(x[0, 0], y, y, None, None, 2)
    mask = F._canonical_mask(torch.tensor([True, False]), "mask", None, "", torch.float32)
    assert mask.tolist() == [float("-inf"), 0.0] and F._none_or_dtype(None) is None
    with pytest.raises(ValueError, match="more than 1 value"):
        F._verify_batch_size([1, 3, 1])
    assert [F._Reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]


def test_gradients_of_convolutions():
    x, w = torch.randn(2, 4, 6, 5, requires_grad=True), torch.randn(6, 2, 3, 3, requires_grad=True)
    y = torch.conv2d(x, w, None, 2, 1, 1, 2)
    g = torch.randn_like(y)
    for_x, for_w = torch.autograd.grad(y, (x, w), g)
    assert torch.allclose(torch.nn.grad.conv2d_input(x.shape, w, g, 2, 1, 1, 2), for_x)
    assert torch.allclose(torch.nn.grad.conv2d_weight(x, w.shape, g, 2, 1, 1, 2), for_w)


def test_errors_from_elsewhere():
    try:
        raise KeyError("k")
    except KeyError:
        wrapper = torch._utils.ExceptionWrapper(where="in replica 0")
    with pytest.raises(KeyError, match="in replica 0"):
        wrapper.reraise()


def test_devices_and_groups_of_tensors():
    index = torch._utils._get_device_index
    assert index(3) == 3 and index(torch.device("cuda", 1)) == 1 and index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="non cpu"):
        index("cpu")
    tensors = [torch.ones(4), torch.ones(2).double(), torch.ones(4)]
    groups = list(torch._utils._take_tensors(tensors, 16))
    assert [[t.shape[0] for t in group] for group in groups] == [[4], [4], [2]]
    ordered = torch._utils._reorder_tensors_as([t for group in groups for t in group], tensors)
    assert all(a is b for a, b in zip(ordered, tensors, strict=True))


def test_hooks_of_a_leaf():
    x = torch.ones(1, requires_grad=True)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda g: 2 * g)
    assert list(x._backward_hooks) == [handle.id]
    with pytest.warns(UserWarning, match="will not be serialized"):
        torch.utils.hooks.warn_if_has_hooks(x)
    x._backward_hooks = None
    x.sum().backward()
    assert x.grad.item() == 1


def test_marks_for_the_compiler_and_modes():
    internal = importlib.import_module("flambeau._jit_internal")
    dispatched = internal.boolean_dispatch("flag", 1, False, lambda x, flag: "yes", lambda x, flag=False: "no", __name__, "pick")
    assert (dispatched(1), dispatched(1, True), dispatched(1, flag=True), dispatched.__name__) == ("no", "yes", "yes", "pick")
    assert internal.is_optional(internal.Optional[int])
    with torch.overrides.BaseTorchFunctionMode() as mode:
        assert torch.overrides._get_current_function_mode() is mode
        with torch.utils._mode_utils.no_dispatch():
            assert torch.ones(1).item() == 1
    assert torch.overrides._get_current_function_mode() is None


def test_what_needs_pytorchs_headers_says_so():
    with pytest.raises(RuntimeError, match="C\\+\\+ library"):
        torch.utils.cpp_extension.load("kernels", sources=["kernels.cpp"])
    assert torch.utils._triton.has_triton() is False


def test_functions():
    v, g = torch.randn(4, 3), torch.rand(4, 1)
    assert torch.allclose(torch._weight_norm(v, g), v * g / v.norm(dim=1, keepdim=True))
    assert torch._shape_as_tensor(v).tolist() == [4, 3] and torch._dim_arange(v, 1).tolist() == [0, 1, 2]
    x = torch.tensor([3, 1, 1, 2])
    assert [t.tolist() for t in torch._unique2(x, True, True, True)] == [[1, 2, 3], [2, 0, 0, 1], [2, 1, 1]]
    assert [t.tolist() for t in torch._unique2(x, return_counts=True)] == [[1, 2, 3], [], [2, 1, 1]]
    assert [t.tolist() for t in torch._unique(x, True, True)] == [[1, 2, 3], [2, 0, 0, 1]]
    assert [t.item() for t in torch._aminmax(x)] == [1, 3]
    assert torch.allclose(torch._softmax(v, 1, False), v.softmax(1)) and torch.allclose(
        torch._log_softmax(v, 0, False), v.log_softmax(0)
    )
    with pytest.raises(RuntimeError, match="half to float"):
        torch._softmax(v, 1, True)
    assert torch._conj(torch.tensor(1 + 2j)).item() == 1 - 2j


def test_scales_of_gradients():
    gradients, found = [torch.tensor([2.0, 4.0]), torch.ones(1)], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    assert gradients[0].tolist() == [1, 2] and found.item() == 0
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([float("inf")])], found, torch.tensor([0.5]))
    assert found.item() == 1
    scale, tracker = torch.tensor([8.0]), torch.tensor([3], dtype=torch.int32)
    assert torch._amp_update_scale_(scale, tracker, torch.zeros(1), 2.0, 0.5, 4) is scale
    assert (scale.item(), tracker.item()) == (16, 0)
    torch._amp_update_scale_(scale, tracker, torch.zeros(1), 2.0, 0.5, 4)
    assert (scale.item(), tracker.item()) == (16, 1)
    torch._amp_update_scale_(scale, tracker, torch.ones(1), 2.0, 0.5, 4)
    assert (scale.item(), tracker.item()) == (8, 0)
    with pytest.raises(RuntimeError, match="int tensor"):
        torch._amp_update_scale_(scale, torch.zeros(1), found, 2.0, 0.5, 4)


def test_dispatch_modes_that_are_open():
    dispatch = torch.utils._python_dispatch

    class Count(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen = []
    assert dispatch._get_current_dispatch_mode() is None
    with pytest.raises(AssertionError), dispatch._pop_mode_temporarily():
        pass
    with Count() as mode:
        assert dispatch._get_current_dispatch_mode() is mode
        torch.ones(1)
        with dispatch._pop_mode_temporarily() as popped:
            assert popped is mode and dispatch._get_current_dispatch_mode() is None
            torch.ones(2)
    assert seen == ["aten.ones.default"]


def test_the_tracker_knows_of_backward_passes():
    tracker, seen = torch.utils.module_tracker.ModuleTracker(), []
    with tracker:
        y = torch.nn.Linear(2, 2)(torch.ones(1, 2))
        y.register_hook(lambda g: seen.append(tracker.is_bw))
        seen.append(tracker.is_bw)
        y.sum().backward()
    assert seen == [False, True]


def test_scans_combine_what_came_before():
    from flambeau._higher_order_ops.associative_scan import associative_scan

    a, b = torch.rand(2, 3, 7, dtype=torch.float64, requires_grad=True)

    def combine(left, right):  # compose the maps x -> a * x + b
        return left[0] * right[0], right[0] * left[1] + right[1]

    for reverse in (False, True):
        _, found = associative_scan(combine, (a, b), -1, reverse, combine_mode="generic")
        order = range(6, -1, -1) if reverse else range(7)
        state, states = torch.zeros(3, dtype=torch.float64), {}
        for i in order:
            state = states[i] = a[:, i] * state + b[:, i]
        torch.testing.assert_close(found, torch.stack([states[i] for i in range(7)], 1))
    with pytest.raises(ValueError, match="need to be on CUDA"):
        associative_scan(combine, (a, b), 1)
    with pytest.raises(ValueError, match="scan dimension > 0"):
        associative_scan(combine, (a[:, :0], b[:, :0]), 1, combine_mode="generic")


def test_gradient_of_softmax():
    x = torch.randn(3, 4, requires_grad=True)
    y, g = x.softmax(1), torch.randn(3, 4)
    y.backward(g)
    torch.testing.assert_close(torch._softmax_backward_data(g, y.detach(), 1, torch.float32), x.grad)


def test_types_of_members_of_subclasses_are_known():
    """transformers reads the type annotations of each model class."""

    class Net(torch.nn.Linear):
        config: int

    class Step(torch.autograd.Function):
        count: int

    class Marked(torch.Tensor):
        mark: str

    assert typing.get_type_hints(Net)["config"] is int and typing.get_type_hints(Step)["count"] is int
    assert typing.get_type_hints(Marked)["mark"] is str


def test_workers_are_shut_down():
    """timm's tests shut down workers, and its multi-epoch loader sets `_DataLoader__initialized` to replace the batch sampler."""
    loader = torch.utils.data.DataLoader(range(8), batch_size=2, num_workers=1, persistent_workers=True)
    assert len(list(loader)) == 4
    loader._iterator._shutdown_workers()
    with pytest.raises(ValueError, match="should not be set"):
        loader.batch_sampler = []
    loader._DataLoader__initialized = False
    loader.batch_sampler, loader.persistent_workers = [[0], [3]], False
    loader._DataLoader__initialized = True
    loader.num_workers = 0
    assert [batch.tolist() for batch in loader] == [[0], [3]]


def test_dictionaries_of_other_classes_are_trees():
    from collections import OrderedDict

    from flambeau.utils import _pytree as trees

    class Output(OrderedDict):
        pass

    trees.register_pytree_node(
        Output,
        trees._dict_flatten,
        lambda values, context: Output(trees._dict_unflatten(values, context)),
        serialized_type_name="tests.Output",
        flatten_with_keys_fn=trees._dict_flatten_with_keys,
    )
    paths, spec = trees.tree_flatten_with_path(Output(a=1, b=2))
    assert [(trees.keystr(path), value) for path, value in paths] == [("['a']", 1), ("['b']", 2)]
    assert type(trees.tree_unflatten([3, 4], spec)) is Output
    assert trees._get_node_type(torch.ones(2).max(0)) is not tuple and trees._get_node_type([1]) is list


def test_wrappers_recompute_or_offload():
    from flambeau.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers

    x = torch.randn(3, 4)
    for wrap in (
        wrappers.offload_wrapper,
        wrappers.checkpoint_wrapper,
        lambda module: wrappers.checkpoint_wrapper(module, wrappers.CheckpointImpl.REENTRANT),
    ):
        calls = []
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        net[1].register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        plain = {name: value.clone() for name, value in net.state_dict().items()}
        net(x.requires_grad_()).sum().backward()
        expected = [p.grad for p in net.parameters()]
        net.zero_grad()
        wrappers.apply_activation_checkpointing(net, wrap, lambda module: isinstance(module, torch.nn.Tanh))
        assert isinstance(net[1], wrappers.ActivationWrapper) and sorted(net.state_dict()) == sorted(plain)
        net.load_state_dict(plain)
        calls.clear()
        net(x).sum().backward()
        assert all(torch.equal(p.grad, g) for p, g in zip(net.parameters(), expected, strict=True))
        assert len(calls) == (1 if wrap is wrappers.offload_wrapper else 2)
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2))
    outer = wrappers.checkpoint_wrapper(inner)
    assert outer[0] is inner[0] and [name for name, _ in outer.named_parameters()] == ["0.weight", "0.bias"]


def test_rows_and_where_they_begin():
    rows = torch.tensor([0, 0, 2])
    starts = torch._convert_indices_from_coo_to_csr(rows, 4)
    assert starts.tolist() == [0, 2, 2, 3, 3]
    assert torch._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype is torch.int32
    columns = torch.tensor([1, 2, 0])
    assert torch._convert_indices_from_csr_to_coo(starts, columns).tolist() == [[0, 0, 2], [1, 2, 0]]
    assert torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True).tolist() == [[1, 2, 0], [0, 0, 2]]


def test_transforms_are_known_to_run():
    seen = []

    def function(x):
        seen.append(torch._C._are_functorch_transforms_active())
        return x.sum()

    torch.func.vmap(function)(torch.ones(2, 3))
    torch.func.grad(function)(torch.ones(3))
    function(torch.ones(3))
    assert seen == [True, True, False]


def test_settings_of_the_compiler_are_patched():
    from flambeau._dynamo import config

    with config.patch({"verbose": True}), config.patch("of_mine", 3), config.patch(suppress_errors=True):
        assert config.verbose and config.of_mine == 3 and config.suppress_errors
    assert not config.verbose and not hasattr(config, "of_mine") and not config.suppress_errors
    with pytest.raises(RuntimeError, match="rpc_sync"):
        torch.distributed.rpc.rpc_sync("worker", print)
    with pytest.raises(RuntimeError, match="distributed.autograd is not available"), torch.distributed.autograd.context():
        pass
    for function in (torch.distributed.autograd.get_gradients, lambda context: torch.distributed.autograd.backward(context, [])):
        with pytest.raises(RuntimeError, match="distributed.autograd is not available"):
            function(1)


def test_tf32_is_the_precision_of_products():
    matmul = torch.backends.cuda.matmul
    assert not matmul.allow_tf32 and torch.get_float32_matmul_precision() == "highest"
    try:
        matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        torch.set_float32_matmul_precision("highest")
        assert not matmul.allow_tf32
        torch.set_float32_matmul_precision("medium")
        assert matmul.allow_tf32
    finally:
        matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"


def test_forks_of_processes_with_cuda(monkeypatch):
    from flambeau.engine.devices import cuda

    assert not torch.cuda._is_in_bad_fork()
    monkeypatch.setattr(cuda, "initialized_in", -1)  # as in a forked child: the parent process has initialized CUDA
    assert torch.cuda._is_in_bad_fork()


def test_hooks_of_tensors_are_seen():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    first, _ = x.chunk(2)
    for tensor in (x, y, first):
        assert tensor._backward_hooks is None
        handle = tensor.register_hook(lambda grad: grad)
        assert list(tensor._backward_hooks) == [handle.id]
        handle.remove()
        assert not tensor._backward_hooks


def test_memory_is_shared_or_not():
    x = torch.arange(4)
    assert torch._C._is_alias_of(x, x[1:]) and not torch._C._is_alias_of(x, x.clone())
    assert not torch._C._is_torch_function_mode_enabled()
    with torch.overrides.BaseTorchFunctionMode():
        assert torch._C._is_torch_function_mode_enabled()


def test_vmap_asks_for_its_parts(monkeypatch):
    """tensordict replaces these vmap functions with its own to map over its collections."""
    import flambeau._functorch.vmap as parts

    class Box:
        def __init__(self, inside):
            self.inside = inside

    own, wrap, unwrap = parts._process_batched_inputs, parts._create_batched_inputs, parts._unwrap_batched
    monkeypatch.setattr(parts, "_process_batched_inputs", lambda dims, args, func: own(dims, [box.inside for box in args], func))
    monkeypatch.setattr(parts, "_create_batched_inputs", lambda *args: [Box(item) for item in wrap(*args)])
    monkeypatch.setattr(parts, "_unwrap_batched", lambda box, *args: Box(unwrap(box.inside, *args)))
    result = torch.vmap(lambda box: Box(box.inside.sum()))(Box(torch.arange(6).reshape(2, 3)))
    assert type(result) is Box and result.inside.tolist() == [3, 12]


def test_functions_of_transforms_can_be_replaced(monkeypatch):
    def keep_label(module, name):
        function = getattr(module, name)

        def replaced(tensor, *args):
            result = function(tensor, *args)
            result.label = tensor.label
            return result

        monkeypatch.setattr(module, name, replaced)

    x = torch.arange(3.0)
    x.label = "length"
    keep_label(torch._functorch.eager_transforms, "_wrap_tensor_for_grad")
    keep_label(torch._functorch.vmap, "_add_batch_dim")
    seen = []
    assert torch.func.grad(lambda x: seen.append(x.label) or x.square().sum())(x).tolist() == [0, 2, 4]
    assert torch.vmap(lambda x: seen.append(x.label) or 2 * x)(x).tolist() == [0, 2, 4]
    assert seen == ["length", "length"]


def test_states_of_objects_are_restored():
    class Slotted:
        __slots__ = ("size",)

    x = torch.ones(2)
    assert torch._utils._set_obj_state(x, {"label": "length"}) is x and x.label == "length"
    assert torch._utils._set_obj_state(Slotted(), (None, {"size": 3})).size == 3
    with pytest.raises(RuntimeError, match="Invalid serialized state"):
        torch._utils._set_obj_state(x, (1, 2, 3))


def test_batches_are_entered_and_left():
    from flambeau.compat._C._functorch import _add_batch_dim, _remove_batch_dim, get_unwrapped

    seen = []

    def look(x):
        seen.append(get_unwrapped(x).shape)
        (level,) = x._key.levels  # the level that vmap passes to the replaced functions
        y = _add_batch_dim(torch.arange(3), 0, level)
        seen.append(y.shape)
        assert torch.equal(_remove_batch_dim(y, level, 3, 0), torch.arange(3))
        return x + y

    x = torch.ones(5, 3)
    assert torch.equal(torch.vmap(look, in_dims=1, out_dims=1)(x), x + torch.arange(3)) and seen == [(3, 5), ()]
    with pytest.raises(RuntimeError, match="expects a tensor batched by vmap"):
        get_unwrapped(x)


def test_operators_on_functions():
    from flambeau.library.ops import HigherOrderOperator

    with pytest.raises(TypeError, match="abstract"):
        HigherOrderOperator("twice")

    class Twice(HigherOrderOperator):
        def __init__(self):
            super().__init__("twice")

        def __call__(self, function, x):
            return super().__call__(function, x)

    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return str(func)

    twice = Twice()
    assert torch.ops.higher_order.twice is twice and str(twice) == twice.name() == "twice"
    with pytest.raises(NotImplementedError, match="could not find kernel"):
        twice(torch.neg, torch.ones(1))
    twice.py_impl("any")(lambda function, x: function(function(x)))
    assert twice(lambda x: x + 1, torch.ones(1)).item() == 3
    assert twice(torch.neg, torch.ones(1).as_subclass(Refusing)) == "twice"


def test_what_is_known_by_name_only():
    from flambeau.compat._subclasses.functional_tensor import FunctionalTensor, mb_unwrap_functional_tensor

    x = torch.ones(1)
    assert mb_unwrap_functional_tensor(x) is x
    with pytest.raises(RuntimeError, match="cannot be created"):
        FunctionalTensor(x, None)
    names = ("quint8", "qint8", "qint32", "quint4x2", "quint2x4")
    assert [str(getattr(torch, name)) for name in names] == [f"torch.{name}" for name in names]


def test_the_innermost_fake_mode():
    assert torch._guards.active_fake_mode() is None
    with torch._subclasses.FakeTensorMode() as mode:
        assert torch._guards.active_fake_mode() is mode
    assert torch._utils._get_device_module("cuda") is torch.cuda
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        torch._utils._get_device_module("abacus")


def test_dictionaries_of_hooks_for_all_modules():
    from flambeau.nn.modules import module

    for register, name in (
        (module.register_module_forward_pre_hook, "_global_forward_pre_hooks"),
        (module.register_module_forward_hook, "_global_forward_hooks"),
        (module.register_module_full_backward_pre_hook, "_global_backward_pre_hooks"),
        (module.register_module_full_backward_hook, "_global_backward_hooks"),
    ):
        handle = register(lambda *args: None)
        assert list(getattr(module, name)) == [handle.id]
        handle.remove()
        assert not getattr(module, name)


def test_functions_that_are_loaded_lazily_are_not_overridden():
    ignored = torch.overrides.get_ignored_functions()
    assert {torch.get_autocast_dtype, torch.sparse_coo_tensor, torch.nn.init.calculate_gain} <= ignored
    assert torch.get_autocast_dtype not in torch.overrides.get_overridable_functions()[torch]


def test_tensors_of_modules_are_swapped():
    from flambeau.nn.modules.module import _global_parameter_registration_hooks as hooks
    from flambeau.nn.utils._named_member_accessor import set_tensor, swap_tensor

    layer, other = torch.nn.Linear(2, 2), torch.zeros(2, 2)
    weight = layer.weight
    assert swap_tensor(layer, "weight", other) is weight and layer.weight is other and "weight" in layer._parameters
    set_tensor(layer, "more", other)
    assert layer.more is other
    for name, error in (("", KeyError), ("a.b", KeyError), ("absent", AttributeError)):
        with pytest.raises(error):
            swap_tensor(layer, name, other)
    with pytest.raises(TypeError, match="not an instance"):
        swap_tensor(layer, "weight", 3)
    handle = torch.nn.modules.module.register_module_parameter_registration_hook(lambda module, name, value: None)
    assert handle.id in hooks
    handle.remove()


def test_seeds_of_workers():
    assert torch.utils.data._utils.worker._generate_state(12345678901, 3) == [2973762914, 2096409635, 2530576639, 2673913251]


def test_a_sum_times_a_factor(tmp_path):
    distributed = torch.distributed
    operation = distributed._make_nccl_premul_sum(2.5)
    assert operation == distributed.ReduceOp.PREMUL_SUM != distributed.ReduceOp.SUM
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        x = torch.tensor([2.0, 4.0])
        distributed.all_reduce(x, operation)
        assert x.tolist() == [5.0, 10.0]
    finally:
        distributed.destroy_process_group()


def test_a_file_can_be_read_without_its_elements():
    """lightning reads checkpoints lazily: an empty meta storage is a placeholder for a record of the file."""
    kept = torch.storage.TypedStorage(dtype=torch.float32, device="meta")
    like = torch._utils._rebuild_tensor_v2(kept, 0, (2, 3), (3, 1), False, {})
    assert like.is_meta and like.shape == (2, 3) and like.dtype is torch.float32
    held = torch.storage.TypedStorage(wrap_storage=torch.arange(6.0).untyped_storage(), dtype=torch.float32, _internal=True)
    tensor = torch._utils._rebuild_tensor_v2(held, 0, (2, 3), (3, 1), False, {})
    again = torch._tensor._rebuild_from_type_v2(lambda: tensor, torch.Tensor, (), {"note": 1})
    assert again.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and again.note == 1


def test_names_of_the_modules_of_a_list():
    class Named(torch.nn.ModuleList):
        def __getitem__(self, index):
            return self._get_abs_string_index(index), self._modules[self._get_abs_string_index(index)]

    first, last = torch.nn.Identity(), torch.nn.ReLU()
    modules = Named([first, last])
    assert (modules[0], modules[-1]) == (("0", first), ("1", last))
    with pytest.raises(IndexError, match="index 2 is out of range"):
        modules[2]


def test_types_of_the_script_language():
    """TorchScript type classes, which open-clip and pytorch-forecasting use in annotations."""
    assert isinstance(torch.TensorType.get(), torch.TensorType) and torch.TensorType.get().kind() == "TensorType"
    assert str(torch.DeviceObjType.get()) == "Device" and torch.DeviceObjType.get() == torch.DeviceObjType.get()
    tensor = next(torch.jit.trace(torch.neg, torch.ones(2)).graph.inputs()).type()
    assert tensor.isSubtypeOf(torch.TensorType.get())


def test_convolution_as_traces_write_it():
    x, weight = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    found = torch.ops.aten._convolution(x, weight, None, (1,), (0,), (1,), False, (0,), 1, False, False, True, True)
    assert found.tolist() == [[[2.0, 2.0]]]


def test_leaves_by_their_older_name():
    with pytest.warns(FutureWarning, match="use tree_is_leaf"):
        assert torch.utils._pytree._is_leaf(1) and not torch.utils._pytree._is_leaf([1])


def test_storages_in_the_pickles_that_pytorch_writes():
    """Unpickle a storage that was saved as a nested file, and rebuild a tensor from it."""
    file = io.BytesIO()
    torch.save(torch.arange(6.0).storage(), file, _use_new_zipfile_serialization=False)
    storage = torch.storage._load_from_bytes(file.getvalue())
    made = torch._utils._rebuild_tensor_v2(storage, 0, (2, 3), (3, 1), True, {})
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]] and made.requires_grad


def test_modules_with_other_parameters_for_a_while():
    """`_reparametrize_module` swaps parameters temporarily; zuko uses it to sample the weights of a network."""
    layer = torch.nn.Linear(2, 1)
    own, drawn = layer.weight, {"weight": torch.ones(1, 2, requires_grad=True)}
    with torch.nn.utils.stateless._reparametrize_module(layer, drawn):
        layer(torch.ones(2)).backward()
    assert layer.weight is own and own.grad is None and drawn["weight"].grad.tolist() == [[1.0, 1.0]]
    with pytest.raises(RuntimeError, match="Unexpected key"):
        torch.nn.utils.stateless._reparametrize_module(layer, {"other": own}, strict=True).__enter__()


def test_code_knows_that_it_is_traced():
    seen = []

    def double(x):
        seen.append(torch._C._is_tracing())
        return 2 * x

    double(torch.ones(1))
    torch.jit.trace(double, torch.ones(1), check_trace=False)
    assert not seen[0] and seen[1] and not torch._C._is_tracing()


def test_classes_of_graphs():
    graph = torch.jit.script(doubled).graph
    assert isinstance(graph, torch._C.Graph) and all(isinstance(each, torch._C.Value) for each in graph.inputs())
    assert all(isinstance(each, torch._C.Node) for each in graph.nodes())


def doubled(x):
    return 2 * x
