"""How `nn.Module.to`, `float()` and similar methods convert parameters: new data, new parameters, or `utils.swap_tensors`."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Choose whether conversions of a module create new parameters, instead of replacing the data of the existing ones."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions of a module create new parameters; False by default."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Choose whether module conversions and `load_state_dict` swap parameters with new ones by `utils.swap_tensors`.

    This setting takes precedence over `set_overwrite_module_params_on_conversion`.

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
    """Whether conversions of a module swap its parameters with new ones; False by default."""
    return _swap
