"""Video classification datasets: clips of human actions."""

from __future__ import annotations

import csv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from .folder import find_classes, make_dataset
from .utils import check_integrity, download_and_extract_archive, download_url, verify_str_arg
from .video_utils import VideoClips
from .vision import VisionDataset

__all__ = ["HMDB51", "UCF101", "Kinetics"]


class _ClipDataset(VisionDataset):
    """Base of the video datasets: one folder of videos per class. Each item is `(video, audio, target)`."""

    def _find_videos(
        self,
        folder: Path,
        extensions: tuple[str, ...],
        clips: tuple[int, int, float | None],
        metadata: dict[str, Any] | None,
        num_workers: int,
        output_format: str,
    ) -> None:
        self.classes, class_to_idx = find_classes(str(folder))
        self.samples = make_dataset(str(folder), class_to_idx, extensions)
        paths = [path for path, _ in self.samples]
        self.full_video_clips = self.video_clips = VideoClips(paths, *clips, metadata, num_workers, output_format)
        self.indices = list(range(len(paths)))

    def _select_videos(self, indices: list[int]) -> None:
        self.indices = indices
        self.video_clips = self.full_video_clips.subset(indices)

    @property
    def metadata(self) -> dict[str, Any]:
        """Frame indices and frame rates of all videos; pass them as `_precomputed_metadata` to avoid reading the files again."""
        return self.full_video_clips.metadata

    def __len__(self) -> int:
        return self.video_clips.num_clips()

    def __getitem__(self, index: int) -> tuple[Any, Any, int]:
        frames, audio, _, video = self.video_clips.get_clip(index)
        if self.transform is not None:
            frames = self.transform(frames)
        return frames, audio, self.samples[self.indices[video]][1]


class _FoldedDataset(_ClipDataset):
    """Videos with three predefined splits (folds) into training and test videos."""

    def __init__(
        self,
        root: str | Path,
        annotation_path: str | Path,
        frames_per_clip: int,
        step_between_clips: int = 1,
        frame_rate: float | None = None,
        fold: int = 1,
        train: bool = True,
        transform: Callable | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 1,
        output_format: str = "THWC",
    ) -> None:
        super().__init__(root)
        self.transform = transform
        if fold not in (1, 2, 3):
            raise ValueError(f"fold should be between 1 and 3, got {fold}")
        self.fold, self.train = fold, train
        clips = frames_per_clip, step_between_clips, frame_rate
        self._find_videos(self._folder, ("avi",), clips, _precomputed_metadata, num_workers, output_format)
        chosen = self._names_in_fold(Path(annotation_path).expanduser())
        self._select_videos([index for index, (path, _) in enumerate(self.samples) if self._listed_name(Path(path)) in chosen])

    def _names_in_fold(self, annotations: Path) -> set[str]:
        raise NotImplementedError(f"{type(self).__name__} must implement _names_in_fold")

    def _listed_name(self, path: Path) -> str:
        raise NotImplementedError(f"{type(self).__name__} must implement _listed_name")


