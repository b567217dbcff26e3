"""The text form of tensors, and `torch.set_printoptions`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import ceil, inf, isfinite
from types import SimpleNamespace
from typing import Any

from .. import backend as backends
from ..engine.devices import devices
from ..engine.devices.aliases import private_names
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..layouts.subclasses.parameter import Parameter
from ..operations.joining import cat
from ..transforms.batching.levels import Level, active, levels_of
from ..transforms.forward_ad import unpack_dual

__all__ = [
    "add_suffixes", "autograd_suffixes", "format_tensor", "get_printoptions", "is_default_device", "set_printoptions",
    "tensor_str", "values_str",
]  # fmt: skip

__getattr__: Callable[[str], Any] = private_names(__name__)

_DEFAULT = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_PROFILES: dict[str, dict[str, Any]] = {
    "default": _DEFAULT,
    "short": _DEFAULT | {"precision": 2, "edgeitems": 2},
    "full": _DEFAULT | {"threshold": inf},
}
PRINT_OPTS = SimpleNamespace(**_DEFAULT, sci_mode=None)
_options: dict[str, Any] = vars(PRINT_OPTS)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed.  Options that are not given keep their values, except `sci_mode`, which becomes None.

    Args:
        precision: digits after the decimal point (4).
        threshold: the number of elements above which a tensor is summarised (1000).
        edgeitems: elements shown at each end of a summarised dimension (3).
        linewidth: characters per line (80).
        profile: a set of values to start from: `"default"`, `"short"` or `"full"`.
        sci_mode: scientific notation always (True), never (False), or depending on the values (None).

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update(_PROFILES.get(profile or "", {}))
    _options.update({name: value for name, value in options.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options as keyword arguments of `set_printoptions`."""
    return dict(_options)


