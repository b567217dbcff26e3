"""Samplers of clips, and of groups of samples among processes."""

from .clip_sampler import DistributedSampler, RandomClipSampler, UniformClipSampler

__all__ = ["DistributedSampler", "RandomClipSampler", "UniformClipSampler"]
