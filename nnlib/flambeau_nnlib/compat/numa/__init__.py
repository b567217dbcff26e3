"""`torch.numa`: processors near the devices."""
