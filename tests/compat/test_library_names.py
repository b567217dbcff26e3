"""Names that Keras, fastai, mmengine, torchdata, torchao and other libraries need, with their behaviour."""

import os
import signal
import subprocess
import sys

import pytest
from flambeau.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind, _MultiProcessingDataLoaderIter

import flambeau as torch
from flambeau.utils.data import IterableDataset, _utils


class _Loader:
    """A stand-in for a loader, with the attributes that fastai sets."""

    _IterableDataset_len_called, _auto_collation, drop_last, timeout = None, False, False, 0
    _index_sampler, generator, prefetch_factor, in_order = range(10**6), None, 2, True
    dataset_kind = _dataset_kind = _DatasetKind.Iterable
    pin_memory, persistent_workers, pin_memory_device = False, False, ""
    multiprocessing_context, worker_init_fn = None, None

    def __init__(self, workers):
        self.dataset, self.num_workers = self, workers

    def collate_fn(self, sample):
        return sample * 2

    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize("workers", [0, 1])
def test_iterators_accept_stand_ins_for_loaders(workers):
    kind = _MultiProcessingDataLoaderIter if workers else torch.utils.data.dataloader._SingleProcessDataLoaderIter
    assert list(kind(_Loader(workers))) == [0, 2, 4]


def test_iterators_can_be_subclassed():
    class Reversed(_BaseDataLoaderIter):
        def _next_data(self):
            return self._dataset[-1 - self._next_index()]

    iterator = Reversed(torch.utils.data.DataLoader([1, 2, 3], batch_size=None))
    assert list(iterator) == [3, 2, 1]
    iterator._reset(torch.utils.data.DataLoader([1, 2, 3], batch_size=None))
    assert (next(iterator), iterator._num_yielded) == (3, 1)


