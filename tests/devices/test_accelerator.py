"""`torch.accelerator`: its results without a device, and its delegation to `torch.cuda` with one."""

from __future__ import annotations

import pytest
from standin import run

import flambeau as torch

accelerator = torch.accelerator


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_without_devices() -> None:
    assert accelerator.is_available() is False and accelerator.device_count() == 0
    assert accelerator.current_accelerator(check_available=True) is None
    accelerator.set_device_index(-1)
    with accelerator.device_index(None):
        pass
    for call in (
        accelerator.current_device_index,
        accelerator.synchronize,
        accelerator.current_stream,
        accelerator.empty_cache,
        accelerator.empty_host_cache,
        accelerator.get_device_capability,
        accelerator.Graph,
        accelerator.memory_allocated,
        lambda: accelerator.set_device_index(0),
        lambda: accelerator.memory_stats(0),
        lambda: accelerator.device_index(0).__enter__(),
    ):
        with pytest.raises(RuntimeError, match=r"Cannot access accelerator device when none is available\."):
            call()
    with pytest.warns(FutureWarning, match="set_device_index"):
        accelerator.set_device_idx(-1)


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="a backend for CUDA is installed")
def test_without_a_backend() -> None:
    assert accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError, match="Accelerator expected"):
        accelerator.synchronize("cpu")


def test_with_devices() -> None:
    run("""
        accelerator = torch.accelerator
        assert accelerator.is_available() and accelerator.device_count() == torch.cuda.device_count() > 1
        assert accelerator.current_accelerator() == accelerator.current_accelerator(True) == torch.device("cuda")
        with accelerator.device_index(1):
            assert accelerator.current_device_index() == torch.cuda.current_device() == 1
        assert accelerator.current_device_index() == 0
        accelerator.set_device_index(torch.device("cuda:1"))
        accelerator.set_device_index(-1)
        assert torch.cuda.current_device() == 1
        accelerator.synchronize()
        accelerator.synchronize("cuda:0")
        assert accelerator.current_stream() == torch.cuda.current_stream() != accelerator.current_stream("cuda:0")
        accelerator.set_stream(torch.cuda.Stream())
        assert accelerator.current_stream() == torch.cuda.current_stream() != torch.cuda.default_stream()

        assert {torch.float16, torch.int64, torch.bool} <= accelerator.get_device_capability()["supported_dtypes"]
        accelerator.empty_host_cache()

        x = torch.ones(100, device="cuda")
        assert accelerator.memory_allocated() == torch.cuda.memory_allocated(1) > accelerator.memory_allocated("cuda:0") == 0
        assert accelerator.max_memory_allocated(1) >= accelerator.memory_allocated(1) <= accelerator.memory_reserved(1)
        assert accelerator.get_memory_info() == torch.cuda.mem_get_info()
        assert accelerator.memory_stats().keys() == torch.cuda.memory_stats().keys()
        peak = accelerator.max_memory_reserved()
        del x
        accelerator.empty_cache()
        accelerator.reset_peak_memory_stats()
        accelerator.reset_accumulated_memory_stats()
        assert accelerator.max_memory_allocated() == 0 and accelerator.max_memory_reserved() < peak
        raises(ValueError, "cpu doesn't match the current accelerator cuda.", lambda: accelerator.synchronize("cpu"))
        y = torch.ones(3, device="cuda")
        captured = accelerator.Graph()
        with torch.cuda.stream(torch.cuda.Stream()), captured:
            y += 1
        captured.replay()
        assert captured.pool() is not None
    """)
