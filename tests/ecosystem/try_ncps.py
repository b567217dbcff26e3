"""ncps: liquid time-constant and closed-form continuous-time networks with sparse wirings."""

import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP, FullyConnected

torch.manual_seed(0)
x = torch.randn(2, 5, 3)
wirings = {"auto": AutoNCP(12, 2, seed=1), "full": FullyConnected(6, 2, self_connections=False)}
for name, wiring in wirings.items():
    for kind in (CfC, LTC):
        net = kind(3, wiring, batch_first=True)
        optimizer = torch.optim.Adam(net.parameters(), 0.05)
        for _ in range(3):
            optimizer.zero_grad()
            output, state = net(x)
            loss = output.square().mean()
            loss.backward()
            optimizer.step()
        print(name, kind.__name__, tuple(output.shape), tuple(state.shape), f"{loss.item():.5f}")
for mode in ("default", "pure", "no_gate"):
    net = CfC(3, 7, proj_size=2, mode=mode, mixed_memory=True, backbone_dropout=0.1)
    output, (hidden, cell) = net(x)
    print(mode, tuple(output.shape), tuple(cell.shape), f"{output.sum().item():.4f}")