class HMDB51(_FoldedDataset):
    """[HMDB51](https://serre.lab.brown.edu/hmdb51.html): 6,766 videos of 51 human actions.

    Kuehne, Jhuang, Garrote, Poggio and Serre, "HMDB: A large video database for human motion recognition", 2011. The files
    must be downloaded and unpacked manually. PyAV reads them. Each item is `(video, audio, target)`: a uint8 tensor of shape
    `(T, H, W, C)`, floats of shape `(channels, samples)`, and an integer.

    Args:
        root: the folder with one folder of `.avi` files per class.
        annotation_path: the folder of the split lists, such as `brush_hair_test_split1.txt`.
        frames_per_clip: the number of frames in a clip.
        step_between_clips: the number of frames between the starts of consecutive clips.
        frame_rate: frames per second to resample videos to; None keeps their frame rate.
        fold: the number of the split into training and test videos, 1 to 3.
        train: use the training videos if True, otherwise the test videos.
        transform: a function of the video tensor.
        _precomputed_metadata: the `metadata` of another dataset of the same files, which avoids reading all files.
        num_workers: the number of processes that count the frames of the videos.
        output_format: `"THWC"`, or `"TCHW"` as expected by transforms.

    Raises:
        FileNotFoundError: the files are missing.
        ModuleNotFoundError: PyAV is not installed.
        ValueError: `fold` or `output_format` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.HMDB51("data", "lists", frames_per_clip=16, fold=4)
        Traceback (most recent call last):
        ...
        ValueError: fold should be between 1 and 3, got 4
    """

    _TRAIN_TAG, _TEST_TAG = "1", "2"

    def _names_in_fold(self, annotations: Path) -> set[str]:
        wanted = self._TRAIN_TAG if self.train else self._TEST_TAG
        files = annotations.glob(f"*test_split{self.fold}.txt")
        rows = [line.split() for file in files for line in file.read_text().splitlines()]
        return {name for name, tag in rows if tag == wanted}

    def _listed_name(self, path: Path) -> str:
        return path.name


class UCF101(_FoldedDataset):
    """[UCF101](https://www.crcv.ucf.edu/data/UCF101.php): 13,320 videos of 101 human actions.

    Soomro, Zamir and Shah, [UCF101: A Dataset of 101 Human Actions Classes From Videos in The
    Wild](https://arxiv.org/abs/1212.0402), 2012. The files must be downloaded and unpacked manually. PyAV reads them. Each
    item is `(video, audio, target)`: a uint8 tensor of shape `(T, H, W, C)`, floats of shape `(channels, samples)`, and an
    integer.

    Args:
        root: the folder with one folder of `.avi` files per class.
        annotation_path: the folder of the split lists, such as `trainlist01.txt`.
        frames_per_clip: the number of frames in a clip.
        step_between_clips: the number of frames between the starts of consecutive clips.
        frame_rate: frames per second to resample videos to; None keeps their frame rate.
        fold: the number of the split into training and test videos, 1 to 3.
        train: use the training videos if True, otherwise the test videos.
        transform: a function of the video tensor.
        _precomputed_metadata: the `metadata` of another dataset of the same files, which avoids reading all files.
        num_workers: the number of processes that count the frames of the videos.
        output_format: `"THWC"`, or `"TCHW"` as expected by transforms.

    Raises:
        FileNotFoundError: the files are missing.
        ModuleNotFoundError: PyAV is not installed.
        ValueError: `fold` or `output_format` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.UCF101("data", "lists", frames_per_clip=16, fold=0)
        Traceback (most recent call last):
        ...
        ValueError: fold should be between 1 and 3, got 0
    """

    def _names_in_fold(self, annotations: Path) -> set[str]:
        file = annotations / f"{'train' if self.train else 'test'}list{self.fold:02d}.txt"
        return {line.split(" ")[0].strip() for line in file.read_text().splitlines()}

    def _listed_name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()


