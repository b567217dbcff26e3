"""Read and write video files with PyAV."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import flambeau as torch

from .._extras import optional

__all__ = ["read_video", "read_video_timestamps", "write_video"]

Tensor = torch.Tensor


def _av() -> Any:
    return optional("av", "av", "reading and writing videos")


def _check_unit(pts_unit: str) -> None:
    if pts_unit not in ("pts", "sec"):
        raise ValueError(f"pts_unit should be either 'pts' or 'sec', got {pts_unit!r}")


def _seek_before(container: Any, stream: Any, time: float) -> None:
    """Seek to the last key frame before `time`, or to the start if the file does not support seeking."""
    try:
        container.seek(max(math.floor(time) - 1, 0), stream=stream, backward=True)
    except _av().FFmpegError:
        container.seek(0)


def _frames_between(container: Any, stream: Any, start: Any, end: Any, pts_unit: str) -> list[Any]:
    """Return the frames of a stream from `start` to `end`, both included, in the order of their timestamps."""
    frames = []
    if start > 0:
        _seek_before(container, stream, start if pts_unit == "pts" else start / stream.time_base)
    for frame in container.decode(stream):
        if frame.pts is None:
            continue
        first = frame.pts * stream.time_base if pts_unit == "sec" else frame.pts
        last = first
        if stream.type == "audio":  # an audio frame that starts before `start` may end after it
            length = Fraction(frame.samples, frame.sample_rate)
            last = first + (length if pts_unit == "sec" else int(length / stream.time_base))
        if first > end:
            break  # frames are decoded in the order of their timestamps
        if last >= start:
            frames.append(frame)
    return sorted(frames, key=lambda frame: frame.pts)


def read_video(
    filename: str | Path,
    start_pts: float | Fraction = 0,
    end_pts: float | Fraction | None = None,
    pts_unit: str = "pts",
    output_format: str = "THWC",
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Read the video and audio frames of a file.

    Args:
        filename: path of the file.
        start_pts: the time of the first frame.
        end_pts: the time of the last frame; None for the end of the file.
        pts_unit: the unit of `start_pts` and `end_pts`: `"sec"` for seconds, `"pts"` for units of the stream's time base.
        output_format: `"THWC"`, or `"TCHW"` as expected by models.

    Returns:
        The video as a uint8 tensor of shape `(T, H, W, 3)` or `(T, 3, H, W)`, the audio as a float tensor of shape
        `(channels, samples)`, and a dict with `video_fps` and `audio_fps` for the streams that exist.

    Raises:
        ValueError: the unit or the format is unknown, or `end_pts` is smaller than `start_pts`.
        FileNotFoundError: the file does not exist.
        ModuleNotFoundError: PyAV is not installed.
    """
    import numpy as np

    _check_unit(pts_unit)
    if output_format.upper() not in ("THWC", "TCHW"):
        raise ValueError(f"output_format should be either 'THWC' or 'TCHW', got {output_format}.")
    end = float("inf") if end_pts is None else end_pts
    if end < start_pts:
        raise ValueError(f"end_pts should be larger than start_pts, got start_pts={start_pts} and end_pts={end_pts}")
    pictures, sound, info = np.empty((0, 1, 1, 3), np.uint8), np.empty((1, 0), np.float32), {}
    path = str(filename)
    with _av().open(path, metadata_errors="ignore") as container:
        if container.streams.video:
            stream = container.streams.video[0]
            frames = _frames_between(container, stream, start_pts, end, pts_unit)
            if frames:
                pictures = np.stack([frame.to_ndarray(format="rgb24") for frame in frames])
            if stream.average_rate is not None:
                info["video_fps"] = float(stream.average_rate)
    with _av().open(path, metadata_errors="ignore") as container:
        if container.streams.audio:
            stream = container.streams.audio[0]
            resampler = _av().AudioResampler(format="fltp")
            frames = _frames_between(container, stream, start_pts, end, pts_unit)
            parts = [part.to_ndarray() for frame in frames for part in resampler.resample(frame)]
            if parts:
                sound = np.concatenate(parts, axis=1)
            info["audio_fps"] = stream.rate
    result = torch.from_numpy(pictures)
    if output_format.upper() == "TCHW":
        result = result.permute(0, 3, 1, 2)
    return result, torch.from_numpy(sound), info


