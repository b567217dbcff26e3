"""`torch._dispatch`: the part of PyTorch's dispatcher that is written in Python."""
