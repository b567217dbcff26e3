"""Give modules, classes and functions PyTorch's names while flambeau is imported as `torch`.

Libraries use `torch.__name__`, `type(x).__module__` and `function.__name__` to detect tensors, and pickles refer to classes by
these names.  Each public module is renamed after it has been loaded.  Modules that PyTorch does not have keep flambeau's names,
except for the objects that a public module re-exports.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from fnmatch import fnmatchcase
from types import FunctionType, MethodType, ModuleType
from typing import Any, NewType

from ..engine.calls import named_results
from ..engine.calls.facts import COMPILED, COMPILED_NAMESPACES, declared
from ..engine.calls.wrappers import is_native
from ..engine.devices.aliases import aliased_name, open_to_aliases, resolve
from ..engine.tensors.tensor import Tensor
from .home_modules import HOME_MODULES
from .pickles import name_pickles_as_torch

__all__ = ["name_as_torch"]

_ROOTS = {"flambeau": "torch", "flambeau_nnlib": "torch", "flambeau_vision": "torchvision"}
_OWN_PACKAGES = frozenset({  # packages that PyTorch does not have, or whose contents differ in PyTorch
    "array_api", "backend", "cli", "compat", "conformance", "engine", "extension", "layouts", "operations", "protocols",
    "transforms",
})  # fmt: skip
_NAMED = (type, FunctionType, NewType, type(aliased_name))  # the last is the type of cached functions


def name_as_torch() -> None:
    """Give PyTorch's names to all loaded modules, and to every module that is loaded later."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and name == getattr(module, "__name__", None):
            _rename(module)
    sys.meta_path.insert(0, _Finder())
    name_pickles_as_torch()
    for result_class in named_results.CLASSES.values():
        result_class.__module__ = "torch.return_types"  # later ones are created with this name
    # PyTorch's tensors have no such method.  Libraries that find it, such as xarray, keep tensors instead of converting them to
    # NumPy arrays, and then use NumPy's attributes of dtypes.
    del Tensor.__array_namespace__


class _Finder:
    """Find flambeau's modules by the standard path finder, and wrap their loader so that it renames them."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _ROOTS or resolve(name) != name:
            return None  # `flambeau.nn.utils` is an alias: the module is loaded under its real name
        if torch_module_name(name) is None and name not in HOME_MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]  # has the methods of a loader
        return spec


class _Loader:
    """Load a module by another loader, then rename it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _rename(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def torch_module_name(name: str) -> str | None:
    """Return PyTorch's name of a module of flambeau; None for other modules and for modules that PyTorch does not have."""
    shown = aliased_name(name, "flambeau")
    root, _, rest = shown.partition(".")
    if root == "flambeau_nnlib":  # not in PyTorch's package `torch`, but perhaps in `functorch`
        shown = aliased_name(name, "functorch")
        return None if shown == name else shown
    if root not in _ROOTS or rest.partition(".")[0] in _OWN_PACKAGES:
        return None
    if root == "flambeau" and rest.count(".") and rest.partition(".")[0] in COMPILED_NAMESPACES:
        return None
    return _ROOTS[root] + ("." + rest if rest else "")


def _rename(module: ModuleType) -> None:
    """Give PyTorch's names to a module and to the objects that it defines or publishes."""
    own = module.__name__
    shown = torch_module_name(own)
    if shown is None and own not in HOME_MODULES:
        return
    elsewhere: dict[str, str] = {}
    if shown in ("torch", "torch.nn.functional"):
        # a function in both modules gets the `__module__` of the one that defines it in PyTorch
        compiled = shown == "torch.nn.functional"
        elsewhere = {name: home for name, home in declared("home").items() if (home in COMPILED) is compiled}
    space = (shown or "").removeprefix("torch.")
    for name, value in list(vars(module).items()):
        if space in COMPILED_NAMESPACES and is_native(value):
            _name_compiled(value, space, name)
        elif isinstance(value, _NAMED) or is_native(value):
            place = elsewhere.get(name) or _home_module(value, module, name)
            if place is not None:
                function = value.__func__ if isinstance(value, MethodType) else value
                function.__module__ = place
    if shown is not None:
        open_to_aliases(module, own)
        module.__name__ = shown
        sys.modules.setdefault(shown, module)


def _home_module(value: Any, module: ModuleType, name: str) -> str | None:
    """Return PyTorch's module name for a class or function that `module` has under `name`.

    None for objects of other libraries, and for objects whose module PyTorch does not have unless `module` exports them.
    `inspect.getsource` does not find the source of a class that is shown with another module than the one that defines it.
    """
    defined_in = getattr(value, "__module__", None) or ""
    root = defined_in.partition(".")[0]
    if root not in _ROOTS and root not in _ROOTS.values():
        return None
    own = torch_module_name(defined_in) if root in _ROOTS else defined_in
    shown = torch_module_name(module.__name__) or module.__name__
    exported = getattr(value, "__name__", None) == name and name in getattr(module, "__all__", ())
    home = _listed_home(own or defined_in, getattr(value, "__name__", name), exported=exported and own != shown)
    if home is None and exported and own is None:
        home = _listed_home(shown, name, exported=False) or shown
    return home or own


def _listed_home(module: str, name: str, *, exported: bool) -> str | None:
    """Return the module that `HOME_MODULES` lists for a name of `module`; None if it lists none.

    Args:
        module: the module that defines the object, or exports it if PyTorch has no module with the name of the defining one.
        name: the name of the object.
        exported: whether a public module other than `module` exports the object.
    """
    rows = HOME_MODULES.get(module) or HOME_MODULES.get(f"{module.rpartition('.')[0]}.*", {})
    for home, patterns in rows.items():
        for pattern in patterns.split():
            if exported if pattern == "*" else fnmatchcase(name, pattern):
                return home
    return None


def _name_compiled(value: Any, space: str, name: str) -> None:
    """Give a compiled function of `linalg`, `fft` or `special` PyTorch's name, unless it is also in the namespace `torch`."""
    if value.__module__ in ("flambeau", "torch"):
        return
    function = value.__func__
    function.__module__ = f"torch._C._{space}"
    if not function.__name__.startswith(f"{space}_"):
        function.__name__ = f"{space}_{function.__name__}"
    function.__qualname__ = function.__name__
