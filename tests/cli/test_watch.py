"""`python -m flambeau watch` and `flambeau.watch`: the record of one training step, and its page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.engine.devices.devices import cached_keys, forget_kernels
from flambeau.engine.devices.interceptor import Interceptor
from flambeau.engine.tape.fast_path import FAST

PROGRAM = """\
import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 3)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = (model(x[1:]) * 2 + 1 - y[1:]).abs().mean()
    loss.backward()
    optimizer.step()
    print("step", step)
"""


def data_of(html: str) -> dict:
    """Return the data in a page."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "flambeau", "watch", "train.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_command(tmp_path):
    done = run(tmp_path, "--step", "3", "-o", "third.html", "--", "100")
    assert done.returncode == 0 and done.stderr == ""
    *printed, last = done.stdout.splitlines()
    assert printed == ["step 0", "step 1", "step 2"]  # the fourth step is recorded for its chains, and stopped at its end
    assert re.fullmatch(r"third\.html: \d+ operations, [\d,]+ bytes", last)
    html = (tmp_path / "third.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<link|<script src|@import", html.partition('id="data"')[0])
    step = data_of(html)
    operations, values = step["operations"], step["values"]
    by_name = {operation["name"]: operation for operation in operations}
    phases = [operation["phase"] for operation in operations]
    assert phases == sorted(phases, key=["forward", "backward", "optimizer"].index)

    sigmoid, gradient = by_name["sigmoid"], by_name["SigmoidBackward0"]
    assert sigmoid["record"] == "sigmoid" and sigmoid["outputs"][0][1:4] == [[15, 8], "float32", 15 * 8 * 4]
    assert operations[sigmoid["inputs"][0][4]]["name"] == "linear"
    assert [kernel[:2] for kernel in sigmoid["kernels"]] == [["sigmoid", "numpy kernel"]] and sigmoid["kernels"][0][2] > 0
    assert sigmoid["time"] >= sigmoid["kernels"][0][2] and "exp(-x)" in values[sigmoid["doc"]]
    file, line, _, first, lines = values[sigmoid["places"][0]]
    assert (file, line) == ("train.py", 11) and "model(x[1:])" in lines[line - first]
    assert sigmoid["rule"]["node"] == "SigmoidBackward0" and [saved[0] for saved in sigmoid["rule"]["saved"]] == ["out"]
    assert sigmoid["rule"]["saved"][0][1] == [15, 8] and "input=lambda F, g, out" in values[sigmoid["rule"]["sources"][0]][2]
    assert gradient["phase"] == "backward" and operations[gradient["forward"]] is sigmoid
    assert gradient["outputs"][0][1] == [15, 8] and gradient["places"] == sigmoid["places"]

    part = next(operation for operation in operations if operation.get("record") == "getitem_slice")
    assert part["view"] == 0 and part["bytes"] == 0
    update = next(operation for operation in operations if operation.get("written"))
    assert operations[update["parent"]] is by_name["SGD.step"] and update["phase"] == "optimizer"
    assert any(
        chain["names"][:3] == ["mul", "add", "sub"] and chain["places"] == ["train.py:11"] for chain in step["fusions"]["chains"]
    )
    assert step["fusions"]["calls"] > 20 and not step["fusions"]["supported"]


@pytest.mark.slow
def test_mistakes_are_reported(tmp_path):
    done = run(tmp_path, "--step", "3", "--", "2")
    assert done.returncode == 2 and "train.py ended after 2 steps of an optimizer" in done.stderr
    assert not (tmp_path / "step.html").exists()
    done = run(tmp_path, "--step", "0")
    assert done.returncode == 2 and "steps are counted from 1" in done.stderr


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.manual_seed(1)
    optimizer.zero_grad()
    loss = (model(torch.randn(6, 4)) ** 2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD, torch.optim.Adagrad])
def test_a_watched_step_computes_the_same(kind):
    models = []
    for watched in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.3), nn.GELU(), nn.Linear(5, 2))
        optimizer = kind(model.parameters(), lr=0.1)
        train(model, optimizer)
        if watched:
            with torch.watch() as step:
                train(model, optimizer)
            assert {operation.phase for operation in step.operations} == {"forward", "backward", "optimizer"}
        else:
            train(model, optimizer)
        train(model, optimizer)
        models.append(model.state_dict())
    for name, value in models[0].items():
        assert torch.equal(value, models[1][name]), name


