"""Pickle with PyTorch's names, and unpickle, optionally calling only allowed classes and functions."""

from __future__ import annotations

import io
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cache, lru_cache
from types import FunctionType
from typing import IO, Any

import flambeau as torch

from ..engine.calls.wrappers import is_native
from ..engine.tensors.tensor import Tensor
from ..layouts.subclasses.parameter import Parameter
from ..layouts.subclasses.tensor_types import TensorType
from ..protocols import pickling as rebuild
from ..protocols.pickling import on_storage
from ..storage import TypedStorage, UntypedStorage
from . import names
from .damage import RefusalError, brief, caller_code
from .options import safe_globals_by_name

__all__ = ["SafeUnpickler", "pickler_class", "standard_pickler", "unpickler_class", "unsafe_globals"]

_pickle: Any = pickle  # `_pickle._Pickler` is written in Python: unlike the C class, it lets subclasses write other names
_old_names: dict[tuple[str, str], tuple[str, str]] = _pickle._compat_pickle.NAME_MAPPING
_old_modules: dict[str, str] = _pickle._compat_pickle.IMPORT_MAPPING


# --- writing ---

_SMALL_TUPLES = {0: pickle.EMPTY_TUPLE, 1: pickle.TUPLE1, 2: pickle.TUPLE2, 3: pickle.TUPLE3}


@cache
def pickler_class(base: Any) -> Any:
    """Return a subclass of a pickler class that writes PyTorch's names of flambeau's classes and functions.

    Picklers written in C, such as cloudpickle's, write the names of the modules where the classes are found.
    """
    in_python = issubclass(base, _pickle._Pickler)

    class Pickler(base):  # type: ignore[misc]  # a base given at run time
        def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[[Any], Any]) -> None:
            super().__init__(file, protocol=protocol)
            self._persistent_id = persistent_id

        def persistent_id(self, obj: Any) -> Any:
            saved_id = self._persistent_id(obj)
            if in_python or saved_id is None or not isinstance(saved_id[1], names.StorageType):
                return saved_id
            tag, kind, *rest = saved_id  # `save_global` below is not called, so write a class that Python finds by its name
            return tag, getattr(torch, kind.name), *rest

        def reducer_override(self, obj: Any) -> Any:
            if is_native(obj):
                return obj.__qualname__  # native functions are pickled by name, like Python functions
            if isinstance(obj, torch.layout):
                return names.get_layout, (str(obj),)
            return base.reducer_override(self, obj) if hasattr(base, "reducer_override") else NotImplemented

        def save_global(self, obj: Any, name: str | None = None) -> None:
            torch_name = names.torch_name(obj, name)
            if torch_name is None:
                super().save_global(obj, name)
                return
            owner, _, attribute = torch_name[1].rpartition(".")
            if owner and self.proto < 4:
                self.save_reduce(getattr, (names.find_public(torch_name[0], owner), attribute), obj=obj)
                return
            if self.proto >= 4:
                for part in torch_name:
                    self.save(part)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + "{}\n{}\n".format(*torch_name).encode())
            self.memoize(obj)

    if base is _pickle._Pickler:
        Pickler.dispatch = base.dispatch | {FunctionType: Pickler.save_global}
    return Pickler


_CALL_CLASS_AND_FUNCTION = pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE  # call the class, then the function


def _pickled_text(text: str) -> bytes:
    data = text.encode()
    return pickle.BINUNICODE + len(data).to_bytes(4, "little") + data


@lru_cache(1024)
def _pickled_int(number: int) -> bytes:
    """Return the pickle opcodes that push a non-negative integer on the unpickler's stack."""
    if number < 0x100:
        return pickle.BININT1 + bytes((number,))
    if number < 0x80000000:
        return pickle.BININT + number.to_bytes(4, "little")
    return pickle.LONG1 + b"\x09" + number.to_bytes(9, "little")


