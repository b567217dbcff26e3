"""torch-optimi: optimizers with Kahan summation, decoupled weight decay and steps within the backward pass."""

import optimi
import torch

for name in ("SGD", "Adam", "AdamW", "Adan", "Lion", "RAdam", "Ranger", "StableAdamW"):
    for dtype in (torch.float32, torch.bfloat16):
        for gradient_release in (False, True):
            torch.manual_seed(0)
            net, x = torch.nn.Linear(4, 4).to(dtype), torch.randn(8, 4, dtype=dtype)
            options = {"gradient_release": gradient_release, "weight_decay": 0.01}
            optimizer = getattr(optimi, name)(
                optimi.param_groups_weight_decay(net, 0.01) if not gradient_release else net.parameters(), lr=0.01, **options
            )
            if gradient_release:
                optimi.prepare_for_gradient_release(net, optimizer)
            for _ in range(4):
                net(x).square().mean().backward()
                if not gradient_release:
                    optimizer.step()
                    optimizer.zero_grad()
            if gradient_release:
                optimi.remove_gradient_release(net)
            print(name, dtype, gradient_release, f"{net.weight.double().abs().sum().item():.3f}", len(optimizer.state))
