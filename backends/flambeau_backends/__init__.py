"""Backends that come with flambeau."""
