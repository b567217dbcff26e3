"""PyTorch's private modules below `torch.utils`."""
