"""`torch.ao.ns.fx`: measures of the difference between two results."""

from . import utils

__all__ = ["utils"]
