"""pytorch-ignite: a trainer and an evaluator with metrics, handlers, and a learning-rate schedule."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, PiecewiseLinear
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage

torch.manual_seed(0)
inputs, targets = torch.randn(40, 6), torch.randint(0, 3, (40,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=10)
net, criterion = torch.nn.Linear(6, 3), torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
trainer = create_supervised_trainer(net, optimizer, criterion)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "loss")
schedule = PiecewiseLinear(optimizer, "lr", milestones_values=[(0, 0.5), (8, 0.1)])
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "confusion": ConfusionMatrix(3)}
evaluator = create_supervised_evaluator(net, metrics=metrics)
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer))


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(loader)
    found = evaluator.state.metrics
    print(engine.state.epoch, f"{engine.state.metrics['loss']:.5f} {found['loss']:.5f} {found['accuracy']:.3f}")
    print(found["confusion"].tolist(), f"{optimizer.param_groups[0]['lr']:.4f}")


trainer.run(loader, max_epochs=3)
