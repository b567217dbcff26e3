"""The recorded graph and its backward: nodes, saved tensors, the engine, grad mode.

Nothing here imports the class of tensors.
"""
