"""The CuPy backend on a stand-in for CuPy, without a GPU, computes the same as the NumPy backend."""

from __future__ import annotations

import pytest
from standin import run

pytestmark = pytest.mark.slow

# --- results ----------------------------------------------------------------------------------------------------------

CASES = {
    "softmax": "lambda x: x.softmax(1), randn(3, 5, 4)",
    "softmax in double": "lambda x: x.softmax(-1), randn(3, 5).double()",
    "log_softmax": "lambda x: x.log_softmax(0), randn(3, 5, 4)",
    "cross_entropy": "lambda x, t: F.cross_entropy(x, t), randn(4, 3), torch.tensor([0, 2, -100, 1])",
    "cross_entropy, weighted": "lambda x, t, w: F.cross_entropy(x, t, weight=w.detach()), randn(4, 3), torch.tensor([0, 2, -100, 1]), torch.rand(3)",
    "cross_entropy of images": "lambda x, t: F.cross_entropy(x, t, reduction='none'), randn(4, 3, 2), torch.randint(0, 3, (4, 2))",
    "nll_loss": "lambda x, t: F.nll_loss(x.log_softmax(1), t, reduction='sum'), randn(4, 3), torch.tensor([0, 2, -100, 1])",
    "max_pool1d": "lambda x: F.max_pool1d(x, 2, dilation=2), randn(2, 3, 9)",
    "max_pool2d": "lambda x: F.max_pool2d(x, 3, 2, 1), randn(2, 3, 7, 8)",
    "max_pool3d": "lambda x: F.max_pool3d(x, 2), randn(1, 2, 4, 4, 5)",
    "max_pool indices": "lambda x: F.max_pool2d(x, 2, return_indices=True)[1], randn(1, 2, 4, 4)",
    "avg_pool1d": "lambda x: F.avg_pool1d(x, 3, 1, 1), randn(2, 3, 6)",
    "avg_pool2d": "lambda x: F.avg_pool2d(x, 3, 2, 1), randn(2, 3, 7, 8)",
    "avg_pool2d, ceil": "lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True, count_include_pad=False, padding=1), randn(2, 3, 7, 8)",
    "avg_pool3d": "lambda x: F.avg_pool3d(x, 2, divisor_override=3), randn(1, 2, 4, 4, 5)",
    "embedding": "lambda w, i: F.embedding(i, w), randn(5, 3), torch.tensor([[0, 1, 1], [4, 4, 4]])",
    "conv1d": "lambda x, w: F.conv1d(x, w, dilation=2), randn(2, 4, 9).double(), randn(3, 4, 2).double()",
    "conv2d": "lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2), randn(2, 4, 7, 8), randn(6, 2, 3, 3), randn(6)",
    "conv3d": "lambda x, w: F.conv3d(x, w), randn(1, 2, 4, 4, 3), randn(3, 2, 2, 3, 2)",
    "conv_transpose2d": "lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), randn(2, 4, 5, 6), randn(4, 3, 3, 3)",
    "linear": "lambda x, w, b: F.linear(x, w, b), randn(2, 4, 5), randn(3, 5), randn(3)",
    "products, turned": "lambda a, b: a.t() @ b.t(), randn(4, 3), randn(2, 4)",
    "products, broadcast": "lambda a, b: a @ b, randn(2, 1, 3, 4), randn(3, 4, 2)",
    "products, expanded": "lambda a, b: a.expand(3, 2, 4) @ b, randn(1, 1, 4), randn(3, 4, 2)",
    "products in half": "lambda a, b: a @ b, randn(2, 3, 4).half(), randn(2, 4, 2).half()",
    "products, empty": "lambda a, b: a @ b, randn(3, 0), randn(0, 2)",
    "scatter_add": "lambda x, i: torch.zeros(3, 4, device=x.device).scatter_add(0, i, x), randn(3, 4), torch.randint(0, 3, (3, 4))",
    "index": "lambda x, i: x[i], randn(5, 3), torch.tensor([0, 0, 4])",
    "index_add of integers": "lambda i: torch.zeros(5, dtype=torch.int64, device=i.device).index_add(0, i, i), torch.tensor([1, 1, 3])",
    "batch_norm": "lambda x, w, b: F.batch_norm(x, None, None, w, b, True), randn(4, 3, 2), randn(3), randn(3)",
    "sort": "lambda x: torch.sort(x, 1)[0], randn(4, 3)",
    "views": "lambda x: x.as_strided((2, 2), (1, 2), 1) * x.view(2, 3).t()[:2], randn(6)",
    "in place": "lambda x: (x * 1).add_(x, alpha=2).mul_(3).addcmul_(x, x, value=0.5), randn(6)",
}  # fmt: skip


