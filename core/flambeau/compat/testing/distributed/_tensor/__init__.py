"""Helpers of PyTorch's tests of `DTensor`."""
