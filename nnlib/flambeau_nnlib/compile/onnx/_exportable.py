"""`ExportableModule`, a module with its own export settings, and `InputObserver`, which infers them from calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.utils import pytree

from ..export import Dim
from ._program import ONNXProgram, export

__all__ = ["ExportableModule", "InputObserver"]


class ExportableModule(nn.Module, ABC):
    """Base class of modules that define their own example inputs, names and dynamic sizes.

    Override `example_arguments`, and any of the other methods.
    """

    @abstractmethod
    def example_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        """Return example arguments for the export: a tuple of positional ones, and a dict of keyword ones or None."""

    def dynamic_shapes(self) -> Any:
        """Return the dynamic sizes, as for `torch.onnx.export`."""
        return None

    def input_names(self) -> Sequence[str] | None:
        """Return names for the inputs."""
        return None

    def output_names(self) -> Sequence[str] | None:
        """Return names for the outputs."""
        return None

    def to_onnx(self, **kwargs: Any) -> ONNXProgram:
        """Export the module to ONNX.

        Args:
            **kwargs: additional arguments of `torch.onnx.export`.
        """
        args, named = self.example_arguments()
        options = {
            "kwargs": named, "dynamic_shapes": self.dynamic_shapes(), "input_names": self.input_names(),
            "output_names": self.output_names(),
        }  # fmt: skip
        return export(self, args, **options | kwargs)


class InputObserver:
    """Record the arguments of calls of a module, and infer export arguments from them.

    Args:
        value_if_missing: values, by name, of arguments that are missing in the first call.

    >>> model, observer = torch.nn.ReLU(), torch.onnx.InputObserver()
    >>> with observer(model):
    ...     _ = model(torch.ones(2, 3)), model(torch.ones(4, 3))
    >>> observer.infer_dynamic_shapes()
    ({0: Dim.DYNAMIC},)
    """

    def __init__(self, value_if_missing: dict[str | int, Any] | None = None) -> None:
        self.value_if_missing = value_if_missing or {}
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any], Any]] = []

    def num_obs(self) -> int:
        """The number of recorded calls."""
        return len(self.calls)

    @contextmanager
    def __call__(self, model: nn.Module, store_n_calls: int = 3, method_name: str = "forward") -> Iterator[InputObserver]:
        """Context manager that records calls of a method.

        Args:
            model: the module.
            store_n_calls: the maximum number of calls to record.
            method_name: the name of the method.
        """
        original = getattr(model, method_name)

        def observed(*args: Any, **kwargs: Any) -> Any:
            noted = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), (args, kwargs))
            result = original(*args, **kwargs)
            if len(self.calls) < store_n_calls:
                self.calls.append((*noted, result))
            return result

        vars(model)[method_name] = observed
        try:
            yield self
        finally:
            del vars(model)[method_name]

    def infer_arguments(self, index: int | None = None) -> Any:
        """Return the arguments of a call: a tuple if all were positional, else a dictionary.

        Args:
            index: the index of the call; by default the first one.

        Raises:
            RuntimeError: no calls were recorded.
        """
        args, kwargs, _ = self._call(index or 0)
        return {**self._missing(kwargs), **kwargs} if kwargs and not args else args

    def infer_dynamic_shapes(self, set_batch_dimension_for: Any = None) -> Any:
        """Return the sizes that differ between calls as dynamic sizes, in the structure of `infer_arguments`.

        Args:
            set_batch_dimension_for: arguments, by name or index, whose first dimension is also dynamic; True for all.

        Raises:
            RuntimeError: no calls were recorded.
        """
        first = self.infer_arguments()
        others = [self.infer_arguments(number) for number in range(1, len(self.calls))]
        named = first.items() if isinstance(first, dict) else enumerate(first)
        shapes = {}
        for name, value in named:
            same = [other[name] for other in others if (name in other if isinstance(other, dict) else name < len(other))]
            is_batch = set_batch_dimension_for is True or (set_batch_dimension_for and name in set_batch_dimension_for)
            shapes[name] = _dynamic_sizes(value, same, bool(is_batch))
        return shapes if isinstance(first, dict) else tuple(shapes.values())

    def check_discrepancies(self, onnx_program: ONNXProgram, atol: float = 1e-4, rtol: float = 0.1) -> list[dict[str, Any]]:
        """Compare the outputs of an ONNX program with those of the recorded calls.

        Args:
            onnx_program: the program to check.
            atol, rtol: the tolerance is `atol + rtol * abs(result)`.

        Returns:
            For each call, the largest difference (`"abs"`), and whether all differences are within the tolerance
            (`"SUCCESS"`).
        """
        found = []
        for number, (args, kwargs, result) in enumerate(self.calls):
            wanted = [leaf.detach() for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
            got = onnx_program(*args, **kwargs)
            largest = max((float((a.double() - b.double()).abs().max()) for a, b in zip(got, wanted, strict=True)), default=0.0)
            close = all(torch.allclose(a, b, rtol=rtol, atol=atol) for a, b in zip(got, wanted, strict=True))
            found.append({"index": number, "abs": largest, "SUCCESS": close})
        return found

    def _call(self, index: int) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        if not self.calls:
            raise RuntimeError("No inputs were captured.")
        return self.calls[index]

    def _missing(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {str(name): value for name, value in self.value_if_missing.items() if name not in kwargs}


def _dynamic_sizes(value: Any, others: list[Any], is_batch: bool) -> Any:
    """Return the dynamic dimensions of a tensor, or of each tensor in a container."""
    leaves, structure = pytree.tree_flatten(value)
    rest = [pytree.tree_leaves(other) for other in others if pytree.tree_structure(other) == structure]
    shapes: list[Any] = []
    for place, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor):
            shapes.append(None)
            continue
        differing = {dim for other in rest for dim in range(leaf.dim()) if other[place].shape[dim] != leaf.shape[dim]}
        shapes.append(dict.fromkeys(sorted(differing | ({0} if is_batch else set())), Dim.DYNAMIC))
    return pytree.tree_unflatten(shapes, structure)
