"""`torch.profiler` and `torch.autograd.profiler`: recorded operations, counts and times."""

from __future__ import annotations

import json

import pytest

import flambeau as torch
from flambeau.autograd import profiler as autograd_profiler
from flambeau.compat import _C
from flambeau.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def test_calls_their_times_and_their_callers():
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        x = torch.ones(64, 32)
        with record_function("mine"):
            for _ in range(3):
                torch.nn.functional.linear(x, torch.ones(16, 32))
    averages = {event.key: event for event in seen.key_averages()}
    assert averages["aten::linear"].count == 3 and averages["mine"].count == 1 and averages["aten::ones"].count == 4
    mine = averages["mine"]
    assert mine.cpu_time_total >= averages["aten::linear"].cpu_time_total > 0 and mine.self_cpu_time_total >= 0
    linear = next(event for event in seen.events() if event.name == "aten::linear")
    assert linear.cpu_parent.name == "mine" and linear.input_shapes == [[64, 32], [16, 32]]
    assert linear.cpu_time_total == linear.time_range.elapsed_us()
    assert abs(seen.events().self_cpu_time_total - sum(e.cpu_time_total for e in seen.events() if e.cpu_parent is None)) < 1e-3


def test_the_backward_pass_is_seen():
    with profile() as seen:
        w = torch.ones(3, requires_grad=True)
        (w.exp() * 2).sum().backward()
    names = [event.name for event in seen.events()]
    assert {"aten::exp", "autograd::engine::evaluate_function: ExpBackward0"} <= set(names)
    assert torch.equal(w.grad, 2 * torch.ones(3).exp())


def test_the_backward_of_a_function_is_seen():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient

    with profile() as seen:
        Double.apply(torch.ones(3, requires_grad=True)).sum().backward()
    event = next(event for event in seen.events() if event.name == "autograd::engine::evaluate_function: DoubleBackward")
    assert [child.name for child in event.cpu_children] == ["aten::mul"]


def test_nothing_is_seen_when_it_is_off():
    with profile() as seen:
        w = torch.ones(3, requires_grad=True)
        loss = w.exp().sum()
    count = len(seen.events())
    loss.backward()
    torch.ones(2) + 1
    assert len(seen.events()) == count and torch.ones(2, requires_grad=True).exp().grad_fn is not None


def test_memory_is_measured():
    with profile(profile_memory=True) as seen:
        kept = torch.ones(1000, 100)
    (event,) = seen.key_averages()
    assert kept.numel() * 4 <= event.cpu_memory_usage < kept.numel() * 4 + 100_000
    assert "CPU Mem" in seen.key_averages().table()


def test_table():
    with profile(with_stack=True) as seen:
        torch.ones(2).exp().exp()
    table = seen.key_averages(group_by_stack_n=1).table(sort_by="self_cpu_time_total", row_limit=1, header="Title")
    lines = table.splitlines()
    assert lines[1] == "Title" and "Self CPU %" in lines[3] and "# of Calls" in lines[3] and "Source Location" in lines[3]
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total: ")
    assert seen.key_averages().table(row_limit=-1).count("aten::") == 2


def test_traces_are_written(tmp_path):
    with profile(with_stack=True) as seen:
        torch.ones(2).exp()
    seen.add_metadata_json("about", '{"a": 1}')
    seen.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert [event["name"] for event in trace["traceEvents"][1:]] == ["aten::ones", "aten::exp"] and trace["about"] == {"a": 1}
    assert all(event["dur"] > 0 and event["ph"] == "X" for event in trace["traceEvents"][1:])
    torch.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), use_gzip=True)(seen)
    assert [path.name.endswith(".pt.trace.json.gz") for path in (tmp_path / "logs").iterdir()] == [True]
    seen.export_stacks(str(tmp_path / "stacks"))
    assert "test_profiler.py" in (tmp_path / "stacks").read_text()


def test_schedule():
    plan = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [plan(step).name for step in range(7)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    ready = []
    with profile(schedule=schedule(wait=1, warmup=0, active=2), on_trace_ready=lambda p: ready.append(len(p.events()))) as seen:
        for _ in range(6):
            torch.ones(1)
            seen.step()
    assert ready == [4, 4]  # 4 events: two steps with one operation each
    assert plan(2) is ProfilerAction.WARMUP
    with pytest.raises(AssertionError):
        schedule(wait=-1, warmup=0, active=1)


def test_decorated_functions_and_errors():
    @record_function("decorated")
    def compute():
        return torch.ones(1)

    with autograd_profiler.profile() as seen:
        compute()
        with pytest.raises(RuntimeError):
            torch.ones(2) + torch.ones(3)
        compute()
    names = [event.name for event in seen.function_events if event.cpu_parent is None]
    assert names == ["decorated", "aten::ones", "aten::ones", "aten::add", "decorated"]
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        _ = autograd_profiler.profile().function_events
    with pytest.raises(RuntimeError, match="NVTX"), autograd_profiler.emit_nvtx():
        pass


def test_operators_of_libraries_and_their_ranges():
    library = torch.library.Library("test_profiler", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    with profile() as seen:
        handle = torch.ops.profiler._record_function_enter("range")
        torch.ops.aten.relu(torch.ones(2))
        torch.ops.test_profiler.twice(torch.ones(2))
        torch.ops.profiler._record_function_exit(handle)
    names = [event.name for event in seen.events()]
    assert names.count("range") == names.count("aten::relu") == names.count("test_profiler::twice") == 1
    assert not any("profiler::_record" in name for name in names)


def test_attention_is_computed_as_without_the_profile():
    """Profiling does not change attention: it stays a single operation that does not store the scores."""
    query = torch.rand(2, 3, 5, 4, requires_grad=True)
    with torch.profiler.profile() as seen:
        torch.nn.functional.scaled_dot_product_attention(query, query, query).sum().backward()
    names = {event.key for event in seen.key_averages()}
    assert "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionForCpuBackward0" in names
    assert not any("bmm" in name.lower() for name in names)


def test_options_are_attributes():
    options = _C._profiler._ExperimentalConfig(verbose=True)
    seen = profile(experimental_config=options, with_modules=True)
    assert seen.experimental_config is options and seen.with_modules and seen.execution_trace_observer is None
