"""What authors of layers, backends and kernel packs may use of the core, beside `flambeau` itself and `flambeau.backend`.

Everything else inside may change from one version to the next.

- Checks of arguments, with PyTorch's exceptions: `require_flags`, `require_dtype`, `require_constant`, `whole_numbers`, `as_int`,
  `as_float`; the types `Number` and `Dims` for annotations.
- Composites in the graph: `gathered` shows several operations as the one that PyTorch has, `shown_as` renames the last of them;
  `open_to_overrides` lets a namespace's functions be overridden.
- Optimizer steps in one kernel: `has_step`, `fused_step`.
- Kernels: `kernel_of`, the kernel that serves an operation for tensors like a given one; `forward_of`, its array-API forward.
- `source(name)`: the Python source of the function that is generated for an operation.
- `functions`: the operations that layers are made of, beyond those of the `torch` namespace.
"""

from __future__ import annotations

from ..calls.arguments import Dims, Number, as_float, as_int
from ..calls.dispatch import require_constant, require_dtype, require_flags, whole_numbers
from ..calls.node_names import gathered
from ..calls.op import source
from ..calls.wrappers import open_to_overrides
from ..operations.relocation import relocate
from ..subclasses.parameter import Buffer, Parameter
from ..tape.node import shown_as
from . import functions
from .fused_optimizers import fused_step, has_step
from .kernels import forward_of, kernel_of

__all__ = [
    "Buffer",
    "Dims",
    "Number",
    "Parameter",
    "as_float",
    "as_int",
    "forward_of",
    "functions",
    "fused_step",
    "gathered",
    "has_step",
    "kernel_of",
    "open_to_overrides",
    "relocate",
    "require_constant",
    "require_dtype",
    "require_flags",
    "shown_as",
    "source",
    "whole_numbers",
]
