"""Entry point of `python -m flambeau`, implemented in `cli.launcher`."""

from __future__ import annotations

from .cli.launcher import main

if __name__ == "__main__":
    main()
