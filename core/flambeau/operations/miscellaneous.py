"""Functions of no other family: the order of dimensions in memory, mapped files, hashes, and protocols of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..engine.calls.arguments import Dims
from ..engine.calls.dispatch import require_dtype, whole_numbers
from ..engine.calls.op import composite
from ..engine.calls.record import Out
from ..engine.calls.tables import PUBLIC
from ..engine.devices.mapping import map_file
from ..engine.tensors.memory_format import memory_format
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from .creation import empty, frombuffer
from .joining import cat
from .views import as_shape, wrap_dim

# --- memory -------------------------------------------------------------------------------------------------------


def _dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the slowest in memory to the fastest.

    RuntimeError where `ambiguity_check` (True, or a list of memory formats) is given and dimensions of length 1 or of one
    stride leave a choice.

    >>> import flambeau as torch
    >>> torch.ones(2, 3, 4).transpose(0, 2).dim_order()
    (2, 1, 0)
    """
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not (isinstance(formats, list) and all(isinstance(f, memory_format) for f in formats)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    if ambiguity_check is not False and (1 in self.shape or len(set(strides)) < len(strides)):
        if sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        if len(set(strides)) < len(strides):
            raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(sorted(range(self.ndim), key=lambda d: (-strides[d], d)))


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """An uninitialised tensor of this shape, whose dimensions lie in memory in the order of `physical_layout`.

    >>> import flambeau as torch
    >>> torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    (3, 1, 6)
    """
    size, physical_layout = as_shape((size,)), as_shape((physical_layout,))
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    order = list(physical_layout)
    for position, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index "
                f"{position}). NB: negative dims not currently supported"
            )
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    tensor = empty([size[d] for d in order], dtype=dtype, device=device, pin_memory=pin_memory)
    return tensor.permute(sorted(range(len(order)), key=order.__getitem__)).requires_grad_(bool(requires_grad))


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of `size` elements in the memory-mapped file; with `shared`, writes reach the file, which is created if necessary.

    Raises:
        RuntimeError: the file cannot be opened, or is too small.
    """
    dtype = dtype or dtypes.get_default_dtype()
    mapped = map_file(filename, shared, size * dtype.itemsize)
    if mapped is None:
        return empty(0, dtype=dtype, requires_grad=requires_grad)
    return frombuffer(mapped, dtype=dtype, count=size, requires_grad=requires_grad)


PUBLIC.update(empty_permuted=empty_permuted, from_file=from_file)
attach(dim_order=_dim_order)

# --- hashes -------------------------------------------------------------------------------------------------------


@composite(out=Out.OWN_DTYPE)
def hash_tensor(input: Tensor, dim: Dims | None = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """A uint64 hash of all elements, or of those along `dim`: the exclusive or of their bits, as 64-bit numbers.

    >>> import flambeau as torch
    >>> torch.hash_tensor(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([3, 7], dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown mode {mode}; only 0 (exclusive or) is supported")
    require_dtype("xor_sum_cpu", input, "real")
    chosen: Sequence[int] = whole_numbers("dim", () if dim is None else dim) or range(input.ndim)
    if not input.ndim:
        chosen, input = [wrap_dim(d, 0) for d in chosen][:0], input.clone()
    dims = sorted(wrap_dim(d, input.ndim) for d in chosen)
    if not input.numel():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
            "dim with the 'dim' argument."
        )
    place, has = input.device, input._key.backend.dtypes
    if dtypes.float64 not in has or dtypes.uint64 not in has:
        input = input.cpu()
    wide = input.to(dtypes.float64 if input.is_floating_point() else dtypes.int64)
    kept_dims = [d for d in range(input.ndim) if d not in dims]
    shape = [input.shape[d] for d in kept_dims]
    flat = wide.detach().permute(kept_dims + dims).reshape(*shape, prod(input.shape[d] for d in dims))
    bits = flat.contiguous().view(dtypes.uint64)
    while bits.shape[-1] > 1:
        half = bits.shape[-1] // 2
        folded = bits[..., :half] ^ bits[..., half : 2 * half]
        bits = cat([folded, bits[..., 2 * half :]], -1)
    bits = bits.reshape([1 if d in dims else length for d, length in enumerate(input.shape)] if keepdim else shape)
    return bits if dtypes.uint64 not in has else bits.to(place)


# --- protocols ----------------------------------------------------------------------------------------------------


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `Module.load_state_dict` puts in this tensor's place: `other`, or this tensor with its values."""
    return other.detach() if assign else self.copy_(other).detach()


def _reinforce(self: Tensor, reward: Any) -> None:
    """Removed from PyTorch.  Raises RuntimeError, with what to do instead."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: sample from a Categorical, and let the loss "
        "be minus log_prob of the sample times the reward."
    )


def _cuda_array_interface(self: Tensor) -> Any:
    """The array's description for other CUDA libraries.  AttributeError for a tensor that is not on a CUDA device."""
    if not self.is_cuda:
        kind = self.type()
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {kind} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    return self._array.__cuda_array_interface__


def _torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """There is no level of dispatch below `__torch_function__` to override: the operation is just called."""
    return func(*args, **(kwargs or {}))


def _is_distributed(self: Tensor) -> bool:
    """Always False, in PyTorch too: a relic of shared tensors."""
    return False


def _slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The tensor that this one is a slice of: a view of its memory with the sizes and strides of `src`."""
    return self.as_strided(src.shape, src.stride(), src.storage_offset())


attach(module_load=_module_load, reinforce=_reinforce, is_distributed=_is_distributed, slice_inverse=_slice_inverse)
attach(__cuda_array_interface__=property(_cuda_array_interface))
attach(__torch_dispatch__=staticmethod(_torch_dispatch))