@lru_cache(1024)
def _pickled_ints(numbers: tuple[int, ...]) -> bytes:
    """Return the pickle opcodes that push a tuple of non-negative integers on the unpickler's stack."""
    parts = b"".join(map(_pickled_int, numbers))
    close = _SMALL_TUPLES.get(len(numbers))
    return parts + close if close else pickle.MARK + parts + pickle.TUPLE


@cache
def standard_pickler() -> Any:
    """Return the pickler class that `save` uses by default."""
    base: Any = pickler_class(_pickle._Pickler)
    plain = {kind: base.dispatch[kind] for kind in (str, int, float, bool, type(None))}

    class Pickler(base):  # type: ignore[misc]  # a base given at run time
        """A pickler with a fast path for the types in state dicts: numbers, strings and tensors."""

        def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[[Any], Any]) -> None:
            super().__init__(file, protocol, persistent_id)
            if self.proto < 4:  # before protocol 4, the pickler need not collect its output in frames
                self.write = file.write

        def save(self, obj: Any, save_persistent_id: bool = True) -> None:
            kind = type(obj)
            if kind in plain:
                known = self.memo.get(id(obj))
                if known is not None:
                    self.write(self.get(known[0]))
                else:
                    plain[kind](self, obj)
            elif kind is Tensor and self.proto >= 2 and id(obj) not in self.memo:
                self._save_tensor(obj)
            else:
                super().save(obj, save_persistent_id)

        def _save_tensor(self, obj: Tensor) -> None:
            function, args = obj.__reduce_ex__(self.proto)
            if function is not rebuild.tensor:
                self.save_reduce(function, args, obj=obj)
                return
            storage, offset, size, stride, requires_grad, _ = args
            tag, kind, key, location, numel, *rest = self.persistent_id(storage)
            self._save_memoized(function)
            self.write(pickle.MARK + pickle.MARK)
            self._save_memoized(tag)
            self._save_memoized(kind)
            self.write(_pickled_text(key))
            self._save_memoized(location)
            end = pickle.NONE + pickle.TUPLE if rest else pickle.TUPLE  # the id in the legacy format ends with None
            place = _pickled_int(offset) + _pickled_ints(size) + _pickled_ints(stride)
            flag = pickle.NEWTRUE if requires_grad else pickle.NEWFALSE
            self.write(_pickled_int(numel) + end + pickle.BINPERSID + place + flag)
            self._save_memoized(OrderedDict)
            self.write(_CALL_CLASS_AND_FUNCTION)
            self.memoize(obj)

        def _save_memoized(self, obj: Any) -> None:
            """Write a reference to an object if it has been written before (is in the memo), else the object itself."""
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
            else:
                self.save(obj)

    return Pickler


# --- reading anything ---


@cache
def unpickler_class(base: Any) -> Any:
    """Return a subclass of an unpickler class that finds flambeau's classes and functions by PyTorch's names."""

    class Unpickler(base):  # type: ignore[misc]  # a base given at run time
        def find_class(self, module: str, name: str) -> Any:
            if name.endswith("Storage") and name.removesuffix("Storage") in names.DTYPES:
                return names.StorageType(name)
            known = names.allowed_globals().get(f"{module}.{name}")
            if known is not None and module.partition(".")[0] == "torch":
                return known
            if module.partition(".")[0] in ("torch", "torchvision"):
                return names.find_public(module, name)
            return super().find_class(module, name)

    return Unpickler


# --- reading safely ---

_STATE_SETTERS = (rebuild.from_type, rebuild.parameter_with_state)  # functions whose last argument is a dict of attributes
_ALLOCATORS = (bytes, bytearray, UntypedStorage)  # classes that would allocate N bytes if called with an integer N
_INSTANTIABLE = (Parameter, OrderedDict, Counter)
_CHECKED_READ = 1 << 16  # bytes
_HASHING_TYPES = (set, OrderedDict, Counter)  # types that hash the items of an argument
_MOST_VALUES, _MOST_ARGUMENTS = 10_000_000, 1000  # number of values in all tuples used as keys, and in the arguments of a call
_DEEPEST_KEY = 100  # nesting of a tuple used as a key: hashing deeper ones could overflow Python's stack


