"""The hooks a plugin may implement, by pluggy.  A backend needs only the first of them.

A plugin is a module (or any object) with functions decorated by ``flambeau.backend.hookimpl``, published under the
entry-point group ``flambeau.backends`` with the backend's name as the entry's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from .backend import Backend

PROJECT = "flambeau"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def flambeau_backend(name: str) -> Backend | None:
    """Return the backend called ``name``, or None if it is another plugin's."""


@hookspec
def flambeau_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for an existing backend, by operation name.

    Read once, when the backend is first used.  A kernel takes the arguments of the operation's forward without its
    ``xp``: raw arrays first, then the parameters.  It must not write to its inputs.
    """


@hookspec
def flambeau_inplace_kernels(backend: Backend) -> Mapping[str, Callable[..., Any]] | None:
    """Return faster kernels for the in-place forms of an existing backend's operations, by the operation's name.

    Read once.  A kernel is called as ``kernel(target, *others, **scalars)`` with raw arrays, the scalars as 0-d ones, and
    writes into its target; one that raises must have written nothing.
    """


@hookspec(firstresult=True)
def flambeau_collectives(device_type: str) -> Any:
    """Return the collectives (broadcast, scatter, gather, reduce-add, all-reduce) of a device type, or None."""


@hookspec
def flambeau_report_header() -> str:  # type: ignore[empty-body]  # a specification
    """Return one line about the plugin for ``python -m flambeau env``."""
