"""One epoch of a `DataLoader`, in the main process and with persistent workers."""

from __future__ import annotations

from typing import Any

from .workload import Make, Step, Workload

__all__ = ["WORKLOADS"]


class Images:
    """A dataset of uint8 images and labels. Images are scaled and normalized when accessed."""

    def __init__(self, torch: Any, count: int, channels: int, size: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.images = torch.randint(256, (count, channels, size, size), generator=generator).to(torch.uint8)
        self.mean, self.std = torch.full((channels, 1, 1), 0.45), torch.full((channels, 1, 1), 0.225)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return (self.images[index] / 255 - self.mean) / self.std, index % 10


def epoch(batch_size: int, workers: int, *images: int) -> Make:
    def build(torch: Any) -> Step:
        options = {"num_workers": workers, "persistent_workers": True} if workers else {}
        loader = torch.utils.data.DataLoader(Images(torch, *images), batch_size, **options)

        def step() -> Any:
            total = torch.zeros(())
            for batch, labels in loader:
                total = total + batch[0, 0, 0, 0] * labels[-1]
            return total

        return step

    return build


WORKLOADS = [
    Workload(f"loader, {name}, {workers} workers", epoch(batch_size, workers, *images), 1.0, 1.0)
    for name, batch_size, images in (("digits", 64, (1797, 1, 8)), ("224x224", 16, (128, 3, 224)))
    for workers in (0, 2)
]
