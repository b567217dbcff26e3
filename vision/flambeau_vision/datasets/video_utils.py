"""Split videos into clips of equal length."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau.utils.data import DataLoader, Dataset

from .._extras import progress_bar
from ..io.video import read_audio, read_video, read_video_timestamps

__all__ = ["VideoClips", "unfold"]

Tensor = torch.Tensor


def unfold(tensor: Tensor, size: int, step: int, dilation: int = 1) -> Tensor:
    """Return windows of `size` elements of a one-dimensional tensor, `step` apart, as a view.

    Args:
        tensor: one-dimensional.
        size: the number of elements in a window.
        step: the distance between the starts of consecutive windows.
        dilation: the distance between consecutive elements of a window.

    Returns:
        Shape `(windows, size)`.

    Raises:
        ValueError: if `tensor` is not one-dimensional.

    Example:
        >>> from flambeau_vision.datasets.video_utils import unfold
        >>> unfold(torch.arange(6), size=3, step=2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    if tensor.dim() != 1:
        raise ValueError(f"tensor should have 1 dimension instead of {tensor.dim()}")
    windows = max((tensor.numel() - (dilation * (size - 1) + 1)) // step + 1, 0)
    stride = tensor.stride(0)
    return torch.as_strided(tensor, (windows, size), (step * stride, dilation * stride))


class _FrameCounts(Dataset):
    """The number of frames and the frame rate of each video."""

    def __init__(self, video_paths: Sequence[str]) -> None:
        self.video_paths = video_paths

    def __len__(self) -> int:
        return len(self.video_paths)

    def __getitem__(self, index: int) -> tuple[int, float | None]:
        times, rate = read_video_timestamps(self.video_paths[index])
        return len(times), rate


def _identity(batch: list[Any]) -> list[Any]:
    return batch


class VideoClips:
    """The clips of several videos. A clip is a window of consecutive frames; clips may overlap or have frames between them.

    PyAV reads the videos. Counting the frames of many videos is slow, so the counts are kept in `metadata` for reuse.

    Args:
        video_paths: the files.
        clip_length_in_frames: the number of frames in a clip.
        frames_between_clips: the number of frames between the starts of consecutive clips.
        frame_rate: frames per second to resample videos to; None keeps their frame rate.
        _precomputed_metadata: the `metadata` of another `VideoClips` of the same files, which avoids reading all files.
        num_workers: the number of processes that count the frames.
        output_format: `"THWC"`, or `"TCHW"` as expected by transforms.

    Attributes:
        metadata: a dict with `video_paths`, `video_pts` (the frame indices of each video) and `video_fps`.

    Raises:
        ValueError: the format is unknown.
        ModuleNotFoundError: PyAV is not installed.

    Example:
        >>> from flambeau_vision.datasets.video_utils import VideoClips
        >>> found = {"video_paths": ["a.mp4", "b.mp4"], "video_pts": [torch.arange(5), torch.arange(9)], "video_fps": [25, 25]}
        >>> clips = VideoClips([], 4, 2, _precomputed_metadata=found)
        >>> len(clips), clips.get_clip_location(1), clips.clips[1].tolist()
        (4, (1, 0), [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]])
    """

    def __init__(
        self,
        video_paths: Sequence[str],
        clip_length_in_frames: int = 16,
        frames_between_clips: int = 1,
        frame_rate: float | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 0,
        output_format: str = "THWC",
    ) -> None:
        self.num_workers = num_workers
        self.output_format = output_format.upper()
        if self.output_format not in ("THWC", "TCHW"):
            raise ValueError(f"output_format should be either 'THWC' or 'TCHW', got {output_format}.")
        found = self._count_frames(video_paths) if _precomputed_metadata is None else _precomputed_metadata
        self.video_paths, self.video_pts, self.video_fps = (list(found[f"video_{what}"]) for what in ("paths", "pts", "fps"))
        self.compute_clips(clip_length_in_frames, frames_between_clips, frame_rate)

    def _count_frames(self, paths: Sequence[str]) -> dict[str, Any]:
        loader = DataLoader(_FrameCounts(paths), batch_size=16, num_workers=self.num_workers, collate_fn=_identity)
        lengths: list[tuple[int, float | None]] = []
        with progress_bar(len(paths), description="counting video frames", unit="videos") as bar:
            for batch in loader:
                lengths += batch
                bar.update(len(batch))
        return {
            "video_paths": paths,
            "video_pts": [torch.arange(length) for length, _ in lengths],
            "video_fps": [rate for _, rate in lengths],
        }

    @property
    def metadata(self) -> dict[str, Any]:
        return {"video_paths": self.video_paths, "video_pts": self.video_pts, "video_fps": self.video_fps}

    def subset(self, indices: Sequence[int]) -> VideoClips:
        """Return the clips of the videos with the given indices."""
        found = {name: [values[index] for index in indices] for name, values in self.metadata.items()}
        return type(self)(
            found["video_paths"],
            self.num_frames,
            self.step,
            self.frame_rate,
            found,
            num_workers=self.num_workers,
            output_format=self.output_format,
        )

    @staticmethod
    def compute_clips_for_video(
        video_pts: Tensor, num_frames: int, step: int, fps: float | None, frame_rate: float | None = None
    ) -> tuple[Tensor, list[slice] | Tensor]:
        """Return two items for each clip of one video: its frame indices, and the tensor of indices, or slice, that resamples its
        frames.

        Warns:
            UserWarning: the video is shorter than one clip.
        """
        fps = 1 if fps is None else fps
        frame_rate = fps if frame_rate is None else frame_rate
        chosen = VideoClips._resample_video_idx(math.floor(len(video_pts) * frame_rate / fps), fps, frame_rate)
        clips = unfold(video_pts[chosen], num_frames, step)
        if not clips.numel():
            warnings.warn(
                "There aren't enough frames in the current video to get a clip for the given clip length and frames between "
                "clips. The video (and potentially others) will be skipped.",
                stacklevel=2,
            )
        return clips, [chosen] * len(clips) if isinstance(chosen, slice) else unfold(chosen, num_frames, step)

    @staticmethod
    def _resample_video_idx(num_frames: int, original_fps: float, new_fps: float) -> slice | Tensor:
        step = original_fps / new_fps
        if float(step).is_integer():
            return slice(None, None, int(step))
        return (torch.arange(num_frames, dtype=torch.float32) * step).floor().to(torch.int64)

    def compute_clips(self, num_frames: int, step: int, frame_rate: float | None = None) -> None:
        """Split the videos into clips again, with other settings.

        Args:
            num_frames: the number of frames in a clip.
            step: the number of frames between the starts of consecutive clips.
            frame_rate: frames per second to resample videos to; None keeps their frame rate.
        """
        self.num_frames, self.step, self.frame_rate = num_frames, step, frame_rate
        found = zip(self.video_pts, self.video_fps, strict=True)
        cut = [self.compute_clips_for_video(pts, num_frames, step, fps, frame_rate) for pts, fps in found]
        self.clips = [clips for clips, _ in cut]
        self.resampling_idxs = [chosen for _, chosen in cut]
        self.cumulative_sizes = torch.tensor([len(clips) for clips in self.clips], dtype=torch.int64).cumsum(0).tolist()

    def __len__(self) -> int:
        return self.num_clips()

    def num_videos(self) -> int:
        """Return the number of videos."""
        return len(self.video_paths)

    def num_clips(self) -> int:
        """Return the number of clips."""
        return self.cumulative_sizes[-1]

    def get_clip_location(self, idx: int) -> tuple[int, int]:
        """Return the index of the video that contains the clip, and the index of the clip in that video."""
        video = bisect_right(self.cumulative_sizes, idx)
        return video, idx - (self.cumulative_sizes[video - 1] if video else 0)

    def get_clip(self, idx: int) -> tuple[Tensor, Tensor, dict[str, Any], int]:
        """Return the video tensor and the audio tensor of a clip, a dict with `video_fps`, and the index of its video.

        Raises:
            IndexError: `idx` is out of range.
        """
        if idx >= self.num_clips():
            raise IndexError(f"Index {idx} out of range ({self.num_clips()} number of clips)")
        video, clip = self.get_clip_location(idx)
        path, rate = self.video_paths[video], self.video_fps[video]
        first, last = (int(self.clips[video][clip][place]) for place in (0, -1))
        times, _ = read_video_timestamps(path, "sec")
        frames, _, _ = read_video(path, times[first], times[last], "sec", self.output_format)
        info = {"video_fps": rate}
        if self.frame_rate is not None:
            chosen = self.resampling_idxs[video][clip]
            frames = frames[chosen if isinstance(chosen, slice) else chosen - chosen[0]]
            info["video_fps"] = self.frame_rate
        if len(frames) != self.num_frames:
            raise RuntimeError(f"{path}: {len(frames)} frames were read, but the clip has {self.num_frames}")
        audio = read_audio(path, first / (rate or 1), (last + 1) / (rate or 1))
        return frames, audio, info, video

    def __getstate__(self) -> dict[str, Any]:
        # Pickling many small tensors is slow, so all frame indices are pickled as one tensor, and clips are computed again.
        state = {**self.__dict__, "video_pts": torch.cat([*self.video_pts, torch.empty(0, dtype=torch.int64)])}
        for name in ("clips", "resampling_idxs", "cumulative_sizes"):
            del state[name]
        return {**state, "_sizes": [len(pts) for pts in self.video_pts]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sizes = state.pop("_sizes")
        self.__dict__.update(state)
        self.video_pts = list(torch.split(self.video_pts, sizes))
        self.compute_clips(self.num_frames, self.step, self.frame_rate)
