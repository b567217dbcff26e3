"""`parallelize_module`, which applies parallel styles to the layers of a module."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch

from ....nn import Module
from ...device_mesh import DeviceMesh, current_mesh
from .._dispatch import implicit_replication
from .style import ParallelStyle

__all__ = ["loss_parallel", "parallelize_module"]

Plan = ParallelStyle | dict[str, ParallelStyle]


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None, parallelize_plan: Plan | None = None, *, src_data_rank: int | None = 0
) -> Module:
    """Shard layers over the processes of a one-dimensional mesh (tensor parallelism).

    Args:
        module: the module to modify in place.
        device_mesh: the mesh; default: the mesh of the enclosing `with mesh:`.
        parallelize_plan: a style for the module, or a dictionary of styles by submodule name, in which `*` matches any
            name part.
        src_data_rank: see `distribute_tensor`.

    Raises:
        TypeError: the plan is neither a style nor a dictionary.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call "
            "will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if not path:
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        token, _, rest = path.partition(".")
        children = [child for name, child in module.named_children() if fnmatch(name, token)]
        if not children:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module {module}, "
                "skipping this plan entry.",
                stacklevel=2,
            )
        for child in children:
            parallelize_module(child, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank)
    return module


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Return a context in which `cross_entropy` accepts logits sharded by class, and plain targets that are equal in
    all processes.

    The logits are not gathered: processes exchange only maxima and sums per example. The backward pass must also run in
    the context.
    """
    with implicit_replication():
        yield
