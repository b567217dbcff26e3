"""Private names of the modules below `torch.nn.modules`."""

from __future__ import annotations

from collections.abc import Callable

from flambeau import Tensor

from ..nn import functional as F
from ..nn.modules.hooks import GLOBAL

__all__: list[str] = []

_global_parameter_registration_hooks = GLOBAL.registration["parameter"]


def _addindent(s_: str, numSpaces: int) -> str:
    """Return the text with spaces before every line except the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return the function of the name `relu` or `gelu`.  RuntimeError for other names."""
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")
