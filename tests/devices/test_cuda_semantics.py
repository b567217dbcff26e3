"""CUDA semantics: device placement, transfers between devices, streams and synchronization."""

from __future__ import annotations

import pytest
from standin import run

pytestmark = pytest.mark.slow


def test_the_documents_example_of_cuda_semantics() -> None:
    """Run the code of PyTorch's notes on CUDA semantics on three devices of the stand-in."""
    run(
        """
        x = torch.cuda.FloatTensor(1)
        assert x.get_device() == 0
        y = torch.FloatTensor(1).cuda()
        assert y.get_device() == 0

        with torch.cuda.device(1):
            # allocates a tensor on GPU 1
            a = torch.cuda.FloatTensor(1)

            # transfers a tensor from CPU to GPU 1
            b = torch.FloatTensor(1).cuda()
            assert a.get_device() == b.get_device() == 1

            c = a + b
            assert c.get_device() == 1

            z = x + y
            assert z.get_device() == 0

            # even within a context, you can give a GPU id to the .cuda call
            d = torch.randn(2).cuda(2)
            assert d.get_device() == 2

        # operations across devices are errors, whatever the current device; copy_() is the exception
        for index in (0, 1):
            with torch.cuda.device(index):
                raises(RuntimeError, "two devices, cuda:0 and cuda:1", lambda: x + a)
                raises(RuntimeError, "two devices, cuda:0 and cuda:1", lambda: x.add_(a))
                a.fill_(index + 5)
                assert x.copy_(a).get_device() == 0 and x.item() == index + 5
    """,
        STANDIN_DEVICES="3",
    )


def test_it_is_lazy() -> None:
    """Importing and querying `torch.cuda` does not initialize a device."""
    run("""
        from flambeau.engine.devices.cuda import is_initialized
        torch.cuda.FloatTensor, torch.cuda.Stream, torch.backends.cudnn.enabled
        assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and not is_initialized()
        assert torch.cuda.memory_allocated() == 0 and not torch.cuda.memory_stats() and not torch.ones(1).is_pinned()
        x = torch.ones(1000, device="cuda")
        assert is_initialized() and torch.cuda.memory_allocated() >= 4096
    """)
    run(
        """
        raises(RuntimeError, "No CUDA GPUs are available", lambda: torch.ones(1, device="cuda"))
        raises(RuntimeError, "No CUDA GPUs are available", lambda: torch.ones(1).cuda())
        raises(RuntimeError, "when none is available", torch.ones(1).pin_memory)
    """,
        STANDIN_DEVICES="0",
    )


