"""HTML representations of modules, state dicts, optimizers and datasets in Jupyter notebooks, without scripts.

`register` adds them to IPython's display formatter. `repr` and `print` are unchanged, and tensors are shown by `repr`.
"""

from __future__ import annotations

import struct
import sys
import zlib
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

import flambeau as torch

__all__ = ["register", "show_dataset", "show_module", "show_optimizer", "show_state_dict"]

_STYLE = "font-family:monospace;font-size:90%;line-height:1.5"
_FAINT_STYLE = "opacity:.65"


def register(display_formatter: Any) -> None:
    """Register the HTML representations with an IPython display formatter.

    If PyTorch is also loaded, its classes of the same names are not affected.

    Args:
        display_formatter: the formatter of the running IPython.

    For example::

        register(get_ipython().display_formatter)
    """
    html = display_formatter.formatters["text/html"]
    for module, name, show in (
        ("nn.modules.module", "Module", show_module),
        ("optim.optimizer", "Optimizer", show_optimizer),
        ("data.dataset", "Dataset", show_dataset),
    ):
        formatter = _for_instances(f"flambeau_nnlib.{module}", name, show)
        html.for_type_by_name(f"flambeau_nnlib.{module}", name, formatter)
        html.for_type_by_name(f"torch.{'utils.' if module.startswith('data') else ''}{module}", name, formatter)
    html.for_type(OrderedDict, show_state_dict)


