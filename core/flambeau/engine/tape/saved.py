"""Saved tensors: values of the forward that nodes store for their backward.

A saved tensor is a tuple `(holder, array, version)`: a tensor, and its array and version at the time of saving.  The tuple is
replaced by `RELEASED` when a backward frees it, and by `(Packed,)` when a hook packs it.  For an output of the node itself, the
holder is an alias without history (with `_output_of` in its `__dict__`), to avoid a reference cycle.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..devices.state import state
from ..values.constants import sparse_coo, strided
from ..values.dtypes import FLOATING
from .grad_mode import is_inference_mode_enabled, no_grad
from .node import RELEASED, Node, Output, next_seq
from .tensor_class import tensor_class

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["SAVE_HOOKS", "SavedTensor", "check_saved", "pack", "saved_members", "unpack_array", "unpack_tensor"]

SAVE_HOOKS: list[Any] = []  # the contexts of saved_tensors_hooks, innermost last


def unpack_array(saved: Any, node: Node) -> Any:
    """Return the raw array of a saved tensor; RuntimeError if the tensor was freed or modified."""
    if saved is None:
        return None
    if len(saved) != 3:
        return _unpack_special(saved, node)._array
    holder, array, version = saved
    storage = holder._storage
    if (storage is not None and storage.version != version) or (storage is None and version):
        check_saved(saved, node)
    return array


def unpack_tensor(saved: Any, node: Node) -> Any:
    """Return a saved tensor as a Tensor with its history; RuntimeError if it was freed or modified."""
    if saved is None:
        return None
    if len(saved) != 3:
        return _unpack_special(saved, node)
    check_saved(saved, node)
    holder, array, _ = saved
    index = holder.__dict__.get("_output_of")
    if holder._array is array and index is None:
        return holder
    return with_history(array, holder, index, node)


def saved_outputs(node: Node) -> Iterator[tuple[int, Tensor]]:
    """Yield `(output index, holder)` for each output of the node that the node itself has saved."""
    for name in node.saved_tensor_slots:
        value = getattr(node, name)
        value = getattr(value, "_saved", value)  # a user's Function keeps its saved tensors in `_saved`
        for saved in (value,) if is_saved_tensor(value) else value or ():
            index = saved[0].__dict__.get("_output_of") if is_saved_tensor(saved) else None
            if index is not None:
                yield index, saved[0]


def is_saved_tensor(value: Any) -> bool:
    """Whether the value is one saved tensor, and not None or a sequence of saved tensors."""
    return type(value) is tuple and len(value) == 3 and type(value[2]) is int


def with_history(array: Any, holder: Tensor, index: int | None, node: Node) -> Tensor:
    """Return a saved array as a tensor with the history of output `index` of `node`, or of `holder` if `index` is None."""
    wrapper = holder.__dict__.get("_wrapper")  # the wrapper-subclass tensor that was saved
    tensor: Tensor = tensor_class.wrap(array, holder._key) if wrapper is None else wrapper.detach()
    tensor._storage = holder._storage
    if index is not None:
        if tensor._key.dtype.category >= FLOATING:
            tensor._node, tensor._requires_grad = node if node.outputs is None else Output(node, index), True
    else:
        tensor._node, tensor._requires_grad = holder._node, holder._requires_grad
    if "_tangents" in holder.__dict__:
        tensor.__dict__["_tangents"] = holder.__dict__["_tangents"]
    return tensor


def _unpack_special(saved: Any, node: Node) -> Any:
    if saved is RELEASED:
        check_saved(saved, node)
    return saved[0].unpack(node)


def check_saved(saved: Any, node: Node) -> None:
    """Raise RuntimeError if a saved tensor was freed, or modified since it was saved."""
    if saved is RELEASED:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward."
        )
    holder, array, version = saved
    current = 0 if holder._storage is None else holder._storage.version
    if current != version:
        _refuse_modified(holder, list(array.shape), current, version, node)


def _refuse_modified(holder: Tensor, shape: list[int], current: int, version: int, node: Node) -> NoReturn:
    index, maker = holder.__dict__.get("_output_of"), node
    if index is None and holder._node is not None:
        maker, index = (holder._node.node, holder._node.index) if type(holder._node) is Output else (holder._node, 0)
    which_output = "" if index is None else f", which is output {index} of {short_name(maker)},"
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
        "changed in there or anywhere later. Good luck!"
        if state.anomaly_mode
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    kind = holder.type() if holder.layout in (strided, sparse_coo) else str(holder.layout)  # others have no legacy type
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {shape}]{which_output} is at version {current}; expected version {version} instead. Hint: {hint}"
    )


def check_inference(tensor: Tensor) -> None:
    """Raise RuntimeError before a write to an inference tensor outside of inference mode."""
    if tensor._inference and not is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def refuse_inference() -> NoReturn:
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
        "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
    )


def short_name(node: Node) -> str:
    """Return the node's name as in PyTorch's messages: `Mul` for `MulBackward0`."""
    return re.sub(r"Backward\d*$", "", node.name())


# --- hooks --------------------------------------------------------------------------------------------------------


def pack(tensor: Tensor, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> tuple[Packed]:
    """Pack a tensor with a hook; return the value that the node stores."""
    version = tensor._version
    with no_grad():
        packed = pack_hook(tensor)
    if tensor._version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
            "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please "
            "open an issue if you need to perform in-place operations on the input to a pack "
            "hook."
        )
    return (Packed(packed, unpack_hook, tensor),)


class Packed:
    """The result of a pack hook, with the history that the unpacked tensor will get."""

    __slots__ = ("index", "leaf", "node", "packed", "unpack_hook")
    packed: Any
    unpack_hook: Callable[[Any], Tensor]

    def __init__(self, packed: Any, unpack_hook: Callable[[Any], Tensor], tensor: Tensor) -> None:
        self.packed, self.unpack_hook = packed, unpack_hook
        self.index: Final = tensor.__dict__.get("_output_of")
        self.node: Final = tensor._node
        self.leaf: Final = weakref.ref(tensor) if tensor._requires_grad and tensor._node is None else None

    def unpack(self, node: Node) -> Tensor:
        with no_grad():
            unpacked = self.unpack_hook(self.packed)
        if not isinstance(unpacked, tensor_class.Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(unpacked).__name__}"
            )
        tensor: Tensor = unpacked.detach() if unpacked._key.wraps else tensor_class.alias(unpacked)
        if self.index is not None:
            tensor._node = node if node.outputs is None else Output(node, self.index)
        elif self.leaf is not None:
            tensor._node = _relink(self.leaf(), tensor)
        else:
            tensor._node = self.node
        tensor._requires_grad = tensor._node is not None
        return tensor


class AliasBackward0(Node):
    """The node of a tensor returned by an unpack hook; its edge leads to the leaf that was packed."""

    __slots__ = ()

    def apply(self, F: Any, g: Any, unpack: Any, edges: Any = None) -> tuple[Any, ...]:
        return (g,)


def _relink(leaf: Tensor | None, tensor: Tensor) -> Node | None:
    if leaf is None:
        return None
    node = AliasBackward0()
    node.seq, node.edges, node.hooks, node.outputs = next_seq(), (leaf,), None, None
    node.dispatch_key, node.shape = tensor._key, tensor._array.shape
    return node


class SavedTensor:
    """A tensor saved by a node, before unpacking: the type of `grad_fn._raw_saved_self`."""

    __slots__ = ("_field", "_node", "_owner", "_position")

    def __init__(self, node: Node, owner: Any, field: str, position: int | None = None) -> None:
        self._node, self._owner, self._field, self._position = node, owner, field, position

    def _value(self) -> Any:
        value = getattr(self._owner, self._field)
        return value if self._position is None or value is RELEASED else value[self._position]

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Replace the tensor by `pack_hook(tensor)`; backward then calls `unpack_hook` with the result."""
        value = self._value()
        if value is None or value is RELEASED:
            reason = (
                "with value None is forbidden"
                if value is None
                else (
                    "after it has been freed. Saved intermediate values of the graph are freed when you call .backward() or "
                    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
                    "you need to access saved variables after calling backward."
                )
            )
            raise RuntimeError(f"Calling register_hooks on a saved tensor {reason}")
        if len(value) != 3:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair "
                "of hooks is allowed at a time."
            )
        replacement: Any = pack(value[0], pack_hook, unpack_hook)
        if self._position is not None:
            all_saved = getattr(self._owner, self._field)
            replacement = type(all_saved)([*all_saved[: self._position], replacement, *all_saved[self._position + 1 :]])
        setattr(self._owner, self._field, replacement)

    def unpack(self) -> Any:
        """Return the tensor as backward receives it."""
        return unpack_tensor(self._value(), self._node)

    @property
    def data(self) -> Any:
        """The stored value: the tensor, or the result of the pack hook."""
        value = self._value()
        return None if value is None or value is RELEASED else value[0].packed if len(value) == 1 else value[0]

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        value = self._value()
        return value[0].unpack_hook if value is not None and len(value) == 1 and value is not RELEASED else None


def saved_members(field: str, is_tensor: bool) -> dict[str, property]:
    """Return public properties for a node's saved value: `_saved_<name>` and, for tensors, `_raw_saved_<name>`."""
    name = _PUBLIC_NAMES.get(field, field)

    def saved(self: Node) -> Any:
        value = getattr(self, field)
        if value is RELEASED:
            check_saved(value, self)
        if not is_tensor:
            return value
        if type(value) is list or value == () or (type(value) is tuple and type(value[0]) is tuple):
            return tuple(unpack_tensor(item, self) for item in value)
        return unpack_tensor(value, self)

    def raw_saved(self: Node) -> Any:
        value = getattr(self, field)
        if type(value) is list or value == () or (type(value) is tuple and type(value[0]) is tuple):
            return tuple(SavedTensor(self, self, field, position) for position in range(len(value)))
        return SavedTensor(self, self, field)

    members = {f"_saved_{name}": property(saved)}
    return members | {f"_raw_saved_{name}": property(raw_saved)} if is_tensor else members


_PUBLIC_NAMES = {"input": "self", "out": "result", "input_shape": "self_sym_sizes"}  # field: name in PyTorch
