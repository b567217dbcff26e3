"""Running programs on flambeau: the launcher, its reports, and the stub files."""