def _for_instances(module: str, name: str, show: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    def formatter(value: Any) -> str | None:
        return show(value) if isinstance(value, getattr(sys.modules[module], name)) else None

    return formatter


# --- modules and state dicts --------------------------------------------------------------------------------------


def show_module(module: Any) -> str:
    """Return the tree of submodules as HTML, with shapes and numbers of parameters. Nested modules can be collapsed.

    Args:
        module: an `nn.Module`.

    >>> from flambeau_nnlib.notebooks import show_module
    >>> "15 parameters" in show_module(torch.nn.Linear(4, 3))
    True
    """
    return f'<div style="{_STYLE}">{_tree("", module, 0)}</div>'


def _tree(name: str, module: Any, depth: int) -> str:
    title = f"{escape(name)} " if name else ""
    description = escape(module.extra_repr().split("\n")[0])
    tensors = [
        f"{escape(key)} {_shape(value)}"
        for key, value in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
    ]
    count = sum(parameter.numel() for parameter in module.parameters())
    counts = [f"{count:,} parameters"] if count else []
    details = f' <span style="{_FAINT_STYLE}">{", ".join([*tensors, *counts])}</span>' if tensors or counts else ""
    line = f"{title}<b>{escape(type(module).__name__)}</b>({description}){details}"
    children = list(module.named_children())
    if not children:
        return f'<div style="padding-left:1em">{line}</div>'
    inside = "".join(_tree(child_name, child, depth + 1) for child_name, child in children)
    opened = " open" if depth < 2 and len(children) <= 30 else ""
    return f'<details style="padding-left:{"1em" if depth else 0}"{opened}><summary>{line}</summary>{inside}</details>'


def _shape(tensor: Any) -> str:
    return "×".join(map(str, tensor.shape)) if tensor.ndim else "scalar"


def show_state_dict(values: Mapping[str, Any]) -> str | None:
    """Return an HTML table of the tensors of a state dict, or None if a value is not a tensor.

    Args:
        values: the result of a module's `state_dict()`.

    >>> from flambeau_nnlib.notebooks import show_state_dict
    >>> show_state_dict(torch.nn.Linear(4, 3).state_dict()).count("<tr>")
    3
    """
    if not values or not all(isinstance(value, torch.Tensor) for value in values.values()):
        return None
    rows = [
        (
            name,
            _shape(value),
            str(value.dtype).removeprefix("torch."),
            f"{value.numel() * value.element_size():,}",
            str(value.device),
        )
        for name, value in values.items()
    ]
    return _table(("name", "shape", "dtype", "bytes", "device"), rows)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cell = '<td style="text-align:left;padding:0 1em 0 0">'
    head = "".join(f'<th style="text-align:left;padding:0 1em 0 0">{escape(text)}</th>' for text in heads)
    body = "".join("<tr>" + "".join(f"{cell}{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f'<table style="{_STYLE}"><tr>{head}</tr>{body}</table>'


# --- optimizers ---------------------------------------------------------------------------------------------------


def show_optimizer(optimizer: Any) -> str:
    """Return an HTML table with a row per parameter group: number of parameters, learning rate, and other settings.

    Args:
        optimizer: a `torch.optim.Optimizer`.

    >>> from flambeau_nnlib.notebooks import show_optimizer
    >>> optimizer = torch.optim.SGD(torch.nn.Linear(4, 3).parameters(), lr=0.5, momentum=0.9)
    >>> "momentum=0.9" in show_optimizer(optimizer)
    True
    """
    rows = []
    for number, group in enumerate(optimizer.param_groups):
        tensors = group["params"]
        settings = ", ".join(
            f"{key}={value!r}"
            for key, value in group.items()
            if key not in ("params", "lr", "param_names") and value not in (None, False)
        )
        count = sum(tensor.numel() for tensor in tensors)
        rows.append((str(number), f"{len(tensors)} tensors, {count:,} numbers", repr(group["lr"]), settings))
    title = f'<div style="{_STYLE}"><b>{escape(type(optimizer).__name__)}</b></div>'
    return title + _table(("group", "parameters", "lr", "settings"), rows)


# --- data sets ----------------------------------------------------------------------------------------------------


def show_dataset(dataset: Any) -> str:
    """Return HTML with a dataset's length, repr and first sample: the shapes of its tensors, and images if they look like one.

    The state of the random number generator is restored. Datasets without a length are not iterated.

    Args:
        dataset: a `torch.utils.data.Dataset`.

    >>> from flambeau.utils.data import TensorDataset
    >>> from flambeau_nnlib.notebooks import show_dataset
    >>> "3 samples" in show_dataset(TensorDataset(torch.zeros(3, 2)))
    True
    """
    lines = [f"<b>{escape(type(dataset).__name__)}</b>"]
    try:
        with torch.random.fork_rng(devices=()):
            count = len(dataset)
            lines[0] += f": {count:,} samples"
            sample = dataset[0] if count else ()
    except Exception:  # no length, or missing files: show only what is available
        sample = ()
    description = repr(dataset)
    if not description.startswith("<"):
        lines.append(f'<pre style="{_FAINT_STYLE};margin:0">{escape(description)}</pre>')
    for part in sample if isinstance(sample, (tuple, list)) else [sample]:
        lines.append(f"<div>{_sample(part)}</div>")
    return f'<div style="{_STYLE}">{"".join(lines)}</div>'


def _sample(part: Any) -> str:
    if isinstance(part, torch.Tensor):
        image = _as_image(part)
        text = f"Tensor {_shape(part)} {str(part.dtype).removeprefix('torch.')}" if part.numel() > 6 else repr(part)
        return f"{image} {escape(text)}"
    if hasattr(part, "_repr_png_") and hasattr(part, "size"):  # a PIL image
        return f"{_image(part._repr_png_(), part.size[0])} {escape(type(part).__name__)} {part.size}"
    text = repr(part)
    return escape(text if len(text) < 200 else text[:200] + " ...")


def _as_image(tensor: Any) -> str:
    """Render a tensor of one or three channels as an `<img>`, scaled to its value range. Return "" if it is not an image."""
    shape = tensor.shape
    if (
        len(shape) not in (2, 3)
        or (len(shape) == 3 and shape[0] not in (1, 3))
        or not all(4 <= size <= 1024 for size in shape[-2:])
    ):
        return ""
    pixels = tensor.detach().cpu().to(torch.float64)
    pixels = pixels if len(shape) == 3 else pixels.unsqueeze(0)
    low, high = pixels.min(), pixels.max()
    pixels = ((pixels - low) / (high - low).clamp(min=1e-12) * 255).to(torch.uint8).permute(1, 2, 0)
    return _image(_png(pixels), shape[-1])


def _image(png: bytes, width: int) -> str:
    scale = max(1, 64 // width)
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return f'<img src="{source}" width="{width * scale}" style="image-rendering:pixelated;vertical-align:middle">'


def _png(pixels: Any) -> bytes:
    """Encode uint8 pixels of shape (height, width, channels) as a PNG file."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + bytes(row.flatten().tolist()) for row in pixels)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
