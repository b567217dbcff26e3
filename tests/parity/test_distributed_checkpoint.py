"""`distributed.checkpoint`: PyTorch loads flambeau's checkpoints, and flambeau loads PyTorch's."""

from __future__ import annotations

import pytest
import torch as pytorch
import torch.distributed.checkpoint as theirs

import flambeau
from flambeau.distributed import checkpoint as ours

pytestmark = pytest.mark.filterwarnings("ignore")

LIBRARIES = {"flambeau": (flambeau, ours), "PyTorch": (pytorch, theirs)}


def state(torch, filled):
    """Return a state dict with nested tensors of several dtypes and non-tensors."""
    value = torch.arange if filled else lambda n: torch.zeros(n, dtype=torch.int64)
    torch.manual_seed(0 if filled else 1)
    net = torch.nn.Linear(3, 2)
    with torch.no_grad():
        net.weight.copy_(value(6).view(2, 3))
    return {
        "model": net.state_dict(),
        "half": value(4).to(torch.float16),
        "brain": value(6).to(torch.bfloat16).view(2, 3),
        "flags": value(3) > 1,
        "step": 5 * filled,
        "inner": {"list": [value(2), {"text": "hello" if filled else ""}]},
    }


def plain(value):
    if hasattr(value, "tolist"):
        return (str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("reader", LIBRARIES)
def test_each_reads_what_the_other_has_written(writer, reader, tmp_path):
    torch, checkpoint = LIBRARIES[writer]
    written = state(torch, True)
    checkpoint.save(written, checkpoint_id=tmp_path, no_dist=True)
    torch, checkpoint = LIBRARIES[reader]
    found = state(torch, False)
    checkpoint.load(found, checkpoint_id=tmp_path, no_dist=True)
    expected, got = plain(written), plain(found)
    expected["model"].pop("bias"), got["model"].pop("bias")
    assert got == expected
    bias = found["model"]["bias"].tolist()
    assert bias == written["model"]["bias"].tolist()
