"""Samplers of clips, and of groups of samples among processes."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from flambeau.utils.data import Sampler

import flambeau as torch

from ..video_utils import VideoClips

__all__ = ["DistributedSampler", "RandomClipSampler", "UniformClipSampler"]


class DistributedSampler(Sampler):
    """Each process takes its part of a dataset, or of another sampler, by groups of samples that stay together.

    With 14 samples, 4 processes and groups of 2, the first process takes 0, 1, 8, 9, the second 2, 3, 10, 11 and so on; where
    the groups do not come out even, the first ones are taken again.

    Args:
        dataset: what has a length: a dataset, or a sampler, whose indices are handed on.
        num_replicas: how many processes there are; by default those of the process group.
        rank: which of them this is; by default its rank in the process group.
        shuffle: shuffle the samples, by the number of the epoch.
        group_size: the samples of a group, such as the clips of one video.

    Raises:
        ValueError: the length is no multiple of `group_size`.

    Example:
        >>> from flambeau_vision.datasets.samplers import DistributedSampler
        >>> [list(DistributedSampler(range(6), 2, rank, group_size=2)) for rank in range(2)]
        [[0, 1, 4, 5], [2, 3, 0, 1]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        group_size: int = 1,
    ) -> None:
        self.num_replicas = torch.distributed.get_world_size() if num_replicas is None else num_replicas
        self.rank = torch.distributed.get_rank() if rank is None else rank
        if len(dataset) % group_size:
            raise ValueError(
                f"dataset length must be a multiplier of group size dataset length: {len(dataset)}, group size: {group_size}"
            )
        self.dataset = dataset
        self.group_size = group_size
        self.shuffle = shuffle
        self.epoch = 0
        self.num_group_samples = -(-(len(dataset) // group_size) // self.num_replicas)
        self.num_samples = self.num_group_samples * group_size
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        length = len(self.dataset)
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        indices = torch.randperm(length, generator=generator) if self.shuffle else torch.arange(length)
        indices = torch.cat([indices, indices[: self.total_size - length]])
        chosen = indices.reshape(-1, self.group_size)[self.rank :: self.num_replicas].flatten().tolist()
        if isinstance(self.dataset, Sampler):
            handed_on = list(self.dataset)
            chosen = [handed_on[index] for index in chosen]
        return iter(chosen)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch this is: with `shuffle`, each has its own order, the same in all processes."""
        self.epoch = epoch


def _check_clips(video_clips: VideoClips) -> None:
    if not isinstance(video_clips, VideoClips):
        raise TypeError(f"Expected video_clips to be an instance of VideoClips, got {type(video_clips)}")


class UniformClipSampler(Sampler):
    """So many clips of each video, equally far apart; of a video that has fewer, some repeatedly.

    Args:
        video_clips: the clips.
        num_clips_per_video: how many of each video.

    Raises:
        TypeError: `video_clips` is something else.

    Example:
        >>> from flambeau_vision.datasets.samplers import UniformClipSampler
        >>> from flambeau_vision.datasets.video_utils import VideoClips
        >>> found = {"video_paths": ["a.mp4", "b.mp4"], "video_pts": [torch.arange(9), torch.arange(2)], "video_fps": [5, 5]}
        >>> list(UniformClipSampler(VideoClips([], 2, 1, _precomputed_metadata=found), 3))
        [0, 3, 7, 8, 8, 8]
    """

    def __init__(self, video_clips: VideoClips, num_clips_per_video: int) -> None:
        _check_clips(video_clips)
        self.video_clips = video_clips
        self.num_clips_per_video = num_clips_per_video

    def __iter__(self) -> Iterator[int]:
        indices: list[int] = []
        first = 0
        for clips in self.video_clips.clips:
            if len(clips):
                places = torch.linspace(first, first + len(clips) - 1, steps=self.num_clips_per_video)
                indices += places.floor().to(torch.int64).tolist()
                first += len(clips)
        return iter(indices)

    def __len__(self) -> int:
        return sum(self.num_clips_per_video for clips in self.video_clips.clips if len(clips))


class RandomClipSampler(Sampler):
    """At most so many clips of each video, at random, in random order.

    Args:
        video_clips: the clips.
        max_clips_per_video: how many of each video.

    Raises:
        TypeError: `video_clips` is something else.

    Example:
        >>> from flambeau_vision.datasets.samplers import RandomClipSampler
        >>> from flambeau_vision.datasets.video_utils import VideoClips
        >>> found = {"video_paths": ["a.mp4", "b.mp4"], "video_pts": [torch.arange(9), torch.arange(2)], "video_fps": [5, 5]}
        >>> indices = list(RandomClipSampler(VideoClips([], 2, 1, _precomputed_metadata=found), 3))
        >>> len(indices), 8 in indices
        (4, True)
    """

    def __init__(self, video_clips: VideoClips, max_clips_per_video: int) -> None:
        _check_clips(video_clips)
        self.video_clips = video_clips
        self.max_clips_per_video = max_clips_per_video

    def __iter__(self) -> Iterator[int]:
        parts = []
        first = 0
        for clips in self.video_clips.clips:
            length = len(clips)
            parts.append(torch.randperm(length)[: min(length, self.max_clips_per_video)] + first)
            first += length
        indices = torch.cat(parts)
        return iter(indices[torch.randperm(len(indices))].tolist())

    def __len__(self) -> int:
        return sum(min(len(clips), self.max_clips_per_video) for clips in self.video_clips.clips)
