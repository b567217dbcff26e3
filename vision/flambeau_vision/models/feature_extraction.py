"""Extract intermediate features of a network: trace the network and remove all nodes that the features do not need.

>>> from flambeau_vision.models import resnet18
>>> from flambeau_vision.models.feature_extraction import create_feature_extractor
>>> extractor = create_feature_extractor(resnet18(), {"layer1": "near", "layer4.1.relu_1": "far"})
>>> {name: tuple(value.shape) for name, value in extractor(torch.ones(1, 3, 64, 64)).items()}
{'near': (1, 64, 16, 16), 'far': (1, 512, 2, 2)}
"""

from __future__ import annotations

import copy
import inspect
import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.fx.graph_module import _copy_attr

from flambeau import fx, nn
from flambeau_vision import ops

__all__ = ["DualGraphModule", "LeafModuleAwareTracer", "NodePathTracer", "create_feature_extractor", "get_graph_node_names"]

ReturnNodes = list[str] | dict[str, str]


class LeafModuleAwareTracer(fx.Tracer):
    """Tracer that does not trace into modules of the given classes, nor into the modules of `torch.nn`.

    Args:
        leaf_modules: module classes; each call of such a module becomes a single node.
        *args, **kwargs: arguments of `torch.fx.Tracer`.

    >>> LeafModuleAwareTracer(leaf_modules=[]).leaf_modules
    ()
    """

    def __init__(self, *args: Any, leaf_modules: Sequence[type[nn.Module]] = (), **kwargs: Any) -> None:
        self.leaf_modules = tuple(leaf_modules)
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualified_name)


