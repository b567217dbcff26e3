"""Modules that say how they are exported, and the observer that finds out from calls."""

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
    """A module that says itself what its examples, names and dynamic sizes are.

    Override `example_arguments`, and of the others those that have something to say.
    """

    @abstractmethod
    def example_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        """The arguments by position and by name that the module is run on."""

    def dynamic_shapes(self) -> Any:
        """The sizes that may differ, as for `torch.onnx.export`."""
        return None

    def input_names(self) -> Sequence[str] | None:
        """Names for the inputs."""
        return None

    def output_names(self) -> Sequence[str] | None:
        """Names for the outputs."""
        return None

    def to_onnx(self, **kwargs: Any) -> ONNXProgram:
        """The module as ONNX.

        Args:
            **kwargs: further arguments of `torch.onnx.export`.
        """
        args, named = self.example_arguments()
        options = {
            "kwargs": named, "dynamic_shapes": self.dynamic_shapes(), "input_names": self.input_names(),
            "output_names": self.output_names(),
        }  # fmt: skip
        return export(self, args, **options | kwargs)


class InputObserver:
    """Notes what a module is called with, and says from that what to export it with.

    Args:
        value_if_missing: values for arguments, by name, that the first call does not have.

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
        """The number of calls that have been noted."""
        return len(self.calls)

    @contextmanager
    def __call__(self, model: nn.Module, store_n_calls: int = 3, method_name: str = "forward") -> Iterator[InputObserver]:
        """A context in which calls of a method are noted.

        Args:
            model: the module.
            store_n_calls: how many calls to note.
            method_name: the method.
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
        """The arguments of a call: a tuple if all were given by position, else a dictionary.

        Args:
            index: the number of the call; the first one where it is not given.

        Raises:
            RuntimeError: no call has been noted.
        """
        args, kwargs, _ = self._call(index or 0)
        return {**self._missing(kwargs), **kwargs} if kwargs and not args else args

    def infer_dynamic_shapes(self, set_batch_dimension_for: Any = None) -> Any:
        """The sizes that differ between the calls, in the form of `infer_arguments`.

        Args:
            set_batch_dimension_for: arguments, by name or number, whose first size may differ as well; True for all.

        Raises:
            RuntimeError: no call has been noted.
        """
        first = self.infer_arguments()
        others = [self.infer_arguments(number) for number in range(1, len(self.calls))]
        named = first.items() if isinstance(first, dict) else enumerate(first)
        shapes = {}
        for name, value in named:
            same = [other[name] for other in others if (name in other if isinstance(other, dict) else name < len(other))]
            is_batch = set_batch_dimension_for is True or (set_batch_dimension_for and name in set_batch_dimension_for)
            shapes[name] = _sizes(value, same, bool(is_batch))
        return shapes if isinstance(first, dict) else tuple(shapes.values())

    def check_discrepancies(self, onnx_program: ONNXProgram, atol: float = 1e-4, rtol: float = 0.1) -> list[dict[str, Any]]:
        """How far an ONNX program is from the results of the calls.

        Args:
            onnx_program: the program.
            atol, rtol: which differences are small: `atol + rtol * abs(result)`.

        Returns:
            For each call, the largest difference (`"abs"`), and whether all are small (`"SUCCESS"`).
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


def _sizes(value: Any, others: list[Any], is_batch: bool) -> Any:
    """The dimensions of a tensor, or of those in a container, whose sizes differ."""
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
