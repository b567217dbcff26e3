"""Classes of tensors: parameters, the tensor types of old, volatile tensors."""
