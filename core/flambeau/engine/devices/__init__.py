"""Devices, dispatch keys with their kernels, plugins and settings.  Nothing here depends on tensors."""