class Kinetics(_ClipDataset):
    """[Kinetics](https://github.com/cvdfoundation/kinetics-dataset): clips of 10 seconds, with 400 to 700 human actions.

    Kay et al., [The Kinetics Human Action Video Dataset](https://arxiv.org/abs/1705.06950), 2017. PyAV reads the videos. Each
    item is `(video, audio, target)`: a uint8 tensor of shape `(T, C, H, W)`, floats of shape `(channels, samples)`, and an
    integer.

    Args:
        root: the folder with a folder for each split, which has one folder of videos per class.
        frames_per_clip: the number of frames in a clip.
        num_classes: `400`, `600` or `700`, the number of classes of one of the three published datasets.
        split: `train`, `val` or `test`.
        frame_rate: frames per second to resample videos to; None keeps their frame rate.
        step_between_clips: the number of frames between the starts of consecutive clips.
        transform: a function of the video tensor.
        extensions: the file extensions of the videos.
        download: download the archives if the split is missing.
        num_download_workers: the number of parallel downloads.
        _precomputed_metadata: the `metadata` of another dataset of the same files, which avoids reading all files.
        num_workers: the number of processes that count the frames of the videos.
        output_format: `"TCHW"`, as expected by transforms, or `"THWC"`.

    Raises:
        FileNotFoundError: the files are missing.
        ModuleNotFoundError: PyAV is not installed.
        ValueError: `num_classes`, `split` or `output_format` is unknown.

    Example:
        >>> from flambeau_vision import datasets
        >>> datasets.Kinetics("data", frames_per_clip=16, num_classes="500")
        Traceback (most recent call last):
        ...
        ValueError: Unknown value '500' for argument num_classes. Valid values are {'400', '600', '700'}.
    """

    _SITE = "https://s3.amazonaws.com/kinetics/"
    _LISTS: ClassVar[dict[str, str]] = {
        "400": "400/{split}/k400_{split}_path.txt",
        "600": "600/{split}/k600_{split}_path.txt",
        "700": "700_2020/{split}/k700_2020_{split}_path.txt",
    }
    _ANNOTATIONS: ClassVar[dict[str, str]] = {
        "400": "400/annotations/{split}.csv",
        "600": "600/annotations/{split}.csv",
        "700": "700_2020/annotations/{split}.csv",
    }

    def __init__(
        self,
        root: str | Path,
        frames_per_clip: int,
        num_classes: str = "400",
        split: str = "train",
        frame_rate: float | None = None,
        step_between_clips: int = 1,
        transform: Callable | None = None,
        extensions: tuple[str, ...] = ("avi", "mp4"),
        download: bool = False,
        num_download_workers: int = 1,
        num_workers: int = 1,
        _precomputed_metadata: dict[str, Any] | None = None,
        output_format: str = "TCHW",
    ) -> None:
        super().__init__(root)
        self.transform = transform
        self.num_classes = verify_str_arg(num_classes, "num_classes", self._LISTS)
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        self.num_download_workers = num_download_workers
        self.extensions = extensions
        if download:
            self.download()
        clips = frames_per_clip, step_between_clips, frame_rate
        self._find_videos(self._videos, extensions, clips, _precomputed_metadata, num_workers, output_format)

    @property
    def _videos(self) -> Path:
        return self._folder / self.split

    @property
    def split_folder(self) -> str:
        """The folder that contains the videos of the split."""
        return str(self._videos)

    def download(self) -> None:
        """Download and unpack the archives of the split, and move each video into the folder of its class.

        Complete archives are not downloaded again, and an interrupted download is resumed. Videos are moved out of `files`
        after all archives are unpacked.
        """
        if self._videos.exists():
            return
        unsorted, lists = self._folder / "files", self._folder / "annotations"
        lists_of_archives = self._SITE + self._LISTS[self.num_classes].format(split=self.split)
        annotations = self._SITE + self._ANNOTATIONS[self.num_classes].format(split=self.split)
        for url in (lists_of_archives, annotations):
            if not check_integrity(lists / Path(url).name):
                download_url(url, lists)
        addresses = [quote(line, safe="/,:") for line in (lists / Path(lists_of_archives).name).read_text().splitlines()]
        with ThreadPoolExecutor(self.num_download_workers) as pool:
            fetch = partial(download_and_extract_archive, download_root=self._folder / "tars", extract_root=unsorted)
            list(pool.map(fetch, addresses))
        sorted_videos = self._folder / f".{self.split}.unfinished"
        with open(lists / f"{self.split}.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                start, end = int(row["time_start"]), int(row["time_end"])
                name = f"{row['youtube_id']}_{start:06}_{end:06}.mp4"
                if not (unsorted / name).is_file():
                    continue  # missing: many videos have been deleted from YouTube
                label = row["label"].replace(" ", "_").translate(str.maketrans("", "", "'()"))
                (sorted_videos / label).mkdir(parents=True, exist_ok=True)
                (unsorted / name).replace(sorted_videos / label / name)
        sorted_videos.rename(self._videos)
