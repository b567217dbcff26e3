"""`torch.fx.experimental.proxy_tensor`: whether operations are being traced into a graph by proxies.  For kornia, tensordict."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """None: flambeau records graphs (`torch.export`, `torch.compile`) without proxies of tensors.

    >>> from flambeau.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
