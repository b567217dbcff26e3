"""PyTorch's private names around layers, optimizers and the compiler, and packages of PyTorch 0.1 to 0.4.

Entry points: `legacy` (`torch.legacy.nn` and `torch.legacy.optim`), `ffi` (`torch.utils.ffi`), `model_zoo`, `functorch`, and the
modules that `flambeau/compat/table.py` names.  Must stay true: layers, optimizers and `compile` import nothing from here; a name
that cannot do its work raises when it is called, not when it is imported.  How the names do their work may change freely.
"""
