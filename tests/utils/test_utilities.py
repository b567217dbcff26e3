"""`torch.futures` and the small modules of `torch.utils`."""

from __future__ import annotations

import gc
import pickle
import threading

import numpy as np
import pytest
from flambeau.utils._contextlib import _DecoratorContextManager
from flambeau.utils._python_dispatch import TorchDispatchMode

import flambeau as torch
from flambeau.utils.weak import TensorWeakRef, WeakIdKeyDictionary


def test_futures():
    future = torch.futures.Future()
    twice = future.then(lambda done: 2 * done.value()).then(lambda done: done.value() + 1)
    seen = []
    future.add_done_callback(lambda done: seen.append(done.wait()))
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    threading.Timer(0.01, future.set_result, (3,)).start()
    assert twice.wait() == 7 and future.done() and seen == [3]
    with pytest.raises(RuntimeError, match="completed once"):
        future.set_result(4)
    late = []
    future.add_done_callback(lambda done: late.append(done.value()))
    assert late == [3] and isinstance(torch.Future(), torch.futures.Future)


def test_futures_with_errors_and_several():
    first, second = torch.futures.Future(), torch.futures.Future()
    after = first.then(lambda done: done.value())
    whole = torch.futures.collect_all([first, second])
    first.set_exception(ValueError("lost"))
    assert not whole.done()
    second.set_result(1)
    assert [part is given for part, given in zip(whole.wait(), (first, second), strict=True)] == [True, True]
    with pytest.raises(ValueError, match="lost"):
        first.wait()
    with pytest.raises(RuntimeError, match="error when running the callback: ValueError: lost") as caught:
        after.wait()
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(second)
    with pytest.raises(ValueError, match="lost"):
        torch.futures.wait_all([second, first])
    assert torch.futures.wait_all([second, second]) == [1, 1] and torch.futures.collect_all([]).wait() == []


def test_dictionaries_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    known = WeakIdKeyDictionary({a: "a"})
    known[b] = "b"
    assert (known[a], known[b], len(known), torch.ones(2) in known) == ("a", "b", 2, False)
    reference = TensorWeakRef(a)
    assert reference() is a and set(map(id, known)) == {id(a), id(b)}
    del a
    gc.collect()
    assert reference() is None and len(known) == 1 and list(known.values()) == ["b"]


def test_context_managers_decorate():
    log = []

    class Around(_DecoratorContextManager):
        def __enter__(self):
            log.append("in")

        def __exit__(self, *exception):
            log.append("out")

    @Around()
    def compute(x):
        log.append(x)
        return x + 1

    @Around()
    def count():
        got = yield 1
        log.append(got)
        return 5

    assert compute(1) == 2 and log == ["in", 1, "out"]
    log.clear()
    steps = count()
    assert next(steps) == 1 and log == ["in", "out"]
    with pytest.raises(StopIteration) as end:
        steps.send("sent")
    assert end.value.value == 5 and log == ["in", "out", "in", "sent", "out"]


def test_modules_are_tracked():
    names = []

    class Inner(torch.nn.Module):
        def forward(self, x):
            names.append(sorted(tracker.parents))
            return x

    net = torch.nn.Sequential(torch.nn.Identity(), Inner())
    tracker = torch.utils.module_tracker.ModuleTracker()
    with tracker:
        net(torch.ones(1))
        assert tracker.parents == {"Global"}
    net(torch.ones(1))
    assert names == [["Global", "Sequential", "Sequential.1"], ["Global"]]


def test_dispatch_modes_see_operators():
    class Log(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log() as log:
        assert torch.equal(torch.ones(2).exp() * 0 + 1, torch.ones(2))
    assert log.seen[:4] == ["aten.ones.default", "aten.exp.default", "aten.mul.Tensor", "aten.add.Tensor"]
    x = torch.ones(2)
    with Log() as log:
        assert x.new_zeros(()).shape == torch.zeros(()).shape == torch.empty([]).shape == ()
        assert x.fill_(3).tolist() == [3, 3] and x.copy_(torch.ones(2)).tolist() == [1, 1] and x.zero_() is x
    assert x.tolist() == [0, 0]
    assert [name for name in log.seen if name.split(".")[1].endswith("_")] == [
        "aten.fill_.Scalar",
        "aten.copy_.default",
        "aten.zero_.default",
    ]
    with Log() as log:
        x.cauchy_().log_normal_()
        x.median()
        x.new_full((2,), 3.0)
    assert log.seen == [
        "aten.cauchy_.default",
        "aten.log_normal_.default",
        "aten.median.default",
        "aten.new_full.default",
    ]


def test_a_slice_knows_the_whole():
    x = torch.arange(6.0).reshape(2, 3)
    part = x[:, 1:]
    whole = part.slice_inverse(x, 1, 1, 3)
    assert whole.tolist() == x.tolist() and whole.data_ptr() == x.data_ptr() and not x.is_distributed()


def test_the_report_of_the_environment():
    from flambeau.utils import collect_env

    facts = collect_env.get_env_info()
    assert facts.torch_version == str(torch.__version__) and facts.is_debug_build == "False"
    assert f"numpy=={np.__version__}" in facts.pip_packages.splitlines()
    text = collect_env.pretty_str(facts._replace(cudnn_version=None, pip_packages="a==1\nb==2"))
    assert "cuDNN version: Could not collect" in text and "[pip3] a==1\n[pip3] b==2" in text
    assert collect_env.run_and_parse_first_match(collect_env.run, "echo release 12", r"release (\d+)") == "12"
    assert collect_env.run_and_read_all(collect_env.run, "exit 3") is None
