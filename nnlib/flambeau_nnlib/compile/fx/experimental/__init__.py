"""The parts of `torch.fx.experimental` that libraries use."""
