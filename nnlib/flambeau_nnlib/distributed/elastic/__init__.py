"""Processes that are started, watched and restarted together; see `run` and `launcher`."""
