"""Averaging of parameters over processes, instead of gradients."""
