"""Programs as graphs: `torch.compile`, `fx`, `export`, `jit`, `onnx`, and the operators of control flow."""
