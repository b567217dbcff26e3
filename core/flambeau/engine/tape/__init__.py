"""The recorded graph and its backward: nodes, saved tensors, the engine, grad mode.

Entry points: `node.Node` (one recorded operation), `engine.run` (a backward pass), `grad_mode` and `fast_path.FAST` (the types
that take the fast path of a call).  Must stay true: nodes run in decreasing order of `seq`, from a heap and not by recursion;
a node frees its saved tensors after it has run, unless the graph is retained; reference counting alone frees a graph.  The tape
reads slots of tensors (`_node`, `_key`, `_array`), but does not import their class, which is registered in `tensor_class`.  Two
layouts are special: a sparse gradient stays sparse at a leaf and in rules that take sparse gradients; the node of a nested
tensor is that of its values.  How nodes are stored and gradients are added may change freely.
"""
