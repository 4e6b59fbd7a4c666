"""``python -m hoeffding.reproduce``: see ``--help``."""

from __future__ import annotations

import argparse
import sys

from hoeffding.reproduce import reproduce


def main() -> int:
    """Run from the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hoeffding.reproduce", description="Reproduce the paper.")
    parser.add_argument("--only", help="data sets by the paper's letters, such as A,B")
    parser.add_argument("--quick", action="store_true", help="only A, B and E")
    parser.add_argument("-o", "--output", default="hoeffding-reproduction", help="folder for the page")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else None
    try:
        print(f"written: {reproduce(only, quick=args.quick, output=args.output)}")
    except (ValueError, ModuleNotFoundError, FileNotFoundError, ConnectionError) as error:
        print(f"hoeffding: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
