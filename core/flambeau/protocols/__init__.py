"""Python protocols of tensors: printing, copying, pickling, and exchange with other array libraries."""
