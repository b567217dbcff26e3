"""PyTorch's private names that libraries import, and code for programs that were written for PyTorch 0.1 to 0.4.

Entry points:

- `table` lists each private name, the module that implements it, and libraries that use it.  `flambeau/__init__.py` registers it.
- `python -m flambeau.compat` writes `docs/private_names.md`.
- `naming` and `distributions` make modules, classes and package metadata carry PyTorch's names where `torch` is flambeau.
- `tar` reads the files of PyTorch 0.1.  `volatile` implements the tensor attribute of PyTorch 0.2.

Must stay true: PyTorch has every name in the table; a module is imported when a program uses one of its names, except `table` and
`volatile`; the core computes without this package.  A function that flambeau itself uses is defined outside of this package, in
the module that the table names.  Implementations may change freely.
"""
