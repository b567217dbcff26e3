"""`torch.fx.passes.param_fetch`: copy the attributes of modules to the nodes that call them, for compilers of other runtimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import nn

from ..graph_module import GraphModule
from .tools_common import get_acc_ops_name

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """Return the name of an attribute in another version of a module: the same name.

    Args:
        name: the name of the attribute.
        target_version: the version of the module.
    """
    return name


_CONV = ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"]
_POOL = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

# {module class: (its latest known version, names of its attributes, a function that returns the name in a module's version)}.
# Programs add their own classes.
module_fetch_book: dict[type[nn.Module], tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (1, _CONV, default_matching),
    nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (1, _POOL, default_matching),
    nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """Return the attributes of a module that `module_fetch_book` lists, and the name of its class as `"name"`.

    Raises:
        RuntimeError: `module_fetch_book` lacks the class, or has only an older version of it.

    >>> from flambeau.fx.passes.param_fetch import extract_attrs_for_lowering
    >>> extract_attrs_for_lowering(torch.nn.ReLU())
    {'name': 'torch.nn.modules.activation.ReLU', 'inplace': False}
    """
    name = get_acc_ops_name(type(mod))
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{name} is not in the module_fetch_book yet, please add it to the module_fetch_book")
    version, attributes, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(
            f"Fetcher version {version} try to fetch {name} version {mod._version}, please upgrade the module_fetch_book"
        )
    return {"name": name, **{key: getattr(mod, matching(key, mod._version)) for key in attributes}}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Store the attributes of each called module in the node's attribute `attrs_for_lowering`, also in nested graphs.

    Raises:
        RuntimeError: see `extract_attrs_for_lowering`.
    """
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            module = fx_module.get_submodule(str(node.target))
            if isinstance(module, GraphModule):
                lift_lowering_attrs_to_nodes(module)
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(module)  # type: ignore[attr-defined]  # PyTorch's name
