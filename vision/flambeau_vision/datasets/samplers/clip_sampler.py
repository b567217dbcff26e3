"""Samplers of video clips, and a distributed sampler that keeps groups of samples together."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import flambeau as torch
from flambeau.utils.data import Sampler

from ..video_utils import VideoClips

__all__ = ["DistributedSampler", "RandomClipSampler", "UniformClipSampler"]


class DistributedSampler(Sampler):
    """Distribute the samples of a dataset, or of another sampler, over processes, in groups of consecutive samples.

    With 14 samples, 4 processes and groups of 2, the first process takes 0, 1, 8, 9, the second 2, 3, 10, 11 and so on. If
    the number of groups is not divisible by the number of processes, the first groups are also used again at the end.

    Args:
        dataset: a dataset with `__len__`, or a sampler, whose indices are distributed.
        num_replicas: the number of processes; by default the size of the process group.
        rank: the rank of this process; by default its rank in the process group.
        shuffle: shuffle the groups with the epoch number as the seed.
        group_size: the number of samples in a group, such as the clips of one video.

    Raises:
        ValueError: the length is not a multiple of `group_size`.

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
        """Set the epoch. With `shuffle`, each epoch has a different order, which is the same in all processes."""
        self.epoch = epoch


def _check_clips(video_clips: VideoClips) -> None:
    if not isinstance(video_clips, VideoClips):
        raise TypeError(f"Expected video_clips to be an instance of VideoClips, got {type(video_clips)}")


class UniformClipSampler(Sampler):
    """Sample a fixed number of equally spaced clips of each video. If a video has fewer clips, some of them are repeated.

    Args:
        video_clips: the clips.
        num_clips_per_video: the number of clips of each video.

    Raises:
        TypeError: `video_clips` is not a `VideoClips`.

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
    """Sample at most `max_clips_per_video` random clips of each video, in random order.

    Args:
        video_clips: the clips.
        max_clips_per_video: the maximum number of clips of each video.

    Raises:
        TypeError: `video_clips` is not a `VideoClips`.

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