def test_a_forked_process_is_told_to_be_spawned() -> None:
    run("""
        import os
        torch.ones(1, device="cuda")
        child = os.fork()
        if not child:
            try:
                torch.ones(1, device="cuda")
            except RuntimeError as error:
                os._exit(0 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


# --- page-locked memory -----------------------------------------------------------------------------------------------


def test_page_locked_memory() -> None:
    run("""
        import gc
        x = torch.arange(6.0).reshape(2, 3)
        pinned = x.pin_memory()
        assert pinned.is_pinned() and pinned[1:].is_pinned() and not x.is_pinned()
        assert torch.equal(pinned, x) and pinned.pin_memory() is pinned and pinned.data_ptr() != x.data_ptr()
        assert torch.cuda.host_memory_stats()["allocated_bytes.all.current"] == 24
        assert x.storage().pin_memory().is_pinned() and x.t().pin_memory().is_pinned()
        raises(RuntimeError, "only dense CPU tensors can be pinned", x.cuda().pin_memory)
        for made in (torch.empty(2, pin_memory=True), torch.rand(2, pin_memory=True, requires_grad=True), x.new_ones(2, pin_memory=True),
                     torch.zeros_like(x, pin_memory=True), torch.tensor([1], pin_memory=True), torch.arange(3, pin_memory=True)):
            assert made.is_pinned()
        data = torch.utils.data.TensorDataset(torch.ones(4, 2), torch.arange(4))
        for batch in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
            assert all(each.is_pinned() for each in batch)
        del pinned, made, batch; gc.collect()
        assert torch.cuda.host_memory_stats()["allocated_bytes.all.current"] == 0
    """)


def test_copies_that_do_not_block() -> None:
    run("""
        pinned, plain = torch.arange(6.0).pin_memory(), torch.arange(6.0)
        def sent(copy):
            with recorded() as log:
                made = copy()
            assert made.tolist() == [0, 1, 2, 3, 4, 5]
            return "copy from pinned memory" in log
        there = torch.zeros(6, device="cuda")
        assert sent(lambda: pinned.cuda(non_blocking=True)) and sent(lambda: pinned.to("cuda:1", non_blocking=True))
        assert sent(lambda: there.copy_(pinned, non_blocking=True))
        assert not sent(lambda: pinned.cuda()) and not sent(lambda: plain.cuda(non_blocking=True))
        with recorded() as log:
            back = there.to("cpu", non_blocking=True)
        assert "wait" not in log and "copy to pinned memory" in log and back.is_pinned() and torch.equal(back, plain)
        with recorded() as log:
            there.cpu(), there.to("cpu"), plain.copy_(there, non_blocking=True)
        assert log.count("wait") == 3  # the host reads these at once
        assert there.to("cpu", torch.float64, non_blocking=True).dtype == torch.float64
    """)


# --- several devices ----------------------------------------------------------------------------------------------------


def test_gradients_travel_between_devices() -> None:
    run("""
        for here, there in (("cpu", "cuda:1"), ("cuda:1", "cpu"), ("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")):
            x = torch.arange(3.0, device=here, requires_grad=True)
            y = (x * 2).to(there)
            (y * y).sum().backward()
            assert x.grad.device == x.device and x.grad.tolist() == [0, 8, 16]
            slope, = torch.autograd.grad((x.to(there) ** 3).sum(), x, create_graph=True)
            assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [0, 6, 12]
            both = x.sum() + x.to(there).double().sum().to(here).float()
            x.grad = None
            both.backward()
            assert x.grad.tolist() == [2, 2, 2]
    """)


@pytest.mark.parametrize("families", ["activation,indexing,joining,matrix,reductions", "scatter,sorting,statistics,views,loss"])
def test_operations_on_a_device_that_is_not_current(families: str) -> None:
    """Check values and derivatives of the samples on `cuda:1` while `cuda:0` is current."""
    run(f"""
        import warnings
        from flambeau.conformance.checks import CHECKS, Checker
        from flambeau.conformance.samples import families
        checker = Checker("cuda:1")
        warnings.simplefilter("ignore")
        for family in {families!r}.split(","):
            for sample in families()[family]:
                for check in ("values", "gradients"):
                    if CHECKS[check](sample) and checker.dtypes(sample):
                        with torch.device("cuda:1"):
                            getattr(checker, check)(sample)
                assert torch.cuda.current_device() == 0, sample.name
    """)


def test_a_training_step_does_not_wait_for_the_device() -> None:
    run("""
        embedding, net = nn.Embedding(10, 16).cuda(), nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5),
            nn.Linear(16, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)).cuda()
        words, target = torch.randint(10, (5,)).cuda(), torch.randint(3, (5,)).cuda()
        for kind in (torch.optim.SGD, torch.optim.Adam):
            optimizer = kind([*embedding.parameters(), *net.parameters()], lr=0.1)
            for step in range(3):
                with recorded() as log:
                    optimizer.zero_grad()
                    loss = F.cross_entropy(net(embedding(words).view(5, 1, 4, 4)), target)
                    loss.backward()
                    optimizer.step()
                if step:  # the first one makes what stays
                    assert "wait" not in log, [log[max(0, i - 5) : i + 1] for i, each in enumerate(log) if each == "wait"]
    """)


# --- views, half precision, other processes -----------------------------------------------------------------------------


def test_views_share_memory() -> None:
    run("""
        for turn in (lambda x: x, lambda x: x.transpose(0, 2)):
            for view in (lambda x: x.diagonal(), lambda x: x.unfold(1, 2, 1), lambda x: x.split(1)[0], lambda x: x.unbind(1)[1],
                         lambda x: x[1:, ::2], lambda x: x.mT, lambda x: x.unsqueeze(0), lambda x: x.movedim(0, 1)):
                x = turn(torch.zeros(3, 3, 3, device="cuda:1"))
                view(x).fill_(1)
                expected = turn(torch.zeros(3, 3, 3))
                view(expected).fill_(1)
                assert torch.equal(x.cpu(), expected)
        z = torch.zeros(2, dtype=torch.complex64, device="cuda")
        torch.view_as_real(z)[0, 1] = 3
        assert z.cpu().tolist() == [3j, 0]
        torch.ones(2, device="cuda").view(torch.int32).zero_()
        raises(RuntimeError, "view size is not compatible", lambda: torch.ones(2, 3, device="cuda").t().view(6))
        raises(RuntimeError, "single memory location", lambda: torch.ones(1, device="cuda").expand(3).add_(1))
    """)


def test_half_precision_is_multiplied_as_it_is() -> None:
    run("""
        for call in (lambda x: x @ x.t(), lambda x: F.linear(x, x, x[0, :8]), lambda x: F.conv1d(x[None], x[:, :, None])):
            x = torch.randn(8, 8).half()
            with recorded() as log:
                made = call(x.cuda())
            assert made.dtype == torch.float16 and torch.allclose(made.cpu().float(), call(x.float()), atol=0.1)
            assert "astype" not in log
    """)


def test_optimizers_use_one_kernel_a_parameter() -> None:
    run("""
        def losses(device, kind, dtype=torch.float32, **options):
            torch.manual_seed(1)
            net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
            x, net = randn(6, 4).to(device, dtype), net.to(device, dtype)
            optimizer, found = kind(net.parameters(), **options), []
            for _ in range(4):
                loss = (net(x) ** 2).mean()
                optimizer.zero_grad(); loss.backward()
                with recorded() as log:
                    optimizer.step()
                found.append(loss.item())
            return found, [each for each in log if "step" in each]
        O = torch.optim
        for kind, options in ((O.SGD, {}), (O.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
                              (O.SGD, {"momentum": 0.9, "dampening": 0.1, "maximize": True}), (O.Adam, {"weight_decay": 0.1}),
                              (O.Adam, {"amsgrad": True}), (O.AdamW, {"maximize": True}), (O.Adam, {"lr": torch.tensor(0.1)})):
            options = {"lr": 0.1, **options}
            expected, (found, log) = losses("cpu", kind, **options)[0], losses("cuda", kind, **options)
            assert np.allclose(expected, found, atol=1e-5) and len(log) == 4, (kind, options, expected, found, log)
        assert losses("cuda", O.Adam, torch.float64, lr=0.1)[1] == ["adam_step<double>"] * 4
        assert losses("cuda", O.Adam, torch.float16, lr=0.1)[1] == []
    """)


def test_memory_is_lent_to_other_processes() -> None:
    run("""
        import gc
        from flambeau import backend, multiprocessing
        from flambeau.cuda import sharing
        x = torch.arange(12.0, device="cuda:1").reshape(3, 4)
        memory = x._array.base._host
        backend.find("cupy")._segments[memory.ctypes.data - 512] = 4096  # the stand-in's pools hand out no real addresses
        receiver, sender = multiprocessing.Pipe(False)
        sender.send(x[1:, ::2])
        own = receiver.recv()  # back where it came from
        own[0, 0] = 7
        assert x[1, 0] == 7 and len(sharing._exported) == 1
        torch.cuda.ipc_collect()
        assert not sharing._exported
        sender.send(nn.Parameter(x)[1:, ::2].detach())
        lent, sharing._exported[:] = list(sharing._exported), []  # as if in another process
        theirs = receiver.recv()
        sharing._exported += lent
        assert theirs.device == x.device and theirs.stride() == (4, 2) and theirs.tolist() == [[7, 6], [8, 10]]
        theirs[0, 1] = -1
        torch.cuda.ipc_collect()
        assert x[1, 2] == -1 and len(sharing._exported) == 1
        with recorded() as log:
            del theirs; gc.collect()
        assert "memory given back" in log
        torch.cuda.ipc_collect()
        assert not sharing._exported
    """)


def test_a_conversion_stays_on_its_device() -> None:
    run("""
        for x in (torch.tensor(1.5, device="cuda:1"), torch.ones(2, 3, device="cuda").t()):
            with recorded() as log:
                made = x.half().double()
            assert log == ["astype", "astype"] and made.shape == x.shape and made.device == x.device
            assert x.to("cuda:0").shape == x.to("cpu", non_blocking=True).shape == x.shape
    """)
