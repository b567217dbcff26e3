"""What nodes keep of the forward: tensors with the version they had, released or packed away by hooks.

A saved tensor is ``(holder, array, version)``; a released one is ``RELEASED``; one that a hook packed is ``(Packed,)``.
An output is held by an alias without history (``_output_of`` in its ``__dict__``), so that no reference cycle arises.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from .node import RELEASED, Node, Output

if TYPE_CHECKING:
    from .._tensor import Tensor

__all__ = ["SAVE_HOOKS", "anomaly", "check_saved", "unpack_array", "unpack_tensor"]

anomaly = {"enabled": False, "check_nan": True}
SAVE_HOOKS: list[Callable[[Any], Any]] = []  # pack functions of saved_tensors_hooks, innermost last


def unpack_array(saved: Any, node: Node) -> Any:
    """The raw array of a saved tensor."""
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
    """A saved tensor as a Tensor, with the history it had."""
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


def with_history(array: Any, holder: Tensor, index: int | None, node: Node) -> Tensor:
    """The array as a tensor in the place of ``holder``: an output of ``node``, or whatever the holder's history says."""
    from .._tensor import wrap

    tensor = wrap(array, holder._kind)
    tensor._storage = holder._storage
    if index is not None:
        tensor._node = node if node.outputs is None else Output(node, index)
        tensor._requires_grad = True
    else:
        tensor._node, tensor._requires_grad = holder._node, holder._requires_grad
    return tensor


def _unpack_special(saved: Any, node: Node) -> Any:
    if saved is RELEASED:
        check_saved(saved, node)
    return saved[0].unpack(node)


def check_saved(saved: Any, node: Node) -> None:
    """Refuse a tensor that was freed, or modified since it was saved."""
    if saved is RELEASED:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward."
        )
    holder, array, version = saved
    now = 0 if holder._storage is None else holder._storage.version
    if now != version:
        _refuse_modified(holder, list(array.shape), now, version, node)


def _refuse_modified(holder: Tensor, shape: list[int], now: int, version: int, node: Node) -> NoReturn:
    index, maker = holder.__dict__.get("_output_of"), node
    if index is None and holder._node is not None:
        maker, index = (holder._node.node, holder._node.index) if type(holder._node) is Output else (holder._node, 0)
    what = "" if index is None else f", which is output {index} of {short_name(maker)},"
    hint = ("the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
            "changed in there or anywhere later. Good luck!" if anomaly["enabled"] else
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).")  # fmt: skip
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{holder.type()} {shape}]{what} is at version {now}; expected version {version} instead. Hint: {hint}"
    )


def refuse_inference() -> NoReturn:
    raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                       "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
                       "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")  # fmt: skip


def short_name(node: Node) -> str:
    """The node's name as PyTorch's messages have it: ``Mul`` for ``MulBackward0``."""
    return re.sub(r"Backward\d*$", "", node.name())
