"""Import aliases: one module tree under several names, without importing anything twice.

After `alias("torch", "flambeau")`, `import torch.nn.functional` returns the same module object as
`import flambeau.nn.functional`.  Aliases can be chained, the longest prefix wins, and modules are only imported
when a program imports them.

A module with `__getattr__ = private_names(__name__)` also has the names that `PRIVATE` lists for it.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, cast

__all__ = ["alias", "aliased_name", "open_to_aliases", "private_names", "private_value", "resolve", "without_aliases"]

_targets: dict[str, str] = {}
_hidden: set[str] = set()  # aliases that `aliased_name` ignores
_parents: set[str] = set()  # real names of modules with an alias below them


def alias(prefix: str, target: str, *, hidden: bool = False) -> None:
    """Make `import prefix` import `target`, and `import prefix.x.y` import `target.x.y`.

    The alias takes precedence over an installed package of that name, anywhere on `sys.path`.

    Args:
        prefix: the name to import.
        target: the module that it imports.
        hidden: whether `aliased_name` ignores the alias, as it is not the module's public name.

    Raises:
        ImportError: another module called `prefix` has been imported already.
        ValueError: `target` itself resolves to something under `prefix`.
    """
    if _targets.get(prefix) == target:
        return
    real = resolve(target)
    if _is_under(prefix, real):
        raise ValueError(f"cannot alias {prefix!r} to {target!r}: it would resolve to itself")
    loaded = sys.modules.get(prefix)
    if loaded is not None and loaded is not sys.modules.get(real):
        raise ImportError(f"cannot alias {prefix!r} to {target!r}: {loaded!r} is already imported")
    _targets[prefix] = target
    if hidden:
        _hidden.add(prefix)
    package, _, last = prefix.rpartition(".")
    home = resolve(package)
    _parents.add(home)
    if home != package:  # `from package import last` looks for a submodule under the real name of the package
        _targets.setdefault(f"{home}.{last}", target)
        _hidden.add(f"{home}.{last}")
    aliased_name.cache_clear()
    # Our finder must be the first: the path finders would import an installed package, or import the target a second time.
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def open_to_aliases(module: ModuleType, name: str) -> None:
    """Give the module with the real name `name` an empty `__path__` if an alias is below it, which only packages may have."""
    if name in _parents and not hasattr(module, "__path__"):
        module.__path__ = []


def resolve(name: str) -> str:
    """Return the real name of the module that `name` imports; `name` itself if no alias applies.

    >>> alias("lumiere", "flambeau"); resolve("lumiere.autograd.graph")
    'flambeau.autograd.graph'
    """
    prefix, suffix = name, ""
    while prefix:
        target = _targets.get(prefix)
        if target is not None:
            return resolve(target + suffix)
        prefix, dot, last = prefix.rpartition(".")
        suffix = dot + last + suffix
    return name


@functools.cache  # imports look up the module of each class and function
def aliased_name(name: str, root: str) -> str:
    """Return the name under `root` of the module `name`; `name` itself if no alias under `root` leads to it.

    If several aliases apply, the one with the longest target is used.

    >>> alias("lumiere.grad", "flambeau.autograd"); aliased_name("flambeau.autograd.graph", "lumiere")
    'lumiere.grad.graph'
    """
    best = ""
    for prefix, target in _targets.items():
        closer = not best or len(target) > len(_targets[best])
        if closer and _is_under(target, name) and _is_under(root, prefix) and prefix not in _hidden:
            best = prefix
    return best + name.removeprefix(_targets[best]) if best else name


def _is_under(prefix: str, name: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


PRIVATE: dict[str, tuple[str, str]] = {}
"""PyTorch's private names, such as `nn.parameter._ParameterMeta`: for each, its definition, and the libraries that use it.

The definition is a module that has the value under the same name, or `module:name`; it is empty for a name defined in place.
"""


def private_value(name: str) -> Any:
    """Return the value of a name that `PRIVATE` takes from another module; None for all other names."""
    source, attribute = PRIVATE.get(name, ("", ""))[0], name.rpartition(".")[2]
    if not source:
        return None
    source, _, renamed = source.partition(":")
    return getattr(importlib.import_module(source), renamed or attribute)


def private_names(module: str) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module: it looks up missing names in `PRIVATE`."""

    def __getattr__(name: str) -> Any:
        space = aliased_name(module, "flambeau").removeprefix("flambeau.")
        value = None if name.startswith("__") else private_value(f"{space}.{name}")
        if value is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return value

    return __getattr__


@contextmanager
def without_aliases() -> Iterator[None]:
    """Context without aliases: `import torch` imports the installed PyTorch, for plugins that use it.

    On exit, the aliases are restored.  A module that has imported PyTorch inside the context keeps it.
    """
    if not _targets:
        yield
        return
    targets = dict(_targets)
    ours = _aliased_modules()
    _targets.clear()
    aliased_name.cache_clear()
    _exchange(ours, _set_aside)
    try:
        yield
    finally:
        _targets.update(targets)
        _set_aside.update(_aliased_modules())
        aliased_name.cache_clear()
        _exchange(_set_aside, ours)


_set_aside: dict[str, ModuleType] = {}  # modules of installed packages, such as PyTorch, whose names are aliases


def _aliased_modules() -> dict[str, ModuleType]:
    """Return the imported modules whose names are aliases."""
    return {name: module for name, module in list(sys.modules.items()) if resolve(name) != name}


def _exchange(removed: dict[str, ModuleType], inserted: dict[str, ModuleType]) -> None:
    """Replace entries of `sys.modules`."""
    for name in removed:
        sys.modules.pop(name, None)
    sys.modules.update(inserted)


class _Finder:
    """Import finder for names under an alias; it ignores all other names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        real = resolve(name)
        if real == name:
            return None
        real_spec = importlib.util.find_spec(real)
        if real_spec is None:
            return None
        spec, loader = copy(real_spec), _Loader(name, real_spec)
        spec.name, spec.loader = name, cast(Any, loader)
        return spec


class _Loader:
    """Import loader for an alias: returns the real module, or its code for `python -m`."""

    def __init__(self, name: str, real: ModuleSpec) -> None:
        self._name, self._real = name, real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real.name)
        self._real = module.__spec__ or self._real
        return module

    def exec_module(self, module: ModuleType) -> None:
        open_to_aliases(module, self._real.name)
        module.__spec__ = self._real  # the import system has just replaced it by the spec of the alias
        # A package may have a function named like the submodule that defines it. Importing the submodule under the alias would
        # replace the function by the submodule, so it is entered into `sys.modules` beforehand.
        prefix = f"{self._real.name}."
        for name, value in vars(module).items():
            submodule = sys.modules.get(prefix + name)
            if submodule is not None and value is not submodule and resolve(f"{self._name}.{name}") == prefix + name:
                sys.modules.setdefault(f"{self._name}.{name}", submodule)

    def get_code(self, name: str) -> CodeType | None:
        loader: Any = self._real.loader
        code: CodeType | None = loader.get_code(self._real.name)
        return code


_finder = _Finder()
