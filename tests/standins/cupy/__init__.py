"""A stand-in for CuPy on NumPy, for machines without a GPU: several devices, streams that record, pools that count.

Arrays know their device, and an operation that meets an array of another than the current one raises.  Kernels are
compiled for the host and run thread by thread.  ``LOG`` records what a GPU would have been told.
"""

from __future__ import annotations

import functools
import sys
import types

import numpy as np

from . import _host, _runtime
from ._runtime import LOG, Device, current

__version__ = "14.0.stand-in"


class ndarray(np.ndarray):
    """A NumPy array on a device."""

    def __new__(cls, shape, dtype=float, memptr=None):
        if memptr is None:
            return np.empty(shape, dtype).view(cls)
        return np.ndarray(shape, dtype, buffer=memptr.buffer).view(cls)

    def __array_finalize__(self, source):
        self._device = getattr(source, "_device", current())
        self._memory = getattr(source, "_memory", None)
        if self._memory is None:
            self._memory = cuda.memory.allocate(self.nbytes)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        _check(*inputs, *(out or ()))
        LOG.append(ufunc.__name__)
        plain = [_plain(each) for each in inputs]
        if out is not None:
            kwargs["out"] = tuple(_plain(each) for each in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        return out[0] if out is not None else _ours(result)

    def __getitem__(self, index):
        _check(self)
        return _ours(super().__getitem__(_plain(index)))

    def __setitem__(self, index, value):
        _check(self, value)
        super().__setitem__(_plain(index), _plain(value))

    device = property(lambda self: Device(self._device))

    @property
    def base(self):
        root = self.view(np.ndarray)
        while isinstance(root.base, np.ndarray):
            root = np.asarray(root.base)
        if root.size == self.size and root.dtype == self.dtype:
            return None
        made = root.view(ndarray)
        made._device = self._device
        return made

    @property
    def data(self):
        return _Pointer(self)

    def item(self, *args):
        LOG.append("wait")
        return super().item(*args)

    def get(self):
        LOG.append("wait")
        return np.array(self.view(np.ndarray))


def _method(name):
    original = getattr(np.ndarray, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        _check(self)
        made = _ours(original(self.view(np.ndarray), *map(_plain, args), **kwargs))
        if isinstance(made, ndarray) and np.shares_memory(made, self):
            made._memory = self._memory
        return made

    return method


for _name in ("astype", "copy", "sum", "reshape", "max", "min", "any", "all"):
    setattr(ndarray, _name, _method(_name))


class _Pointer:
    """Where an array's memory starts."""

    def __init__(self, array):
        self.buffer, self.ptr, self._array = array.view(np.ndarray), array.ctypes.data, array

    def copy_from_device_async(self, source, size):
        LOG.append(("peer copy", source._array._device, self._array._device))
        self._array.view(np.ndarray)[...] = source._array.view(np.ndarray)


def _check(*arrays):
    for each in arrays:
        if isinstance(each, ndarray) and each._device != current():
            raise RuntimeError(f"array of device {each._device} met on device {current()}")


def _plain(value):
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") else value


def _ours(value):
    if isinstance(value, (tuple, list)):
        made = [_ours(each) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, (ndarray, np.dtype)):
        made = np.asarray(value).view(ndarray)
        made._device = current()
        return made
    return value


def _function(original):
    @functools.wraps(original)
    def call(*args, **kwargs):
        _check(*args, *kwargs.values())
        LOG.append(getattr(original, "__name__", "function"))
        out = kwargs.get("out")
        result = original(*map(_plain, args), **{key: _plain(each) for key, each in kwargs.items()})
        return out if isinstance(out, ndarray) else _ours(result)

    return call


def _namespace(module, source):
    for name in dir(source):
        value = getattr(source, name)
        if name.startswith("_") or isinstance(value, types.ModuleType) or name in vars(module):
            continue
        setattr(module, name, value if isinstance(value, type) or not callable(value) else _function(value))
    module.__all__ = [name for name in vars(module) if not name.startswith("_")]
    return module


def asnumpy(array):
    return array.get()


def asarray(data, dtype=None, copy=None, **kwargs):
    _check(data)
    return _ours(np.array(_plain(data), dtype=dtype, copy=copy))


class ElementwiseKernel:
    """Evaluates the operation, which is Python as well, on arrays."""

    def __init__(self, inputs, outputs, operation, name="kernel"):
        self.names = [each.split()[-1] for each in inputs.split(",")]
        self.result, self.expression = operation.split(" = ")
        self.__name__ = name

    def __call__(self, *args):
        *inputs, out = args
        _check(*args)
        LOG.append(self.__name__)
        scope = dict(zip(self.names, map(_plain, inputs), strict=True))
        out.view(np.ndarray)[...] = eval(self.expression, {}, scope)
        return out


class RawModule:
    def __init__(self, *, code, options, name_expressions):
        self._library = _host.compiled(code, name_expressions)

    def get_function(self, name):
        def launch(grid, block, arguments):
            _check(*arguments)
            LOG.append(name)
            self._library.run(name, grid[0], block[0], [_plain(each) for each in arguments])

        return launch


ogrid = type("ogrid", (), {"__getitem__": lambda self, index: _ours(np.ogrid[index])})()
cuda = _runtime.make_cuda()
sys.modules["cupy.cuda"] = cuda
for _name in ("linalg", "fft"):
    _made = _namespace(types.ModuleType(f"cupy.{_name}"), getattr(np, _name))
    globals()[_name] = sys.modules[f"cupy.{_name}"] = _made
lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=lambda array, shape, strides: (
    _check(array), _ours(np.lib.stride_tricks.as_strided(array.view(np.ndarray), shape, strides)))[1]))  # fmt: skip
_namespace(sys.modules[__name__], np)
__all__ = [name for name in __all__ if name not in ("annotations", "functools", "sys", "types")]  # noqa: F821
