"""`distributed.checkpoint`: save and load with different numbers of processes; a killed save keeps the old checkpoint."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from distributed_jobs import assert_job_ends, whole
from flambeau.distributed.checkpoint.default_planner import DefaultLoadPlanner
from flambeau.distributed.checkpoint.filesystem import FileSystemWriter
from flambeau.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from flambeau.distributed.checkpoint.metadata import MetadataIndex
from flambeau.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from flambeau.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from flambeau.distributed.device_mesh import init_device_mesh
from flambeau.distributed.fsdp import fully_shard
from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

import flambeau as torch
from flambeau import nn
from flambeau.distributed import checkpoint


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def stepped(net, lr=0.1):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    net(torch.ones(2, 5)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


def values():
    return torch.arange(35.0).view(5, 7), torch.arange(24).view(2, 3, 4)


def assert_saved_parts(rank, size, folder):
    mesh = init_device_mesh("cpu", (size,))
    first, second = values()
    state = {
        "first": distribute_tensor(first, mesh, [Shard(0)]),
        "second": distribute_tensor(second, mesh, [Shard(2)]),
        "same": distribute_tensor(first, mesh, [Replicate()]),
        "inner": {"plain": torch.full((2,), 3.0), "text": "hello", "list": [torch.ones(1), {"n": 4}]},
        "none": torch.zeros(0, 3),
    }
    metadata = checkpoint.save(state, checkpoint_id=folder)
    assert len(metadata.state_dict_metadata["first"].chunks) == min(size, -(-5 // -(-5 // size)))
    net = fully_shard(network())
    optimizer = stepped(net)
    model_state, optimizer_state = get_state_dict(net, optimizer)
    checkpoint.async_save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=f"{folder}/net").result()


def assert_loaded_parts(rank, size, folder):
    mesh = init_device_mesh("cpu", (size,))
    first, second = values()
    state = {
        "first": distribute_tensor(torch.zeros(5, 7), mesh, [Shard(1)]),
        "second": distribute_tensor(torch.zeros(2, 3, 4, dtype=torch.int64), mesh, [Shard(0)]),
        "same": torch.zeros(5, 7),
        "inner": {"plain": torch.zeros(2), "text": "", "list": [torch.zeros(1), {"n": 0}]},
        "none": torch.ones(0, 3),
    }
    kept = state["first"]
    checkpoint.load(state, checkpoint_id=folder)
    assert state["first"] is kept
    for name, expected in (("first", first), ("second", second), ("same", first)):
        assert torch.equal(whole(state[name]), expected)
    assert state["inner"]["text"] == "hello" and state["inner"]["list"] == [torch.ones(1), {"n": 4}]
    plain = network()
    expected_optimizer = stepped(plain)
    net = fully_shard(network(1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.5)
    model_state, optimizer_state = get_state_dict(net, optimizer)
    checkpoint.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=f"{folder}/net")
    set_state_dict(net, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    for (_, one), (_, other) in zip(net.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(whole(one.detach()), other.detach())
        torch.testing.assert_close(whole(optimizer.state[one]["exp_avg"]), expected_optimizer.state[other]["exp_avg"])
    assert optimizer.param_groups[0]["lr"] == 0.1
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: nothing"):
        checkpoint.load({"nothing": torch.zeros(1)}, checkpoint_id=folder)
    checkpoint.load({"nothing": torch.zeros(1)}, checkpoint_id=folder, planner=DefaultLoadPlanner(allow_partial_load=True))
    with pytest.raises(checkpoint.CheckpointException, match="Size mismatch"):
        checkpoint.load({"first": torch.zeros(5, 8)}, checkpoint_id=folder)


def test_two_processes_save_and_one_loads(tmp_path):
    assert_job_ends(2, assert_saved_parts, assert_loaded_parts, arguments=(str(tmp_path),))
    assert_job_ends(1, assert_loaded_parts, arguments=(str(tmp_path),))
    found = _load_state_dict_from_keys("inner", checkpoint_id=tmp_path)
    assert found["inner"]["text"] == "hello" and torch.equal(found["inner"]["plain"], torch.full((2,), 3.0))


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 2), (2, 4)])
def test_any_number_of_processes_loads(before, after, tmp_path):
    assert_job_ends(before, assert_saved_parts, arguments=(str(tmp_path),))
    assert_job_ends(after, assert_loaded_parts, arguments=(str(tmp_path),))


def assert_full_states(rank, size):
    net = fully_shard(network())
    optimizer = stepped(net)
    full = StateDictOptions(full_state_dict=True)
    state, optimizer_state = get_state_dict(net, optimizer, options=full)
    assert type(state["0.weight"]) is torch.Tensor and optimizer_state["state"]["0.weight"]["exp_avg"].shape == (7, 5)
    first_only = StateDictOptions(full_state_dict=True, cpu_offload=True)
    assert bool(get_model_state_dict(net, options=first_only)) is (rank == 0)
    other = fully_shard(network(1))
    given = state if rank == 0 else {}
    set_model_state_dict(other, given, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert torch.equal(whole(other[2].weight.detach()), state["2.weight"])
    with torch.device("meta"):
        without_data = fully_shard(network())
    set_model_state_dict(without_data, given, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert torch.equal(whole(without_data[2].weight.detach()), state["2.weight"])
    flat = StateDictOptions(full_state_dict=True, flatten_optimizer_state_dict=True)
    flattened = get_optimizer_state_dict(net, optimizer, options=flat)
    assert flattened["param_groups.2.bias.lr"] == 0.1 and flattened["state.2.bias.exp_avg"].shape == (3,)
    fresh = torch.optim.Adam(other.parameters(), lr=9)
    set_optimizer_state_dict(other, fresh, flattened, options=flat)
    torch.testing.assert_close(whole(fresh.state[other[2].bias]["exp_avg"]), flattened["state.2.bias.exp_avg"])


def test_states_are_whole_where_that_is_asked_for():
    assert_job_ends(2, assert_full_states)


# --- one process ------------------------------------------------------------------------------------------------------


def test_what_has_a_state_is_asked_for_it(tmp_path):
    net = network()
    checkpoint.save({"net": net, "optimizer": stepped(net)}, checkpoint_id=tmp_path)
    other = network(1)
    optimizer = stepped(other, lr=3)
    checkpoint.load({"net": other, "optimizer": optimizer}, checkpoint_id=tmp_path)
    assert torch.equal(other[0].weight, net[0].weight) and optimizer.param_groups[0]["lr"] == 0.1


def test_states_of_one_process():
    net = network()
    net[0].weight.requires_grad_(False)
    names = set(get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True)))
    assert names == {"0.bias", "2.weight", "2.bias"}
    assert set(get_model_state_dict(net, submodules={net[2]})) == {"2.weight", "2.bias"}
    without = StateDictOptions(keep_submodule_prefixes=False)
    assert set(get_model_state_dict(net, submodules={net[2]}, options=without)) == {"weight", "bias"}
    found = set_model_state_dict(net, {net[2]: {"bias": torch.ones(3)}}, options=StateDictOptions(strict=False))
    assert torch.equal(net[2].bias.detach(), torch.ones(3)) and "0.weight" in found.missing_keys
    before = [parameter.detach().clone() for parameter in network().parameters()]
    fresh = network()
    optimizer = torch.optim.AdamW(fresh.parameters(), lr=0.3, weight_decay=0.1)
    state = get_optimizer_state_dict(fresh, optimizer)
    assert set(state["state"]["0.weight"]) == {"step", "exp_avg", "exp_avg_sq"} and optimizer.param_groups[0]["lr"] == 0.3
    assert all(torch.equal(one, other) for one, other in zip(fresh.parameters(), before, strict=True))


def test_a_checkpoint_is_replaced_at_once(tmp_path):
    first = checkpoint.save({"x": torch.zeros(3)}, checkpoint_id=tmp_path)
    names = set(os.listdir(tmp_path))
    assert names == {".metadata", "__0_0.distcp"} and list(first.state_dict_metadata) == ["x"]
    checkpoint.save({"x": torch.ones(3)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2 and "__0_0.distcp" not in os.listdir(tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Checkpoint already exists"):
        checkpoint.save({"x": torch.ones(3)}, storage_writer=FileSystemWriter(tmp_path, overwrite=False))
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        checkpoint.save({"x": torch.ones(3)})
    one_by_one = FileSystemWriter(tmp_path / "many", single_file_per_rank=False, thread_count=2)
    checkpoint.save({"x": torch.ones(3), "y": torch.zeros(2)}, storage_writer=one_by_one)
    assert len(list((tmp_path / "many").glob("*.distcp"))) == 2


KILLED = """
    import os, signal, sys
    import flambeau as torch
    from flambeau.distributed import checkpoint
    from flambeau.distributed.checkpoint import filesystem
    folder, moment = sys.argv[1:]
    def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
    if moment == "write": torch.save = die
    if moment == "metadata": filesystem.pickles.dump = die
    if moment == "rename": filesystem.FileSystem.rename = die
    if moment == "remove": filesystem.FileSystem.rm_file = die
    checkpoint.save({"x": torch.ones(1000), "n": 2}, checkpoint_id=folder)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["write", "metadata", "rename", "remove"])
