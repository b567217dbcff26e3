"""torch-geometric: batches of graphs, message passing and its gradients."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj, to_undirected

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 3, 0]])
graph = Data(x=torch.randn(4, 3), edge_index=edges, y=torch.tensor([1]))
print(graph, graph.is_undirected(), graph.num_edges)
print(to_undirected(edges).tolist(), degree(edges[0]).tolist())
print(to_dense_adj(add_self_loops(edges)[0]).sum().item())
for layer in (GCNConv(3, 4), SAGEConv(3, 4), GATConv(3, 2, heads=2)):
    out = layer(graph.x, graph.edge_index)
    layer.zero_grad()
    out.square().sum().backward()
    print(layer, tuple(out.shape), f"{out.sum().item():.4f}", f"{sum(p.grad.norm() for p in layer.parameters()).item():.4f}")
batch = Batch.from_data_list([graph, graph.clone()])
print(batch, batch.batch.tolist(), tuple(global_mean_pool(batch.x, batch.batch).shape))
for part in DataLoader([graph] * 5, batch_size=2):
    print(part.num_graphs, tuple(part.x.shape), part.ptr.tolist())
