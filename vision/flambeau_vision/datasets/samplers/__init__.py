"""Samplers of video clips, and a distributed sampler that keeps groups of samples together."""

from .clip_sampler import DistributedSampler, RandomClipSampler, UniformClipSampler

__all__ = ["DistributedSampler", "RandomClipSampler", "UniformClipSampler"]
