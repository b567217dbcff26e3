"""Pruning: masks that keep some elements of parameters at zero.

A pruned parameter `name` is kept as `name_orig`, with a buffer `name_mask` of zeros and ones; the attribute `name` is
their product, computed before each forward. Pruning a parameter twice combines the masks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """The base of all pruning methods, which choose what to prune.

    Subclasses define `compute_mask` and `PRUNING_TYPE`: `"unstructured"` for single elements, `"structured"` for whole
    slices along `self.dim`, or `"global"` for a mask over several parameters. `apply` creates an instance and registers it
    as the forward pre-hook that applies the mask.

    Example:
        >>> class Negative(BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         return default_mask * (t >= 0)
        >>> Negative().prune(torch.tensor([1.0, -2.0, 3.0]))
        tensor([1., -0., 3.])
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Compute the new mask, which also contains the zeros of `default_mask`.

        Args:
            t: the importance scores, of the parameter's shape.
            default_mask: the current mask of ones and zeros.

        Returns:
            a mask of the same shape, 1 for elements to keep.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """Return the masked parameter."""
        mask: Tensor = getattr(module, f"{self._tensor_name}_mask")
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a module.

        Args:
            module: the module that has the parameter.
            name: the name of the parameter.
            *args, **kwargs: the arguments of the pruning method's constructor.
            importance_scores: scores that elements are ranked by, of the parameter's shape; None for the parameter's values.

        Returns:
            the method, registered as a forward pre-hook.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = pop_hook(module, name)
        if earlier is not None:
            method = PruningContainer.combine(earlier, method)
        current = getattr(module, name)
        scores = current if importance_scores is None else importance_scores
        if scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {scores.shape} vs {current.shape}"
            )
        if earlier is None:
            mask = method.compute_mask(scores, default_mask=torch.ones_like(current))
            delattr(module, name)
            module.register_parameter(f"{name}_orig", current)
        else:
            mask = method.compute_mask(scores, default_mask=getattr(module, f"{name}_mask").detach().clone())
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a tensor in which the elements that this method prunes are zero, without a module.

        Args:
            t: the tensor; it is not modified.
            default_mask: a mask with zeros for elements that are already pruned; None for all ones.
            importance_scores: scores that elements are ranked by, of the tensor's shape; None for the tensor's values.

        Example:
            >>> L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 2.0, 4.0]))
            tensor([3., -0., 0., 4.])
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}")
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruning permanent: the parameter is set to its masked values."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        original = module._parameters[f"{name}_orig"]
        assert original is not None
        for attribute in (name, f"{name}_orig", f"{name}_mask"):
            if hasattr(module, attribute):
                delattr(module, attribute)
        original.data = weight.data
        setattr(module, name, original)


