"""`local_map` and `register_sharding`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau import Tensor
from flambeau.utils.pytree import tree_flatten, tree_unflatten

from ...device_mesh import DeviceMesh
from .. import _dispatch
from .._api import DTensor
from .._dtensor_spec import DTensorSpec
from .._strategies import Call, Strategy
from ..placement_types import Placement

__all__ = ["local_map", "register_sharding"]

Layout = Sequence[Placement] | None


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: tuple[Layout, ...] | None = None,
    in_grad_placements: tuple[Layout, ...] | None = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """Convert a function on local tensors to a function on `DTensor`s.

    Args:
        func: function of this process's local tensors. Without it, `local_map` is a decorator.
        out_placements: placements of the result, or a tuple of placements of several results; None for non-tensors.
        in_placements: required placements of each argument; None for non-tensors.
        in_grad_placements: placements of each argument's gradient.
        device_mesh: the mesh; default: that of the first argument.
        redistribute_inputs: whether arguments with other placements are redistributed instead of rejected.

    Raises:
        ValueError: in a call, an argument has other placements.
        AssertionError: in a call, the number of arguments differs from that of `in_placements`.
    """
    if func is None:
        return lambda function: local_map(
            function, out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs=redistribute_inputs
        )
    inner = func

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten(args)
        if in_placements is not None and len(in_placements) != len(leaves):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match the number of input args {len(leaves)}!"
            )
        mesh, seen = device_mesh, False
        for index, leaf in enumerate(leaves):
            if not isinstance(leaf, DTensor):
                continue
            mesh, seen = mesh or leaf.device_mesh, True
            wanted = None if in_placements is None else in_placements[index]
            if wanted is not None and leaf.placements != tuple(wanted):
                if not redistribute_inputs:
                    raise ValueError(
                        f"arg {leaf} in local_map has a mismatched placements: arg placements is {leaf.placements} but the input "
                        f"placements is {wanted}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                    )
                leaf = leaf.redistribute(mesh, wanted)
            gradient = None if in_grad_placements is None else in_grad_placements[index]
            leaves[index] = leaf.to_local(grad_placements=gradient)
        result = inner(*tree_unflatten(leaves, structure), **kwargs)
        if not seen:
            return result
        found, shape = tree_flatten(result)
        several = isinstance(out_placements, tuple) and not (out_placements and isinstance(out_placements[0], Placement))
        layouts = out_placements if several else [out_placements] * len(found)
        placed = [
            DTensor.from_local(leaf, mesh, layout) if isinstance(leaf, Tensor) and layout is not None else leaf
            for leaf, layout in zip(found, layouts, strict=True)
        ]
        return tree_unflatten(placed, shape)

    return mapped


def register_sharding(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the placements with which an operator of `torch.ops` can be computed from local tensors.

    Args:
        op: the operator, or a list of operators.

    Returns:
        A decorator of a function. The function receives the operator's arguments with specs instead of tensors. It
        returns pairs of placements on one mesh dimension: those of all results and those of all arguments (None for
        non-tensors).
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(call: Call) -> list[Strategy]:
            options = []
            for outputs, inputs in function(*call.args, **call.kwargs):
                placed = zip([*call.args, *call.kwargs.values()], inputs, strict=False)
                tensors = [placement for value, placement in placed if isinstance(value, DTensorSpec)]
                options.append(Strategy(tuple(tensors), outputs[0]))
            return options

        for one in op if isinstance(op, (list, tuple)) else [op]:
            _dispatch.registered[one] = rule
        return function

    return register
