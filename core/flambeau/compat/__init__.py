"""PyTorch's private names that libraries import, and code for programs that were written for PyTorch 0.1 to 0.4.

Entry points: `table` (the module that serves each private name, and the libraries that use it; `flambeau/__init__.py` registers
it), `python -m flambeau.compat` (writes `docs/private_names.md`), `naming` and `distributions` (the names in a process in which
`torch` is flambeau), `tar` and `volatile` (files and tensors of PyTorch 0.1 to 0.3).  Must stay true: PyTorch has every name in
the table; a module is loaded when a program uses one of its names, except `table` and `volatile`; the core needs none of them to
compute.  A function with a use in flambeau belongs to a module elsewhere, which the table names.  How the names do their work
may change freely.
"""
