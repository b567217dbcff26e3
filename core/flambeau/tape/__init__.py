"""What is recorded of a computation and run backwards: nodes, saved values, the engine, grad mode.

The class of tensors is not known here.
"""
