"""PyTorch's private names that libraries import, and what only programs written for PyTorch 0.1 to 0.4 use.

`MODULES` maps PyTorch's module names to the modules that serve them.  Nothing outside this package imports from it.
"""
