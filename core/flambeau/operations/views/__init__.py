"""Views of the same memory, and in-place operations on and through them."""
