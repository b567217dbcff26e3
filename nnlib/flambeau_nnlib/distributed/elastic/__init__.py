"""Jobs whose processes are started, monitored and restarted together; see `run` and `launcher`."""
