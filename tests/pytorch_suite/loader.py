"""Import the files of PyTorch's test suite, of any release, on another implementation of `torch`.

No code of PyTorch is stored here: the files are read from `$SUITE_DIR` and changed while they are imported.

- A missing name of `torch` becomes a `Missing` while a file is being imported.  It fails only when a test uses it.
- `patches.py` lists substitutions for single files.
- `standins.py` replaces whole modules, such as those that no longer exist in PyTorch.
- `torch.testing._internal` is the suite's own, on both sides.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import patches
import standins

SUITE = Path(os.environ["SUITE_DIR"])
TESTS = SUITE / "test"
_HERE = Path(__file__).parent
_SIBLINGS = [Path(folder) for folder in os.environ.get("SUITE_SIBLINGS", "").split(os.pathsep) if folder]
_INTERNAL = "suite_internal"  # the name under which the suite's `torch.testing._internal` is imported
_importing = [0]  # number of files of the suite that are being imported


class MissingNameError(AttributeError):
    """A test used a name that this implementation of `torch` does not have."""


class Missing:
    """A name that `torch` does not have.  Definitions may use it; a test that uses it fails."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _fail(self) -> MissingNameError:
        return MissingNameError(f"torch has no {self._name}")

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" and _importing[0]:
            return ()
        if name == "__name__":
            return self._name
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if _importing[0]:
            return Missing(f"{self._name}.{name}")
        raise self._fail()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _importing[0]:
            raise self._fail()
        is_decorator = len(args) == 1 and not kwargs and callable(args[0])
        return args[0] if is_decorator else Missing(f"{self._name}()")

    def __instancecheck__(self, value: Any) -> bool:
        return False

    def __subclasscheck__(self, cls: Any) -> bool:
        return False

    def __mro_entries__(self, bases: Any) -> tuple[()]:
        return ()

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Any:
        return iter(())

    def __repr__(self) -> str:
        return f"<missing {self._name}>"

    def __setattr__(self, name: str, value: Any) -> None:
        """Ignore the assignment."""

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and other._name == self._name

    def __enter__(self) -> Any:
        raise self._fail()

    def __exit__(self, *exception: Any) -> bool:
        return False


# --- lookups that return `Missing` --------------------------------------------------------------------------------


def _import_from(module: str | None, name: str, level: int, package: str | None) -> Any:
    """Look up the name of `from module import name`."""
    full = importlib.util.resolve_name("." * level + (module or ""), package) if level else str(module)
    try:
        found = importlib.import_module(full)
    except ImportError:
        return Missing(f"{full}.{name}")
    if hasattr(found, name):
        return getattr(found, name)
    if full == "torch.testing":  # lists of dtypes that PyTorch has removed; the suite has its own
        for other in ("suite_legacy", f"{_INTERNAL}.common_dtype"):
            try:
                return getattr(importlib.import_module(other), name)
            except (ImportError, AttributeError):
                continue
    return _import(f"{full}.{name}")


def _import(module: str) -> Any:
    """Import a module; if it is missing, import its parents and return `Missing`."""
    try:
        return importlib.import_module(module)
    except ImportError:
        parent = module.rpartition(".")[0]
        if parent:
            _import(parent)
        return Missing(module)


def _attribute(root: Any, path: str) -> Any:
    """Look up `root.path`."""
    value, seen = root, "torch"
    for part in path.split("."):
        seen += f".{part}"
        value = getattr(value, part) if hasattr(value, part) else Missing(seen)
    return value


