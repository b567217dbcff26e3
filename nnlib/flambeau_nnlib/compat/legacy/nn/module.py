"""Base classes of modules and criterions with explicit backward methods, implemented with autograd."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = ["Criterion", "Module"]

Table = Any  # a tensor, or a list of tables


def map_table(function: Callable[..., Any], table: Table, *others: Table) -> Table:
    """Apply `function` to every tensor of a table, or to corresponding tensors of several tables."""
    if isinstance(table, (list, tuple)):
        return [map_table(function, *parts) for parts in zip(table, *others, strict=True)]
    return function(table, *others)


def tensors_of(table: Table) -> list[Tensor]:
    """Return the tensors of a nested table, in order."""
    if isinstance(table, (list, tuple)):
        return [tensor for part in table for tensor in tensors_of(part)]
    return [table]


def _grad(results: list[Tensor], leaves: list[Tensor], gradients: list[Tensor] | None = None) -> list[Tensor]:
    """Return the gradients with respect to the leaves, and zeros for unused leaves. The graph is retained."""
    if not results or not leaves:
        return [torch.zeros_like(leaf) for leaf in leaves]
    computed = torch.autograd.grad(results, leaves, gradients, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, computed, strict=True)]


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_() if tensor.is_floating_point() else tensor


class Module:
    """A layer in the style of Lua Torch: `forward` computes `output`, `backward` computes `gradInput`.

    Inputs and outputs are tensors or tables (lists) of them. `backward(input, gradOutput)` takes the gradient
    of the output, accumulates the gradients of the parameters in `gradWeight` and `gradBias`, and returns the
    gradient of the input.

    A subclass registers parameters by `_add_parameters`, and defines a differentiable
    `compute(input, weight, bias, ...)`. Alternatively, it overrides `updateOutput`, `updateGradInput` and `accGradParameters`.

    >>> layer = torch.legacy.nn.Square()
    >>> x = torch.tensor([1.0, 3.0])
    >>> layer.forward(x), layer.backward(x, torch.ones(2))
    (tensor([1., 9.]), tensor([2., 6.]))
    """

    def __init__(self) -> None:
        self.output: Table = torch.empty(0)
        self.gradInput: Table = torch.empty(0)
        self.train = True
        self._type = torch.empty(0).type()
        self._parameter_names: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self._latest_input: Table = None
        self._inputs: Table = None
        self._params: list[Tensor] = []
        self._result: Table = None

    def _add_parameters(self, **parameters: Tensor) -> None:
        """Register each parameter by name, and its gradient, initially zero, as `gradWeight` for `weight`."""
        for name, parameter in parameters.items():
            self._parameter_names.append(name)
            setattr(self, name, parameter)
            setattr(self, _grad_name(name), torch.zeros_like(parameter))

    # --- computing ---

    compute: Callable[..., Any]
    """Return the output, as a differentiable function of the input and the parameters. Signatures differ between layers."""
    weight: Any  # the attribute is missing in layers without a weight; None if removed
    bias: Any

    def updateOutput(self, input: Table) -> Table:
        """Compute `output`, and store what `backward` requires."""
        self._latest_input = input
        self._inputs = map_table(_leaf, input)
        self._params = [_leaf(p) for p in self.parameters()[0]]
        with torch.enable_grad():
            self._result = self.compute(self._inputs, *self._params)
        self.output = map_table(Tensor.detach, self._result)
        return self.output

    def updateGradInput(self, input: Table, gradOutput: Table) -> Table:
        """Compute `gradInput`, the gradient of the input."""
        self._replay(input)
        leaves = [t for t in tensors_of(self._inputs) if t.requires_grad]
        gradients = iter(self._gradients(leaves, gradOutput))
        self.gradInput = map_table(lambda t: next(gradients) if t.requires_grad else torch.zeros_like(t), self._inputs)
        return self.gradInput

    def accGradParameters(self, input: Table, gradOutput: Table, scale: float = 1) -> None:
        """Accumulate `scale` times the gradients of the parameters."""
        self._replay(input)
        accumulated = self.parameters()[1]
        for total, gradient in zip(accumulated, self._gradients(self._params, gradOutput), strict=True):
            total.add_(gradient, alpha=scale)

    def _replay(self, input: Table) -> None:
        if input is not self._latest_input:
            self.updateOutput(input)

    def _gradients(self, leaves: list[Tensor], gradOutput: Table) -> list[Tensor]:
        """Return the gradients of `leaves`: inputs or parameters. The graph is retained, to differentiate other leaves later."""
        results, gradients = tensors_of(self._result), tensors_of(gradOutput)
        differentiable = [i for i, result in enumerate(results) if result.requires_grad]
        return _grad([results[i] for i in differentiable], leaves, [gradients[i] for i in differentiable])

    def forward(self, input: Table) -> Table:
        """Return the output for `input`, like calling the module."""
        return self.updateOutput(input)

    def backward(self, input: Table, gradOutput: Table, scale: float = 1) -> Table:
        """Return the gradient of `input`, and accumulate `scale` times the gradients of the parameters."""
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def backwardUpdate(self, input: Table, gradOutput: Table, lr: float) -> Table:
        """Run `backward`, and update the parameters by gradient descent instead of accumulating their gradients."""
        saved = [gradient.clone() for gradient in self.parameters()[1]]
        self.zeroGradParameters()
        self.backward(input, gradOutput)
        self.updateParameters(lr)
        for gradient, saved_gradient in zip(self.parameters()[1], saved, strict=True):
            gradient.copy_(saved_gradient)
        return self.gradInput

    def __call__(self, input: Table) -> Table:
        return self.forward(input)

    # --- parameters ---

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """Return the parameters, and their accumulated gradients."""
        names = self._parameter_names
        return [getattr(self, n) for n in names], [getattr(self, _grad_name(n)) for n in names]

    def reset(self, stdv: float | None = None) -> None:
        """Initialize the parameters randomly."""

    def zeroGradParameters(self) -> None:
        """Set the accumulated gradients of the parameters to zero."""
        for gradient in self.parameters()[1]:
            gradient.zero_()

    def updateParameters(self, learningRate: float) -> None:
        """Update the parameters by a step of gradient descent."""
        for parameter, gradient in zip(*self.parameters(), strict=True):
            parameter.sub_(gradient, alpha=learningRate)

    def flattenParameters(self) -> tuple[Tensor, Tensor]:
        """Return all parameters, and all gradients, as a flat vector each; the modules' tensors become views of them."""
        owners: dict[int, list[tuple[Module, str]]] = {}  # maps tensors to their owners, so that shared parameters stay shared
        for module in self.listModules():
            for name in module._parameter_names:
                owners.setdefault(getattr(module, name).data_ptr(), []).append((module, name))
        flat = []
        for attribute in (str, _grad_name):
            pieces = [getattr(module, attribute(name)) for (module, name), *_ in owners.values()]
            vector = torch.cat([piece.reshape(-1) for piece in pieces]) if pieces else torch.empty(0)
            views = vector.split([piece.numel() for piece in pieces]) if pieces else ()
            for holders, piece, view in zip(owners.values(), pieces, views, strict=True):
                for module, name in holders:
                    setattr(module, attribute(name), view.view_as(piece))
            flat.append(vector)
        return flat[0], flat[1]

    def share(self, other: Module, *names: str) -> Module:
        """Share the named tensors (`"weight"`, `"gradWeight"`, ...) of a module of the same structure."""
        for mine, theirs in zip(self.listModules(), other.listModules(), strict=True):
            for name in names:
                if hasattr(theirs, name):
                    setattr(mine, name, getattr(theirs, name))
        return self

    def clone(self, *names: str) -> Module:
        """Return a copy of the module that shares the named tensors with it."""
        return copy.deepcopy(self).share(self, *names)

    def type(self, type: str | None = None) -> Any:
        """Convert parameters and buffers to a type such as `"torch.DoubleTensor"`; without an argument, return the current
        type.
        """
        if type is None:
            return self._type
        for module in self.listModules():
            module.clearState()
            module._type = type
            for name, value in vars(module).items():
                if isinstance(value, Tensor) and value.is_floating_point():
                    setattr(module, name, value.type(type))
        return self

    def float(self) -> Module:
        """Convert to float32."""
        result: Module = self.type("torch.FloatTensor")
        return result

    def double(self) -> Module:
        """Convert to float64."""
        result: Module = self.type("torch.DoubleTensor")
        return result

    def cuda(self) -> Module:
        """Move to the GPU and convert to float32."""
        result: Module = self.type("torch.cuda.FloatTensor")
        return result

    # --- structure and mode ---

    def training(self) -> None:
        """Switch to training mode."""
        self.apply(lambda module: setattr(module, "train", True))

    def evaluate(self) -> None:
        """Switch to evaluation mode: no dropout, and running statistics in batch normalization."""
        self.apply(lambda module: setattr(module, "train", False))

    def apply(self, callback: Callable[[Module], Any]) -> None:
        """Call `callback` on this module and all modules inside it."""
        for module in self.listModules():
            callback(module)

    def listModules(self) -> list[Module]:
        """Return this module and all modules inside it, depth first."""
        return [self] + [inner for module in getattr(self, "modules", []) for inner in module.listModules()]

    def findModules(self, cls: builtins.type) -> list[Module]:
        """Return all modules in `listModules` that are instances of `cls`."""
        return [module for module in self.listModules() if isinstance(module, cls)]

    def replace(self, callback: Callable[[Module], Module]) -> Module:
        """Return `callback(self)`, after replacing the modules inside the result in the same way."""
        new = callback(self)
        if hasattr(new, "modules"):
            new.modules = [module.replace(callback) for module in new.modules]
        return new

    def clearState(self) -> Module:
        """Free the outputs and gradients of the most recent pass."""
        for module in self.listModules():
            module._forget()
            module.output, module.gradInput = torch.empty(0), torch.empty(0)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # The recorded graph cannot be copied, so that `backward` of the copy first runs the forward computation again.
        return {**vars(self), "_latest_input": None, "_inputs": None, "_params": [], "_result": None}

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"