def tensor_str(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the printed form of `tensor`.  `tensor_contents`, if given, is printed in place of the values."""
    levels = levels_of(tensor._key)
    if levels:
        return _batched_str(tensor, levels[-1])
    prefix = _prefix(tensor)
    primal, tangent = unpack_dual(tensor)
    values = primal.detach()
    if tensor_contents is None:
        tensor_contents = values_str(values, len(prefix))
    suffixes = [*_value_suffixes(values), *autograd_suffixes(tensor)]
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = add_suffixes(prefix + tensor_contents, suffixes, len(prefix))
    return f"Parameter({text})" if prefix != "tensor(" and isinstance(tensor, Parameter) else text


def _batched_str(tensor: Tensor, level: Level) -> str:
    """Return the text of a tensor inside `vmap`, with the values of the whole batch."""
    from ..transforms.batching.keys import drop_level

    value = textwrap.indent(tensor_str(drop_level(tensor.detach(), level, 0)), "    ")
    number = active().index(level) + 1 if level in active() else 0
    return f"BatchedTensor(lvl={number}, bdim=0, value=\n{value}\n)"


def format_tensor(tensor: Tensor, spec: str) -> str:
    """Return `format(tensor, spec)`.  A 0-d tensor formats as its number; for others `spec` must be empty."""
    if tensor.dim() == 0 and type(tensor) is Tensor and tensor.device.type != "meta":
        return format(tensor.detach().item(), spec)
    return object.__format__(tensor, spec)


def _prefix(tensor: Tensor) -> str:
    cls = type(tensor)
    return "tensor(" if cls in (Tensor, Parameter) or cls.__name__ == "Tensor" else f"{cls.__name__}("


# --- suffixes such as dtype and device ---


def _value_suffixes(tensor: Tensor) -> Iterator[str]:
    """Yield the texts "device=...", "size=..." and "dtype=...", but only those that the printed values do not imply."""
    if not is_default_device(tensor.device):
        yield f"device='{tensor.device}'"
    meta, empty = tensor.device.type == "meta", tensor.numel() == 0
    if meta or (empty and tensor.dim() != 1) or (not empty and not _options["edgeitems"]):
        yield f"size={tuple(tensor.shape)}"
    # Printed elements reveal the dtypes int64 and bool, and the default complex dtype.
    unsaid = () if empty or meta else (dtypes.int64, dtypes.bool_, _default_complex_dtype())
    if tensor.dtype not in (dtypes.get_default_dtype(), *unsaid):
        yield f"dtype={tensor.dtype}"


def autograd_suffixes(tensor: Tensor) -> Iterator[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:  # the tensor is a view that was modified in place in a way that autograd does not support
        yield "grad_fn=<Invalid>"
        return
    if node is not None:
        yield f"grad_fn=<{node.name().rpartition('::')[2]}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"


def is_default_device(device: devices.device) -> bool:
    backend = backends.selected()
    return device.type == backend.device_type and (device.index or 0) == backend.current_device()


def _default_complex_dtype() -> dtypes.dtype:
    return dtypes.complex128 if dtypes.get_default_dtype() == dtypes.float64 else dtypes.complex64


def add_suffixes(text: str, suffixes: Sequence[str], indent: int, force_newline: bool = False) -> str:
    """Append `suffixes` and ")", each on the current line if it fits, else on a new line.

    With `force_newline` the first suffix is on a new line.
    """
    width = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or width + len(suffix) + 2 > _options["linewidth"]:
            force_newline = False
            text += ",\n" + " " * indent + suffix
            width = indent + len(suffix)
        else:
            text += ", " + suffix
            width += len(suffix) + 2
    return text + ")"


# --- the values ---


def values_str(tensor: Tensor, indent: int) -> str:
    if tensor.device.type == "meta":
        return "..."
    if tensor.numel() == 0:
        return "[]"
    summarise = tensor.numel() > _options["threshold"]
    if summarise and tensor.dim() > 0 and not _options["edgeitems"]:
        return "[...]"
    shown = _edges(tensor) if summarise else tensor
    values = (shown.half() if shown.dtype in dtypes.FLOAT8 else shown).flatten().tolist()
    column = _ComplexColumn(values) if tensor.dtype.is_complex else _Column(values)
    cut = [size != shown_size for size, shown_size in zip(tensor.shape, shown.shape, strict=True)]
    return _nested(map(column, values), shown.shape, cut, column.width, indent)


def _edges(tensor: Tensor) -> Tensor:
    """Remove the middle of every dimension that is longer than `2 * edgeitems`."""
    edge = _options["edgeitems"]
    for dim, size in enumerate(tensor.shape):
        if size > 2 * edge:
            tensor = cat((tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge)), dim)
    return tensor


def _nested(cells: Iterator[str], shape: Sequence[int], cut: Sequence[bool], width: int, indent: int) -> str:
    """Return the text of a tensor of `shape` in nested brackets, with `...` in each dimension whose middle was `cut`."""
    if not shape:
        return next(cells)
    indent += 1
    if len(shape) > 1:
        parts = [_nested(cells, shape[1:], cut[1:], width, indent) for _ in range(shape[0])]
        dots, separator = "...", "," + "\n" * (len(shape) - 1) + " " * indent
    else:
        parts = list(islice(cells, shape[0]))
        dots, separator = " ...", ",\n" + " " * indent
    if cut[0]:
        parts.insert(shape[0] // 2, dots)
    if len(shape) == 1:
        per_line = max(1, (_options["linewidth"] - indent + 1) // (width + 2))
        parts = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + separator.join(parts) + "]"


class _Column:
    """The common format and width of all numbers of a tensor."""

    def __init__(self, values: Sequence[float]) -> None:
        if isinstance(values[0], float):
            # Zeros, infinities and NaNs do not affect the format or the width.
            values = [value for value in values if value and isfinite(value)]
            self.spec, self.point = _float_format(values)
        else:
            self.spec, self.point = "", ""
        self.width = 1
        self.width = max((len(self(value)) for value in values), default=1)

    def __call__(self, value: float) -> str:
        text = format(value, self.spec)
        if self.point and isfinite(value):
            text += self.point
        return text.rjust(self.width)


class _ComplexColumn:
    """The formats and widths of the real and of the imaginary parts."""

    def __init__(self, values: Sequence[complex]) -> None:
        self.real = _Column([value.real for value in values])
        self.imag = _Column([value.imag for value in values])
        self.width = self.real.width + self.imag.width + len("j")

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self.real(value.real)}{sign}{imag}j"


def _float_format(values: Sequence[float]) -> tuple[str, str]:
    """Return the format of non-zero finite values, and the suffix after each: "." if all are integers, else ""."""
    if not values:
        return ".0f", "."
    if _is_scientific(values):
        return f".{_options['precision']}e", ""
    if all(value == ceil(value) for value in values):
        return ".0f", "."
    return f".{_options['precision']}f", ""


def _is_scientific(values: Sequence[float]) -> bool:
    if _options["sci_mode"] is not None:
        return bool(_options["sci_mode"])
    low, high = min(map(abs, values)), max(map(abs, values))
    return high / low > 1000 or high > 1e8 or low < 1e-4


def repr_of_tensor(self: Tensor, *, tensor_contents: Any = None) -> str:
    return tensor_str(self, tensor_contents=tensor_contents)
