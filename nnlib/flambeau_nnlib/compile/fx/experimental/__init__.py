"""Parts of `torch.fx.experimental` that libraries ask for."""
