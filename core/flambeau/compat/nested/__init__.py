"""PyTorch's private package `torch.nested._internal`."""
