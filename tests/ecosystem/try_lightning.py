"""lightning: Fabric's loop with precision, seeds, checkpoints and loggers, and a Trainer."""

import os
import tempfile

import lightning as L
import torch
from lightning.fabric import Fabric
from lightning.fabric.loggers import CSVLogger

torch.set_num_threads(1)


def data(n=48):
    x = torch.linspace(-2, 2, n).reshape(n, 1)
    return torch.utils.data.TensorDataset(x, x.square())


def network():
    return torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


for precision in ("32-true", "bf16-mixed", "64-true"):
    with tempfile.TemporaryDirectory() as folder:
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision, loggers=CSVLogger(folder))
        fabric.launch()
        fabric.seed_everything(7, verbose=False)
        with fabric.init_module():
            net = network()
        model, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=0.02))
        loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data(), batch_size=8, shuffle=True))
        for epoch in range(4):
            for x, y in loader:
                loss = torch.nn.functional.mse_loss(model(x.to(torch.get_default_dtype())).to(y.dtype), y)
                optimizer.zero_grad()
                fabric.backward(loss)
                fabric.clip_gradients(model, optimizer, max_norm=1.0)
                optimizer.step()
            fabric.log("loss", loss.item(), step=epoch)
        digits = 1 if precision == "bf16-mixed" else 4
        print(
            precision,
            round(loss.item(), digits),
            next(model.parameters()).dtype,
            len(loader),
            fabric.global_rank,
            fabric.world_size,
        )
        path = os.path.join(folder, "state.ckpt")
        fabric.save(path, {"model": model, "optimizer": optimizer, "epoch": 4})
        before = [p.detach().clone() for p in model.parameters()]
        for p in model.parameters():
            p.data.zero_()
        rest = fabric.load(path, {"model": model, "optimizer": optimizer})
        print(rest, all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True)))

fabric = Fabric(accelerator="cpu", devices=1)
print(fabric.all_reduce(torch.tensor([1.0, 2.0])), fabric.all_gather(torch.tensor(3)), fabric.broadcast("a"))


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = network()

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2)]


with tempfile.TemporaryDirectory() as folder:
    L.seed_everything(3, verbose=False)
    model = Net()
    trainer = L.Trainer(
        max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder
    )  # fmt: skip
    trainer.fit(model, torch.utils.data.DataLoader(data(), batch_size=16), torch.utils.data.DataLoader(data(10), batch_size=5))
    print({name: round(value.item(), 4) for name, value in sorted(trainer.callback_metrics.items())}, trainer.global_step)
    path = os.path.join(folder, "trainer.ckpt")
    trainer.save_checkpoint(path)
    again = Net.load_from_checkpoint(path)
    print(all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True)))
