"""A stand-in for CuPy based on NumPy, for machines without a GPU: devices, capturing streams and memory pools.

Arrays store their device. An operation raises an error for a NumPy array, or for an array that is not on the current device.
Kernels are compiled for the host and run thread by thread. `LOG` records launches, copies and synchronizations.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import os
import sys
import types

import numpy as np

from . import _host, _runtime
from ._runtime import LOG, Device, current, is_captured, wait

__version__ = "14.0.stand-in"


class ndarray:
    """A NumPy array on a device."""

    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        if memptr is None:
            self._set(np.empty(shape, dtype), current(), None)
        else:
            self._set(np.ndarray(shape, dtype, memptr.host, memptr.offset, strides), memptr.device_id, memptr.mem)

    def _set(self, host, device, memory):
        self._host, self._device = host, device
        self._memory = cuda.memory.allocate(host.nbytes) if memory is None else memory
        return self

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    T = property(lambda self: self._view(self._host.T))
    real = property(lambda self: self._view(self._host.real))
    imag = property(lambda self: self._view(self._host.imag))
    device = property(lambda self: Device(self._device))
    data = property(lambda self: _Pointer(self))

    @property
    def flags(self):
        flags = self._host.flags
        return types.SimpleNamespace(c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=flags.owndata)

    def _view(self, host):
        if not host.flags.writeable:  # NumPy returns read-only diagonals and broadcasts, CuPy writable ones
            start = _Pointer(self._bare(host))
            if not start.host.flags.forc:
                return self._bare(host)
            host = np.ndarray(host.shape, host.dtype, start.host, start.offset, host.strides)
        return self._bare(host)

    def _bare(self, host):
        return object.__new__(ndarray)._set(host, self._device, self._memory)

    @property
    def base(self):
        root = self._host
        while isinstance(root.base, np.ndarray):
            root = root.base
        return None if root is self._host else self._view(root)

    def view(self, dtype=None):
        return self._view(self._host.view() if dtype is None else self._host.view(dtype))

    def fill(self, value):
        _check(self)
        _run_or_record(lambda: self._host.fill(_plain(value)))

    def item(self, *args):
        wait()
        return self._host.item(*args)

    def tolist(self):
        wait()
        return self._host.tolist()

    def get(self):
        wait()
        return self._host.copy()

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array.")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _function(getattr(ufunc, method), ufunc.__name__)(*inputs, **kwargs)

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        arrays = [
            each for each in (index if isinstance(index, tuple) else (index,)) if isinstance(each, (ndarray, np.ndarray, list))
        ]
        if arrays:  # a view needs no kernel launch
            _check(self, *arrays)
        if builtins.any(isinstance(each, ndarray) and each.dtype == bool for each in arrays):
            wait()  # boolean indexing synchronizes to count the selected elements
        found = self._host[_plain(index)]
        if isinstance(found, np.ndarray) and found.base is not None:
            return self._view(found)
        return _recomputed(_ours(found), lambda: self._host[_plain(index)])

    def __setitem__(self, index, value):
        _check(self, value)
        _run_or_record(lambda: self._host.__setitem__(_plain(index), _plain(value)))

    def __dlpack__(self, **kwargs):
        return self._host.__dlpack__(**kwargs)


VIEWS = ("broadcast_to", "expand_dims", "moveaxis", "squeeze", "swapaxes", "transpose")  # views without a kernel launch


def _method(name):
    original = getattr(np.ndarray, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if name not in (*VIEWS, "reshape"):  # reshape may return a view
            _check(self, *args)
        LOG.append(name)
        if name in ("__bool__", "__int__", "__float__", "__complex__", "__index__"):
            wait()
        work = functools.partial(original, self._host, *map(_plain, args), **kwargs)
        if name.startswith("__i") and name not in ("__int__", "__invert__", "__index__"):
            _run_or_record(work)
            return self
        made = work()
        if made is self._host:
            return self
        shared = isinstance(made, np.ndarray) and np.may_share_memory(made, self._host)
        if not shared:
            _check(self)
        return self._view(made) if shared else made if made is NotImplemented else _recomputed(_ours(made), work)

    return method


_METHODS = (
    "all any argmax argmin argsort astype clip conj copy cumsum diagonal dot flatten max mean min nonzero prod ravel repeat reshape "
    "round sort squeeze std sum swapaxes take trace transpose var"
)
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_UNARY = "neg pos abs invert lt le eq ne gt ge bool int float complex index"
for _name in (
    *_METHODS.split(),
    *(f"__{kind}{each}__" for each in _BINARY.split() for kind in ("", "r", "i")),
    *(f"__{each}__" for each in _UNARY.split()),
):
    setattr(ndarray, _name, _method(_name))


class _Pointer:
    """The device pointer of an array."""

    def __init__(self, array, offset=0):
        host = array._host
        while isinstance(host.base, np.ndarray):
            host = host.base
        self.host, self.array, self.mem, self.device_id = host, array, array._memory, array._device
        self.ptr = array._host.ctypes.data + offset
        self.offset = self.ptr - host.ctypes.data

    def __add__(self, offset):
        return _Pointer(self.array, offset)

    def copy_from_host_async(self, address, size):
        LOG.append("copy from pinned memory")
        assert builtins.any(start <= address and address + size <= start + length for start, length in _runtime.PINNED.items())
        ctypes.memmove(self.ptr, address, size)

    def copy_to_host_async(self, address, size):
        LOG.append("copy to pinned memory")
        assert address in _runtime.PINNED
        ctypes.memmove(address, self.ptr, size)

    def copy_from_device_async(self, source, size):
        LOG.append(("peer copy", source.device_id, self.device_id))
        ctypes.memmove(self.ptr, source.ptr, size)


def _check(*arrays):
    for each in arrays:
        if isinstance(each, ndarray) and each._device != current():
            raise RuntimeError(f"array of device {each._device} met on device {current()}")
        if isinstance(each, np.ndarray):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if isinstance(each, (list, tuple)):
            _check(*each)


def _plain(value):
    if isinstance(value, ndarray):
        return value._host
    return type(value)(map(_plain, value)) if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") else value


def _ours(value, device=None):
    if isinstance(value, (tuple, list)):
        made = [_ours(each) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, (np.ndarray, np.generic)):
        return object.__new__(ndarray)._set(np.asarray(value), current(), None)
    return value


def _run_or_record(work):
    """Run `work` now, or record it if a graph is being captured."""
    if not is_captured(work):
        work()


def _recomputed(result, work):
    """Return the result of `work`. A captured graph recomputes it into the same memory at each launch."""
    arrays = [each for each in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(each, ndarray)]

    def compute():
        values = work()
        for each, value in zip(arrays, values if isinstance(result, (tuple, list)) else [values], strict=True):
            each._host[...] = value

    if arrays and is_captured(compute):
        for each in arrays:
            each._host.fill(0)  # a capture records calls, but does not compute them
    return result


def _function(original, name=None):
    name = name or getattr(original, "__name__", "function")

    @functools.wraps(original)
    def call(*args, out=None, **kwargs):
        out = out[0] if isinstance(out, tuple) else out
        if name not in (*VIEWS, "reshape"):  # reshape may return a view
            _check(*args, *kwargs.values(), out)
        LOG.append(name)
        given = [each for each in (*args, *kwargs.values()) if isinstance(each, ndarray)]
        keywords = {key: _plain(each) for key, each in kwargs.items()}
        if out is not None:
            _run_or_record(functools.partial(original, *map(_plain, args), out=out._host, **keywords))
            return out
        work = functools.partial(original, *map(_plain, args), **keywords)
        made = work()
        for each in given:
            if made is each._host:
                return each
            if isinstance(made, np.ndarray) and made.base is not None and np.may_share_memory(made, each._host):
                return each._view(made)
        _check(*given)
        return _recomputed(_ours(made), work)

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
    if isinstance(data, ndarray) and not copy and dtype in (None, data.dtype):
        return data
    data = data._host if isinstance(data, ndarray) else _plain(data) if isinstance(data, (list, tuple)) else data
    return _ours(np.array(data, dtype=dtype))


array = asarray


def may_share_memory(array, other):
    """Compare addresses on the host, without a device call."""
    return np.may_share_memory(array._host, other._host)


def _chosen(which, one, other):
    return np.where(which, one, other).astype(np.result_type(one, other))


_PLAIN = (
    "ceil copysign cos cosh exp expm1 fabs floor isfinite isinf isnan log log10 log1p log2 power rint sign signbit sin sinh sqrt"
)
_FUNCTIONS = {
    **{name: getattr(np, name) for name in (*_PLAIN.split(), "tan", "tanh", "trunc")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")},
    "plus": np.add, "minus": np.subtract, "times": np.multiply, "larger": np.maximum, "smaller": np.minimum,
    "multiply_add": lambda a, b, c: c + a * b, "negated": np.logical_not, "choose": _chosen,
    "float": np.float32, "double": np.float64,
}  # fmt: skip


class ElementwiseKernel:
    """Evaluate the operation as Python code on arrays, or compile it as C++ if STANDIN_COMPILES is set."""

    def __init__(self, inputs, outputs, operation, name="kernel", preamble=""):
        self.inputs, self.outputs = ([each.split() for each in part.split(",")] for part in (inputs, outputs))
        self.lines = [line.removeprefix("const ") for line in operation.split(";") if line.strip()]
        self.__name__, self.operation, self.preamble = name, operation, preamble

    def __call__(self, *args):
        _check(*(each for each in args if isinstance(each, ndarray)))
        LOG.append(self.__name__)
        declared = self.inputs + self.outputs
        assert len(args) == len(declared)
        for argument, (kind, _) in zip(args, declared, strict=True):
            assert len(kind) == 1 or not isinstance(argument, ndarray) or argument.dtype == kind, (argument.dtype, kind)
        given = args[: len(self.inputs)]
        shape = np.broadcast_shapes(*(each.shape for each in given if isinstance(each, ndarray)))
        assert builtins.all(target.shape == shape for target in args[len(self.inputs) :]), "Out shape is mismatched"
        compiles = self.preamble and os.environ.get("STANDIN_COMPILES")
        _run_or_record(
            functools.partial(self._run_compiled, shape, args) if compiles else functools.partial(self._evaluate, args)
        )
        return args[-1]

    def _run_compiled(self, shape, args):
        plain = [
            np.array(np.broadcast_to(_plain(each), shape), kind, order="C")
            for each, (kind, _) in zip(args, self.inputs + self.outputs, strict=True)
        ]
        _host.elementwise(self.preamble, self.inputs, self.outputs, self.operation)(*plain)
        for target, values in zip(args[len(self.inputs) :], plain[len(self.inputs) :], strict=True):
            target._host[...] = values

    def _evaluate(self, args):
        given = args[: len(self.inputs)]
        scope = {
            name: np.dtype(kind).type(each) if len(kind) > 1 and not isinstance(each, ndarray) else _plain(each)
            for each, (kind, name) in zip(given, self.inputs, strict=True)
        }
        with np.errstate(all="ignore"):
            for line in self.lines:
                name, _, expression = line.strip().removeprefix("const ").partition(" = ")
                scope[name.split()[-1]] = eval(expression, _FUNCTIONS, scope)
        for target, (_, name) in zip(args[len(self.inputs) :], self.outputs, strict=True):
            target._host[...] = scope[name]


class RawModule:
    def __init__(self, *, code, options, name_expressions):
        self._library = _host.compiled(code, name_expressions)

    def get_function(self, name):
        def launch(grid, block, arguments):
            _check(*(each for each in arguments if isinstance(each, ndarray)))
            LOG.append(name)
            plain = [_plain(each) for each in arguments]
            _run_or_record(lambda: self._library.run(name, grid[0], block[0], plain))

        return launch


def _as_strided(array, shape, strides):
    return array._view(np.lib.stride_tricks.as_strided(array._host, shape, strides))


ogrid = type("ogrid", (), {"__getitem__": lambda self, index: _ours(np.ogrid[index])})()
cuda = _runtime.make_cuda()
sys.modules["cupy.cuda"] = cuda
for _name in ("linalg", "fft"):
    _made = _namespace(types.ModuleType(f"cupy.{_name}"), getattr(np, _name))
    globals()[_name] = sys.modules[f"cupy.{_name}"] = _made
lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=_as_strided))
_namespace(sys.modules[__name__], np)
_OWN = ("annotations", "builtins", "ctypes", "functools", "is_captured", "os", "sys", "types", "wait")
__all__ = [name for name in __all__ if name not in _OWN]  # noqa: F821
