"""Where computation happens: devices, the tables of their kernels, plugins, settings.  Nothing here knows of tensors."""
