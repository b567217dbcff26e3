"""Generate the reference pages of commands and environment variables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["commands", "environment"]

ROOT = Path(__file__).parents[2]

# The description of each command; its own `--help` follows on the page.
COMMANDS = {
    "flambeau": "Run a program in which `torch` is flambeau, or one of the commands below. `flambeau` is the same command.",
    "flambeau env": "Print versions, backends, devices and threads. Include the output in bug reports.",
    "flambeau help": "List the commands, or print the options of one.",
    "flambeau backends": "List the installed backends, what each supports and lacks, and its last runs of the conformance kit.",
    "flambeau summary": "Print the layers of a model, with shapes, numbers of parameters, and memory.",
    "flambeau watch": "Run a program, and write one of its training steps as a page: see "
    "[a training step you can look at](../learn/watching.md).",
    "flambeau inspect": "Print the tensors of a file that `torch.load`, ONNX or `torch.export` reads, or how two files differ.",
    "flambeau convert": "Convert a file of tensors to another format: PyTorch's, safetensors, or NumPy's.",
    "flambeau export": "Export a model to ONNX, to NumPy code, or as an exported program: see [exporting models](../export.md).",
    "flambeau conformance": "Check that all of flambeau works on a backend: see [plugins](../plugins.md).",
    "flambeau.distributed.run": "Start several processes of one program: see [beyond one process](../distributed.md).",
}

# Variables that flambeau defines, then variables of other programs that it reads.
OWN = {
    "FLAMBEAU_BACKEND": "`NAME` or `NAME:INDEX`, by default `numpy`. The backend, and with it the default device.",
    "FLAMBEAU_PLUGINS": "A comma-separated list of the plugins to load. If it is set and empty, none are loaded.",
    "FLAMBEAU_CPU_DEVICES": "The number of virtual CPU devices, by default 1, to test programs for several devices.",
    "FLAMBEAU_AS_TORCH": "`1` makes `torch` and `torchvision` mean flambeau in every Python process: see "
    "[where flambeau is torch](../as_torch.md).",
    "FLAMBEAU_WINOGRAD": "`0` makes convolutions on NumPy use products instead of Winograd's method, whose rounding errors are "
    "about ten times as large. It is slower.",
    "FLAMBEAU_JOB_SECRET": "The secret that the processes of a job share: see [beyond one process](../distributed.md).",
    "FLAMBEAU_HOST_ID": "An identifier that is equal for processes that can share memory. Set it if two hosts have the same "
    "identifier, or if containers on one host cannot share memory.",
    "FLAMBEAU_LAUNCHER": "Set by the launcher for the processes that it starts. Programs do not set it.",
    "FLAMBEAU_CONFORMANCE": "Set to `quick` or `full` by the conformance kit for its processes. Plugins may skip optimizations "
    "if it is `quick`.",
    "FLAMBEAU_SHARED_MEMORY_KEEPER": "The address of the process that removes unused shared memory. Set by flambeau for child "
    "processes.",
    "FLAMBEAU_TORCH_DEVICE": "PyTorch's device in the plugin `flambeau-torch`, by default `cpu`.",
    "FLAMBEAU_FAST_LEAST": "The smallest number of elements for which the kernel pack `flambeau-fast` uses all of its kernels. "
    "For tests.",
    "FLAMBEAU_FAST_CPU": "`avx2` or `plain` (SSE4, NEON): the variant of the kernel pack's kernels. The default is the best one "
    "that the processor supports.",
}  # fmt: skip
OTHERS = {
    "CUDA_VISIBLE_DEVICES": "The CUDA devices that are visible to a process.",
    "OMP_NUM_THREADS": "The number of threads of NumPy's libraries and of flambeau; also `OPENBLAS_NUM_THREADS`, "
    "`MKL_NUM_THREADS`.",
    "XDG_CACHE_HOME": "The folder of caches, by default `~/.cache`: downloads of `torch.hub`, records of the conformance kit, "
    "programs compiled by JAX.",
    "XDG_STATE_HOME": "The folder of the secret of a user's distributed jobs, by default `~/.local/state`.",
    "TORCH_HOME": "The folder of `torch.hub`'s downloads, instead of the one below `XDG_CACHE_HOME`.",
    "GITHUB_TOKEN": "A token that `torch.hub` sends to GitHub.",
    "TORCH_FORCE_WEIGHTS_ONLY_LOAD": "`1` makes `torch.load` load only tensors and plain values, even with `weights_only=False`.",
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "`1` makes `torch.load` execute code from files by default. See "
    "[security](../project/security.md).",
    "TORCH_DISTRIBUTED_DEBUG": "`DETAIL` also compares the shapes of collectives between processes.",
    "MASTER_ADDR": "With `MASTER_PORT`, `RANK` and `WORLD_SIZE`: the address of a job's store, the rank of this process, and "
    "the number of processes.",
    "LOCAL_RANK": "With `LOCAL_WORLD_SIZE`: rank and number of processes within one host. Set by launchers.",
    "TORCHELASTIC_RUN_ID": "With other variables of this prefix: set by the launcher for the processes that it starts.",
}


def commands() -> str:
    """Return the page of commands, with the help text of each."""
    lines = ["# Commands\n"]
    for command, about in COMMANDS.items():
        module, *rest = command.split()
        lines += [f"## python -m {command} {{ #{'-'.join([module, *rest])} }}\n", about + "\n"]
        lines.append(f"```text\n{_help(module, rest)}\n```\n")
    return "\n".join(lines)


def _help(module: str, rest: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", module, *rest, "--help"], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return done.stdout.strip()


def environment() -> str:
    """Return the page of environment variables.

    Raises:
        LookupError: the `FLAMBEAU_` variables in the code differ from those on the page.
    """
    read = {
        name
        for folder in ("core", "backends", "nnlib", "vision", "plugins")
        for path in (ROOT / folder).rglob("*.p*")
        if path.suffix in (".py", ".pth") and "tests" not in path.parts
        for name in re.findall(r"FLAMBEAU_[A-Z]+(?:_[A-Z]+)*", path.read_text(encoding="utf-8"))
    }
    if read != OWN.keys():
        raise LookupError(
            f"environment variables that are only in the code or only in docs/site/programs.py: {sorted(read ^ OWN.keys())}"
        )
    lines = [
        "# Environment variables\n",
        "They are read when flambeau is imported, or when the feature that they configure is first used.\n",
    ]
    lines += ["## flambeau\n", *_table(OWN), "\n## Other programs\n", *_table(OTHERS)]
    return "\n".join(lines) + "\n"


def _table(variables: dict[str, str]) -> list[str]:
    return [line for name, about in variables.items() for line in (f"`{name}`", f":   {about}\n")]
