"""`python -m flambeau.distributed.launch`: deprecated name of `flambeau.distributed.run`. Scripts read their rank from
`LOCAL_RANK`.
"""

from __future__ import annotations

import sys
import warnings

from .run import get_args_parser, run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Start the processes that the command line describes. `--use-env` is accepted and has no effect."""
    warnings.warn("flambeau.distributed.launch is deprecated, as in PyTorch: use flambeau.distributed.run", FutureWarning)
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="accepted for compatibility: always so")
    run(parser.parse_args(sys.argv[1:] if args is None else args))


if __name__ == "__main__":
    main()
