"""On systems whose indices have 32 bits, tensors of indices are int64 nevertheless, and every operation takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import warnings
from narrow_indices import narrow_numpy

narrow_numpy()

import numpy as np
import flambeau as torch
from flambeau.conformance.checks import Checker, results_of
from flambeau.conformance.samples import families

warnings.simplefilter("ignore")
assert torch.ones(1)._key.backend.index_dtype is torch.int32
checker, count = Checker(quick=True), 0
for family, table in families().items():
    for number, sample in enumerate(table):
        for dtype in checker.dtypes(sample):
            for result in results_of(sample.call(torch, *map(torch.tensor, sample.arrays(np, dtype)))):
                if type(result) is torch.Tensor:
                    count += 1
                    assert result.numpy(force=True).dtype.name == result.dtype.name, (family, number, sample.name, dtype)
assert count > 1000

order = torch.randperm(100_000)
assert order.dtype is torch.int64 and torch.equal(order.sort()[0], torch.arange(100_000))
assert torch.equal(torch.tensor([5, 7]).repeat_interleave(torch.tensor([2, 1])), torch.tensor([5, 5, 7]))
assert torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().col_indices().tolist() == [1, 0]
loader = torch.utils.data.DataLoader(torch.arange(10), 5, shuffle=True)
assert sorted(torch.cat(list(loader)).tolist()) == list(range(10))
"""


def test_indices_are_int64():
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1] / 'helpers')!r})\n{PROGRAM}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
