"""Where libraries look for what nested tensors are made of.  For tensordict, torch-geometric."""