class _Lenient(ast.NodeTransformer):
    """Replace imports and names of `torch` outside function bodies by the lookups above."""

    def _visit_function(self, node: Any) -> Any:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self.visit(node.returns)
        if node.name in patches.RUN_AT_IMPORT:
            body = [self.visit(each) for each in node.body]
            node.body = [part for each in body for part in (each if isinstance(each, list) else [each])]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_Lambda(self, node: Any) -> Any:
        return node

    def visit_ImportFrom(self, node: Any) -> Any:
        if any(alias.name == "*" for alias in node.names):
            handler = ast.ExceptHandler(type=ast.Name("ImportError", ast.Load()), name=None, body=[ast.Pass()])
            return ast.Try(body=[node], handlers=[handler], orelse=[], finalbody=[])
        if not node.level and (node.module or "").split(".")[0] not in ("torch", "functorch", _INTERNAL, "suite_legacy"):
            return node
        return [
            ast.parse(
                f"{alias.asname or alias.name} = __import_from__({node.module!r}, {alias.name!r}, {node.level}, "
                "globals().get('__package__'))"
            ).body[0]
            for alias in node.names
        ]

    def visit_Import(self, node: Any) -> Any:
        lines = []
        for alias in node.names:
            first = alias.name.split(".")[0]
            if first not in ("torch", "functorch", _INTERNAL) or alias.name == "torch":
                lines.append(f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
            elif alias.asname:
                lines.append(f"{alias.asname} = __import_module__({alias.name!r})")
            else:
                lines.append(f"__import_module__({alias.name!r}); {first} = __import_module__({first!r})")
        return ast.parse("\n".join(lines)).body

    def visit_Attribute(self, node: Any) -> Any:
        names, value = [], node
        while isinstance(value, ast.Attribute):
            names.append(value.attr)
            value = value.value
        if not isinstance(node.ctx, ast.Load) or not isinstance(value, ast.Name) or value.id != "torch":
            return self.generic_visit(node)
        path = ast.Constant(".".join(reversed(names)))
        return ast.Call(ast.Name("__attribute__", ast.Load()), [value, path], [])


# --- importing ----------------------------------------------------------------------------------------------------


class _Loader(importlib.abc.Loader):
    """Run a file of the suite after changing its source."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        name = self.path.relative_to(SUITE).as_posix() if self.path.is_relative_to(SUITE) else self.path.name
        source = patches.apply(name, self.path.read_text(encoding="utf-8"))
        tree = ast.fix_missing_locations(_Lenient().visit(ast.parse(source, str(self.path))))
        module.__dict__.update(__import_from__=_import_from, __import_module__=_import, __attribute__=_attribute)
        _importing[0] += 1
        try:
            exec(compile(tree, str(self.path), "exec", dont_inherit=True), module.__dict__)
        finally:
            _importing[0] -= 1

    def get_source(self, name: str) -> str:
        return self.path.read_text(encoding="utf-8")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in standins.MODULES:
            return importlib.machinery.ModuleSpec(name, standins.StandInLoader(name), is_package=True)
        file = _locate(name)
        if file is None:
            return None
        is_package = file.name == "__init__.py"
        existing = file if file.is_file() else _HERE / "empty.py"
        folders = [str(file.parent)] if is_package else None
        return importlib.util.spec_from_file_location(
            name, existing, loader=_Loader(existing), submodule_search_locations=folders
        )


def _locate(name: str) -> Path | None:
    """Return the file of a module of the suite, or None.  A folder without `__init__.py` counts as a package."""
    if name in ("suite_comparison", "suite_legacy"):
        return SUITE / "torch/testing" / f"{name.removeprefix('suite')}.py"
    if name == f"{_INTERNAL}.generated.annotated_fn_args":  # generated when PyTorch is built; an installed PyTorch has it
        spec = importlib.machinery.PathFinder.find_spec("torch")
        folders = list(spec.submodule_search_locations or ()) if spec else []
        files = [Path(folder) / "testing/_internal/generated/annotated_fn_args.py" for folder in folders]
        return next((file for file in files if file.is_file()), None)
    first = name.split(".")[0]
    if first == _INTERNAL:
        return _module_file(SUITE / "torch/testing" / Path("_internal", *name.split(".")[1:]))
    if first in ("torch", "functorch", "flambeau"):
        return None
    if name in ("autograd", "distributions", "fx", "jit", "nn") and (TESTS / name).is_dir():
        return TESTS / name / "__init__.py"
    found = (_module_file(folder.joinpath(*name.split("."))) for folder in (*_SIBLINGS, TESTS))
    return next((file for file in found if file is not None and file.is_file()), None)


def _module_file(base: Path) -> Path | None:
    if base.is_dir():
        return base / "__init__.py"
    file = base.with_name(base.name + ".py")
    return file if file.is_file() else None


def install() -> None:
    """Make the suite importable in this process."""
    standins.prepare()
    import torch.testing

    for name in ("make_non_contiguous", "get_all_device_types", "get_all_dtypes", "get_all_math_dtypes"):  # older suites use them
        if not hasattr(torch.testing, name):
            setattr(torch.testing, name, getattr(standins, name))
    sys.modules["torchvision"] = None  # type: ignore[assignment]  # it needs a matching PyTorch; tests that import it skip themselves
    sys.meta_path.insert(0, _Finder())