class NodePathTracer(LeafModuleAwareTracer):
    """Tracer that records the module path of each node.

    The attribute `node_to_qualname` maps each node to a path. The path of a module call is that of the module, such as
    `layer1.conv`. Other nodes append their name to the path of the module that contains them, such as `layer1.add`.
    Repeated paths get a number: `layer1.relu`, `layer1.relu_1`.

    Args:
        *args, **kwargs: arguments of `LeafModuleAwareTracer`.

    >>> tracer = NodePathTracer()
    >>> _ = tracer.trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> list(tracer.node_to_qualname.values())
    ['input', '0']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: OrderedDict[fx.Node, str] = OrderedDict()

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outer = self.current_module_qualname
        self.current_module_qualname = self.path_of_module(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = outer

    def create_proxy(self, *args: Any, **kwargs: Any) -> fx.Proxy:
        proxy = super().create_proxy(*args, **kwargs)
        self.node_to_qualname[proxy.node] = self._path(proxy.node)
        return proxy

    def _path(self, node: fx.Node) -> str:
        path = self.current_module_qualname
        if node.op != "call_module":
            path = f"{path}.{node}" if path else str(node)
        path = re.sub(r"(?<=.)_[0-9]+$", "", path)  # remove the number added by fx, which counts in the whole network
        for other in reversed(self.node_to_qualname.values()):
            numbered = re.fullmatch(rf"{re.escape(path)}(?:_([0-9]+))?", other)
            if numbered:
                return f"{path}_{int(numbered[1] or 0) + 1}"
        return path


class DualGraphModule(fx.GraphModule):
    """Module with one graph for training and one for evaluation; the methods `train` and `eval` select the graph.

    Args:
        root: the module that contains the submodules and parameters of the graphs.
        train_graph, eval_graph: the graphs for training and for evaluation.
        class_name: class name of the module.

    >>> import copy
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> dual = DualGraphModule(traced, traced.graph, copy.deepcopy(traced.graph))
    >>> dual.eval().graph is dual.eval_graph
    True
    """

    def __init__(self, root: nn.Module, train_graph: fx.Graph, eval_graph: fx.Graph, class_name: str = "GraphModule") -> None:
        super().__init__(root, train_graph if root.training else eval_graph, class_name)
        for graph in (train_graph, eval_graph):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        self.train()
        self.train_graph = train_graph
        self.eval_graph = eval_graph
        self.train(root.training)
        if eval_graph._tracer_cls != train_graph._tracer_cls:
            raise TypeError(
                "Train mode and eval mode should use the same tracer class. Instead got "
                f"{eval_graph._tracer_cls} for eval vs {train_graph._tracer_cls} for train"
            )

    def train(self, mode: bool = True) -> DualGraphModule:
        """Switch to the training graph, or to the evaluation graph if `mode` is False.

        Args:
            mode: True for training.
        """
        if hasattr(self, "train_graph") and mode != self.training:
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)


def _tracer_options(given: dict[str, Any] | None) -> dict[str, Any]:
    classes = [member for member in vars(ops).values() if inspect.isclass(member) and issubclass(member, nn.Module)]
    return {"autowrap_modules": (math, ops), "leaf_modules": classes, **(given or {})}


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """Return the names of all nodes of a network in order of computation: a list for training and one for evaluation.

    Args:
        model: the network.
        tracer_kwargs: arguments of `NodePathTracer`; by default, it does not trace into the modules of `flambeau_vision.ops`.
        suppress_diff_warning: do not warn if the two lists differ.
        concrete_args: argument of `torch.fx.symbolic_trace`.

    Warns:
        UserWarning: the two lists differ.

    >>> get_graph_node_names(torch.nn.Sequential(torch.nn.Linear(2, 1)))[1]
    ['input', '0']
    """
    names = []
    for mode in (True, False):
        tracer = NodePathTracer(**_tracer_options(tracer_kwargs))
        tracer.trace(_in_mode(model, mode), concrete_args=concrete_args)
        names.append(list(tracer.node_to_qualname.values()))
    _warn_of_differences(names[0], names[1], suppress_diff_warning)
    return names[0], names[1]


def _in_mode(model: nn.Module, mode: bool) -> nn.Module:
    return copy.deepcopy(model).train(mode)


def _warn_of_differences(train: list[str], evaluation: list[str], suppressed: bool) -> None:
    if train == evaluation or suppressed:
        return
    if _is_subsequence(train, evaluation):
        what = "in train mode are a subsequence of those obtained in eval mode"
    elif _is_subsequence(evaluation, train):
        what = "in eval mode are a subsequence of those obtained in train mode"
    else:
        what = "in train mode are different to those obtained in eval mode"
    warnings.warn(
        f"NOTE: The nodes obtained by tracing the model {what}. When choosing nodes for feature extraction, you may need to "
        "specify output nodes for train and eval mode separately.",
        stacklevel=3,
    )


def _is_subsequence(candidate: list[str], sequence: list[str]) -> bool:
    rest = iter(sequence)
    return all(name in rest for name in candidate)


def create_feature_extractor(
    model: nn.Module,
    return_nodes: ReturnNodes | None = None,
    train_return_nodes: ReturnNodes | None = None,
    eval_return_nodes: ReturnNodes | None = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """Return a network that computes intermediate values of `model` as a dict and shares the parameters of `model`.

    Args:
        model: the network.
        return_nodes: names of nodes (see `get_graph_node_names`), or a dict from node names to output names. The path of a
            module selects the last node inside of it: `"layer1"` selects the output of `layer1`.
        train_return_nodes, eval_return_nodes: separate nodes for training and evaluation, instead of `return_nodes`.
        tracer_kwargs: arguments of `NodePathTracer`.
        suppress_diff_warning: do not warn if the nodes of training and evaluation differ.
        concrete_args: argument of `torch.fx.symbolic_trace`.

    Returns:
        The network, which has one graph for training and one for evaluation.

    Raises:
        ValueError: neither `return_nodes` nor the two separate arguments are given, or both are; or a node does not exist.

    >>> network = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> list(create_feature_extractor(network, ["0"])(torch.ones(1, 2)))
    ['0']
    """
    wanted = _wanted(return_nodes, train_return_nodes, eval_return_nodes)
    was_training = model.training
    graphs, names = [], []
    for mode, nodes in zip((True, False), wanted, strict=True):
        model.train(mode)
        tracer = NodePathTracer(**_tracer_options(tracer_kwargs))
        graph = tracer.trace(model, concrete_args=concrete_args)
        module = fx.GraphModule(tracer.root, graph, type(model).__name__)
        names.append(list(tracer.node_to_qualname.values()))
        _check_names(nodes, names[-1])
        _return_only(graph, tracer.node_to_qualname, nodes)
        module.recompile()
        graphs.append(graph)
    model.train(was_training)
    _warn_of_differences(names[0], names[1], suppress_diff_warning)
    extractor = DualGraphModule(model, graphs[0], graphs[1], class_name=type(model).__name__)
    return extractor.train(was_training)


def _wanted(both: ReturnNodes | None, train: ReturnNodes | None, evaluation: ReturnNodes | None) -> list[dict[str, str]]:
    if all(nodes is None for nodes in (both, train, evaluation)):
        raise ValueError("Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified")
    if (train is None) != (evaluation is None):
        raise ValueError("If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified")
    if both is not None and train is not None:
        raise ValueError("If `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified")
    given = [both, both] if both is not None else [train, evaluation]
    return [
        {str(key): str(value) for key, value in (nodes.items() if isinstance(nodes, dict) else zip(nodes, nodes, strict=True))}
        for nodes in given
        if nodes is not None
    ]


def _check_names(nodes: dict[str, str], names: list[str]) -> None:
    for wanted in nodes:
        if not any(name == wanted or name.startswith(f"{wanted}.") for name in names):
            raise ValueError(
                f"node: '{wanted}' is not present in model. Hint: use `get_graph_node_names` to make sure the `return_nodes` you "
                "specified are present. It may even be that you need to specify `train_return_nodes` and `eval_return_nodes` "
                "separately."
            )


def _return_only(graph: fx.Graph, paths: dict[fx.Node, str], wanted: dict[str, str]) -> None:
    """Make a graph return a dict of the nodes named by the keys of `wanted`, and remove unused nodes."""
    output = graph.output_node()
    remaining = dict(wanted)
    found: dict[str, fx.Node] = {}
    for node in reversed(graph.nodes):
        path = paths.get(node)
        if path is None or (node.op == "placeholder" and path not in remaining):
            continue
        for name in list(remaining):
            if path == name or path.startswith(f"{name}."):
                found[remaining.pop(name)] = node
                break
    graph.erase_node(output)
    graph.output({name: found[name] for name in wanted.values()})
    graph.eliminate_dead_code()
