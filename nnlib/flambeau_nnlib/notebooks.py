"""HTML representations of modules, state dicts and optimizers in Jupyter notebooks, without scripts.

By default notebooks show the `repr`, as with PyTorch.  A program that calls `register` sees these representations instead.
`repr` and `print` are unchanged, and other objects are shown by their `repr`.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

import flambeau as torch
from flambeau_nnlib.nn.parameter import is_lazy

__all__ = ["register", "show_module", "show_optimizer", "show_state_dict"]

_STYLE = "font-family:monospace;font-size:90%;line-height:1.5"
_FAINT_STYLE = "opacity:.65"


def register(display_formatter: Any) -> None:
    """Register the HTML representations with an IPython display formatter.

    If PyTorch is also loaded, its classes of the same names are not affected.

    Args:
        display_formatter: the formatter of the running IPython.

    For example::

        from flambeau_nnlib import notebooks
        notebooks.register(get_ipython().display_formatter)
    """
    html = display_formatter.formatters["text/html"]
    for module, name, show in (
        ("nn.modules.module", "Module", show_module),
        ("optim.optimizer", "Optimizer", show_optimizer),
    ):
        formatter = _for_instances(f"flambeau_nnlib.{module}", name, show)
        html.for_type_by_name(f"flambeau_nnlib.{module}", name, formatter)
        html.for_type_by_name(f"torch.{module}", name, formatter)
    html.for_type(OrderedDict, show_state_dict)


def _for_instances(module: str, name: str, show: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    def formatter(value: Any) -> str | None:
        return show(value) if isinstance(value, getattr(sys.modules[module], name)) else None

    return formatter


# --- modules and state dicts --------------------------------------------------------------------------------------


def show_module(module: Any) -> str | None:
    """Return the tree of submodules as HTML, with shapes and numbers of parameters. Nested modules can be collapsed.

    Return None, so that the `repr` is shown, if a module has a user-defined `__repr__` or uninitialized parameters.

    Args:
        module: an `nn.Module`.

    >>> from flambeau_nnlib.notebooks import show_module
    >>> "15 parameters" in show_module(torch.nn.Linear(4, 3))
    True
    """
    has_own_repr = any(not type(child).__repr__.__module__.startswith("flambeau_nnlib.") for child in module.modules())
    if has_own_repr or any(is_lazy(tensor) for tensor in (*module.parameters(), *module.buffers())):
        return None
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
