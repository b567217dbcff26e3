"""The parts of `torch._library` that libraries use."""
