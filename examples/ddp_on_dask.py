"""Run `DistributedDataParallel` on the workers of a Dask cluster, one process per worker.

pip install distributed pyzmq
python examples/ddp_on_dask.py                       # a cluster of two processes on this machine
python examples/ddp_on_dask.py tcp://scheduler:8786  # an existing cluster
"""

from __future__ import annotations

import argparse
import secrets
from typing import Any

from distributed import Client, LocalCluster


def train(rank: int, world_size: int, address: str, secret: str, steps: int) -> dict[str, Any]:
    """Run one worker's part of the training."""
    import os

    import flambeau as torch
    from flambeau import nn
    from flambeau.nn.parallel import DistributedDataParallel

    os.environ["FLAMBEAU_JOB_SECRET"] = secret
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=world_size)
    torch.manual_seed(0)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(rank)  # each worker draws different data
    losses = []
    for _ in range(steps):
        inputs = torch.randn(64, 8, generator=generator)
        loss = (net(inputs) - (inputs.sum(1, keepdim=True) / 2).sin()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    total = loss.detach() / world_size
    torch.distributed.all_reduce(total)
    torch.distributed.destroy_process_group()
    weights = {name: value.numpy() for name, value in net.module.state_dict().items()}
    return {"loss": float(total), "losses": losses, "weights": weights}


def free_address(host: str) -> str:
    """Return an address with a free port on which the first process can serve the others."""
    import socket

    with socket.socket() as probe:
        probe.bind(("", 0))
        return f"tcp://{host}:{probe.getsockname()[1]}"


def train_on(client: Client, steps: int = 100) -> list[dict[str, Any]]:
    """Train on all workers of a cluster and return each worker's result, in rank order."""
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    host = workers[0].removeprefix("tcp://").rpartition(":")[0]
    address = client.submit(free_address, host, workers=[workers[0]], pure=False).result()
    secret = secrets.token_hex(16)
    tasks = [
        client.submit(train, rank, len(workers), address, secret, steps, workers=[worker], pure=False)
        for rank, worker in enumerate(workers)
    ]
    results: list[dict[str, Any]] = client.gather(tasks)
    return results


def main() -> None:
    from curves import add_plot_option, draw  # here, because the workers load the functions above without the module `curves`

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scheduler", nargs="?", help="address of a cluster; by default, a new one on this machine")
    add_plot_option(parser)
    args = parser.parse_args()
    if args.scheduler:
        with Client(args.scheduler) as client:
            results = train_on(client)
    else:
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            results = train_on(client)
    print(f"{len(results)} processes, loss {results[0]['loss']:.4f}")
    if args.plot:
        losses = {f"rank {rank}": result["losses"] for rank, result in enumerate(results)}
        draw(args.plot, "step", {"Loss of each process": losses})


if __name__ == "__main__":
    main()
