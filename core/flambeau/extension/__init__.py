"""The core's API for authors of layers, backends and kernel packs, in addition to `flambeau` and `flambeau.backend`.

The rest of the core is internal and may change in any version.

- Checks of arguments, with PyTorch's exceptions: `require_flags`, `require_dtype`, `require_constant`, `whole_numbers`, `as_int`,
  `as_float`; the types `Number` and `Dims` for annotations.
- `warn`: `warnings.warn` that reports the first line outside of flambeau.
- Composites in the graph: `with_grad_fn` makes the operations of a function appear as one autograd node, as in PyTorch;
  `merge_nodes` does so for one result, and `rename_node` renames its node.
- `open_to_overrides` makes the functions of a namespace overridable by `__torch_function__`.
- Facts about operations: `declare(kind=Kind.POINTWISE)` for a function of a layer, `facts_of(name)`, and `names(...)`, which
  returns all functions with the given facts; also `Autocast`, `Facts`, `Kind`, `Linearity`, `Narrow`, `Order`, `Overlap`,
  `operation_name` and `is_inplace`.
- Fused optimizer steps: `has_step`, `fused_step`, `step_count`; `evaluate`, to call after a step; `is_mutable`, whether writing
  to a tensor writes to its array.
- Kernels: `Kernels`, a dictionary that registers them; `kernel_of`, the kernel of an operation for a tensor's dtype and device;
  `forward_of`, the operation's array-API forward.
- `has_data`: whether a tensor has elements that can be read; `array_of`, the array that holds them.
- `use_default_generator`: a context in which a thread draws from its own generator by default.
- `WEBASSEMBLY`: whether this system is WebAssembly; `require_processes`, which raises RuntimeError there.
- `source(name)`: the Python source of the function that is generated for an operation.
- `private_names`: builds the `__getattr__` of a module for the private PyTorch names listed in `compat/table.py`.
- `schemas`, a module: schemas of operations in ATEN notation, and translation of function calls to operator calls.
- `taking_turns`, a module: threads that compute while no other thread captures a call.
- `functions`: operations used by layers, in addition to those of the `torch` namespace.
"""

from __future__ import annotations

from ..engine.calls.arguments import Dims, Number, as_float, as_int
from ..engine.calls.dispatch import require_constant, require_dtype, require_flags, whole_numbers
from ..engine.calls.facts import (
    COMPILED,
    Autocast,
    Facts,
    Kind,
    Linearity,
    Narrow,
    Order,
    Overlap,
    declare,
    declared,
    facts_of,
    is_inplace,
    names,
    operation_name,
    unaliased,
)
from ..engine.calls.node_names import merge_nodes, with_grad_fn
from ..engine.calls.op import source
from ..engine.calls.wrappers import open_to_overrides
from ..engine.devices.aliases import private_names
from ..engine.devices.warning import warn
from ..engine.tape.node import rename_node
from ..engine.values.systems import WEBASSEMBLY, require_processes
from ..layouts.subclasses.parameter import Buffer, Parameter
from ..operations.memory import relocate
from ..random import use_default_generator
from . import functions
from .fused_optimizers import evaluate, fused_step, has_step, is_mutable, step_count
from .kernels import Kernels, array_of, forward_of, has_data, kernel_of

__all__ = [
    "COMPILED",
    "WEBASSEMBLY",
    "Autocast",
    "Buffer",
    "Dims",
    "Facts",
    "Kernels",
    "Kind",
    "Linearity",
    "Narrow",
    "Number",
    "Order",
    "Overlap",
    "Parameter",
    "array_of",
    "as_float",
    "as_int",
    "declare",
    "declared",
    "evaluate",
    "facts_of",
    "forward_of",
    "functions",
    "fused_step",
    "has_data",
    "has_step",
    "is_inplace",
    "is_mutable",
    "kernel_of",
    "merge_nodes",
    "names",
    "open_to_overrides",
    "operation_name",
    "private_names",
    "relocate",
    "rename_node",
    "require_constant",
    "require_dtype",
    "require_flags",
    "require_processes",
    "source",
    "step_count",
    "unaliased",
    "use_default_generator",
    "warn",
    "whole_numbers",
    "with_grad_fn",
]
