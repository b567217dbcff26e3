"""torchdiffeq: solve differential equations, and differentiate through the solver and by the adjoint method."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
times = torch.linspace(0.0, 2.0, 5)
field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
start = torch.tensor([[1.0, 0.0], [0.5, -0.5]], requires_grad=True)


def flow(t, y):
    return field(y) * torch.cos(t)


for method in (
    "dopri5",
    "dopri8",
    "bosh3",
    "fehlberg2",
    "adaptive_heun",
    "euler",
    "midpoint",
    "heun3",
    "rk4",
    "implicit_adams",
    "explicit_adams",
):
    found = odeint(
        flow, start, times, method=method, options={"step_size": 0.05} if method in ("euler", "midpoint", "rk4") else None
    )
    print(method, tuple(found.shape), f"{found[-1].sum().item():.5f} {found.abs().mean().item():.5f}")
odeint(flow, start, times, rtol=1e-6, atol=1e-8).square().sum().backward()
print(f"{start.grad.sum().item():.5f} {field[0].weight.grad.norm().item():.5f}")
through, start.grad = field[0].weight.grad.clone(), None
field.zero_grad()


class Flow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.field = field

    def forward(self, t, y):
        return flow(t, y)


odeint_adjoint(Flow(), start, times, rtol=1e-6, atol=1e-8).square().sum().backward()
print(f"{start.grad.sum().item():.5f}", bool(torch.allclose(field[0].weight.grad, through, rtol=1e-3, atol=1e-4)))

ball = (torch.tensor([10.0]), torch.tensor([0.0], requires_grad=True))
time, states = odeint_event(lambda t, s: (s[1], torch.full_like(s[1], -9.8)), ball, torch.tensor(0.0), event_fn=lambda t, s: s[0])
print(f"{time.item():.4f} {states[1][-1].item():.4f}", torch.autograd.grad(time, ball[1])[0].shape)
