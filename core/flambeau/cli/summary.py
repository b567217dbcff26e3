"""`python -m flambeau summary`: print the layers of a model with output shapes, parameters and memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import flambeau as torch

from .models import INPUTS, example, find_model
from .text import size_text

__all__ = ["main", "summary"]


def main(arguments: Sequence[str]) -> int:
    """Run `summary` with its arguments.  Return the exit status: 2 for an error, else 0."""
    parser = argparse.ArgumentParser(
        "python -m flambeau summary", description="Print the layers of a model: shapes, parameters, memory.", epilog=INPUTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "model",
        metavar="FILE.py:NAME",
        help="a file or module, and the name in it of a torch.nn.Module or of a function that returns one",
    )
    parser.add_argument(
        "--input", action="append", default=[], metavar="SIZES", help="the shape of an input; repeat for each one"
    )
    parser.add_argument("--depth", type=int, metavar="N", help="show at most N levels of nested layers")
    parser.add_argument("--train", action="store_true", help="keep the model in training mode")
    options = parser.parse_args(arguments)
    try:
        inputs = [example(text)[0] for text in options.input]
        model = find_model(options.model)
        if not options.train:
            model.eval()
        print(summary(model, *inputs, depth=options.depth))
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError, TypeError, LookupError) as error:
        print("\n".join([f"summary: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 2
    return 0


@dataclass
class _Layer:
    """A module of a model: its depth in the tree of modules, and the shapes and bytes of its outputs."""

    path: str
    module: Any
    depth: int
    shapes: list[str] = field(default_factory=list)
    memory: int = 0


def summary(model: Any, *inputs: Any, depth: int | None = None) -> str:
    """Return a table of the layers of a model: output shapes, parameters, and memory.

    The model runs once without gradients.  Without inputs it does not run, and the table has no shapes.  Memory is the size of
    a layer's outputs, except outputs that share memory with its inputs, as in `Flatten`.  Training needs about this memory until
    `backward`.

    Args:
        model: a module.
        *inputs: the arguments of the model.
        depth: the number of nested levels to show; None for all.

    Raises:
        Exception: the model raised it; a note names the layer that was running and the shapes of its inputs.

    >>> from flambeau.cli.summary import summary
    >>> print(summary(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.ones(2, 4)))
    layer          returns  parameters  memory
    Sequential     [2, 3]           15
      0  Linear    [2, 3]           15    24 B
      1  ReLU      [2, 3]            0    24 B
    <BLANKLINE>
    parameters     15, all of them trained: 60 B
    inputs         32 B
    layers return  48 B
    """
    layers = list(_tree(model))
    running: list[tuple[_Layer, str]] = []
    hooks = [layer.module.register_forward_hook(_record_output(layer, running)) for layer in layers]
    hooks += [layer.module.register_forward_pre_hook(_record_input(layer, running)) for layer in layers]
    try:
        if inputs:
            with torch.no_grad():
                model(*inputs)
    except Exception as error:
        if running:
            layer, shapes = running[-1]
            error.add_note(f"in {layer.path or 'the model'}: {layer.module}, called with {shapes}")
        raise
    finally:
        for hook in hooks:
            hook.remove()
    shown = [layer for layer in layers if depth is None or layer.depth <= depth]
    return "\n".join([*_table(shown, bool(inputs)), "", *_totals(model, layers, inputs)])


def _tree(module: Any, path: str = "", depth: int = 0) -> Iterator[_Layer]:
    yield _Layer(path, module, depth)
    for name, child in module.named_children():
        yield from _tree(child, f"{path}.{name}" if path else name, depth + 1)


def _record_input(layer: _Layer, running: list[tuple[_Layer, str]]) -> Any:
    def hook(module: Any, arguments: Any) -> None:
        running.append((layer, ", ".join(str(list(tensor.shape)) for tensor in _tensors(arguments))))

    return hook


def _record_output(layer: _Layer, running: list[tuple[_Layer, str]]) -> Any:
    def hook(module: Any, arguments: Any, result: Any) -> None:
        running.pop()
        given = {tensor.untyped_storage().data_ptr() for tensor in _tensors(arguments)}
        tensors = _tensors(result)
        layer.shapes.append(", ".join(str(list(tensor.shape)) for tensor in tensors))
        if not any(True for _ in module.children()):
            layer.memory += sum(_bytes(tensor) for tensor in tensors if tensor.untyped_storage().data_ptr() not in given)

    return hook


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in _tensors(part)]


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _table(layers: list[_Layer], ran: bool) -> list[str]:
    names = [f"{'  ' * layer.depth}{layer.path.rpartition('.')[2]}".rstrip() for layer in layers]
    rows = [("layer", "returns", "parameters", "memory")]
    for name, layer in zip(names, layers, strict=True):
        calls = len(layer.shapes)
        returned = layer.shapes[-1] if calls else "not called" if ran else ""
        if calls > 1:
            returned += f", {calls} calls"
        own = f"{sum(p.numel() for p in layer.module.parameters()):,}"
        kind = type(layer.module).__name__
        rows.append((f"{name}  {kind}" if name else kind, returned, own, size_text(layer.memory) if layer.memory else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    widths[0] = max(widths[0], len("layers return"))
    return [
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}".rstrip() for row in rows
    ]


def _totals(model: Any, layers: list[_Layer], inputs: tuple[Any, ...]) -> Iterator[str]:
    parameters, buffers = list(model.parameters()), list(model.buffers())
    count, trained = (sum(p.numel() for p in chosen) for chosen in (parameters, [p for p in parameters if p.requires_grad]))
    share = "all of them trained" if count == trained else f"{trained:,} of them trained"
    yield f"parameters     {count:,}, {share}: {size_text(sum(map(_bytes, parameters)))}"
    if buffers:
        yield f"buffers        {sum(b.numel() for b in buffers):,}: {size_text(sum(map(_bytes, buffers)))}"
    if inputs:
        yield f"inputs         {size_text(sum(map(_bytes, _tensors(inputs))))}"
        yield f"layers return  {size_text(sum(layer.memory for layer in layers))}"
