"""Functions on local tensors, and rules for operators."""

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
    """A function on `DTensor`s from one on local tensors.

    Args:
        func: what computes on this process's parts; without it, `local_map` is a decorator.
        out_placements: how its result lies on the mesh, or its results; None for what is no tensor.
        in_placements: how each argument has to lie; None for what is no tensor.
        in_grad_placements: how the gradient of each lies.
        device_mesh: the mesh; that of the first argument by default.
        redistribute_inputs: whether arguments that lie in another way are brought there, rather than refused.

    Raises:
        ValueError: in a call, an argument lies in another way.
        AssertionError: in a call, there are more or fewer arguments than layouts.
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
    """Say for which placements an operator of `torch.ops` can be computed from local tensors.

    Args:
        op: the operator, or several.

    Returns:
        A decorator for a function that takes the operator's arguments, tensors as specs, and returns pairs: the placements of all
        results, and those of all arguments (None for what is no tensor), on one dimension of the mesh.
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
