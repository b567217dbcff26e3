"""Modules for programs written for PyTorch 0.1 to 0.4, and for libraries that import PyTorch's private modules."""
