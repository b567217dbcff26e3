"""Views of the same memory, their in-place forms, and writes through views."""
