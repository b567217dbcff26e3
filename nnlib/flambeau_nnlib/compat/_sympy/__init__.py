"""`torch.utils._sympy`: symbolic arithmetic of sizes."""
