"""TorchScript archives are loaded and run, and rejected if their code uses disallowed names."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest

import flambeau as torch

FORWARD = """
class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    {}
"""
RUNS = """out = annotate(List[int], [])
    for i in range(3):
      if torch.eq(i, 1):
        pass
      else:
        _0 = torch.append(out, torch.mul(i, 2))
    k = 0
    _1 = True
    while _1:
      k0 = torch.add(k, 1)
      _1, k = torch.lt(k0, 3), k0
    y = torch.add(torch.relu(x), torch.add(k, torch.len(out)), alpha=2)
    return torch.slice(y, 0, 1)"""


def archive(path: Path, statements: str = "return x", data: bytes | None = None, code: str = FORWARD) -> Path:
    state = b"X\x08\x00\x00\x00training\x88"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "net/data.pkl", b"\x80\x02" + (b"c__torch__\nNet\n)\x81}(" + state + b"ub" if data is None else data) + b"."
        )
        file.writestr("net/code/__torch__.py", code.format(statements))
        file.writestr("net/constants.pkl", b"\x80\x02).")
        file.writestr("net/version", "3\n")
    return path


def test_code_of_an_archive_runs(tmp_path):
    net = torch.jit.load(archive(tmp_path / "net.pt", RUNS))
    assert net(torch.tensor([-1.0, 2.0])).tolist() == [12.0] and isinstance(net, torch.jit.ScriptModule)


@pytest.mark.parametrize("start", ["", "0, "])
def test_tensors_annotated_as_numbers(start, tmp_path):
    """PyTorch's traces contain sizes as tensors."""
    statements = f"""_0 = ops.prim.NumToTensor(torch.size(x, 0))
    y = torch.arange({start}annotate(number, _0), dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False)
    return y"""
    net = torch.jit.load(archive(tmp_path / "net.pt", statements))
    assert net(torch.ones(3)).tolist() == [0, 1, 2]


def test_packed_sequences_in_an_archive(tmp_path):
    statements = """lengths = torch.arange(2, 0, -1)
    data, sizes = torch._pack_padded_sequence(x, lengths, False)
    padded, _0 = torch._pad_packed_sequence(torch.mul(data, 2), sizes, False, -1., 3)
    return padded"""
    net = torch.jit.load(archive(tmp_path / "net.pt", statements))
    assert net(torch.tensor([[1.0, 2.0], [3.0, 9.0]])).tolist() == [[2, 4], [6, -1], [-1, -1]]


@pytest.mark.parametrize("expression", [
    "open('f')", "x.__class__", "x.numpy()", "getattr(x, 'numpy')", "self.__class__", "self.load_state_dict", "torch.load('f')",
    "torch.hub.load('f')", "torch.__builtins__()", "ops.prim.exec('1')", "__import__('os')", "(lambda: x)()", "{y for y in x}",
    "f'{{x}}'", "eval('1')", "__torch__.missing(x)", "(yield x)", "v_x", "_attribute",
])  # fmt: skip
def test_expressions_that_reach_for_more_are_refused(expression, tmp_path):
    net = torch.jit.load(archive(tmp_path / "net.pt", f"y = {expression}\n    return y"))
    with pytest.raises(RuntimeError, match="not allowed|not supported|has no function"):
        net(torch.ones(2))


@pytest.mark.parametrize("statement", [
    "import os", "global x", "del x", "x.y = 1", "self.__dict__ = x", "raise x", "raise SystemExit(1)", "class A: pass", "def g(): pass", "with x: pass",
    "__x__ = 1",
])  # fmt: skip
def test_other_statements_are_refused(statement, tmp_path):
    net = torch.jit.load(archive(tmp_path / "net.pt", f"{statement}\n    return x"))
    with pytest.raises(RuntimeError, match="not allowed|not supported"):
        net(torch.ones(2))


def test_files_and_pickles_hold_nothing_else(tmp_path):
    with pytest.raises(RuntimeError, match="outside of functions"):
        torch.jit.load(archive(tmp_path / "net.pt", code="import os\n"))
    with pytest.raises(pickle.UnpicklingError, match="not allowed in an archive"):
        torch.jit.load(archive(tmp_path / "net.pt", data=b"cos\nsystem\nX\x04\x00\x00\x00true\x85R"))


def test_what_was_read_is_written(tmp_path):
    torch.jit.load(archive(tmp_path / "net.pt", RUNS)).save(tmp_path / "new.pt")
    assert torch.jit.load(tmp_path / "new.pt")(torch.ones(2)).tolist() == [11.0]