def read_audio(filename: str | Path, start: float, stop: float) -> Tensor:
    """Return the audio samples from `start` to `stop` seconds. The result is empty if the file has no audio.

    Returns:
        Floats of shape `(channels, samples)`.

    Raises:
        ModuleNotFoundError: PyAV is not installed.
    """
    import numpy as np

    with _av().open(str(filename), metadata_errors="ignore") as container:
        if not container.streams.audio:
            return torch.empty(1, 0)
        stream = container.streams.audio[0]
        resampler = _av().AudioResampler(format="fltp")
        frames = _frames_between(container, stream, start, stop, "sec")
        parts = [part.to_ndarray() for frame in frames for part in resampler.resample(frame)]
        if not parts:
            return torch.empty(1, 0)
        played = float(frames[0].pts * stream.time_base)
        first, last = (max(round((time - played) * stream.rate), 0) for time in (start, stop))
    return torch.from_numpy(np.ascontiguousarray(np.concatenate(parts, axis=1)[:, first:last]))


def read_video_timestamps(filename: str | Path, pts_unit: str = "pts") -> tuple[list[Any], float | None]:
    """Return the timestamps of the frames of a video file, without decoding the frames.

    Args:
        filename: path of the file.
        pts_unit: `"sec"` for seconds (a `Fraction`), or `"pts"` for units of the stream's time base.

    Returns:
        The list of timestamps; and the frame rate, which is None if the file does not store it.

    Raises:
        ValueError: the unit is unknown.
        FileNotFoundError: the file does not exist.
        ModuleNotFoundError: PyAV is not installed.
    """
    _check_unit(pts_unit)
    with _av().open(str(filename), metadata_errors="ignore") as container:
        if not container.streams.video:
            return [], None
        stream = container.streams.video[0]
        times = sorted(packet.pts for packet in container.demux(stream) if packet.pts is not None)
        rate = None if stream.average_rate is None else float(stream.average_rate)
        return ([time * stream.time_base for time in times] if pts_unit == "sec" else times), rate


def write_video(
    filename: str | Path,
    video_array: Tensor,
    fps: float,
    video_codec: str = "libx264",
    options: dict[str, Any] | None = None,
    audio_array: Tensor | None = None,
    audio_fps: float | None = None,
    audio_codec: str | None = None,
    audio_options: dict[str, Any] | None = None,
) -> None:
    """Write a video, and optionally audio, to a file. The file extension selects the container format.

    Args:
        filename: path of the file.
        video_array: the frames, uint8 of shape `(T, H, W, 3)`.
        fps: frames per second.
        video_codec: name of the codec, such as `"libx264"` or `"mpeg4"`.
        options: options of the codec.
        audio_array: the audio, of shape `(channels, samples)` with 1 or 2 channels.
        audio_fps: samples per second.
        audio_codec: name of the audio codec, such as `"aac"`.
        audio_options: options of the audio codec.

    Raises:
        ModuleNotFoundError: PyAV is not installed.
    """
    import numpy as np

    av = _av()
    pictures = torch.as_tensor(video_array, dtype=torch.uint8).cpu().numpy()
    rate = Fraction(fps).limit_denominator(100_000)
    with av.open(str(filename), mode="w") as container:
        stream = container.add_stream(video_codec, rate=rate, options=options or {})
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p" if video_codec != "libx264rgb" else "rgb24"
        audio = None
        if audio_array is not None:
            audio = container.add_stream(audio_codec, rate=int(audio_fps or 0), options=audio_options or {})
            layout = "mono" if len(audio_array) == 1 else "stereo"
            audio.layout = layout
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")))
        container.mux(stream.encode())
        if audio is not None:
            samples = torch.as_tensor(audio_array).cpu().numpy().astype(np.float32)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="fltp", layout=layout)
            frame.sample_rate = int(audio_fps or 0)
            resampler = av.AudioResampler(format=audio.format.name, layout=layout, rate=audio.rate)
            for part in resampler.resample(frame):
                container.mux(audio.encode(part))
            container.mux(audio.encode())
