"""Find plugins among the installed packages, load them, and call their hooks.

`plugins().hook.flambeau_kernels(backend=...)` calls this hook of all plugins.  If a plugin raises an exception in a hook, a
warning names the plugin, and the other plugins are still called.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pluggy

from ..values.forking import new_lock
from . import hookspecs
from .aliases import without_aliases

__all__ = ["MORE_BACKENDS", "backend_plugin", "installed", "plugins", "register", "registry_lock", "unknown_backend", "warn"]

GROUP = "flambeau.backends"
BUILTIN = {"numpy": "flambeau_backends.numpy", "cupy": "flambeau_backends.cupy"}
WITHOUT_DATA = {"meta": "flambeau_backends.meta"}  # not selectable as a backend, only by its device type
INSTALL_HINT = {"cupy": "pip install 'cupy-cuda12x[ctk]>=14'  (or cupy-cuda13x)"}
MORE_BACKENDS = "Other backends are plugins, which docs/backends.md lists."

registry_lock = new_lock(reentrant=True)  # held while plugins and backends are registered
_manager: pluggy.PluginManager | None = None
_loaded = False  # whether all plugins have been loaded, not only some of them
_registered: list[tuple[Any, ModuleType]] = []  # (plugin, module registered for it)


def plugins() -> pluggy.PluginManager:
    """Return the plugin manager.  The first call loads all plugins from their entry points, except backends."""
    global _loaded
    if not _loaded:
        with registry_lock:
            if _manager is None:
                _load_plugins()
            _loaded = True
    assert _manager is not None
    return _manager


def _load_plugins() -> None:
    global _manager
    _manager = pluggy.PluginManager(hookspecs.PROJECT)
    _manager.add_hookspecs(hookspecs)
    for entry in _entry_points(f"{hookspecs.PROJECT}.plugins"):
        try:
            register(entry.name, _load(entry))
        except RuntimeError as error:  # warn, and load the other plugins
            warn(str(error))


def _entry_points(group: str) -> Sequence[Any]:
    """Return the installed entry points of a group; only those listed in `FLAMBEAU_PLUGINS`, if it is set."""
    from importlib.metadata import entry_points

    listed = os.environ.get("FLAMBEAU_PLUGINS")
    names = None if listed is None else {name.strip() for name in listed.split(",")}
    return [entry for entry in entry_points(group=group) if names is None or entry.name in names]


def _load(entry: Any) -> Any:
    """Import the object of an entry point.  If that fails, raise RuntimeError with the plugin's name and version."""
    try:
        with without_aliases():  # a plugin's `import torch` imports PyTorch, even if the program uses flambeau as torch
            return entry.load()
    except Exception as error:
        needs = ", ".join(requirement for requirement in entry.dist.requires or () if "extra ==" not in requirement)
        raise RuntimeError(
            f"flambeau plugin {entry.name!r} ({entry.dist.name} {entry.dist.version}) could not be imported: "
            f"{type(error).__name__}: {error}" + (f"; it needs {needs}" if needs else "")
        ) from error


# --- backends ---


def installed() -> dict[str, str]:
    """Return the names of the selectable backends, with their modules, without importing the modules."""
    sources = dict(BUILTIN)
    for entry in _entry_points(GROUP):
        source = f"{entry.value} ({entry.dist.name} {entry.dist.version})"
        sources[entry.name] = f"{sources[entry.name]}; the same name is used by {source}" if entry.name in sources else source
    return sources


def backend_plugin(name: str) -> Any:
    """Import the plugin of the backend called `name`.

    Raises:
        RuntimeError: the name is unknown or belongs to two plugins, the library is not installed, or the plugin is broken.
    """
    if name in BUILTIN or name in WITHOUT_DATA:
        try:
            return importlib.import_module((BUILTIN | WITHOUT_DATA)[name])
        except ImportError as error:
            hint = INSTALL_HINT.get(name, "is its library installed?")
            raise RuntimeError(f"flambeau backend {name!r} could not be imported: {error}; {hint}") from error
    entries = [entry for entry in _entry_points(GROUP) if entry.name == name]
    if len(entries) > 1:
        raise RuntimeError(
            f"several flambeau plugins are called {name!r}; uninstall all except one of: "
            + ", ".join(f"{entry.dist.name} {entry.dist.version}" for entry in entries)
        )
    if entries:
        return _load(entries[0])
    raise RuntimeError(unknown_backend(name))


def unknown_backend(name: str) -> str:
    """Return the message for a backend that is not installed, with the closest name among the installed ones."""
    from difflib import get_close_matches

    names = sorted(installed())
    closest = "".join(f"; did you mean {match!r}?" for match in get_close_matches(name, names, n=1)) or "."
    left_out = "" if os.environ.get("FLAMBEAU_PLUGINS") is None else " (FLAMBEAU_PLUGINS leaves out all others)"
    return f"unknown flambeau backend {name!r}{closest} Installed: {', '.join(names)}{left_out}. {MORE_BACKENDS}"


# --- hooks ---


def register(name: str, plugin: Any) -> ModuleType:
    """Register the hooks of a plugin, and return the module with the wrapped hooks; a second call has no effect.

    Raises:
        RuntimeError: the plugin implements an unknown hook, or a hook with wrong parameters.
    """
    manager = plugins()
    for known, hooks in _registered:
        if known is plugin:
            return hooks
    hooks = ModuleType(name)
    for attribute in dir(plugin):
        if manager.parse_hookimpl_opts(plugin, attribute) is not None:
            setattr(hooks, attribute, _reporting(name, getattr(plugin, attribute)))
    try:
        manager.register(hooks, name=name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        if manager.is_registered(hooks):
            manager.unregister(hooks)
        reason = " ".join(str(error).split())
        raise RuntimeError(f"flambeau plugin {name!r} was made for another version of flambeau: {reason}") from error
    _registered.append((plugin, hooks))
    return hooks


def _reporting(name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a hook so that its errors name the plugin.

    Errors in `flambeau_backend` become a RuntimeError, those in other hooks become warnings.
    """

    @functools.wraps(hook)
    def call(*args: Any) -> Any:
        try:
            with without_aliases():
                return hook(*args)
        except Exception as error:
            message = f"flambeau plugin {name!r} failed in {hook.__name__}: {type(error).__name__}: {error}"
            if hook.__name__ == "flambeau_backend":
                raise RuntimeError(message) from error
            warn(message)
            return None

    return call


def warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
