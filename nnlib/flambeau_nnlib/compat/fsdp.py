"""Private modules of `torch.distributed.fsdp`, whose classes flambeau does not have: they can be imported and compared with."""

from __future__ import annotations

from typing import Any

from .unsupported import unsupported_class, unsupported_function

__all__ = ["FSDP_WRAPPED_MODULE", "FSDPParam", "FSDPParamGroup", "FlatParamHandle"]

_REASON = "flambeau shards parameters as DTensors, see torch.distributed.fsdp.fully_shard"
FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDPParam = unsupported_class("FSDPParam", _REASON, __name__)
FlatParamHandle = unsupported_class("FlatParamHandle", _REASON, __name__)
_reshard = unsupported_function("_reshard", _REASON)


class FSDPParamGroup(unsupported_class("FSDPParamGroup", _REASON, __name__)):  # type: ignore[misc]
    """A group of parameters that are gathered together.  The constructor raises NotImplementedError."""

    def _init_mp_dtypes(self) -> Any:
        """Never called, because there are no groups; libraries replace this method."""
