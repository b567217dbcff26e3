"""Modules that contain other modules."""

from __future__ import annotations

from collections.abc import Callable

import flambeau as torch
from flambeau import Tensor

from .module import Module, Table, map_table

__all__ = ["Concat", "ConcatTable", "Container", "DepthConcat", "Parallel", "ParallelTable", "Sequential"]

Visit = Callable[[Module, Table, Table], Table]


class Container(Module):
    """A module with submodules, in `modules`.

    A subclass defines `updateOutput` and `_backward`, which passes every module its input and the gradient of its
    output, and returns the gradient of the container's input.
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        self.modules: list[Module] = list(modules)

    def add(self, module: Module) -> Container:
        """Append a module and return the container."""
        self.modules.append(module)
        return self

    def get(self, index: int) -> Module:
        """Return the module at `index`."""
        return self.modules[index]

    def size(self) -> int:
        """Return the number of modules."""
        return len(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def reset(self, stdv: float | None = None) -> None:
        for module in self.modules:
            module.reset(stdv)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        pairs = [module.parameters() for module in self.modules]
        return [p for params, _ in pairs for p in params], [g for _, grads in pairs for g in grads]

    def _backward(self, visit: Visit, input: Table, gradOutput: Table) -> Table:
        raise NotImplementedError

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        self.gradInput = self._backward(lambda m, x, g: m.updateGradInput(x, g), input, gradOutput)
        return self.gradInput

    def accGradParameters(self, input: Table, gradOutput: Table, scale: float = 1) -> None:
        def visit(module: Module, x: Table, g: Table) -> Table:
            module.accGradParameters(x, g, scale)
            return module.gradInput

        self._backward(visit, input, gradOutput)

    def backward(self, input: Table, gradOutput: Table, scale: float = 1) -> Table:
        self.gradInput = self._backward(lambda m, x, g: m.backward(x, g, scale), input, gradOutput)
        return self.gradInput

    def __repr__(self) -> str:
        lines = [*self._flow(), *(f"({i}): {module!r}" for i, module in enumerate(self.modules))]
        inside = "".join("\n" + line for line in lines).replace("\n", "\n  ")
        return f"nn.{type(self).__name__} {{{inside}\n}}"

    def _flow(self) -> list[str]:
        """Return a diagram of the data flow through the modules, for the repr."""
        return []


class Sequential(Container):
    """Apply modules one after another.

    >>> nn = torch.legacy.nn
    >>> nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh())
    nn.Sequential {
      [input -> (0) -> (1) -> output]
      (0): nn.Linear(4 -> 3)
      (1): nn.Tanh
    }
    """

    def insert(self, module: Module, index: int) -> None:
        """Insert a module before the one at `index`."""
        self.modules.insert(index, module)

    def remove(self, index: int) -> None:
        """Remove the module at `index`."""
        del self.modules[index]

    def updateOutput(self, input: Table) -> Table:
        for module in self.modules:
            input = module.updateOutput(input)
        self.output = input
        return input

    def _backward(self, visit: Visit, input: Table, gradOutput: Table) -> Table:
        inputs = [input, *(module.output for module in self.modules[:-1])]
        for module, x in zip(reversed(self.modules), reversed(inputs), strict=True):
            gradOutput = visit(module, x, gradOutput)
        return gradOutput

    def _flow(self) -> list[str]:
        return ["[" + " -> ".join(["input", *(f"({i})" for i in range(len(self.modules))), "output"]) + "]"]


class ConcatTable(Container):
    """Apply every module to the same input and return the outputs as a table.

    >>> nn = torch.legacy.nn
    >>> nn.ConcatTable().add(nn.Identity()).add(nn.Abs()).forward(torch.tensor([-1.0]))
    [tensor([-1.]), tensor([1.])]
    """

    def updateOutput(self, input: Table) -> Table:
        self.output = [module.updateOutput(input) for module in self.modules]
        return self.output

    def _backward(self, visit: Visit, input: Table, gradOutput: Table) -> Table:
        gradients = [visit(module, input, g) for module, g in zip(self.modules, gradOutput, strict=True)]
        return map_table(lambda *parts: sum(parts[1:], parts[0]), *gradients)


class Concat(ConcatTable):
    """Apply every module to the same input and concatenate the outputs along `dimension`.

    Args:
        dimension: the dimension to join along.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def updateOutput(self, input: Table) -> Tensor:
        self.output = torch.cat(super().updateOutput(input), self.dimension)
        result: Tensor = self.output
        return result

    def _backward(self, visit: Visit, input: Table, gradOutput: Tensor) -> Table:
        sizes = [module.output.size(self.dimension) for module in self.modules]
        return super()._backward(visit, input, gradOutput.split(sizes, self.dimension))


class DepthConcat(ConcatTable):
    """Apply every module to the same input, zero-pad the outputs to the same size, and concatenate them along `dimension`.

    Szegedy et al., "Going deeper with convolutions", 2014.

    Args:
        dimension: the dimension to join along.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def _windows(self, joined: Tensor) -> list[Tensor]:
        """Split a concatenated tensor into views, one for the output of each module."""
        windows = []
        sizes = [module.output.size(self.dimension) for module in self.modules]
        for module, part in zip(self.modules, joined.split(sizes, self.dimension), strict=True):
            for dim, size in enumerate(module.output.shape):
                part = part.narrow(dim, (part.size(dim) - size) // 2, size)
            windows.append(part)
        return windows

    def updateOutput(self, input: Table) -> Tensor:
        outputs = super().updateOutput(input)
        size = [max(sizes) for sizes in zip(*(output.shape for output in outputs), strict=True)]
        size[self.dimension] = sum(output.size(self.dimension) for output in outputs)
        joined: Tensor = outputs[0].new_zeros(size)
        for window, output in zip(self._windows(joined), outputs, strict=True):
            window.copy_(output)
        self.output = joined
        return joined

    def _backward(self, visit: Visit, input: Table, gradOutput: Tensor) -> Table:
        return super()._backward(visit, input, self._windows(gradOutput))


class ParallelTable(Container):
    """Apply each module to its entry of the input table and return the outputs as a table."""

    def updateOutput(self, input: Table) -> Table:
        self.output = [module.updateOutput(x) for module, x in zip(self.modules, input, strict=True)]
        return self.output

    def _backward(self, visit: Visit, input: Table, gradOutput: Table) -> Table:
        return [visit(module, x, g) for module, x, g in zip(self.modules, input, gradOutput, strict=True)]


class Parallel(ParallelTable):
    """Apply each module to its slice of the input and concatenate the outputs.

    Args:
        inputDimension: the dimension of the input to slice.
        outputDimension: the dimension along which the outputs are concatenated.
    """

    def __init__(self, inputDimension: int, outputDimension: int) -> None:
        super().__init__()
        self.inputDimension = inputDimension
        self.outputDimension = outputDimension

    def updateOutput(self, input: Tensor) -> Tensor:
        self._slices = list(input.unbind(self.inputDimension))
        self.output = torch.cat(super().updateOutput(self._slices), self.outputDimension)
        result: Tensor = self.output
        return result

    def _backward(self, visit: Visit, input: Tensor, gradOutput: Tensor) -> Tensor:
        sizes = [module.output.size(self.outputDimension) for module in self.modules]
        pieces = gradOutput.split(sizes, self.outputDimension)
        return torch.stack(super()._backward(visit, self._slices, pieces), self.inputDimension)
