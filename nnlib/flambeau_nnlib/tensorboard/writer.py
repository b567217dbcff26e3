"""`SummaryWriter`, which logs training progress for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import flambeau as torch

from . import summary
from .embedding import embedding_info, write_embedding
from .graph import graph
from .images import as_array, figure_to_image

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Write events to one file in a background thread.

    Args:
        log_dir: the directory of the file.
        max_queue: the number of events that may be queued before `add_event` blocks.
        flush_secs: the interval in seconds after which queued events are written.
        filename_suffix: the suffix of the file name.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> writer = FileWriter(folder, filename_suffix=".mine")
        >>> writer.close()
        >>> [name.endswith(".mine") for name in os.listdir(folder)]
        [True]
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Return the directory of the file."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Add an `Event`."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add an event that contains a `Summary`."""
        from tensorboard.compat.proto.event_pb2 import Event

        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Add a graph, given as a pair of `GraphDef` and `RunMetadata`."""
        from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata

        nodes, stats = graph_profile
        self.add_event(Event(graph_def=nodes.SerializeToString()), None, walltime)
        run = TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(Event(tagged_run_metadata=run), None, walltime)

    def flush(self) -> None:
        """Write all queued events."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write all queued events and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continue in a new file after `close`."""
        self.event_writer.reopen()


class SummaryWriter:
    """Write data for TensorBoard to event files in a directory.

    The `add_...` methods take a `tag`, the name of the data in TensorBoard; `global_step`, the training step; and `walltime`,
    a time in seconds that replaces the current time. Numbers and arrays may be tensors or NumPy arrays.

    Args:
        log_dir: the directory. Default: a directory in `runs` named after the current time and the host.
        comment: a suffix of the default directory name.
        purge_step: hide data for this and later steps, written by an earlier run that crashed.
        max_queue: the number of events that may be queued before adding more blocks.
        flush_secs: the interval in seconds after which queued events are written.
        filename_suffix: the suffix of the file names.

    Raises:
        ImportError: the package `tensorboard` is not installed.

    Example:
        >>> import tempfile
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        limits, limit = [], 1e-12
        while limit < 1e20:
            limits.append(limit)
            limit *= 1.1
        self.default_bins = [*(-limit for limit in reversed(limits)), 0, *limits]  # the default bins of TensorFlow
        self._projector_config: Any = None

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the main event file. Create a new one after `close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                from tensorboard.compat.proto.event_pb2 import Event, SessionLog

                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                start = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(step=self.purge_step, session_log=start))
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str | os.PathLike[str]:
        """Return the directory of the event files."""
        return self.log_dir

    def _add(self, content: Any, global_step: Any = None, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(content, global_step, walltime)

    # --- numbers ---

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a number, such as the loss. With `new_style` it is stored as a tensor, in float64 if `double_precision`."""
        self._add(summary.scalar(tag, scalar_value, None, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add several numbers, given by name, to one chart. Each has its own event file in a subdirectory."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in self.all_writers:
                self.all_writers[path] = FileWriter(path, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[path].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: torch.Tensor, global_step: Any = None, walltime: float | None = None) -> None:
        """Add all values of a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram. By default the limits of the bins grow by 10 % each; otherwise `bins` is as in `numpy.histogram`."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precomputed histogram, given by the right limit and the count of each bin."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        content = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(content, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve of predicted probabilities for labels 0 and 1, at thresholds from 0 to 1."""
        labels, predictions = as_array(labels), as_array(predictions)
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precomputed precision-recall curve."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        content = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(content, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add the hyperparameters and the resulting metrics of a run, in a subdirectory.

        Args:
            hparam_dict: the hyperparameters: numbers, strings, bools or None by name.
            metric_dict: the metrics: numbers by name.
            hparam_domain_discrete: for some hyperparameters, the list of their possible values.
            run_name: the name of the subdirectory. Default: the current time.
            global_step: the training step.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        contents = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for content in contents:
                writer._add(content, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    # --- pictures, sound, text ---

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Add an image with one, three or four channels, of uint8 values or of values in [0, 1]."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Add a batch of images of the same size, arranged in rows of eight."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Add an image with boxes (left, top, right, bottom) and their labels drawn on it."""
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            labels = labels if len(labels) == len(box_tensor) else None
        content = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(content, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a matplotlib figure, or a list of figures of the same size. The figures are closed if `close`."""
        formats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, dataformats=formats)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Add videos of shape (N, T, C, H, W), of uint8 values or of values in [0, 1]. Requires the package `moviepy`."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, walltime: float | None = None
    ) -> None:
        """Add audio samples in [-1, 1]."""
        self._add(summary.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a Markdown text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add 3-D points of shape (N, points, 3), with colours from 0 to 255 and faces as vertex indices.

        `config_dict` contains names of three.js classes and their options.
        """
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # --- models and points ---

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Add the graph of a model, recorded while it runs with an input or a tuple of inputs."""
        self._get_file_writer().add_graph(
            graph(model, () if input_to_model is None else input_to_model, verbose, use_strict_trace)
        )

    def add_onnx_graph(self, prototxt: str | os.PathLike[str]) -> None:
        """Raise RuntimeError, since flambeau does not read ONNX files."""
        raise RuntimeError(f"flambeau does not read ONNX files, such as {os.fspath(prototxt)!r}; use `add_graph` with the model")

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Add points of shape (N, D) for the embedding projector.

        Args:
            mat: the points.
            metadata: for each point a label, or a list of labels.
            label_img: for each point an image: an array of shape (N, C, H, W) with values in [0, 1].
            global_step: the training step.
            tag: the name of the embedding.
            metadata_header: the names of the label columns, if points have several labels.
        """
        from google.protobuf import text_format
        from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

        points = mat if isinstance(mat, torch.Tensor) else torch.as_tensor(as_array(mat))
        step = 0 if global_step is None else global_step
        folder = Path(self._get_file_writer().get_logdir())
        subfolder = f"{str(step).zfill(5)}/{tag.replace('%', '%25').replace('/', '%2f').replace(chr(92), '%5c')}"
        directory = folder / subfolder
        if directory.is_dir():
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        elif directory.exists():
            raise NotADirectoryError(f"Path: `{directory}` exists, but is a file. Cannot proceed.")
        directory.mkdir(parents=True, exist_ok=True)
        write_embedding(directory, points, metadata, label_img, metadata_header)
        if self._projector_config is None:
            self._projector_config = ProjectorConfig()
        self._projector_config.embeddings.extend([embedding_info(subfolder, tag, metadata, label_img, step)])
        text = text_format.MessageToString(self._projector_config)
        (folder / "projector_config.pbtxt").write_text(text, encoding="utf-8")

    # --- dashboards ---

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default", title: str = "untitled") -> None:
        """Add a chart of several scalars, given by their tags."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default", title: str = "untitled") -> None:
        """Add a chart of a scalar with a margin, given by the tags of its value, lower and upper limit."""
        if len(tags) != 3:
            raise AssertionError("len(tags) != 3")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: dict[str, dict[str, Sequence[Any]]]) -> None:
        """Add charts, given as `{category: {title: [kind, tags]}}` with the kind `"Multiline"` or `"Margin"`."""
        self._add(summary.custom_scalars(layout))

    # --- the files ---

    def flush(self) -> None:
        """Write all queued events."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write all queued events and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None) -> None:
        self.close()
