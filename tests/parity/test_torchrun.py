"""flambeau programs started by PyTorch's `torchrun` connect to the TCP store that it serves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import flambeau as torch, flambeau.distributed as dist
dist.init_process_group()
total, store = torch.tensor([dist.get_rank()]), dist.default_group().store
dist.all_reduce(total)
print(f"rank {dist.get_rank()} sum {total.item()}\\n", end="", flush=True)  # in one write: torchrun unbuffers output
dist.barrier()
if dist.get_rank() == 0:
    store.append("key", "a")
    store.append("key", "b")
    assert store.get("key") == b"ab" and not store.check(["none"]) and store.add("count", 5) == 5
    assert store.compare_set("other", "", "new") == b"new" and store.num_keys() > 2
    assert store.delete_key("key") and not store.delete_key("key")
dist.barrier()
dist.destroy_process_group()
"""


def test_programs_join_the_store_of_torchrun(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program)]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "rank 0 sum 1", "rank 1 sum 1"]