def test_results_and_gradients_equal_those_of_the_cpu() -> None:
    cases = ", ".join(f"{name!r}: ({call})" for name, call in CASES.items())
    out = run(f"""
        torch.manual_seed(0)
        CASES = {{{cases}}}
        def compute(device, call, *tensors):
            moved = [each.detach().clone().to(device) for each in tensors]
            leaves = [each.requires_grad_() for each in moved if each.is_floating_point()]
            out = call(*moved)
            assert out.device.type == device
            if out.requires_grad:
                weights = torch.arange(out.numel()).reshape(out.shape).to(out.dtype).to(device) + 1
                (out * weights).sum().backward()
            return [out.detach().cpu(), *(each.grad.cpu() for each in leaves if each.grad is not None)]
        for name, case in CASES.items():
            expected, found = compute("cpu", *case), compute("cuda", *case)
            assert len(expected) == len(found), name
            for a, b in zip(expected, found):
                assert a.dtype == b.dtype and a.shape == b.shape, name
                tolerance = 0.2 if a.dtype == torch.float16 else 1e-4
                assert torch.allclose(a.double(), b.double(), atol=tolerance), (name, a, b)
            print(name)
    """)
    assert out.splitlines() == list(CASES)


def test_a_network_learns_as_on_the_cpu() -> None:
    run("""
        def losses(device, kind, **options):
            torch.manual_seed(1)
            net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3))
            x, y = randn(6, 1, 6, 6).to(device), torch.tensor([0, 1, 2, 0, 1, 2]).to(device)
            net = net.to(device)
            optimizer, found = kind(net.parameters(), lr=0.05, **options), []
            for _ in range(4):
                loss = F.cross_entropy(net(x), y)
                optimizer.zero_grad(); loss.backward(); optimizer.step()
                found.append(loss.item())
            return found
        for kind, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {}), (torch.optim.RMSprop, {})):
            a, b = losses("cpu", kind, **options), losses("cuda", kind, **options)
            assert np.allclose(a, b, atol=1e-4) and a[-1] < a[0], (kind, a, b)
    """)


def test_fused_optimizer_steps_equal_the_optimizers() -> None:
    run("""
        from flambeau_backends.cupy.kernels import KERNELS
        for kind, decoupled in ((torch.optim.Adam, False), (torch.optim.AdamW, True)):
            p = nn.Parameter(torch.arange(4.0).double())
            optimizer = kind([p], lr=0.1, weight_decay=0.01, amsgrad=True)
            q = cupy.asarray(p.detach().numpy().copy())
            mean, square, largest = cupy.zeros(4), cupy.zeros(4), cupy.zeros(4)
            for step in range(1, 4):
                optimizer.zero_grad(); (p ** 3).sum().backward(); optimizer.step()
                KERNELS["adam_step"](q, 3 * q * q, mean, square, largest, lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8,
                                     weight_decay=0.01, step=step, decoupled=decoupled)
            assert np.allclose(q.get(), p.detach().numpy())
        for nesterov in (False, True):
            p = nn.Parameter(torch.arange(4.0))
            optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, nesterov=nesterov, weight_decay=0.01)
            q, buffer = cupy.asarray(p.detach().numpy().copy()), cupy.zeros(4, np.float32)
            for step in range(3):
                optimizer.zero_grad(); (p ** 2).sum().backward(); optimizer.step()
                KERNELS["sgd_step"](q, 2 * q, buffer, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov, first=step == 0)
            assert np.allclose(q.get(), p.detach().numpy(), atol=1e-5)
    """)


# --- random numbers ---------------------------------------------------------------------------------------------------