def test_a_kill_leaves_one_checkpoint_or_the_other(moment, tmp_path):
    checkpoint.save({"x": torch.zeros(1000), "n": 1}, checkpoint_id=tmp_path)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    state = {"x": torch.full((1000,), 7.0), "n": 0}
    checkpoint.load(state, checkpoint_id=tmp_path)
    new = moment == "remove"
    assert state["n"] == 1 + new and torch.equal(state["x"], torch.full((1000,), float(new)))


def test_metadata_runs_no_code(tmp_path):
    checkpoint.save({"x": torch.zeros(1)}, checkpoint_id=tmp_path)

    class RunsCode:
        def __reduce__(self):
            return os.system, ("true",)

    (tmp_path / ".metadata").write_bytes(pickle.dumps(RunsCode()))
    with pytest.raises(checkpoint.CheckpointException, match="The metadata of a checkpoint cannot hold"):
        checkpoint.load({"x": torch.zeros(1)}, checkpoint_id=tmp_path)


def test_names_in_metadata_are_pytorchs(tmp_path):
    checkpoint.save({"x": torch.zeros(1)}, checkpoint_id=tmp_path)
    text = (tmp_path / ".metadata").read_bytes()
    assert b"torch.distributed.checkpoint.metadata" in text and b"flambeau" not in text
    assert MetadataIndex("x", [0]) == MetadataIndex("x", [0], 3) and hash(MetadataIndex("x")) == hash(MetadataIndex("x"))


