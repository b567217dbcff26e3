"""Programs on flambeau: the launcher, what it reports, the stub files."""