def test_the_random_stream_is_pytorchs() -> None:
    run("""
        torch.manual_seed(0)
        known = torch.tensor([0.3990, 0.5167, 0.0249, 0.9401, 0.9459])  # torch.rand(5, device="cuda") in PyTorch
        assert torch.allclose(torch.rand(5, device="cuda").cpu(), known, atol=5e-5)
        generator = torch.Generator("cuda").manual_seed(0)
        assert torch.allclose(torch.rand(5, device="cuda", generator=generator).cpu(), known, atol=5e-5)
        assert generator.get_offset() == 4 and generator.get_state().numel() == 16
        state = torch.cuda.get_rng_state()
        first = torch.randn(1000, device="cuda")
        torch.cuda.set_rng_state(state)
        assert torch.equal(first, torch.randn(1000, device="cuda"))
        assert abs(first.mean()) < 0.1 and abs(first.std() - 1) < 0.1
        wide = torch.randn(2000, dtype=torch.float64, device="cuda")
        assert abs(wide.mean()) < 0.1 and abs(wide.std() - 1) < 0.1
        numbers = torch.randint(3, 9, (600,), device="cuda").cpu()
        assert sorted(set(numbers.tolist())) == [3, 4, 5, 6, 7, 8]
        large = torch.randint(0, 2 ** 40, (50,), device="cuda").cpu()
        assert 2 ** 32 < int(large.max()) < 2 ** 40
        assert sorted(torch.randperm(20, device="cuda").tolist()) == list(range(20))
        dropped = F.dropout(torch.ones(2000, device="cuda"), 0.25)
        assert abs(float((dropped == 0).float().mean()) - 0.25) < 0.05
        waits = torch.empty(2000, device="cuda").exponential_(2.0)
        assert abs(float(waits.mean()) - 0.5) < 0.05
        assert torch.empty(5, device="cuda").uniform_(2, 3).min() >= 2
        torch.cuda.manual_seed_all(3)
        assert torch.equal(torch.rand(3, device="cuda:0").cpu(), torch.rand(3, device="cuda:1").cpu())
    """)


# --- devices ----------------------------------------------------------------------------------------------------------


def test_work_goes_to_the_device_of_its_tensors() -> None:
    run("""
        x = torch.ones(2, 3, device="cuda:1")
        assert torch.cuda.current_device() == 0
        y = (x @ x.t()).exp().softmax(1) + 1
        assert y.device == torch.device("cuda:1") and torch.cuda.current_device() == 0
        y.add_(1).mul_(y)
        y[0] = 3
        assert y.to(torch.float64).sum().item() > 0 and y.clone().tolist()
        raises(RuntimeError, "at least two devices, cuda:1 and cuda:0", lambda: x + torch.ones(2, 3, device="cuda:0"))
        with torch.cuda.device(1):
            a = torch.zeros(1, device="cuda")
            with torch.cuda.device_of(torch.ones(1, device="cuda:0")):
                assert torch.cuda.current_device() == 0
            assert a.device.index == 1 == torch.cuda.current_device()
        assert torch.ones(1).cuda().device.index == 0
        assert torch.device(1) == torch.ones(1).to(1).device == torch.ones(1).cuda(1).device == torch.device("cuda:1")
        raises(RuntimeError, "must be cuda device", lambda: torch.ones(1).cuda("cpu"))
        raises(RuntimeError, "invalid device ordinal 7", lambda: torch.zeros(1, device="cuda:7"))
        raises(RuntimeError, "invalid device ordinal 7", lambda: torch.cuda.set_device(7))
    """)


def test_a_copy_between_devices_waits_for_its_source() -> None:
    run("""
        x = torch.arange(4.0, device="cuda:0")
        with recorded() as log:
            y = x.to("cuda:1", non_blocking=True)
        assert y.device.index == 1 and y.tolist() == [0, 1, 2, 3]
        kinds = [each[0] for each in log if isinstance(each, tuple)]
        assert kinds == ["record", "stream waits", "peer copy"]
        with recorded() as log:
            (x + x).relu()
        assert "wait" not in log and not any(isinstance(each, tuple) for each in log)  # nothing synchronizes
    """)


def test_streams_events_and_graphs() -> None:
    run("""
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
        stream = torch.cuda.Stream(priority=-1)
        assert isinstance(stream, torch.Stream) and stream.priority == -1 and stream.query()
        assert stream.__cuda_stream__() == (0, stream.cuda_stream)
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream() == stream
            with torch.cuda.stream(torch.cuda.Stream(device=1)):
                assert torch.cuda.current_device() == 1
            assert torch.cuda.current_device() == 0
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
        with recorded() as log:
            torch.cuda.current_stream().wait_stream(stream)
        assert [each[0] for each in log] == ["record", "stream waits"] and log[0][2] == stream.cuda_stream
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        raises(ValueError, "must be recorded", lambda: start.elapsed_time(end))
        start.record(); end.record(stream); end.synchronize()
        assert start.elapsed_time(end) == 1.5 and end.query()
        raises(ValueError, "enable_timing", lambda: torch.cuda.Event().elapsed_time(end))
        raises(RuntimeError, "does not match recording stream's device", lambda: start.record(torch.cuda.Stream(device=1)))
        graph = torch.cuda.CUDAGraph()
        raises(RuntimeError, "without a preceding successful capture", graph.replay)
        with torch.cuda.graph(graph):
            assert torch.cuda.is_current_stream_capturing()
            torch.ones(2, device="cuda") * 2
        assert not torch.cuda.is_current_stream_capturing()
        with recorded() as log:
            graph.replay()
        assert log == ["graph"]
        with recorded() as log:
            torch.cuda.synchronize(1)
        assert log == [("synchronize device", 1)]
    """)


