"""PyTorch's private package `torch.testing._internal`, which the tests of libraries import."""