def test_fetchers_expose_their_datasets():
    class Count(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    fetcher = _DatasetKind.create_fetcher(_DatasetKind.Iterable, Count(), True, list, False)
    assert fetcher.fetch([0, 0]) == [0, 1]
    fetcher.dataset_iter = iter("abc")
    assert (fetcher.fetch([0, 0]), fetcher.fetch([0, 0]), fetcher.ended) == (["a", "b"], ["c"], True)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs waitid")
def test_a_dead_worker_raises_an_error():
    handling = _utils.signal_handling
    failing = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    killed = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    os.waitid(os.P_PID, failing.pid, os.WEXITED | os.WNOWAIT)
    try:
        handling._set_worker_pids(1, (failing.pid,))
        with pytest.raises(ValueError, match="only once"):
            handling._set_worker_pids(1, ())
        with pytest.raises(RuntimeError, match=rf"pid {failing.pid}\) exited unexpectedly with exit code 3"):
            handling._error_if_any_worker_fails()
        handling._error_if_any_worker_fails()  # reported once
        handling._set_worker_pids(2, (killed.pid,))
        handling._error_if_any_worker_fails()  # it is running
        killed.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(RuntimeError, match="is killed by signal"):
            handling._error_if_any_worker_fails()
    finally:
        for loader in (1, 2):
            handling._remove_worker_pids(loader)
        failing.wait()
        killed.wait()
    with pytest.raises(ValueError, match="Cannot find worker information"):
        handling._remove_worker_pids(1)


def test_seeds_and_shards_of_pipes():
    from flambeau.utils.data.datapipes.datapipe import _IterDataPipeSerializationWrapper
    from flambeau.utils.data.datapipes.iter import IterableWrapper
    from flambeau.utils.data.graph_settings import apply_random_seed, apply_sharding

    pipe = _IterDataPipeSerializationWrapper(IterableWrapper(range(6)).shuffle().sharding_filter())
    apply_sharding(pipe, 3, 1)
    drawn = [list(apply_random_seed(pipe, torch.Generator().manual_seed(7))) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == len(pipe) == 2


def test_settings_of_the_compiler_are_kept():
    config = torch._inductor.config
    with config.patch({"triton.cudagraphs": True, "max_autotune": True}, dce=True):
        assert config.triton.cudagraphs and config.max_autotune
    assert not config.triton.cudagraphs and not config.max_autotune
    with config.patch("a_new_setting", 3):
        assert config.get_config_copy()["a_new_setting"] == 3
    assert not hasattr(config, "a_new_setting")
    config.coordinate_descent_tuning = True
    assert config.get_config_copy()["coordinate_descent_tuning"] is True
    config.coordinate_descent_tuning = False
    assert {"cpp.threads", "freezing"} <= set(torch._inductor.list_options())
    assert not {"patch", "MODES", "sys", "Any"} & set(torch._inductor.list_options())
    assert torch._inductor.list_mode_options("max-autotune")["max_autotune"] is True
    assert torch._inductor.utils.parallel_num_threads() == torch.get_num_threads()
    config.cpp.threads = 3
    assert torch._inductor.utils.parallel_num_threads() == 3
    config.cpp.threads = -1
    with pytest.raises(NotImplementedError, match="source code"):
        torch._inductor.utils.run_and_get_code(torch.compile(abs), torch.ones(1))
    with torch._dynamo.utils.disable_cache_limit():
        assert torch._dynamo.config.cache_size_limit == sys.maxsize
    assert torch._dynamo.config.cache_size_limit == 8


def test_packaged_programs(tmp_path):
    net = torch.nn.Linear(2, 3)
    program = torch.export.export(net, (torch.ones(1, 2),))
    with pytest.raises(AssertionError, match=r"\.pt2"):
        torch._inductor.aoti_compile_and_package(program, package_path=tmp_path / "model.zip")
    path = torch._inductor.aoti_compile_and_package(program, package_path=tmp_path / "model.pt2")
    x = torch.randn(1, 2)
    assert torch.equal(torch._inductor.aoti_load_package(path)(x), net(x))


def test_the_profiler_s_enumerations_are_in_autograd():
    assert torch.autograd.DeviceType.CUDA.name == "CUDA" and torch.autograd.ProfilerActivity is torch.profiler.ProfilerActivity


def test_switches_of_the_jit_return_their_previous_values():
    switches = torch._C
    assert [switches._jit_set_profiling_executor(value) for value in (False, True)] == [True, False]
    assert [switches._jit_set_num_profiled_runs(value) for value in (3, 1)] == [1, 3]
    with torch.jit.optimized_execution(False):
        assert not switches._get_graph_executor_optimize()
    assert switches._get_graph_executor_optimize()
    assert isinstance(torch.jit.script(torch.nn.ReLU()).forward, switches.ScriptMethod)
    assert not isinstance(torch.nn.ReLU().forward, switches.ScriptMethod)


def test_schemas_of_overloads_can_be_looked_up_with_a_default():
    assert str(getattr(torch.ops.aten.add.Tensor, "_schema", None)).startswith("aten::add.Tensor(Tensor self, Tensor other")
    assert getattr(torch.ops.aten.embedding_renorm.default, "_schema", None) is None


def test_int_mm_is_exact():
    a = torch.full((3, 2000), -128, dtype=torch.int8)
    b = torch.full((2000, 2), 127, dtype=torch.int8)
    assert torch._int_mm(a, b).tolist() == [[-128 * 127 * 2000] * 2] * 3
    out = torch.empty(0, dtype=torch.int32)
    assert torch._int_mm(a[:, :3], b[:3], out=out) is out
    assert out.tolist() == [[-128 * 127 * 3] * 2] * 3
    with pytest.raises(RuntimeError, match="to be int8"):
        torch._int_mm(a.float(), b)
    with pytest.raises(RuntimeError, match="needs to match"):
        torch._int_mm(a, a)


def test_copies_of_views():
    x = torch.arange(6.0, requires_grad=True)
    copied = torch.view_copy(x, (2, 3))
    assert copied.is_contiguous() and not copied._is_view()
    copied.sum().backward()
    assert x.grad.tolist() == [1.0] * 6
    x = x.detach()
    assert torch.unfold_copy(x, 0, 2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert torch.expand_copy(x[:1], (2, 3)).tolist() == [[0.0] * 3] * 2
    assert torch.slice_copy(x, 0, 1, 5, 2).tolist() == [1.0, 3.0]
    assert torch.permute_copy(x.view(2, 3), (1, 0)).stride() == (2, 1)
    outs = [torch.empty(2), torch.empty(0)]
    torch.split_with_sizes_copy(x, [2, 4], out=outs)
    assert [out.tolist() for out in outs] == [[0.0, 1.0], [2.0, 3.0, 4.0, 5.0]]
    assert [part.tolist() for part in torch.unbind_copy(x[:2])] == [0.0, 1.0]


def test_dtypes_of_few_bits_are_names():
    import pickle

    assert [str(torch.uint1), str(torch.int7), torch.uint4.itemsize] == ["torch.uint1", "torch.int7", 1]
    assert (torch.uint3.is_signed, torch.int3.is_signed, torch.int3.is_floating_point) == (False, True, False)
    assert pickle.loads(pickle.dumps(torch.uint4)) is torch.uint4


def test_passes_are_sorted_and_repeated():
    from flambeau.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint

    calls = []

    def first(module):
        calls.append("first")

    def second(module):
        calls.append("second")

    passes = [pass_result_wrapper(second), pass_result_wrapper(first)]
    manager = PassManager(passes, [this_before_that_pass_constraint(passes[1], passes[0])], steps=2)
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager.validate_constraints()
    module = torch.fx.symbolic_trace(torch.nn.ReLU())
    assert manager(module) == (module, True)
    assert calls == ["first", "second"] * 2
    manager.add_constraint(this_before_that_pass_constraint(passes[0], passes[1]))
    with pytest.raises(RuntimeError, match="Circular"):
        manager(module)


def test_sizes_have_no_symbols():
    shapes = __import__("flambeau.fx.experimental.symbolic_shapes", fromlist=["_"])
    assert (len(shapes.free_symbols(torch.ones(2).shape)), shapes.has_free_symbols(3)) == (0, False)
    assert (shapes.guard_or_false(3 > 2), shapes.statically_known_true(3 < 2), shapes.is_symbolic(3)) == (True, False, False)


def test_bases_of_layers():
    from flambeau.nn.modules.conv import _ConvTransposeMixin, _ConvTransposeNd

    from flambeau.nn.modules import pooling

    assert issubclass(_ConvTransposeMixin, _ConvTransposeNd)
    assert issubclass(torch.nn.AdaptiveAvgPool2d, pooling._AdaptiveAvgPoolNd)
    assert issubclass(torch.nn.AdaptiveMaxPool1d, pooling._AdaptiveMaxPoolNd)


def test_an_active_profiler_can_be_disabled():
    with torch.profiler.profile() as seen:
        torch.ones(2)
        assert torch.autograd._profiler_enabled()
        torch.autograd._disable_profiler()
        torch.zeros(2)
    assert [event.key for event in seen.key_averages()] == ["aten::ones"]
    assert not torch.autograd._profiler_enabled()


def test_absent_devices():
    assert (torch.cuda._initialized, torch.xpu.memory_stats(), torch.xpu.reset_peak_memory_stats()) == (False, {}, None)
    for query in (torch.xpu.get_device_properties, torch.xpu.get_device_capability, torch.xpu.get_rng_state):
        with pytest.raises(AssertionError, match="XPU"):
            query()
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)), torch.cuda.profiler.profile():
            pass


class _Base(torch.Tensor):
    """A base class without `__torch_dispatch__`, as quanto's."""


class _Wrapper(_Base):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __init_subclass__(cls):
        """Do not call Tensor's method, as torchao."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, op, types, args, kwargs=None):
        return cls(op(args[0].inner))


class _Derived(_Wrapper):
    pass


@pytest.mark.parametrize("kind", [_Wrapper, _Derived])
def test_wrappers_below_other_classes_are_dispatched(kind):
    wrapper = kind(torch.tensor([1.0, -2.0]))
    assert type(wrapper.detach()) is type(torch.nn.Parameter(wrapper)) is kind
    assert wrapper.abs().inner.tolist() == [1.0, 2.0]


def test_scaled_products():
    functional = torch.nn.functional
    rows, tensor = functional.ScalingType.RowWise, functional.ScalingType.TensorWise
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).to(torch.float8_e4m3fn)
    b = torch.eye(2).to(torch.float8_e4m3fn)
    scales = torch.tensor([[1.0], [2.0], [4.0]])
    result = functional.scaled_mm(a, b, [scales], [rows], torch.ones(1, 2), rows, output_dtype=torch.float32)
    assert result.tolist() == [[1.0, 2.0], [6.0, 8.0], [20.0, 24.0]]
    with pytest.raises(ValueError, match="Only TensorWise and RowWise"):
        functional.scaled_mm(a, b, scales, functional.ScalingType.BlockWise1x32, torch.ones(1, 2), tensor)
    experts, ends = torch.stack([b, b]), torch.tensor([1, 3], dtype=torch.int32)
    grouped = functional.scaled_grouped_mm(
        a, experts, scales[:, 0], rows, torch.tensor([[1.0, 1.0], [0.5, 1.0]]), rows, offs=ends, output_dtype=torch.float32
    )
    assert grouped.tolist() == [[1.0, 2.0], [3.0, 8.0], [10.0, 24.0]]


def test_properties_of_shapes_and_strides():
    prims = torch._prims_common
    x = torch.empty(2, 3, 4, 5)
    assert prims.suggest_memory_format(x) is torch.contiguous_format
    assert prims.suggest_memory_format(x.to(memory_format=torch.channels_last)) is torch.channels_last
    assert prims.make_contiguous_strides_for((2, 3, 4)) == (12, 4, 1)
    assert prims.make_contiguous_strides_for((2, 3, 4), row_major=False) == (12, 1, 3)
    assert (prims.canonicalize_dims(3, -1), prims.canonicalize_dims(3, (0, -2))) == (2, (0, 1))
    with pytest.raises(IndexError, match="out of range"):
        prims.canonicalize_dim(2, 2)


def test_operators_are_decomposed_if_they_are_made_of_others():
    aten, x = torch.ops.aten, torch.tensor([[1.0, -2.0]])
    assert aten.add.op is aten.add.default.op
    assert aten.relu.default.decompose(x) is NotImplemented
    assert aten.add.Tensor.decompose(x, x) is NotImplemented
    assert torch.equal(aten.matmul.default.decompose(x, x.T), x @ x.T)
    assert torch.equal(aten.square.default.decompose(x), x * x)