def test_one_file_and_back(tmp_path):
    torch.save({"a": {"b": torch.arange(3)}, "n": 1}, tmp_path / "one.pt")
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "parts")
    dcp_to_torch_save(tmp_path / "parts", tmp_path / "again.pt")
    again = torch.load(tmp_path / "again.pt")
    assert torch.equal(again["a"]["b"], torch.arange(3)) and again["n"] == 1


def test_safetensors_files(tmp_path):
    pytest.importorskip("safetensors")
    state = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(4, dtype=torch.int64)}
    writer = checkpoint.HuggingFaceStorageWriter(tmp_path, {"a": 1, "b": 2})
    checkpoint.save(state, storage_writer=writer)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["weight_map"] == {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    found = {"a": torch.zeros(2, 3), "b": torch.zeros(4, dtype=torch.int64)}
    checkpoint.load(found, storage_reader=checkpoint.HuggingFaceStorageReader(tmp_path))
    assert torch.equal(found["a"], state["a"]) and torch.equal(found["b"], state["b"])
    blocks = {"w": torch.full((3, 4), 2.0), "w_scale_inv": torch.tensor([[1.0, 10.0], [100.0, 1000.0]])}
    checkpoint.save(blocks, storage_writer=checkpoint.HuggingFaceStorageWriter(tmp_path / "blocks"))
    scaled = {"w": torch.zeros(3, 4)}
    reader = checkpoint.QuantizedHuggingFaceStorageReader(tmp_path / "blocks", block_size=2)
    checkpoint.load(scaled, storage_reader=reader)
    assert scaled["w"].tolist() == [[2, 2, 20, 20]] * 2 + [[200, 200, 2000, 2000]]


def test_the_state_of_an_optimizer_alone(tmp_path):
    net = network()
    optimizer = stepped(net)
    checkpoint.save({"optimizer": get_optimizer_state_dict(net, optimizer)}, checkpoint_id=tmp_path)
    reader = checkpoint.FileSystemReader(Path(tmp_path))
    state = checkpoint.load_sharded_optimizer_state_dict(net.state_dict(), "optimizer", reader)
    torch.testing.assert_close(state["optimizer"]["state"]["0.bias"]["exp_avg"], optimizer.state[net[0].bias]["exp_avg"])


def test_storage_of_a_user(tmp_path):
    """A writer and a reader outside the library, which return `torch.futures.Future`."""

    class Writer(FileSystemWriter):
        def write_data(self, plan, planner):
            return super().write_data(plan, planner).then(lambda future: future.value())

    class Reader(checkpoint.FileSystemReader):
        def read_data(self, plan, planner):
            done = super().read_data(plan, planner)
            assert isinstance(done, torch.futures.Future) and done.done()
            return done

    state = {"weight": torch.arange(4.0), "step": 3}
    checkpoint.save(state, storage_writer=Writer(tmp_path), no_dist=True)
    found = {"weight": torch.zeros(4), "step": 0}
    checkpoint.load(found, storage_reader=Reader(tmp_path), no_dist=True)
    assert found["weight"].tolist() == [0, 1, 2, 3] and found["step"] == 3
