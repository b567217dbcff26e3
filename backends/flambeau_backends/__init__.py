"""Backends that are installed with flambeau: NumPy, CuPy and meta, and collectives among devices."""
