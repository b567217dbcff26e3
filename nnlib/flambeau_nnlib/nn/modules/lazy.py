"""Lazy modules, whose parameters get their shapes from the first input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import flambeau as torch

from ..parameter import is_lazy

if TYPE_CHECKING:
    from .module import Module as Base  # for type checkers only: the mixin is always used with a `Module`
else:
    Base = object

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Base):
    """Makes a module lazy: the first call runs `initialize_parameters` and changes the class to `cls_to_become`.

    >>> layer = torch.nn.LazyLinear(3)
    >>> layer(torch.ones(5, 2)).shape
    torch.Size([5, 3])
    >>> layer
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Allocate and initialize the parameters for the arguments of the first forward; subclasses override it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for _, tensor in self._own_tensors())

    def _own_tensors(self) -> Iterator[tuple[str, Any]]:
        return chain(self._parameters.items(), self._buffers.items())

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _replicate_for_data_parallel(self) -> NoReturn:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )

    # The names of both hooks are PyTorch's: files of lazy modules refer to them.

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """A hook that runs before `load_state_dict`: allocate uninitialized tensors with the shapes in the state dict."""
        for name, tensor in self._own_tensors():
            source = state_dict.get(prefix + name)
            if is_lazy(tensor) and source is not None and not is_lazy(source):
                with torch.no_grad():
                    tensor.materialize(source.shape)

    def _infer_parameters(self, module: LazyModuleMixin, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """A hook that runs before the first forward: initialize the parameters, and change the module to its non-lazy class."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


# Hooks that pickles of flambeau 0.1 name.


def lazy_load(module: LazyModuleMixin, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    module._lazy_load_hook(state_dict, prefix)


def infer_parameters(module: LazyModuleMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module._infer_parameters(module, args, kwargs)
