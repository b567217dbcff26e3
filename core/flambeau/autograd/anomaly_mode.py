"""`torch.autograd.anomaly_mode`: finding the forward call that caused an error or a NaN in backward."""

from __future__ import annotations

from ..engine.tape.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
