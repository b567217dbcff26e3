"""Training gives the same loss curve on every installed backend and on any number of devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import flambeau

pytestmark = pytest.mark.slow

TRAINING = """
import json, sys
import flambeau as torch
from flambeau import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2))
        self.rows = nn.GRU(16, 8, batch_first=True)
        self.classify = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 5))

    def forward(self, images):
        features = self.features(images)  # (batch, 4, 4, 4), of which each row becomes a step
        _, last = self.rows(features.permute(0, 2, 1, 3).flatten(2))
        return self.classify(last[0])

devices = [torch.device(each) for each in sys.argv[1].split(",")]
torch.manual_seed(0)
with torch.device("cpu"):  # the numbers that all start from
    net, images = Net(), torch.randn(23, 1, 8, 8)
    targets = torch.arange(23) % 5
net, images, targets = net.to(devices[0]), images.to(devices[0]), targets.to(devices[0])
model = nn.DataParallel(net, devices) if len(devices) > 1 else net
optimizer = torch.optim.AdamW(net.parameters(), lr=0.02, weight_decay=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
losses = []
for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), targets, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    assert loss.device.type == devices[0].type
    losses.append(loss.item())
print(json.dumps(losses))
"""


def curve(devices: str, **variables: str) -> list[float]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-c", TRAINING, devices]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected() -> list[float]:
    """Return the loss curve of the NumPy backend on one device."""
    losses = curve("cpu", FLAMBEAU_BACKEND="numpy")
    assert len(losses) == 10 and losses[-1] < 0.9 * losses[0]
    return losses


def assert_alike(losses: list[float], expected: list[float]) -> None:
    assert losses == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_on_several_devices(count: int, expected: list[float]) -> None:
    devices = ",".join(f"cpu:{index}" for index in range(count))
    assert_alike(curve(devices, FLAMBEAU_BACKEND="numpy", FLAMBEAU_CPU_DEVICES=str(count)), expected)


def devices_of(name: str) -> list[str]:
    """Return the names of a backend's devices, then all names joined by commas if there are several; [] without a device."""
    code = (
        "import flambeau; backend = flambeau.backend.find({name!r})\n"
        "flambeau.ones(1, device=backend.device_type); print(backend.device_type, backend.device_count())"
    )
    done = subprocess.run([sys.executable, "-c", code.format(name=name)], capture_output=True, text=True, timeout=500)
    if done.returncode:
        assert "No CUDA GPUs are available" in done.stderr or "No module named 'cupy'" in done.stderr, done.stderr
        return []
    kind, count = done.stdout.split()
    one_by_one = [f"{kind}:{index}" for index in range(int(count))]
    return one_by_one + ([",".join(one_by_one)] if len(one_by_one) > 1 else [])


@pytest.mark.parametrize("name", sorted({*flambeau.backend.installed()} - {"numpy"}))
def test_on_every_backend(name: str, expected: list[float]) -> None:
    places = devices_of(name)
    if not places:
        pytest.skip(f"the {name} backend has no device here")
    for devices in places:
        assert_alike(curve(devices), expected)
