"""Python's protocols for tensors: printing, copying and pickling, exchange with other libraries."""