def test_memory_statistics_and_limits() -> None:
    run("""
        import gc
        torch.ones(1, device="cuda"); gc.collect()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        x = torch.empty(1000, device="cuda")
        assert torch.cuda.memory_allocated() - before == 4096
        del x; gc.collect()
        assert torch.cuda.memory_allocated() == before
        assert torch.cuda.max_memory_allocated() >= before + 4096 <= torch.cuda.memory_reserved()
        reserved = torch.cuda.memory_reserved()
        torch.cuda.empty_cache(); gc.collect()
        assert torch.cuda.memory_reserved() < reserved
        assert torch.cuda.memory_stats()["num_ooms"] == 0
        assert torch.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == torch.cuda.memory_allocated()
        assert "Allocated memory" in torch.cuda.memory_summary()
        torch.cuda.set_per_process_memory_fraction(0.5)
        assert torch.cuda.get_per_process_memory_fraction() == 0.5
        raises(TypeError, "must be `float`", lambda: torch.cuda.set_per_process_memory_fraction(1))
        raises(ValueError, "Allowed range: 0~1", lambda: torch.cuda.set_per_process_memory_fraction(2.0))
        raises(torch.OutOfMemoryError, "CUDA out of memory. Tried to allocate 600.00 MiB",
               lambda: torch.empty(600 << 20, dtype=torch.uint8, device="cuda"))
        assert torch.cuda.memory_stats()["num_ooms"] == 1
        pointer = torch.cuda.caching_allocator_alloc(100)
        torch.cuda.caching_allocator_delete(pointer)
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            y = torch.ones(3, device="cuda")
        assert y.sum().item() == 3 and torch.cuda.mem_get_info()[1] == 1 << 30
    """)


def test_waiting_for_the_device_can_be_found() -> None:
    run("""
        import warnings
        x = torch.ones(1, device="cuda")
        raises(RuntimeError, "invalid value of debug_mode", lambda: torch.cuda.set_sync_debug_mode("loud"))
        torch.cuda.set_sync_debug_mode("error")
        raises(RuntimeError, "called a synchronizing CUDA operation", x.item)
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x.item()
        assert len(caught) == 1 and torch.cuda.get_sync_debug_mode() == 1
    """)


def test_properties_and_old_names() -> None:
    run("""
        assert torch.cuda.is_available() and torch.cuda.device_count() == 2
        assert torch.cuda.get_device_name(1) == "Stand-in" and torch.cuda.get_device_capability() == (9, 0)
        assert torch.cuda.get_arch_list() == ["sm_90"] and torch.cuda.can_device_access_peer(0, 1)
        raises(AssertionError, "Invalid device id", lambda: torch.cuda.get_device_properties(5))
        raises(ValueError, "Expected a cuda device, but got: cpu", lambda: torch.cuda.get_device_name("cpu"))
        x = torch.cuda.FloatTensor(2, 3)
        assert isinstance(x, torch.cuda.FloatTensor) and x.type() == "torch.cuda.FloatTensor"
        assert torch.ones(1).type(torch.cuda.LongTensor).device.type == "cuda"
        assert torch.cuda.FloatStorage(3).device.type == "cuda"
        assert torch.ones(1).untyped_storage().cuda(1).device.index == 1 and torch.cuda.FloatStorage(3).cpu().device.type == "cpu"
        raises(RuntimeError, "invalid device ordinal 7", lambda: torch.random.fork_rng(devices=[7]).__enter__())
    """)


def test_a_backend_selected_by_name() -> None:
    out = run("print(torch.ones(2).device, torch.zeros(1, device='cpu').device)", FLAMBEAU_BACKEND="cupy:1")
    assert out.split() == ["cuda:1", "cpu"]


def test_data_parallel_on_two_devices() -> None:
    run("""
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to("cuda:0")
        x = randn(5, 3, device="cuda:0")
        model = nn.DataParallel(net)
        assert model.device_ids == [0, 1] and torch.allclose(model(x).cpu(), net(x).cpu(), atol=1e-6)
        copies = torch.cuda.comm.broadcast(x, [0, 1])
        total = torch.cuda.comm.reduce_add(copies, 0)
        assert torch.equal(total.cpu(), 2 * x.cpu())
    """)


def test_no_device() -> None:
    run(
        """
        assert not torch.cuda.is_available()
        raises(RuntimeError, "No CUDA GPUs are available", torch.cuda.init)
        assert torch.ones(2).sum() == 2 and torch.cuda.memory_allocated() == 0
    """,
        STANDIN_DEVICES="0",
    )