def _grad_name(name: str) -> str:
    return f"grad{name[0].upper()}{name[1:]}"


class Criterion:
    """A loss function in the style of Lua Torch: `forward` returns a number, `backward` the gradient of the input.

    A subclass defines a differentiable `compute(input, target)`.

    >>> criterion = torch.legacy.nn.MSECriterion()
    >>> x, target = torch.tensor([1.0, 3.0]), torch.zeros(2)
    >>> criterion.forward(x, target), criterion.backward(x, target)
    (5.0, tensor([1., 3.]))
    """

    def __init__(self) -> None:
        self.output: Any = 0
        self.gradInput: Table = torch.empty(0)

    def compute(self, input: Table, target: Table) -> Tensor:
        """Return the loss as a tensor."""
        raise NotImplementedError

    def updateOutput(self, input: Table, target: Table) -> Any:
        """Compute the loss, store it as `output`, and return it."""
        self.output = self.compute(input, target).item()
        return self.output

    def updateGradInput(self, input: Table, target: Table) -> Table:
        """Compute `gradInput`, the gradient of the loss with respect to the input."""
        leaves = map_table(_leaf, input)
        with torch.enable_grad():
            loss = self.compute(leaves, target)
        gradients = iter(_grad([loss], tensors_of(leaves)))
        self.gradInput = map_table(lambda _: next(gradients), leaves)
        return self.gradInput

    def forward(self, input: Table, target: Table) -> Any:
        """Return the loss, like calling the criterion."""
        return self.updateOutput(input, target)

    def backward(self, input: Table, target: Table) -> Table:
        """Return the gradient of the loss with respect to the input."""
        return self.updateGradInput(input, target)

    def __call__(self, input: Table, target: Table) -> Any:
        return self.forward(input, target)

    def type(self, type: str | None = None) -> Any:
        """Convert the criterion's tensors, such as class weights; without an argument, return the current type."""
        if type is None:
            return self.gradInput.type()
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(self, name, value.type(type))
        return self

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"


def as_sequence(value: Any) -> Sequence[Any]:
    """Return dimensions given as separate arguments, or as a single sequence, as a sequence."""
    result: Sequence[Any] = value[0] if len(value) == 1 and not isinstance(value[0], int) else value
    return result
