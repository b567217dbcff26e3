"""Custom autograd functions (`torch.autograd.Function`) inside the transforms of `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.tensors.tensor import Tensor
from ...engine.values.trees import broadcast_prefix, flatten, unflatten
from .keys import add_level, drop_level
from .levels import Level, active, levels_of

if TYPE_CHECKING:
    from ...autograd.function import Function

__all__ = ["VmapInfo", "call_in_batch", "check_transformable"]

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The first argument of the static method `vmap` of a Function: batch size, and the option `randomness` of `torch.vmap`."""

    batch_size: int
    randomness: str


def check_transformable(cls: type[Function]) -> None:
    """Raise an error for a Function without the methods that the transforms of `torch.func` require.

    Raises:
        RuntimeError: the class has no `setup_context` or, inside `vmap`, no `vmap` method and no `generate_vmap_rule`.
    """
    if not cls.has_own("setup_context"):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
            f"must override the setup_context staticmethod. {_MORE}"
        )
    has_rule = cls.has_own("vmap")
    if active() and cls.generate_vmap_rule and has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden "
            "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
            f"avoid ambiguity. {_MORE}"
        )
    if active() and not cls.generate_vmap_rule and not has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
            f"implement the vmap staticmethod or set generate_vmap_rule=True. {_MORE}"
        )


def call_in_batch(cls: type[Function], args: tuple[Any, ...], run: Callable[[], Any]) -> Any:
    """Call `run()`, or for batched arguments `cls.vmap`.  Its tensors show the batch dimension of the innermost `vmap`."""
    leaves, spec = flatten(args)
    levels = {level for leaf in leaves if isinstance(leaf, Tensor) for level in levels_of(leaf._key)}
    if cls.generate_vmap_rule or not levels:
        return run()
    level = max(levels, key=lambda level: level.number)
    dims = [_batch_dim(leaf, level) if isinstance(leaf, Tensor) else None for leaf in leaves]
    arguments = [leaf if dim is None else drop_level(leaf, level, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    info = VmapInfo(level.size, level.randomness)
    return _inside(cls.vmap(info, unflatten(dims, spec), *unflatten(arguments, spec)), level)


def _batch_dim(tensor: Tensor, level: Level) -> int | None:
    """Return the batch dimension of a tensor in `level`, or None: `in_dims` for arguments of `torch.vmap`, otherwise 0."""
    if level not in levels_of(tensor._key):
        return None
    hidden_level, dim = tensor.__dict__.get("_hidden_at", (level, 0))
    return dim if hidden_level is level and dim <= tensor.ndim else 0


def _inside(returned: Any, level: Level) -> Any:
    """Hide the batch dimension of the outputs that a `vmap` static method returned."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(returned)} instead"
        )
    output, out_dims = returned
    leaves, spec = flatten(output)
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
            f"Expected out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
            f"structure {flatten(out_dims)[1]} but output has structure {spec}. {_MORE}"
        )
    return unflatten([leaf if dim is None else add_level(leaf, level, dim) for leaf, dim in zip(leaves, dims, strict=True)], spec)
