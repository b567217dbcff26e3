"""`torch._inductor.ir`: the intermediate representation of PyTorch's compiler back end, which is not supported."""

from __future__ import annotations

from ..unsupported import unsupported_class, unsupported_function

__all__ = ["FixedLayout", "IRNode", "TensorBox"]

_REASON = "flambeau has its own compiler"
IRNode = unsupported_class("IRNode", _REASON, __name__)
FixedLayout = unsupported_class("FixedLayout", _REASON, __name__)


class TensorBox(IRNode):  # type: ignore[misc, valid-type]
    """The constructor and `create` raise NotImplementedError: flambeau has its own compiler."""

    create = staticmethod(unsupported_function("TensorBox.create", _REASON))
