"""How `nn.Module.to` and its relatives change parameters: by new data, by new parameters, or by exchanging what tensors hold."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Say whether conversions of a module make new parameters, instead of giving new data to those that are there."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions of a module make new parameters; False unless it was set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Say whether conversions of a module, and `load_state_dict`, exchange parameters with new ones by `utils.swap_tensors`.

    This goes before `set_overwrite_module_params_on_conversion`.

    >>> layer = torch.nn.Linear(2, 2)
    >>> weight = layer.weight
    >>> torch.__future__.set_swap_module_params_on_conversion(True)
    >>> layer.double().weight is weight, weight.dtype
    (True, torch.float64)
    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters are exchanged with new ones; False unless it was set."""
    return _swap
