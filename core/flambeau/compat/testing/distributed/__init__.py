"""`torch.testing._internal.distributed`: helpers of PyTorch's tests of distributed training."""
