"""The command line `python -m flambeau`: run programs, print reports, convert files, and generate stub files."""
