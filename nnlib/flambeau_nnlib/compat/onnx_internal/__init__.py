"""`torch.onnx._internal`: modules of PyTorch's exporters."""
