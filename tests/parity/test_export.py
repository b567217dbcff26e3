"""Graphs of `torch.export` have the same operators and arguments as PyTorch's."""

from __future__ import annotations

import re

import pytest
import torch as pytorch

import flambeau

SOURCE = """
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2 = nn.Linear(400, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = torch.flatten(F.max_pool2d(torch.tanh(self.conv2(x)), (2, 2)), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(5, 7, 2, batch_first=True, bidirectional=True), nn.GRU(14, 3)

    def forward(self, x):
        return self.gru(self.lstm(x)[0])[0]


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(288, 5)
        self.register_buffer("offset", torch.ones(5))
        self.plain = torch.arange(5.0)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu().view(x.shape[0], -1).flatten(1)
        z = self.linear(y) * 2 + self.offset - self.plain
        z += 1
        top = z.max(1)[0]
        return z[1], top, z.softmax(-1).sum(1).mean(), torch.cat([z, z], 1), z.masked_fill(z > 0, 0.0) / 3 - (1 - z), z.clamp(min=0)
"""
SHAPES = {"LeNet": (2, 1, 28, 28), "Recurrent": (2, 5, 5), "Mixed": (2, 3, 8, 8)}


def lines(torch, name, dynamic):
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec(SOURCE, names)
    shapes = ({0: torch.export.Dim("batch")},) if dynamic else None
    program = torch.export.export(names[name]().eval(), (torch.randn(*SHAPES[name]),), dynamic_shapes=shapes)
    found = [f"{node.name} {node.target} {node.args}" for node in program.graph.nodes if "sym_size" not in node.name]
    signature = [(spec.kind.name, spec.target) for spec in program.graph_signature.input_specs]
    return [re.sub(r"sym_size_int_\d+", "sym_size_int", line) for line in found], signature


# With a dynamic size, only LeNet is compared: PyTorch exports full slices, and cannot export some recurrent layers.
@pytest.mark.parametrize(("name", "dynamic"), [("LeNet", False), ("LeNet", True), ("Recurrent", False), ("Mixed", False)])
def test_graphs_are_pytorchs(name, dynamic):
    ours, theirs = lines(flambeau, name, dynamic), lines(pytorch, name, dynamic)
    assert ours == theirs


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_refused(dynamic):
    for torch in (flambeau, pytorch):

        class Looks(torch.nn.Module):
            def forward(self, x):
                if dynamic:
                    return x[: int(x.shape[0]) // 2]
                return x if x.sum() > 0 else -x

        shapes = ({0: torch.export.Dim("batch")},) if dynamic else None
        with pytest.raises(
            RuntimeError, match="specialized it to be a constant" if dynamic else "Could not guard on data-dependent"
        ):
            torch.export.export(Looks(), (torch.ones(4),), dynamic_shapes=shapes)


def kinds(torch):
    """Return the types of a dynamic size and of numbers derived from it during tracing, and the exported program's results."""
    found = {}

    class Sizes(torch.nn.Module):
        def forward(self, x):
            n = x.shape[0]
            numbers = {
                "n": n, "2 * n": 2 * n, "n / 2": n / 2, "n > 7": n > 7, "sym_not": torch.sym_not(n > 7), "sym_float": torch.sym_float(n),
                "sym_int": torch.sym_int(n / 2), "sym_max": torch.sym_max(n, 3), "sym_min": torch.sym_min(n, 8.5), "sym_sqrt": torch.sym_sqrt(n),
                "sym_ite": torch.sym_ite(n > 7, 2 * n, n), "sym_sum": torch.sym_sum([n, n, 3]),
            }  # fmt: skip
            for name, number in numbers.items():
                found[name] = [isinstance(number, kind) for kind in (torch.SymInt, torch.SymFloat, torch.SymBool, int, float)]
            return x[0, 0], *(x[0, 0] * number for name, number in numbers.items() if ">" not in name and name != "sym_not")

    dynamic = {"x": {0: torch.export.Dim("n", min=5, max=99)}}
    program = torch.export.export(Sizes(), (torch.ones(6, 3),), dynamic_shapes=dynamic).module()
    return found, [[value.item() for value in program(torch.ones(size, 3))] for size in (6, 9)]


def test_numbers_that_are_being_recorded():
    ours, theirs = kinds(flambeau), kinds(pytorch)
    assert ours == theirs


@pytest.mark.parametrize(
    "expression",
    [
        "sym_int(-3.5)", "sym_float(3)", "sym_not(0)", "sym_max(3, 4.0)", "sym_max(5, 4.0)", "sym_min(5, 4)", "sym_max('a', 1)",
        "sym_ite(True, 1, 2)", "sym_ite(1, 1, 2)", "sym_ite(True, 1, 2.0)", "sym_sqrt(5)", "sym_sum([5, 4.0])", "sym_sum(5, 4)",
        "sym_constrain_range(3)", "sym_constrain_range(3.5, min=1, max=3)", "sym_constrain_range(3, max=2)",
        "sym_constrain_range(True, min=3, max=2)", "sym_constrain_range(torch.tensor(2.5), min=3)", "sym_constrain_range('a')",
        "sym_constrain_range(1j)", "sym_constrain_range_for_size(3, max=2)",
        "sym_constrain_range_for_size(-1)", "sym_constrain_range_for_size(0, max=3)", "_constrain_as_size(5, 0, 3)",
        "_constrain_as_size(5, 0, 6)", "_sym_sqrt(5)", "_sym_log2(0)", "_sym_cos(2)", "_sym_asin(0.5)", "_sym_tanh(torch.tensor(2))",
        "sym_fresh_size(4)", "SymInt()", "SymFloat()", "SymBool()",
    ],
)  # fmt: skip
def test_plain_numbers(expression):
    found = []
    for torch in (flambeau, pytorch):
        try:
            found.append(eval(f"torch.{expression}", {"torch": torch}))
        except Exception as error:
            found.append((type(error), str(error) if "constrain" in expression else ""))
    assert found[0] == found[1] and type(found[0]) is type(found[1])
