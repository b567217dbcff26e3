"""`torch.cuda` and `torch.backends` without CUDA: imports and queries work, and other calls raise PyTorch's errors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import flambeau as torch

NOT_COMPILED = "Torch not compiled with CUDA enabled"
WITHOUT_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")


def test_importing_it_imports_no_backend() -> None:
    code = "import sys, flambeau as torch; torch.cuda.Stream; torch.cuda.FloatTensor; print('cupy' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["False", "False"]


@WITHOUT_CUDA
def test_questions_have_answers() -> None:
    cuda = torch.cuda
    assert cuda.is_available() is False and cuda.device_count() == 0 and not cuda.is_initialized()
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved(0) == 0
    assert dict(cuda.memory_stats()) == dict(cuda.host_memory_stats()) == cuda.memory_stats_as_nested_dict() == {}
    assert cuda.get_arch_list() == [] and cuda.get_gencode_flags() == "" and cuda.default_generators == ()
    assert cuda.get_rng_state_all() == [] and not cuda.is_bf16_supported() and not cuda.is_tf32_supported()
    assert not cuda.is_current_stream_capturing() and "process" not in cuda.list_gpu_processes() + cuda.list_gpu_processes(
        "cuda:0"
    )
    for nothing in (cuda.empty_cache, cuda.seed, cuda.seed_all, cuda.caching_allocator_enable):
        assert nothing() is None
    cuda.manual_seed(1)
    cuda.manual_seed_all(1)
    cuda.set_device(-1)
    with cuda.device(-1), cuda.device_of(torch.ones(1)), cuda.stream(None):
        pass


@WITHOUT_CUDA
@pytest.mark.parametrize(
    "name",
    [
        "current_device",
        "init",
        "synchronize",
        "current_stream",
        "default_stream",
        "get_rng_state",
        "initial_seed",
        "get_device_name",
        "get_device_capability",
        "get_device_properties",
        "mem_get_info",
        "ipc_collect",
        "current_blas_handle",
        "get_sync_debug_mode",
        "FloatStorage",
    ],
)
def test_what_needs_a_device_raises(name: str) -> None:
    with pytest.raises(AssertionError, match=NOT_COMPILED):
        getattr(torch.cuda, name)()


@WITHOUT_CUDA
def test_objects_that_need_a_device_raise() -> None:
    network = torch.nn.Linear(1, 1)
    for call in (torch.ones(1).cuda, lambda: torch.ones(1).to("cuda"), lambda: torch.ones(1, device="cuda:0"), network.cuda):
        with pytest.raises(AssertionError, match=NOT_COMPILED):
            call()
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        torch.ones(1).cuda("cpu")
    with pytest.raises(RuntimeError, match="Cannot get CUDA generator"):
        torch.Generator("cuda")
    with pytest.raises(TypeError, match=r"type torch\.cuda\.FloatTensor not available"):
        torch.cuda.FloatTensor(1)
    with pytest.raises(TypeError, match=r"type torch\.cuda\.HalfTensor not available"):
        torch.set_default_tensor_type("torch.cuda.HalfTensor")
    assert torch.ones(1).dtype is torch.float32
    with pytest.raises(RuntimeError, match=r"torch\.cuda\.Stream requires CUDA support"):
        torch.cuda.Stream()
    for kind in (torch.cuda.Event, torch.cuda.CUDAGraph, torch.cuda.MemPool):
        with pytest.raises(RuntimeError, match=f"dummy base class {kind.__name__}"):
            kind()
    with pytest.raises(RuntimeError, match="cuda driver can't be loaded"):
        torch.cuda.temperature()


def test_arguments_are_checked() -> None:
    for wrong in ("cpu", torch.device("cpu")):
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            torch.cuda.device(wrong)
    with pytest.raises(ValueError, match="a specified index or an integer"):
        torch.cuda.set_device("cuda")
    with pytest.raises(RuntimeError, match="must not be negative"):
        torch.device("cuda", -1)
    assert torch.cuda.check_error(0) is None


def test_streams_and_events_of_the_cpu() -> None:
    stream, event = torch.Stream("cpu"), torch.Event("cpu", enable_timing=True)
    assert stream.query() and stream == torch.Stream("cpu") and hash(stream) == hash(torch.Stream("cpu"))
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    with pytest.raises(ValueError, match="must be recorded"):
        event.elapsed_time(event)
    stream.record_event(event)
    later = torch.Event("cpu", enable_timing=True)
    later.record()
    assert event.query() and event.elapsed_time(later) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        event.elapsed_time(torch.Event("cpu"))
    stream.wait_event(event)
    stream.wait_stream(torch.Stream("cpu"))


def test_names_that_belong_together() -> None:
    assert torch.get_device_module("cuda") is torch.cuda
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(torch.OutOfMemoryError, RuntimeError)
    assert issubclass(torch.cuda.Stream, torch.Stream) and issubclass(torch.cuda.Event, torch.Event)
    assert torch.cuda.amp.GradScaler and torch.cuda.comm.broadcast
    from flambeau.cuda.amp import GradScaler

    assert GradScaler is torch.cuda.amp.GradScaler
    assert torch.version.cuda is None
    missing = [name for name in torch.cuda.__all__ if not hasattr(torch.cuda, name)]
    assert not missing


def test_switches_of_libraries() -> None:
    import flambeau.backends.cudnn as cudnn

    backends = torch.backends
    assert cudnn is backends.cudnn and cudnn.enabled and not cudnn.benchmark
    with cudnn.flags(benchmark=True, deterministic=True):
        assert cudnn.benchmark and cudnn.deterministic and not cudnn.enabled
    assert cudnn.enabled and not cudnn.benchmark and not cudnn.deterministic
    cudnn.benchmark = True
    assert backends.cudnn.benchmark
    cudnn.benchmark = False
    assert backends.cuda.matmul.allow_tf32 is False
    assert not backends.mps.is_available() and not backends.mps.is_built()
    with backends.cuda.sdp_kernel(enable_flash=False):
        assert not backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled() and backends.openmp.is_available()
    assert backends.cudnn.version() is None or backends.cudnn.is_available()


def test_threads_of_the_cpu() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert torch.get_num_threads() == before >= 1


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
def test_shared_memory(shape: tuple[int, ...]) -> None:
    x = torch.arange(float(torch.empty(shape).numel())).reshape(shape).t() if len(shape) == 2 else torch.ones(shape)
    before = x.clone()
    assert not x.is_shared()
    assert x.share_memory_() is x and x.is_shared() and torch.equal(x, before)
    assert x.stride() == before.stride() or not x.numel()


def test_marks_of_nvidias_profilers_are_refused_when_they_are_set():
    nvtx = torch.cuda.nvtx
    for call in (lambda: nvtx.range_push("a"), nvtx.range_pop, lambda: nvtx.mark("a"), nvtx.range("a").__enter__):
        with pytest.raises(RuntimeError, match="NVTX functions not installed"):
            call()


def test_contexts_can_be_made_without_a_device():
    """Only entering needs CUDA; programs create the context before they check."""
    if torch.cuda.is_available():
        pytest.skip("has CUDA")
    for device in (None, -1, "cuda", torch.device("cuda")):
        with torch.cuda.device(device):
            pass
    with pytest.raises(ValueError, match="Expected a cuda device"):
        torch.cuda.device("cpu")
    assert torch.cuda.device_count() == 0 and not torch.cuda.is_available()
