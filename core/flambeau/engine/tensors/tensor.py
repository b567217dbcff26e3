"""The class `Tensor`: an array, its dispatch key, and its node in the recorded graph.

The class has the attributes and the autograd interface of tensors.  `flambeau/operations` attaches the methods that compute.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, overload

from ..devices.devices import DispatchKey, device
from ..devices.state import state
from ..devices.warning import warn, warn_once
from ..tape.fast_path import register_plain
from ..tape.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..tape.node import Node, Output, StaleView, add_leaf_hook
from ..tape.tensor_class import tensor_class
from ..tape.transforming import in_transform, inherit_depth, note_depth, refuse_retain_grad
from ..values import dtypes
from ..values.handles import RemovableHandle
from ..values.scalars import is_library_scalar
from ..values.sizes import Size
from .storage import DataStorage, InferenceStorage, Storage, memory_root

if TYPE_CHECKING:
    from ..._members import Members, NumpyArray
    from ..values.dtypes import dtype
else:
    Members = object

__all__ = ["Tensor", "alias", "attach", "wrap"]

new = object.__new__


class Tensor(Members):
    """A multi-dimensional array of elements of one dtype, on one device, that records its computation for autograd.

    Use `torch.tensor` to create one from data.  `Tensor` itself is the legacy constructor: `Tensor(2, 3)` is an uninitialized
    float32 tensor of that shape, and `Tensor([1, 2])` holds the data as float32.

    Args:
        *args: the sizes of an uninitialised tensor, or one sequence of numbers, array or tensor.
        device: the device, one whose tensors are float32; None for the default device.
        requires_grad: whether autograd records operations on the result.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_grad", "_key", "_node", "_requires_grad", "_storage", "_view")
    _array: Any  # the backend's array
    _key: DispatchKey  # dtype and device
    _requires_grad: bool
    _node: Any  # the node (or Output of a node) that computed this tensor; None for a leaf
    _grad: Tensor | None
    _storage: Storage | None  # version counter, shared with the views; created when first needed
    _view: tuple[Tensor, Any, tuple[Any, ...], bool | str] | None  # for a view: (base, operation, parameters, recorded)
    _inference = False
    _is_plain: ClassVar[Callable[[Tensor], bool]]  # whether `__torch_function__` is not called; set in `registrations.py`
    _offer: ClassVar[Callable[..., Any]]  # calls `__torch_function__`; set in `registrations.py`
    _has_hooks = False  # for leaves: whether there are hooks or a `grad_dtype` to apply
    name: str | None = None
    __array_priority__ = 1000  # makes `numpy_array * tensor` call the tensor's operator

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @staticmethod
    def _make_subclass(cls: type[Tensor], data: Tensor, requires_grad: bool = False) -> Any:
        """Return `data` as an instance of the subclass `cls`, sharing its memory."""
        tensor = data.detach()._as(cls)
        tensor.requires_grad_(requires_grad)
        return tensor

    def _as(self, cls: type[Tensor]) -> Any:
        if self._key.wraps and cls is not type(self):
            raise RuntimeError(
                f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a python "
                f"object of type {type(self).__name__}"
            )
        tensor = alias(self, cls)
        tensor._node, tensor._requires_grad, tensor._view = self._node, self._requires_grad, self._view
        if self._inference:
            tensor._inference = True
        return tensor

    # --- shape and memory -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return tuple.__new__(Size, self._array.shape)

    @overload
    def size(self, dim: None = None) -> Size: ...

    @overload
    def size(self, dim: int) -> int: ...

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of dimension `dim`.

        Args:
            dim: the dimension; None for the whole shape.
        """
        if dim is None:
            return tuple.__new__(Size, self._array.shape)
        shape = self._array.shape
        try:
            return shape[dim]
        except IndexError:
            limit = max(len(shape), 1)
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
            ) from None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim  # type: ignore[no-any-return]  # arrays are untyped

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim  # type: ignore[no-any-return]  # arrays are untyped

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return prod(self._array.shape)

    nelement = numel

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]  # type: ignore[no-any-return]  # arrays are untyped

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def stride(self, dim: int) -> int: ...

    def stride(self, dim: int | None = None) -> Any:
        """Return the stride of dimension `dim` in elements; by default, a tuple of the strides of all dimensions.

        Args:
            dim: the dimension; None for all.
        """
        strides = self._key.backend.strides(self._array)
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        """The number of elements between the start of the memory and the first element."""
        return self._key.backend.root(self._array)[1]

    def data_ptr(self) -> int:
        """Return the address of the first element, 0 for an empty tensor.  For immutable arrays, return an id of the memory."""
        if not self.numel():
            return 0
        backend = self._key.backend
        return backend.data_ptr(self._array) if backend.mutable else id(memory_root(self))

    const_data_ptr = data_ptr

    def element_size(self) -> int:
        """The number of bytes per element."""
        return self._key.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The number of bytes per element."""
        return self._key.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.numel() * self._key.dtype.itemsize

    def _own_storage(self) -> Storage:
        self._storage = storage = InferenceStorage() if self._inference else Storage()
        return storage

    @property
    def _cdata(self) -> int:
        """A unique number of this tensor object: programs compare it to check whether two variables are the same tensor."""
        return id(self)

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    def _bump_version(self) -> None:
        (self._storage or self._own_storage()).version += 1

    # --- dispatch key -----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return self._key.dtype

    @property
    def device(self) -> device:
        """The device that holds the elements."""
        return self._key.device

    @property
    def is_cuda(self) -> bool:
        """Whether the device is a CUDA device."""
        return self._key.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the CPU."""
        return self._key.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether the device is `meta`: the tensor has a shape and a dtype but no elements."""
        return self._key.device.type == "meta"

    # These attributes are False for plain tensors. Sparse and nested tensors override some of them.
    is_sparse = is_sparse_csr = is_nested = is_quantized = is_mkldnn = False
    is_ipu = is_maia = is_mps = is_mtia = is_vulkan = is_xla = is_xpu = False

    def get_device(self) -> int:
        """The device's index; -1 on the CPU."""
        place = self._key.device
        return -1 if place.type in ("cpu", "meta") and place.index is None else place.index or 0

    def is_floating_point(self) -> bool:
        """Whether the dtype is floating-point."""
        return self._key.dtype.category == dtypes.FLOATING

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._key.dtype.category == dtypes.COMPLEX

    def is_signed(self) -> bool:
        """Whether the dtype can hold negative numbers."""
        return self._key.dtype.is_signed

    # --- autograd -------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the tensor are recorded, and `backward` computes a gradient for it."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._node is not None:
            if not value:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                    "variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            return
        if value and self._key.dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value and self._inference and not is_inference_mode_enabled():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        if value and type(self._key) is not DispatchKey:  # a leaf is neither a lazy nor a batched view
            materialized = self._key.materialize(self)
            self._array, self._key = materialized._array, materialized._key
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in-place, and return the tensor.

        Args:
            requires_grad: the value.
        """
        if requires_grad and in_transform():
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) inside of a function being transformed by a functorch transform. This is unsupported, "
                "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "requires_grad_() outside of a function being transformed instead."
            )
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor is a leaf of the autograd graph: it has no `grad_fn`."""
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that computed the tensor; None for a leaf."""
        if type(self._node) is StaleView:
            raise RuntimeError(self._node.message)
        return self._node.node if type(self._node) is Output else self._node

    creator = grad_fn  # PyTorch 0.1 called `grad_fn` this

    @property
    def output_nr(self) -> int:
        """The index of the tensor among the results of the operation that computed it."""
        return self._node.index if type(self._node) is Output else 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by `backward`; None before the first backward pass."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be "
                "populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the "
                "non-leaf Tensor by mistake, make sure you access the leaf Tensor instead.",
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same "
                    "size"
                )
            grad_dtype = self.__dict__.get("_grad_dtype", self.dtype)
            if grad_dtype is not None and value.dtype is not grad_dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype "
                    f"'{grad_dtype}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                    "dtype)"
                )
            if value.device != self.device:
                raise RuntimeError(f"assigned grad has data located on a different device: {value.device}, not {self.device}")
        self._grad = None if value is None else value._key.materialize(value)

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The dtype of `grad`, by default the tensor's dtype.  Only for leaves.

        If set to None, a gradient of any dtype can be assigned.

        >>> x = torch.ones(2, requires_grad=True)
        >>> x.grad_dtype = torch.float64
        >>> x.sum().backward()
        >>> x.grad
        tensor([1., 1.], dtype=torch.float64)
        """
        if self._node is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.__dict__.get("_grad_dtype", self.dtype)  # type: ignore[no-any-return]  # a dict of Any

    @grad_dtype.setter
    def grad_dtype(self, dtype: dtypes.dtype | None) -> None:
        if self._node is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if not (dtype is None or isinstance(dtype, dtypes.dtype)):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
        if self._grad is not None and dtype not in (None, self._grad.dtype):
            raise RuntimeError(
                f"Cannot set grad_dtype to '{dtype}' because there is already a gradient with dtype "
                f"'{self._grad.dtype}'. Please clear the gradient (.grad = None) before changing "
                "grad_dtype"
            )
        self.__dict__["_grad_dtype"] = dtype
        self._has_hooks = True  # makes `accumulate` in the engine read `_grad_dtype`

    def retain_grad(self) -> None:
        """Let backward accumulate `grad` also for this tensor, which is not a leaf."""
        if not self._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        refuse_retain_grad()
        if self._node is not None:
            node, index = (self._node.node, self._node.index) if type(self._node) is Output else (self._node, 0)
            node.own_hooks().retain[index] = weakref.ref(self)
            self.__dict__["_retains_grad"] = True

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` has been called on this non-leaf tensor."""
        return self.__dict__.get("_retains_grad", False)  # type: ignore[no-any-return]  # a dict of Any

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` whenever this tensor's gradient is computed. A result other than None replaces the gradient.

        Args:
            hook: a function of the gradient. It must not modify it in place.

        Returns:
            a handle, whose method `remove` removes the hook.

        Raises:
            RuntimeError: the tensor does not require grad.
        """
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is None:
            return add_leaf_hook(self, "_hooks", hook)
        node, index = (self._node.node, self._node.index) if type(self._node) is Output else (self._node, 0)
        return node.own_hooks().add_for_output(index, hook)

    @property
    def _backward_hooks(self) -> Any:
        """The hooks registered by `register_hook`, by the ids of their handles; None without hooks."""
        if self._node is None:
            return self.__dict__.get("_hooks") or None
        node, index = (self._node.node, self._node.index) if type(self._node) is Output else (self._node, 0)
        hooks = node.hooks
        return None if hooks is None else hooks.tensor.get(index) or None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if hooks:
            self._has_hooks = state.leaf_hooks = True
            self.__dict__["_hooks"] = hooks
        else:
            self.__dict__.pop("_hooks", None)

    @property
    def _post_accumulate_grad_hooks(self) -> dict[int, Callable[[Tensor], None]] | None:
        """The hooks of `register_post_accumulate_grad_hook`; None before the first one.  Libraries of optimizers read it."""
        return self.__dict__.get("_post_accumulate_hooks")

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(self)` whenever backward has accumulated `grad` of this leaf.

        Args:
            hook: a function of the tensor; its result is ignored.

        Returns:
            a handle, whose method `remove` removes the hook.

        Raises:
            RuntimeError: the tensor does not require grad, or is not a leaf.
        """
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return add_leaf_hook(self, "_post_accumulate_hooks", hook)

    def detach(self) -> Tensor:
        """Return a tensor with the same memory and version counter but no history."""
        if type(self) is not Tensor and not Tensor._is_plain(self):
            return Tensor._offer(Tensor.detach, (self,), self)  # type: ignore[no-any-return]  # an override may return anything
        detached: Tensor = alias(self)
        detached._storage = self._storage or self._own_storage()
        if self._inference:
            detached._inference = True
        if not self._key.backend.mutable:
            detached._storage.link(detached, self)
        return detached

    def detach_(self) -> Tensor:
        """Remove the history of this tensor, in-place."""
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
                "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
                "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
                "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the "
                "solution."
            )
        self._node, self._requires_grad = None, False
        self.__dict__.pop("_tangents", None)
        return self

    @property
    def data(self) -> Tensor:
        """A tensor with the same memory but no history; autograd does not detect writes to it."""
        data: Tensor = alias(self)
        if self._key.backend.mutable:
            data._storage = DataStorage(self._storage or self._own_storage())
        else:
            data._storage = (self._storage or self._own_storage()).twin()
            data._storage.link(data, self)
        if self._inference and is_inference_mode_enabled():
            data._inference, data._storage = True, None
        return data

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._requires_grad and value._key.dtype.category < dtypes.FLOATING:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self.layout is not value.layout or self.is_nested != value.is_nested:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
            )
        value = value._key.materialize(value)
        self._array, self._key = value._array, value._key
        if self._view is not None:
            self._view = None

    @property
    def _base(self) -> Tensor | None:
        if self._inference:  # PyTorch tracks no views of inference tensors
            return None
        base = self
        while base._view is not None:
            base = base._view[0]
        became = base.__dict__.get("_became")  # set if `base` is the former state of a tensor changed by `t_` or similar
        if became is not None and became() is not None:
            base = became()
        return None if base is self else base

    def _is_view(self) -> bool:
        return self._view is not None and self._base is not None

    def is_inference(self) -> bool:
        """Whether the tensor was created in inference mode."""
        return self._inference

    # --- Python protocols -----------------------------------------------------------------------------------------

    __hash__ = object.__hash__  # `==` compares elements, but sets and dicts compare identity

    def __bool__(self) -> bool:
        if self.numel() != 1:
            what = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return self._key.backend.truth(self._array)

    __nonzero__ = __bool__

    def item(self) -> int | float | bool:
        """Return the only element as a Python scalar.  RuntimeError unless the tensor has exactly one element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._key.backend.item(self._array)  # type: ignore[no-any-return]  # backends are not typed

    def tolist(self) -> list[Any]:
        """Return the elements as nested lists of Python scalars; a scalar for a 0-d tensor."""
        return self._key.backend.tolist(self._array)  # type: ignore[no-any-return]  # backends are not typed

    def _single_element(self) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._key.backend.item(self._array)

    def __int__(self) -> int:
        return int(_real(self._single_element(), "int64_t"))

    __long__ = __int__

    def __float__(self) -> float:
        return float(_real(self._constant_element(), "double"))

    def __complex__(self) -> complex:
        return complex(self._constant_element())

    def _constant_element(self) -> Any:
        if self._requires_grad:
            if not is_grad_enabled():
                return self._single_element()
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )
        return self._single_element()

    def __index__(self) -> int:
        if self._key.dtype.category > dtypes.INTEGER or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if not self._array.ndim else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        if not (isinstance(element, (Tensor, bool, int, float, complex)) or is_library_scalar(element)):
            raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any())

    def __dir__(self) -> Sequence[str]:
        names = {*dir(type(self)), *self.__dict__}
        return sorted(names if self.is_cuda else names - {"__cuda_array_interface__"})

    def __setstate__(self, state: Any) -> None:
        """Restore the state of a leaf from a legacy pickle.

        `state` is `(storage, offset, size, stride)`, `(requires_grad, _, hooks)`, or `(data, _, _, requires_grad, hooks)`.
        """
        if self._node is not None:
            raise RuntimeError("__setstate__ can be only called on leaf Tensors")
        if len(state) == 4:
            self.set_(*state)
            return
        if len(state) == 5:
            self.data, _, _, *state = state
            state = (*state, None)
        self.requires_grad, _, _ = state

    def numpy(self, *, force: bool = False) -> NumpyArray:
        """Return the tensor as a NumPy array that shares its memory.  `force` detaches it, and copies it to the CPU if necessary.

        Args:
            force: whether to convert any tensor, with a copy if necessary.

        Raises:
            RuntimeError: the tensor requires a gradient, in grad mode.
            TypeError: the tensor is not on the CPU, or NumPy does not have its dtype.
        """
        if force:
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        if self._requires_grad and is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._key.device.type != "cpu":
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        if self._key.dtype in (dtypes.bfloat16, dtypes.complex32, *dtypes.FLOAT8):
            raise TypeError(f"Got unsupported ScalarType {self._key.dtype.legacy_name}")
        if type(self._key) is not DispatchKey:
            raise RuntimeError(getattr(self._key, "no_numpy", "Cannot access data pointer of Tensor that doesn't have storage"))
        if self._storage is None:
            self._own_storage()
        return self._key.backend.to_host(self._array)  # type: ignore[no-any-return]  # backends are not typed

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is None or dtype == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"Unable to avoid copy while creating an array of {dtype} from a tensor of {self.dtype}")
        return array.astype(dtype)

    def __dlpack__(self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        if self._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self._key.materialized is not self._key:
            raise BufferError("Can't export tensors with the conjugate bit set")
        if not isinstance(stream, int | None):
            raise TypeError("stream must be ``int`` or ``none``")
        if self._key.device.type != "cuda":
            assert stream in (None, -1), f"stream should be None on {self._key.device.type}."
            stream = None
        return self._key.backend.to_dlpack(self._array, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """Return the tensor on another device, like `to`; the array API standard has this name.

        Args:
            device: the device.
            stream: must be None.
        """
        if stream is not None:
            raise ValueError(f"to_device() takes no stream, but got {stream!r}")
        return self.to(device)


Tensor.__module__ = "flambeau"
# The annotations are for readers only: `typing.get_type_hints` of a subclass could not resolve their names, so they are removed.
Tensor.__annotations__ = {}


def _real(value: Any, target: str) -> Any:
    """Return a number without its imaginary part, which must be 0; `target` is the C type that the number is converted to."""
    if type(value) is not complex:
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {target} without overflow")
    return value.real


def attach(**members: Any) -> None:
    """Add methods and properties, given as keyword arguments, to the class `Tensor`."""
    for name, member in members.items():
        setattr(Tensor, name, member)


def wrap(array: Any, key: DispatchKey) -> Tensor:
    """Return a Tensor without history that wraps a raw array of this dispatch key."""
    result = new(Tensor)
    result._array = array
    result._key = key
    result._requires_grad = False
    result._node = result._grad = result._storage = result._view = None
    if state.mutation_guards:
        note_depth(result)
    return result


def alias(tensor: Tensor, cls: type[Tensor] = Tensor) -> Any:
    """Return another Tensor with the same array and storage, without history."""
    result = new(cls)
    result._array = tensor._array
    result._key = tensor._key
    result._requires_grad = False
    result._node = result._grad = result._view = None
    result._storage = tensor._storage
    if state.mutation_guards:
        inherit_depth(result, tensor)
    return result


tensor_class.register(Tensor, wrap, alias)
register_plain(Tensor)
