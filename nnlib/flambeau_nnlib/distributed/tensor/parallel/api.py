"""`parallelize_module`: styles for the layers of a network."""

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
    """Split layers over the processes of a mesh of one dimension (tensor parallelism).

    Args:
        module: the network, which is changed.
        device_mesh: the mesh; that of `with mesh:` by default.
        parallelize_plan: a style for the module, or styles for submodules by name, where `*` stands for any.
        src_data_rank: see `distribute_tensor`.

    Raises:
        TypeError: the plan is neither.
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
    """A context in which `cross_entropy` takes logits that are split by class, and plain targets, which all processes have alike.

    Logits are not put together: processes exchange what there is for each example. The backward has to be in the context, too.
    """
    with implicit_replication():
        yield
