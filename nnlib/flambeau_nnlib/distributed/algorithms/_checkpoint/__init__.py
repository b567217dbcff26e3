"""Modules that compute again in the backward pass what they do not keep."""