def _check_state(state: Any) -> None:
    """Raise UnpicklingError if attributes in a file would overwrite a tensor's internal state or methods."""
    for attributes in state if isinstance(state, tuple) else (state,):
        own = [
            name for name in attributes or () if not isinstance(name, str) or name in rebuild.NOT_STATE or hasattr(Tensor, name)
        ]
        if own:
            raise pickle.UnpicklingError(
                f"Can only set attributes of a tensor that it does not have itself, but got {brief(own)}"
            )


class _Dispatch(dict[int, Any]):
    def __missing__(self, opcode: int) -> Any:
        raise pickle.UnpicklingError(f"Unsupported operand {opcode}")


def _opcodes(names: str) -> list[int]:
    return [ord(getattr(pickle, name)) for name in names.split()]


# Opcodes that build numbers, text and built-in containers.  Methods of SafeUnpickler implement the opcodes that call code.
_PLAIN_OPCODES = _opcodes("""
    MARK STOP POP POP_MARK DUP PROTO FRAME GLOBAL STACK_GLOBAL
    GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE
    NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE BINUNICODE8 SHORT_BINUNICODE
    BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    EMPTY_LIST LIST EMPTY_DICT EMPTY_SET
""")


class _BoundedFile:
    """A file whose `read` does not allocate more memory than the file has left, whatever length it is called with."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.readline = file, file.readline

    def read(self, size: int) -> bytes:
        if size > _CHECKED_READ:
            position = self._file.tell()
            self._file.seek(0, 2)
            size = min(size, self._file.tell() - position)
            self._file.seek(position)
        return self._file.read(size)


class SafeUnpickler(_pickle._Unpickler):  # type: ignore[misc]  # not in the stubs
    """Unpickle tensors, plain Python data, and instances of classes given to `add_safe_globals`.

    Classes and functions are looked up in tables and never imported; only those in the tables are called.
    """

    BLOCKED = frozenset({"sys", "os", "posix", "nt"})

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes") -> None:
        super().__init__(file if isinstance(file, io.BytesIO) else _BoundedFile(file), encoding=encoding)
        self._user_allowed = safe_globals_by_name()
        self._allowed = {id(obj) for obj in self._user_allowed.values()}
        self._safe = self._allowed | {id(obj) for obj in names.allowed_globals().values()}
        self._expanded = 0  # number of values in the tuples used as keys
        self._tuples: dict[int, tuple[Any, int, int]] = {}  # nested tuples: {id: (tuple, number of values, nesting)}

    def find_class(self, module: str, name: str) -> Any:
        if self.proto < 3:
            module, name = _old_names.get((module, name), (_old_modules.get(module, module), name))
        path = f"{module}.{name}"
        if module in self.BLOCKED:
            raise RefusalError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        for table in (names.allowed_globals(), self._user_allowed):
            if path in table:
                return table[path]
        for obj in self._user_allowed.values():
            if names.can_be_named(obj, module, name):
                return obj
        path = path.removeprefix("builtins.")
        raise RefusalError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global "
            "if you trust this class/function."
        )

    def is_safe(self, obj: Any) -> bool:
        return id(obj) in self._safe

    def is_user_allowed(self, obj: Any) -> bool:
        return id(obj) in self._allowed

    def call(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if not self.is_safe(function):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {brief(function)}")
        if self.is_user_allowed(function):
            with caller_code():
                self.stack[-1] = function(*args)
            return
        if function is not rebuild.tensor:  # it is called for each tensor, and checks all arguments that it prints
            self._check_arguments(function, args)
        self.stack[-1] = function(*args)

    def _check_arguments(self, function: Any, args: tuple[Any, ...]) -> None:
        """Raise UnpicklingError if calling an allowed function could take endless time or memory, or change a method."""
        if function in _STATE_SETTERS:
            if not getattr(args[1], "is_nested", False):  # `from_type` ignores the state of nested tensors
                _check_state(args[-1])
            if function is rebuild.from_type:  # which calls its first argument
                if not self.is_safe(args[0]):
                    raise pickle.UnpicklingError(f"Trying to call unrecognized function {brief(args[0])}")
                self._check_arguments(args[0], args[2])
        elif function in _ALLOCATORS and args and isinstance(args[0], int):
            raise pickle.UnpicklingError(
                f"Can only call {function.__name__} with its contents, but got the size {brief(args[0])}"
            )
        elif args and (isinstance(function, TensorType) or function in (Tensor, TypedStorage)):
            raise pickle.UnpicklingError(f"Can only call {brief(function)} without arguments, but got {brief(args)}")
        elif function in _HASHING_TYPES:
            for argument in args:
                self.check_keys(argument)
        else:
            self._check_nesting(args)

    @staticmethod
    def _check_nesting(args: tuple[Any, ...]) -> None:
        """Raise UnpicklingError if the arguments contain too many values to print them, as when containers share parts."""
        pending: list[Any] = [args]
        count = 0
        while pending:
            inner = [part for part in pending.pop() if isinstance(part, tuple | list)]
            count += sum(map(len, inner))
            if count > _MOST_ARGUMENTS:
                raise pickle.UnpicklingError(f"the arguments of a function contain more than {_MOST_ARGUMENTS} values")
            pending += inner

    def make(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if not isinstance(cls, type) or not (cls in _INSTANTIABLE or self.is_user_allowed(cls)):
            raise pickle.UnpicklingError(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {brief(cls)}"
            )
        if cls is Parameter and not (args and isinstance(args[0], Tensor)):
            raise pickle.UnpicklingError(f"Can only create nn.Parameter of a tensor, but got {brief(args)}")
        with caller_code() if self.is_user_allowed(cls) else nullcontext():
            self.append(cls.__new__(cls, *args))

    def build(self) -> None:
        instance, state = self.stack[-2:]
        cls = type(instance)
        if cls is Tensor and isinstance(state, tuple):  # PyTorch 0.1 to 0.3 saved (storage, offset, size, stride)
            storage, *place = self.stack.pop()
            instance.set_(on_storage(storage.untyped(), instance.dtype, *place))
        elif cls is Parameter and isinstance(state, tuple) and len(state) == 3:  # PyTorch 0.1 to 0.3: (requires_grad, ...)
            instance.requires_grad_(bool(self.stack.pop()[0]))
        elif cls is OrderedDict and isinstance(state, dict):
            vars(instance).update(self.stack.pop())
        elif self.is_user_allowed(cls):
            if isinstance(instance, Tensor):
                _check_state(state)
            with caller_code():
                super().load_build()
        else:
            raise pickle.UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {cls}"
            )

    def check_keys(self, keys: Iterable[Any]) -> None:
        """Raise UnpicklingError if a key cannot be hashed in short time, or without overflow of Python's stack.

        A small file can contain a tuple in itself 2**N times, and hashing it would take as many steps.
        """
        for key in keys:
            if type(key) is tuple:
                size, depth = self._measure(key)
                self._expanded += size
                if self._expanded > _MOST_VALUES or depth > _DEEPEST_KEY:
                    raise pickle.UnpicklingError(
                        f"the tuples used as keys have more than {_MOST_VALUES} values or {_DEEPEST_KEY} levels of nesting"
                    )

    def _measure(self, key: tuple[Any, ...]) -> tuple[int, int]:
        """Return the number of values in nested tuples, counting repeated tuples repeatedly, and the depth of nesting."""
        known, pending = self._tuples, [key]
        while pending:
            top = pending[-1]
            inner = [item for item in top if type(item) is tuple]
            missing = [item for item in inner if id(item) not in known]
            if missing:
                pending += missing
                continue
            size = len(top) + sum(known[id(item)][1] for item in inner)
            depth = 1 + max((known[id(item)][2] for item in inner), default=0)
            pending.pop()
            if top is key:
                return size, depth
            known[id(top)] = top, size, depth
        raise AssertionError("unreachable: the key is at the bottom of the stack")

    def append_one(self) -> None:
        self._check_container("append to lists", list, self.stack[-2])
        super().load_append()

    def append_many(self) -> None:
        self._check_container("extend lists", list, self.metastack[-1][-1])
        super().load_appends()

    def add_many(self) -> None:
        self._check_container("add to sets", set, self.metastack[-1][-1])
        self.check_keys(self.stack)
        super().load_additems()

    def set_one(self) -> None:
        self._check_mapping("SETITEM", self.stack[-3])
        self.check_keys(self.stack[-2:-1])
        super().load_setitem()

    def set_many(self) -> None:
        self._check_mapping("SETITEMS", self.metastack[-1][-1])
        self.check_keys(self.stack[::2])
        super().load_setitems()

    def make_dict(self) -> None:
        self.check_keys(self.stack[::2])
        super().load_dict()

    def make_frozenset(self) -> None:
        self.check_keys(self.stack)
        super().load_frozenset()

    def load_persistent(self) -> None:
        self.append(self.persistent_load(self.stack.pop()))

    def read_bytearray(self) -> None:
        data = self.read(int.from_bytes(self.read(8), "little"))  # a wrong length is harmless: `read` stops at the end
        self.append(bytearray(data))

    @staticmethod
    def _check_container(what: str, cls: type, container: Any) -> None:
        if type(container) is not cls:
            raise pickle.UnpicklingError(f"Can only {what}, but got {type(container)}")

    @staticmethod
    def _check_mapping(opcode: str, container: Any) -> None:
        if type(container) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(container)}"
            )

    dispatch: _Dispatch = _Dispatch(
        {opcode: _pickle._Unpickler.dispatch[opcode] for opcode in _PLAIN_OPCODES}
        | {
            pickle.REDUCE[0]: call,
            pickle.NEWOBJ[0]: make,
            pickle.BUILD[0]: build,
            pickle.APPEND[0]: append_one,
            pickle.APPENDS[0]: append_many,
            pickle.ADDITEMS[0]: add_many,
            pickle.DICT[0]: make_dict,
            pickle.FROZENSET[0]: make_frozenset,
            pickle.SETITEM[0]: set_one,
            pickle.SETITEMS[0]: set_many,
            pickle.BINPERSID[0]: load_persistent,
            pickle.BYTEARRAY8[0]: read_bytearray,
        }
    )


def unsafe_globals(data: bytes) -> list[str]:
    """Return the names of the globals in a pickle (protocol 2 or later) that `SafeUnpickler` refuses."""
    unpickler = SafeUnpickler(io.BytesIO())
    unsafe = []
    for module, name in sorted(set(_named_globals(data))):
        try:
            unpickler.find_class(module, name)
        except pickle.UnpicklingError:
            unsafe.append(f"{module}.{name}")
    return unsafe


def _named_globals(data: bytes) -> Iterator[tuple[str, str]]:
    import pickletools

    pushed: list[Any] = []  # the values pushed so far: strings, or None for other types
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            yield _old_names.get((module, name), (_old_modules.get(module, module), name))
        elif opcode.name == "STACK_GLOBAL":
            yield pushed[-2], pushed[-1]
        elif "PUT" in opcode.name:
            memo[argument] = pushed[-1]
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = pushed[-1]
        elif "GET" in opcode.name:
            pushed.append(memo[argument])
        else:
            pushed.append(argument if "UNICODE" in opcode.name else None)
