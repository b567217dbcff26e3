"""Quantization of the layers of a model."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import flambeau as torch

from ...nn.modules.linear import Linear, NonDynamicallyQuantizableLinear
from ...nn.modules.module import Module
from ...nn.modules.rnn import GRU, LSTM
from ...nn.modules.rnn_cells import GRUCell, LSTMCell, RNNCell
from ..nn.quantized import dynamic
from .qconfig import default_dynamic_qconfig

__all__ = ["quantize_dynamic"]


_CLASSES: dict[Any, Any] = {
    Linear: dynamic.Linear,
    LSTM: dynamic.LSTM,
    GRU: dynamic.GRU,
    LSTMCell: dynamic.LSTMCell,
    GRUCell: dynamic.GRUCell,
    RNNCell: dynamic.RNNCell,
}


def _remove_qconfig(module: Module) -> None:
    """Delete the attribute `qconfig` of a module and of all its submodules."""
    for each in module.modules():
        if hasattr(each, "qconfig"):
            del each.qconfig


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: Any = torch.qint8,
    mapping: Mapping[Any, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """Replace linear and recurrent layers in a model by layers with int8 weights, which quantize their inputs when called.

    A model that is itself such a layer is returned without a change, as in PyTorch.

    Args:
        model: the model, which is not changed unless `inplace`.
        qconfig_spec: a set of types and names of layers to replace; or a dictionary from these to a `QConfig`, or to None for
            layers to keep. None replaces all linear, LSTM and GRU layers and all recurrent cells.
        dtype: `torch.qint8`.
        mapping: the quantized class of each type, which has a `from_float`. None selects those in
            `torch.ao.nn.quantized.dynamic`.
        inplace: whether to change the model itself.

    Raises:
        NotImplementedError: another dtype.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
        >>> torch.ao.quantization.quantize_dynamic(model)
        Sequential(
          (0): DynamicQuantizedLinear(in_features=3, out_features=2, dtype=torch.qint8)
          (1): ReLU()
        )
    """
    if dtype is not torch.qint8:
        raise NotImplementedError(f"quantize_dynamic supports torch.qint8, not {dtype}")
    if qconfig_spec is None:
        qconfig_spec = dict.fromkeys(_CLASSES, default_dynamic_qconfig)
    elif isinstance(qconfig_spec, (set, frozenset)):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    classes = _CLASSES | {NonDynamicallyQuantizableLinear: dynamic.Linear} if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    return _quantized(model, qconfig_spec, classes, "", None)


def _quantized(module: Module, spec: Mapping[Any, Any], classes: Mapping[Any, Any], path: str, inherited: Any) -> Module:
    """Return the quantized layer, or the module with its children replaced.

    A layer's configuration is its name's, its type's, or its parent's.  The root, whose path is empty, stays.
    """
    config = spec.get(path, spec.get(type(module), inherited))
    if path and config is not None and type(module) in classes:
        module.qconfig = config
        return classes[type(module)].from_float(module)  # type: ignore[no-any-return]  # a module
    for name, child in list(module.named_children()):
        setattr(module, name, _quantized(child, spec, classes, f"{path}.{name}".lstrip("."), config))
    return module
