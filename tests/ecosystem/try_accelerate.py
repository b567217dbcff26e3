"""accelerate: training with gradient accumulation, clipping, mixed precision and checkpoints; loading sharded empty models."""

import os
import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import find_executable_batch_size, set_seed

torch.set_num_threads(1)


def network():
    return torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


for precision in ("no", "bf16"):
    set_seed(3)
    accelerator = Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=2)
    x = torch.linspace(-2, 2, 48).reshape(48, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.square()), batch_size=8, shuffle=True)
    net = network()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
    net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
    for _ in range(6):
        for inputs, targets in loader:
            with accelerator.accumulate(net):
                loss = torch.nn.functional.mse_loss(net(inputs).float(), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    digits = 4 if precision == "no" else 1
    print(precision, round(loss.item(), digits), schedule.get_last_lr(), accelerator.state.num_processes, str(accelerator.device))
    print(accelerator.gather_for_metrics(targets).shape, accelerator.reduce(torch.tensor(2.0)).item())
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        print(sorted(os.listdir(folder)))
        kept = [p.detach().clone() for p in net.parameters()]
        for p in net.parameters():
            p.data.zero_()
        accelerator.load_state(folder)
        print(all(torch.equal(p, old) for p, old in zip(net.parameters(), kept, strict=True)))
        accelerator.save_model(net, folder)
        with init_empty_weights():
            empty = network()
        print([p.device.type for p in empty.parameters()])
        loaded = load_checkpoint_and_dispatch(empty, os.path.join(folder, "model.safetensors"), device_map={"": "cpu"})
        print(torch.equal(loaded(x), accelerator.unwrap_model(net).float()(x)) or precision == "bf16", loaded.hf_device_map)
        with init_empty_weights():
            empty = network()
        places = {"0": "disk", "1": "cpu", "2": "cpu"}
        offloaded = load_checkpoint_and_dispatch(
            empty, os.path.join(folder, "model.safetensors"), device_map=places, offload_folder=folder
        )
        print(torch.equal(offloaded(x), loaded(x)), offloaded[0].weight.device.type)
    accelerator.free_memory()
    Accelerator().state._reset_state(True)

tried = []


@find_executable_batch_size(starting_batch_size=64)
def fitting(batch_size):
    tried.append(batch_size)
    if batch_size > 16:
        raise RuntimeError("CUDA out of memory.")
    return batch_size


print(fitting(), tried)
