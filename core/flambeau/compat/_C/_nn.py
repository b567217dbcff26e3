"""The functions of `torch._C._nn`: those of `torch.nn.functional` that PyTorch compiles, `_parse_to` and `pad_sequence`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...engine.calls.overriding import wrap_torch_function
from ...engine.calls.wrappers import is_native

__all__ = ["_parse_to", "pad_sequence"]


def __getattr__(name: str) -> Any:
    function = getattr(torch.nn.functional, "logsigmoid" if name == "log_sigmoid" else name, None)
    if not is_native(function):
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
    return function


@wrap_torch_function(lambda *args, **kwargs: (*args, *kwargs.values()))
def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Parse the arguments of `Tensor.to`; return (device, dtype, non_blocking, memory_format).

    Raises:
        RuntimeError: `copy` is given.
        TypeError: a keyword is unknown, or there are more than three positional arguments.

    >>> _parse_to("cpu", dtype=torch.float64)
    (device(type='cpu'), torch.float64, False, None)
    """
    if "copy" in kwargs:
        raise RuntimeError(".to() does not accept copy argument")
    unknown = kwargs.keys() - {"device", "dtype", "non_blocking", "memory_format", "tensor", "other"}
    if unknown or len(args) > 3:
        raise TypeError(f"to() received an invalid combination of arguments: {args}, {kwargs}")
    given = list(args)
    other = kwargs.get("tensor", kwargs.get("other"))
    if given and isinstance(given[0], torch.Tensor):
        other = given.pop(0)
    if other is not None:
        place, kind = other.device, other.dtype
    else:
        place = kwargs.get("device")
        kind = kwargs.get("dtype")
        if given and not isinstance(given[0], (torch.dtype, bool)):
            place = given.pop(0)
        if given and (given[0] is None or isinstance(given[0], torch.dtype)):
            kind = given.pop(0)
    non_blocking = given.pop(0) if given else kwargs.get("non_blocking", False)
    place = None if place is None else torch.device(place)
    return place, kind, bool(non_blocking), kwargs.get("memory_format")


def pad_sequence(
    sequences: Sequence[torch.Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> torch.Tensor:
    """Return `torch.nn.utils.rnn.pad_sequence` of the sequences."""
    padded: torch.Tensor = torch.nn.utils.rnn.pad_sequence(sequences, batch_first, padding_value, padding_side)
    return padded
