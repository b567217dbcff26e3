"""Without ml_dtypes, only the dtypes that it provides are refused, in a message that names it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys

sys.modules["ml_dtypes"] = None  # imports of it raise ModuleNotFoundError

import flambeau as torch

linear = torch.nn.Linear(2, 1)
linear(torch.ones(3, 2)).sum().backward()
assert torch.equal(linear.weight.grad, torch.full((1, 2), 3.0))
assert torch.equal(torch.tensor([1.5], dtype=torch.float16) + 1, torch.tensor([2.5], dtype=torch.float16))

for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.complex32):
    for make in (lambda: torch.zeros(2, dtype=dtype), lambda: torch.zeros(2).to(dtype), lambda: torch.zeros(2, dtype=dtype, device="meta")):
        try:
            make()
        except RuntimeError as error:
            assert f"tensors of {dtype!r} on" in str(error) and "need the package ml_dtypes" in str(error), error
        else:
            raise AssertionError(f"{dtype!r} was not refused")
"""


def test_only_its_dtypes_are_refused():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr
