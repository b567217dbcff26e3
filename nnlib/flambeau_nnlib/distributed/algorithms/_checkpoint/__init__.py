"""Layers that compute their inner values again in the backward."""
