"""torchdata: stateful loaders that stop and continue, with and without workers, and pipelines of nodes."""

import torch
from torch.utils.data import Dataset, IterableDataset
from torchdata.nodes import Batcher, IterableWrapper, Loader, ParallelMapper, PinMemory, Prefetcher
from torchdata.stateful_dataloader import StatefulDataLoader


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor(index**2)


class Stream(IterableDataset):
    def __init__(self):
        self.position = 0

    def __iter__(self):
        while self.position < 10:
            self.position += 1
            yield torch.tensor(self.position)
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


for workers in (0, 2):
    torch.manual_seed(0)
    loader = StatefulDataLoader(Squares(), batch_size=2, shuffle=True, num_workers=workers)
    batches = iter(loader)
    print(workers, next(batches).tolist(), next(batches).tolist())
    state = loader.state_dict()
    rest = [batch.tolist() for batch in batches]
    other = StatefulDataLoader(Squares(), batch_size=2, shuffle=True, num_workers=workers)
    other.load_state_dict(state)
    print(rest == [batch.tolist() for batch in other], rest)
    loader = StatefulDataLoader(Stream(), batch_size=3, num_workers=min(workers, 1))
    batches = iter(loader)
    print(next(batches).tolist())
    other = StatefulDataLoader(Stream(), batch_size=3, num_workers=min(workers, 1))
    other.load_state_dict(loader.state_dict())
    print([batch.tolist() for batch in other])
    persistent = StatefulDataLoader(Squares(), batch_size=4, num_workers=workers, persistent_workers=workers > 0)
    print([[batch.tolist() for batch in persistent] for _ in range(2)])

node = Batcher(ParallelMapper(IterableWrapper(range(8)), lambda x: x * 2, num_workers=2, method="thread"), batch_size=3)
loader = Loader(Prefetcher(PinMemory(node), prefetch_factor=2) if torch.cuda.is_available() else Prefetcher(node, 2))
print(list(loader), list(loader))
