"""PyTorch's private names for layers, optimizers and the compiler, and packages of PyTorch 0.1 to 0.4.

Entry points: `legacy` (`torch.legacy.nn` and `torch.legacy.optim`), `ffi` (`torch.utils.ffi`), `model_zoo`, `functorch`, and
    the modules listed in `flambeau/compat/table.py`. Invariants: layers, optimizers and `compile` import nothing from here;
    an unsupported name raises when it is called, not when it is imported. Implementations may change freely.
"""
