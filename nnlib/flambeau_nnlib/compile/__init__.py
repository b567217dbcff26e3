"""Programs as graphs: `torch.compile`, `torch.fx`, `torch.export`, `torch.jit`, `torch.onnx`, and the operators of control flow.

Entry points, each documented in its own package:

- `compiler.compile`: `torch.compile`, which records steps at their kernels through `flambeau.extension.capture`.
- `fx.symbolic_trace`, `fx.Graph`, `fx.GraphModule`: graphs of Python calls, on which export and jit build.
- `export.export`: a graph of PyTorch's operators with symbolic sizes, which can be saved as NumPy code, too.
- `jit.script`, `jit.trace`, `jit.load`: scripted code, and PyTorch's archives.
- `onnx.export`: a model in the format of ONNX.
- `higher_order.cond`, `while_loop`, `associative_scan`: control flow that stays in graphs.

Must stay true: code elsewhere imports only what the `__all__` of these packages lists, except PyTorch's private names in
`compat`; these packages import only the core's public API; facts about operators come from the operation table, and each format
adds only its mapping to foreign names; a compiled or exported program gives the results of the program as it is, or raises;
loading a file never runs its code.  Modules whose names begin with an underscore may change freely.
"""
