"""What libraries' own tests import of PyTorch's."""