def test_origins_of_kernels(monkeypatch):
    def from_pack(input):
        return np.tanh(input)

    with monkeypatch.context() as patch:
        patch.setitem(torch.backend.for_device_type("cpu").all_kernels, "tanh", from_pack)
        forget_kernels()
        with torch.watch() as step:
            x = torch.ones(4)
            x.tanh(), x.exp(), x.split(2)
    forget_kernels()
    origins = {kernel.name: kernel.origin for operation in step.operations for kernel in operation.kernels}
    assert origins["tanh"] == f"kernel pack {__name__.partition('.')[0]}"
    assert origins["exp"] == "numpy kernel" and origins["split"] == "array-API forward"
    assert next(operation for operation in step.operations if operation.name == "tanh").kernels[0].function is from_pack


def test_phases_of_an_optimizer_with_a_closure():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = (model(torch.ones(2, 3)) ** 2).sum()
        loss.backward()
        return loss

    with torch.watch() as step:
        optimizer.step(closure)
    phases = {operation.name: operation.phase for operation in step.operations}
    assert phases["LBFGS.step"] == "optimizer" and phases["linear"] == "forward" and phases["PowBackward0"] == "backward"


def test_nothing_is_left_after_the_step():
    x = torch.ones(3, requires_grad=True)
    before = set(FAST), {key: (key.backend, key.F) for key in cached_keys.values()}
    with pytest.raises(ZeroDivisionError), torch.watch() as step:
        y = (2 * x).exp()
        raise ZeroDivisionError
    count = len(step.operations)
    assert [operation.name for operation in step.operations] == ["mul", "exp"]
    after = {key: (key.backend, key.F) for key in cached_keys.values()}
    assert set(FAST) == before[0] and all(after[key] == value for key, value in before[1].items()) and Interceptor.active is None
    y.sum().backward()  # the nodes of the step remain usable
    assert len(step.operations) == count and x.grad is not None
    with pytest.raises(RuntimeError, match="has recorded a step already"), step:
        pass


def test_compiled_and_custom_functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    compiled = torch.compile(lambda x: Double.apply(x).tanh())
    x = torch.ones(3, requires_grad=True)
    compiled(x), compiled(x), compiled(x)
    with torch.watch("Twice") as step:
        compiled(x).sum().backward()
    data = data_of(step.html())
    custom = next(operation for operation in data["operations"] if operation["name"] == "DoubleBackward")
    inner = [operation["name"] for operation in data["operations"] if operation.get("parent") == data["operations"].index(custom)]
    assert "return 2 * grad" in data["values"][custom["rule"]["sources"][0]][2] and custom["rule"]["saved"][0][1] == [3]
    assert "tanh" in [operation["name"] for operation in data["operations"]] and inner == ["mul"]
    assert step._repr_html_().startswith("<iframe srcdoc=") and "Twice" in repr(step)


def test_writes_views_and_memory():
    weight = torch.ones(4, 4)
    with torch.watch() as step:
        row = weight[0]
        row.add_(1)
        torch.as_tensor(np.ones(2))  # an array that is not a tensor among the arguments
        big = torch.zeros(1000)
        del big
        torch.zeros(10)
    by_name = {operation.name: operation for operation in step.operations if operation.parent is None}
    assert by_name["getitem"].view_of == 0 and by_name["getitem"].bytes == 0
    assert by_name["add_"].written == [0] and by_name["add_"].view_of is None
    zeros = [operation for operation in step.operations if operation.name == "zeros" and operation.parent is None]
    assert [operation.bytes for operation in zeros] == [4000, 40] and zeros[0].live - zeros[1].live >= 3960


def test_texts_are_escaped():
    with torch.watch("</script><b>") as step:
        torch.ones(1).tolist()
    html = step.html()
    assert "<title>&lt;/script&gt;&lt;b&gt;</title>" in html and data_of(html)["name"] == "</script><b>"