def pop_hook(module: Module, name: str) -> BasePruningMethod | None:
    """Unregister and return the pruning method of parameter `name`, or return None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            del module._forward_pre_hooks[key]
            return hook
    return None


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter; each chooses among the elements that the previous ones kept.

    It is created when a parameter is pruned again.

    Args:
        *args: the methods, in order.

    Example:
        >>> layer = l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=2)
        >>> layer = l1_unstructured(layer, "weight", amount=1)
        >>> [type(method).__name__ for hook in layer._forward_pre_hooks.values() for method in hook]
        ['L1Unstructured', 'L1Unstructured']
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    @classmethod
    def combine(cls, earlier: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
        """Return a container of both methods; if `earlier` is a container, append `method` to it."""
        container = earlier if isinstance(earlier, PruningContainer) else cls(earlier)
        container.add_pruning_method(method)
        return container

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Append a pruning method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Combine `default_mask` with the mask that the last method computes for the elements not pruned yet."""
        method = self._pruning_methods[-1]
        remaining = self._remaining(default_mask, method)
        mask = default_mask.to(t.dtype, copy=True)
        mask[remaining] = method.compute_mask(t[remaining], default_mask=default_mask[remaining]).to(mask.dtype)
        return mask

    @staticmethod
    def _remaining(mask: Tensor, method: BasePruningMethod) -> Any:
        """Return the index of the elements or slices that `method` may prune: those not pruned yet, or all if it is global."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return ...
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
        if method.dim < -mask.dim():
            raise IndexError(f"Index is out of bounds for tensor with dimensions {mask.dim()}")
        is_unpruned = mask.movedim(method.dim, 0).flatten(1).sum(1) != 0
        return slice_index(mask, method.dim, is_unpruned)


class Identity(BasePruningMethod):
    """Prunes nothing: the parameter gets a mask of ones.

    Example:
        >>> Identity().prune(torch.tensor([3.0, -1.0]))
        tensor([ 3., -1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Args:
        amount: the number of elements to prune (int), or their fraction (float from 0 to 1).

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, or a fraction above 1.

    Example:
        >>> int((RandomUnstructured(amount=0.5).prune(torch.ones(6)) == 0).sum())
        3
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        self.amount = checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = count_to_prune(self.amount, t.nelement())
        return prune_elements(default_mask, torch.rand_like(t) if count else t, count, largest=True)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of smallest absolute value.

    Args:
        amount: the number of elements to prune (int), or their fraction (float from 0 to 1).

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, or a fraction above 1.

    Example:
        >>> L1Unstructured(amount=0.5).prune(torch.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor([3., 0., 0., 4.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        self.amount = checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = count_to_prune(self.amount, t.nelement())
        return prune_elements(default_mask, t.abs(), count, largest=False)


class RandomStructured(BasePruningMethod):
    """Prunes whole slices along a dimension at random, such as output channels.

    Args:
        amount: the number of slices to prune (int), or their fraction (float from 0 to 1).
        dim: the dimension of the slices; for weights of layers, 0 is the output and 1 the input dimension.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, or a fraction above 1.

    Example:
        >>> int((RandomStructured(amount=1, dim=0).prune(torch.ones(3, 2)).sum(1) == 0).sum())
        1
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        self.amount = checked_amount(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_structured(t, self.dim)
        count = count_to_prune(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        scores = torch.rand(t.shape[self.dim])
        return keep_slices(default_mask, t, self.dim, scores > torch.kthvalue(scores, k=count).values)


class LnStructured(BasePruningMethod):
    """Prunes the slices of smallest norm along a dimension.

    Args:
        amount: the number of slices to prune (int), or their fraction (float from 0 to 1).
        n: the order of the norm, as `p` of `torch.norm`: 1, 2 or `float("inf")`, for example.
        dim: the dimension of the slices; for weights of layers, 0 is the output and 1 the input dimension.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, or a fraction above 1.

    Example:
        >>> LnStructured(amount=1, n=2, dim=0).prune(torch.tensor([[3.0, 4.0], [1.0, 1.0]]))
        tensor([[3., 4.],
                [0., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        self.amount = checked_amount(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_structured(t, self.dim)
        length = t.shape[self.dim]
        count = count_to_prune(self.amount, length)
        if count == 0:
            return default_mask
        other_dims = [dim for dim in range(t.dim()) if dim != self.dim % t.dim()]
        norms = torch.norm(t, p=self.n, dim=other_dims)
        return keep_slices(default_mask, t, self.dim, torch.topk(norms, k=length - count, largest=True).indices)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    Args:
        mask: 1 for elements to keep, 0 for elements to prune; of the parameter's shape.

    Example:
        >>> CustomFromMask(torch.tensor([1, 0, 1])).prune(torch.tensor([5.0, 6.0, 7.0]))
        tensor([5., 0., 7.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)


def prune_elements(mask: Tensor, scores: Tensor, count: int, largest: bool) -> Tensor:
    """Return a copy of `mask` with zeros for the `count` elements of largest score, or of smallest if not `largest`."""
    mask = mask.clone()
    if count:
        mask.view(-1)[torch.topk(scores.reshape(-1), k=count, largest=largest).indices] = 0
    return mask


def keep_slices(mask: Tensor, t: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return `mask` with zeros outside the slices at `index` along `dim`."""
    slices = torch.zeros_like(t)
    slices[slice_index(t, dim, index)] = 1
    return slices * mask.to(slices.dtype)


def slice_index(t: Tensor, dim: int, index: Tensor) -> tuple[Any, ...]:
    return (slice(None),) * (dim % t.dim()) + (index,)


def identity(module: Module, name: str) -> Module:
    """Add a mask of ones to a parameter, without pruning any element.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.

    Example:
        >>> list(identity(torch.nn.Linear(2, 3), "bias").state_dict())
        ['weight', 'bias_orig', 'bias_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        amount: the number of elements to prune (int), or their fraction (float from 0 to 1).

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, a fraction above 1, or larger than the number of elements.

    Example:
        >>> int((random_unstructured(torch.nn.Linear(2, 3), "weight", amount=2).weight == 0).sum())
        2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of smallest absolute value of a parameter.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        amount: the number of elements to prune (int), or their fraction (float from 0 to 1).
        importance_scores: scores that elements are ranked by, of the parameter's shape; None for the parameter's values.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, a fraction above 1, or larger than the number of elements.

    Example:
        >>> int((l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5).weight == 0).sum())
        3
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune whole slices of a parameter along a dimension at random.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter, of two dimensions or more.
        amount: the number of slices to prune (int), or their fraction (float from 0 to 1).
        dim: the dimension of the slices; for weights of layers, 0 is the output and 1 the input dimension.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, a fraction above 1, or larger than the number of slices; or the parameter is a vector.

    Example:
        >>> columns = random_structured(torch.nn.Linear(5, 3), "weight", amount=3, dim=1).weight.abs().sum(0)
        >>> int((columns == 0).sum())
        3
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> Module:
    """Prune the slices of smallest norm of a parameter along a dimension.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter, of two dimensions or more.
        amount: the number of slices to prune (int), or their fraction (float from 0 to 1).
        n: the order of the norm, as `p` of `torch.norm`: 1, 2 or `float("inf")`, for example.
        dim: the dimension of the slices; for weights of layers, 0 is the output and 1 the input dimension.
        importance_scores: a tensor of the parameter's shape whose norms are used; None for the parameter's values.

    Raises:
        TypeError: `amount` is not a number.
        ValueError: `amount` is negative, a fraction above 1, or larger than the number of slices; or the parameter is a vector.

    Example:
        >>> conv = ln_structured(torch.nn.Conv2d(5, 3, 2), "weight", amount=2, n=float("-inf"), dim=0)
        >>> int((conv.weight.flatten(1).abs().sum(1) == 0).sum())
        2
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune by a given mask.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.
        mask: 1 for elements to keep, 0 for elements to prune; of the parameter's shape.

    Raises:
        AssertionError: the mask has another shape.

    Example:
        >>> layer = custom_from_mask(torch.nn.Linear(1, 3), "bias", mask=torch.tensor([0, 1, 0]))
        >>> layer.bias_mask
        tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one tensor.

    The fraction of pruned elements may differ between parameters, depending on their scores.

    Args:
        parameters: pairs `(module, name)`, where `name` is a parameter of the module.
        pruning_method: a class of the unstructured methods, such as `L1Unstructured`.
        importance_scores: a dict from pairs `(module, name)` to scores that elements are ranked by; parameters without an
            entry are ranked by their values.
        **kwargs: arguments of `pruning_method`, such as `amount`, which refers to all parameters together.

    Raises:
        TypeError: `parameters` is not iterable, `importance_scores` is not a dict, or the method is not unstructured.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Linear(4, 1))
        >>> global_unstructured([(net[0], "weight"), (net[1], "weight")], L1Unstructured, amount=10)
        >>> sum(int((layer.weight == 0).sum()) for layer in net)
        10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    scores = importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    tensors = [getattr(module, name) for module, name in parameters]
    masks = [
        getattr(module, f"{name}_mask", torch.ones_like(tensor))
        for (module, name), tensor in zip(parameters, tensors, strict=True)
    ]
    importance = [scores.get(key, tensor) for key, tensor in zip(parameters, tensors, strict=True)]
    method._tensor_name = "all parameters"
    mask = PruningContainer(method).compute_mask(parameters_to_vector(importance), parameters_to_vector(masks))
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(parameters, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def remove(module: Module, name: str) -> Module:
    """Make the pruning of a parameter permanent: the masked values become the parameter itself.

    Args:
        module: the module that has the parameter; it is changed, and returned.
        name: the name of the parameter.

    Raises:
        ValueError: the parameter is not pruned.

    Example:
        >>> layer = remove(random_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5), "weight")
        >>> list(layer.state_dict())
        ['bias', 'weight']
    """
    hook = pop_hook(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module or one of its submodules has a pruned parameter.

    Args:
        module: the module to check, with its submodules.

    Example:
        >>> is_pruned(torch.nn.Linear(2, 3))
        False
    """
    return any(
        isinstance(hook, BasePruningMethod) for submodule in module.modules() for hook in submodule._forward_pre_hooks.values()
    )


def checked_amount(amount: Any) -> Any:
    """Return `amount`; raise TypeError or ValueError unless it is a non-negative number of elements or a fraction."""
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def count_to_prune(amount: float, size: int) -> int:
    """Return the number of elements or slices to prune, out of `size`."""
    if not isinstance(amount, Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


def check_structured(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. "
            f"Found tensor of shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
