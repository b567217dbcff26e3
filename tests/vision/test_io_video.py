"""Videos written and read with PyAV."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau_vision import io


def clip() -> torch.Tensor:
    """Return ten frames of 32 x 48 pixels with increasing brightness."""
    return (torch.arange(10) * 20 + 30).to(torch.uint8).reshape(10, 1, 1, 1).expand(10, 32, 48, 3).contiguous()


def test_pictures_are_read_again(tmp_path):
    pytest.importorskip("av")
    io.write_video(tmp_path / "clip.mp4", clip(), fps=5, video_codec="mpeg4")
    pictures, sound, info = io.read_video(tmp_path / "clip.mp4", pts_unit="sec")
    assert pictures.shape == (10, 32, 48, 3) and pictures.dtype == torch.uint8
    assert (pictures.float() - clip().float()).abs().max() <= 6
    assert sound.shape == (1, 0) and info == {"video_fps": 5.0}
    times, rate = io.read_video_timestamps(tmp_path / "clip.mp4", pts_unit="sec")
    assert rate == 5.0 and np.allclose([float(time) for time in times], np.arange(10) / 5)
    part, _, _ = io.read_video(tmp_path / "clip.mp4", times[2], times[4], pts_unit="sec", output_format="TCHW")
    assert part.shape == (3, 3, 32, 48)
    assert torch.equal(part, pictures[2:5].permute(0, 3, 1, 2))


def test_sound_is_read_again(tmp_path):
    pytest.importorskip("av")
    wave = torch.sin(torch.arange(8000) * (2 * np.pi * 440 / 8000))[None] * 0.5
    io.write_video(tmp_path / "clip.mkv", clip(), 10, "mpeg4", audio_array=wave, audio_fps=8000, audio_codec="pcm_s16le")
    _, sound, info = io.read_video(tmp_path / "clip.mkv", pts_unit="sec")
    assert info == {"video_fps": 10.0, "audio_fps": 8000}
    assert sound.shape == (1, 8000) and (sound - wave).abs().max() < 1e-3


@pytest.mark.parametrize("wrong", [{"pts_unit": "hours"}, {"output_format": "CHWT"}, {"start_pts": 2, "end_pts": 1}])
def test_wrong_arguments(wrong, tmp_path):
    with pytest.raises(ValueError):
        io.read_video(tmp_path / "none.mp4", **wrong)
