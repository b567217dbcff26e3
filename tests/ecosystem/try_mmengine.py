"""mmengine (OpenMMLab): a runner that trains, validates and saves a model, and analysis of a network."""

import logging
import tempfile

import torch
from mmengine.analysis import get_model_complexity_info
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def forward(self, x, y, mode):
        scores = self.layers(x)
        return {"loss": torch.nn.functional.cross_entropy(scores, y)} if mode == "loss" else (scores, y)


class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        scores, y = data_samples
        self.results.append({"correct": int((scores.argmax(1) == y).sum()), "size": len(y)})

    def compute_metrics(self, results):
        return {"accuracy": 100 * sum(one["correct"] for one in results) / sum(one["size"] for one in results)}


torch.manual_seed(0)
x = torch.randn(64, 4)
data = list(zip(x, (x[:, 0] > 0).long(), strict=True))
loader = {
    "batch_size": 16,
    "dataset": data,
    "sampler": {"type": "DefaultSampler", "shuffle": True},
    "collate_fn": {"type": "default_collate"},
}
model = Model()
with tempfile.TemporaryDirectory() as folder:
    runner = Runner(
        model,
        work_dir=folder,
        train_dataloader=loader,
        train_cfg={"by_epoch": True, "max_epochs": 3, "val_interval": 1},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.5}},
        param_scheduler={"type": "MultiStepLR", "milestones": [2]},
        val_dataloader={**loader, "sampler": {"type": "DefaultSampler", "shuffle": False}},
        val_cfg={},
        val_evaluator={"type": Accuracy},
        randomness={"seed": 0},
        log_level=logging.ERROR,
    )
    runner.train()
    losses = [f"{value:.4f}" for value in runner.message_hub.get_scalar("train/loss").data[0][:3]]
    print(losses, runner.message_hub.get_scalar("val/accuracy").current(), runner.optim_wrapper.get_lr())
    saved = torch.load(f"{folder}/epoch_3.pth", weights_only=False)
    print(sorted(saved), f"{saved['state_dict']['layers.0.weight'].sum():.4f}")
info = get_model_complexity_info(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1)), (3, 8, 8))
print(info["flops_str"], info["params_str"])
