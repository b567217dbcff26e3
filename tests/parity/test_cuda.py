"""`torch.cuda` and devices without a GPU: same results and same types of errors."""

from __future__ import annotations

import io
import warnings

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

pytestmark = [
    pytest.mark.skipif(theirs.cuda.is_available() or ours.cuda.is_available(), reason="this machine has CUDA"),
    pytest.mark.filterwarnings("ignore"),
]

NAMES = sorted({each for each in ours.cuda.__all__ if hasattr(theirs.cuda, each)})
ARGUMENTS = {
    "()": (),
    "(None)": (None,),
    "(0)": (0,),
    "(-1)": (-1,),
    "('cuda')": ("cuda",),
    "('cuda:0')": ("cuda:0",),
    "('cpu')": ("cpu",),
}

PYTORCH_STUMBLES = (AttributeError, KeyError, TypeError)  # errors that PyTorch raises where its CPU build lacks a function
WITHOUT_NVML = {
    "clock_rate",
    "device_memory_used",
    "list_gpu_processes",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
}
NEED_NO_DEVICE = {  # these work without a device in flambeau; in PyTorch they call C++ functions that its CPU build lacks
    "check_error", "get_allocator_backend", "graph_pool_handle", "is_current_stream_capturing", "set_rng_state",
    "set_rng_state_all", "device",
}  # fmt: skip


def outcome(call):
    """Return a call's result if it is a plain Python value, else the name of the result's type, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call()
        except Exception as error:
            return type(error)
    return made if made is None or isinstance(made, (bool, int, float, str, tuple, list, dict)) else type(made).__name__


@pytest.mark.parametrize("name", sorted({*NAMES} - WITHOUT_NVML - NEED_NO_DEVICE))
def test_every_name(name):
    for said, given in ARGUMENTS.items():
        there, here = (outcome(lambda torch=torch, given=given: call_of(torch, name)(*given)) for torch in (theirs, ours))
        if isinstance(there, type) and issubclass(there, PYTORCH_STUMBLES) and here is not there:
            assert here in (AssertionError, RuntimeError), said
        else:
            assert here == there, said


def call_of(torch, name):
    found = getattr(torch.cuda, name)
    return found if callable(found) else lambda *_: found


def on_storage(torch):
    storage = torch.ones(2).untyped_storage()
    return storage.cpu() is storage, storage.to(device="cpu") is storage, torch.ones(2).storage().cpu().tolist()


def data_parallel(torch):
    return list(torch.nn.DataParallel(torch.nn.Linear(1, 1))(torch.ones(2, 1)).shape)


# fmt: off
CALLS = {
    "numbers": [lambda t, n=n: t.device(n) for n in (0, 1, -1, True, None, 1.5)],
    "devices": [lambda t, d=d: str(t.device(*d)) for d in (
        ("cuda",), ("cuda:1",), ("cuda", 1), ("cuda", -1), ("cuda:-1",), ("cuda:",), ("cuda:01",), ("cuda:1x",), ("cuda:0", 0), ("gpu",),
    )],
    "generators": [lambda t, d=d: str(t.Generator(d).device) for d in ("cpu", "cuda", "cuda:0", 0, "meta", "xpu")],
    "creation": [lambda t, d=d: t.ones(2, device=d).tolist() for d in ("cpu", "cuda", "cuda:1", 0, "gpu")],
    "other creation": [
        lambda t: t.tensor(1, device="cuda"), lambda t: t.arange(3, device="cuda"), lambda t: t.rand(1, device="cuda"),
        lambda t: t.as_tensor([1], device="cuda"), lambda t: t.ones(1).new_zeros(1, device="cuda"), lambda t: t.randperm(2, device="cuda"),
        lambda t: t.zeros_like(t.ones(1), device="cuda"), lambda t: t.tensor(1, device=0),
    ],
    "cuda()": [lambda t, d=d: t.ones(1).cuda(*d) for d in ((), (None,), ("cuda",), ("cuda:0",), (0,), (-1,), ("cpu",))],
    "to()": [lambda t, d=d: t.ones(1).to(d).tolist() for d in ("cpu", "cuda", "cuda:0", 0, "cudaa")],
    "pinned": [lambda t: t.ones(1).pin_memory(), lambda t: t.empty(1, pin_memory=True), lambda t: t.ones(1).is_pinned()],
    "modules": [
        lambda t: t.nn.Linear(1, 1).cuda(), lambda t: t.nn.Linear(1, 1).cuda(0), lambda t: t.nn.Linear(1, 1).to("cuda"),
        lambda t: t.nn.Linear(1, 1).to(0), lambda t: t.nn.Linear(1, 1, device="cuda"), lambda t: t.nn.ReLU().cuda(), data_parallel,
    ],
    "types": [
        lambda t: t.cuda.FloatTensor(2), lambda t: isinstance(t.ones(1), t.cuda.FloatTensor), lambda t: t.ones(1).is_cuda,
        lambda t: t.set_default_tensor_type("torch.cuda.FloatTensor"), lambda t: t.ones(1).get_device(),
    ],
    "storages": [on_storage, lambda t: t.UntypedStorage(2, device="cuda")],
    "contexts": [
        lambda t: t.cuda.device(-1).__enter__(), lambda t: t.cuda.device_of(t.ones(1)).__enter__(), lambda t: t.cuda.stream(None).__enter__(),
        lambda t: t.cuda.Stream(), lambda t: t.cuda.Event(), lambda t: t.Stream("cuda"), lambda t: t.Event("cuda"),
    ],
    "random": [
        lambda t: t.cuda.manual_seed(1.5), lambda t: t.cuda.manual_seed("a"), lambda t: t.cuda.manual_seed_all(None),
        lambda t: t.random.fork_rng().__enter__(), lambda t: t.random.fork_rng(devices=[0]).__enter__(),
        lambda t: t.random.fork_rng(devices=[]).__enter__(),
    ],
    "mixed precision": [
        lambda t: t.autocast("cuda").fast_dtype is t.float16, lambda t: t.amp.GradScaler("cuda").is_enabled(),
        lambda t: t.amp.GradScaler("cuda").scale(t.ones(1)).tolist(), lambda t: t.is_autocast_enabled("cuda"),
        lambda t: str(t.get_autocast_dtype("cuda")),
    ],
    "settings": [
        lambda t: t.backends.cuda.is_built(), lambda t: t.backends.cudnn.is_available(), lambda t: t.backends.cudnn.version(),
        lambda t: t.backends.cudnn.enabled, lambda t: t.backends.cudnn.benchmark, lambda t: t.backends.cudnn.allow_tf32,
        lambda t: t.backends.cuda.matmul.allow_tf32, lambda t: t.version.cuda, lambda t: t.cuda.set_per_process_memory_fraction(1),
        lambda t: t.cuda.set_sync_debug_mode("loud"), lambda t: t.load(io.BytesIO(b""), map_location="cuda"),
    ],
}
# fmt: on


@pytest.mark.parametrize("topic", CALLS)
def test_what_programs_do(topic):
    for number, call in enumerate(CALLS[topic]):
        there, here = outcome(lambda call=call: call(theirs)), outcome(lambda call=call: call(ours))
        same = here == there or (isinstance(there, type) and isinstance(here, type) and issubclass(here, there))
        assert same, f"{topic} {number}: {here}, PyTorch: {there}"
