"""Capture programs as graphs: `torch.compile`, `torch.fx`, `torch.export`, `torch.jit`, `torch.onnx`, control flow operators.

Entry points, each documented in its own package:

- `compiler.compile`: `torch.compile`, which records the backend kernels that a step calls, see `flambeau.extension.capture`.
- `fx.symbolic_trace`, `fx.Graph`, `fx.GraphModule`: graphs of Python calls, on which export and jit build.
- `export.export`: a graph of PyTorch operators with symbolic sizes, which can also be written as NumPy code.
- `jit.script`, `jit.trace`, `jit.load`: TorchScript, and PyTorch's archives.
- `onnx.export`: a model in the ONNX format.
- `higher_order.cond`, `while_loop`, `associative_scan`: control flow that is preserved in graphs.

Invariants: code elsewhere imports only names in the `__all__` of these packages, except PyTorch's private names in `compat`.
    These packages import only the core's public API. Properties of operators come from the operation table, and each format
    adds only its mapping to foreign names. A compiled or exported program returns the results of the original program, or
    raises. Loading a file never runs its code. Modules whose names begin with an underscore may change freely.
"""
