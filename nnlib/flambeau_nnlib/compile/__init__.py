"""Programs as graphs: `torch.compile`, `fx`, `export`, `jit`, `onnx`, and the operators of control flow.

- `compiler`: records a step at its kernels while it runs, and replays it (`flambeau.extension.capture`);
- `fx`: traces Python code into a graph of public functions;
- `export`: traces a run into a graph of PyTorch's operators, on which `onnx` is built;
- `jit`: scripts, traces, and archives in PyTorch's format;
- `higher_order`: `cond`, `while_loop` and scans, which stay in exported graphs.

Must stay true: a compiled or exported program gives the results of the program as it is, or raises; argument names,
defaults and overloads come from the operators' schemas, and each format keeps only its own spelling.
"""
