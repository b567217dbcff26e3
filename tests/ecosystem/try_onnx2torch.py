"""onnx2torch: an exported network becomes a module again."""

import onnx
import torch
from onnx2torch import convert

graph = onnx.helper.make_graph(
    [
        onnx.helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        onnx.helper.make_node("Relu", ["y"], ["z"]),
        onnx.helper.make_node("GlobalAveragePool", ["z"], ["p"]),
        onnx.helper.make_node("Flatten", ["p"], ["out"]),
    ],
    "net",
    [onnx.helper.make_tensor_value_info("x", 1, [1, 2, 6, 6])],
    [onnx.helper.make_tensor_value_info("out", 1, [1, 3])],
    [onnx.helper.make_tensor("w", 1, [3, 2, 3, 3], [0.01 * i - 0.2 for i in range(54)])],
)
net = convert(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]))
found = net(torch.arange(72.0).reshape(1, 2, 6, 6) / 72)
print(type(net).__name__, tuple(found.shape), [f"{value:.4f}" for value in found[0].tolist()])
print([node.op for node in net.graph.nodes])
