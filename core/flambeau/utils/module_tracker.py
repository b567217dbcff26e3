"""`ModuleTracker`: track which modules are running, for tools that attribute calls to modules."""

from __future__ import annotations

import weakref
from typing import Any

import flambeau as torch

from ..engine.tape.engine import current_task

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context that tracks running modules.  `parents` is the set of their names, which always includes "Global".

    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = torch.nn.Identity()
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return self.inner(x)
    >>> tracker = torch.utils.module_tracker.ModuleTracker()
    >>> with tracker:
    ...     y = Net()(torch.ones(1))
    ['Global', 'Net']
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: Any = weakref.WeakKeyDictionary()
        self._open: list[str] = []
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return current_task.get() is not None

    def _name(self, module: Any) -> str:
        if module not in self._names:
            root = type(module).__name__
            self._names[module] = root
            for path, inner in module.named_modules():
                if path:
                    self._names.setdefault(inner, f"{root}.{path}")
        name: str = self._names[module]
        return name

    def _begin(self, module: Any, inputs: Any) -> None:
        name = self._name(module)
        if name in self.parents:
            return
        self.parents.add(name)
        self._open.append(name)

    def _end(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        if name in self._open:
            self._open.remove(name)

    def __enter__(self) -> ModuleTracker:
        hooks = torch.nn.modules.module
        self._handles = [
            hooks.register_module_forward_pre_hook(self._begin),
            hooks.register_module_forward_hook(self._end, always_call=True),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self.parents = {"Global"}
        self._open.clear()
