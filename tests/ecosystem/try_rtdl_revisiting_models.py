"""rtdl_revisiting_models, rtdl_num_embeddings and tabm: networks for tables, trained for a few steps."""

import warnings

warnings.simplefilter("ignore")

import torch  # noqa: E402
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, PiecewiseLinearEncoding, compute_bins  # noqa: E402
from rtdl_revisiting_models import MLP, FTTransformer, ResNet  # noqa: E402
from tabm import TabM  # noqa: E402

torch.manual_seed(0)
numbers, classes, y = torch.randn(24, 5), torch.randint(0, 3, (24, 2)), torch.randn(24)


def train(name, net, *inputs, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(net.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        output = net(*inputs)
        loss = (output.squeeze(-1).mT - y).square().mean() if output.ndim == 3 else (output.squeeze(-1) - y).square().mean()
        loss.backward()
        optimizer.step()
    print(name, tuple(output.shape), f"{loss.item():.5f}")


options = {"d_out": 1, "n_blocks": 2}
train("mlp", MLP(d_in=5, d_block=16, dropout=0.1, **options), numbers)
train("resnet", ResNet(d_in=5, d_block=16, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0, **options), numbers)
ft = FTTransformer(
    n_cont_features=5, cat_cardinalities=[3, 3], d_block=16, attention_n_heads=4, attention_dropout=0.1, ffn_d_hidden=None,
    ffn_d_hidden_multiplier=4 / 3, ffn_dropout=0.1, residual_dropout=0.0, **options,
)  # fmt: skip
train("transformer", ft, numbers, classes, optimizer=ft.make_default_optimizer())
bins = compute_bins(numbers, n_bins=4)
print([len(edges) for edges in bins], f"{PiecewiseLinearEncoding(bins)(numbers).sum().item():.4f}")
for version in ("A", "B"):
    embed = PiecewiseLinearEmbeddings(bins, 6, activation=False, version=version)
    train(version, torch.nn.Sequential(embed, torch.nn.Flatten(), torch.nn.Linear(30, 1)), numbers)
train("periodic", torch.nn.Sequential(PeriodicEmbeddings(5, 6, lite=True), torch.nn.Flatten(), torch.nn.Linear(30, 1)), numbers)
for kind in ("tabm", "tabm-mini", "tabm-packed"):
    scaling = None if kind == "tabm-packed" else "random-signs"
    net = TabM(
        n_num_features=5, cat_cardinalities=[3, 3], d_out=1, n_blocks=2, d_block=16, dropout=0.1, k=4, arch_type=kind,
        start_scaling_init=scaling,
    )  # fmt: skip
    train(kind, net, numbers, classes)
