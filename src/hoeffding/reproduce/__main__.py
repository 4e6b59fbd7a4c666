"""``python -m hoeffding.reproduce``: see ``--help``."""

from __future__ import annotations

import argparse
import sys

from hoeffding.reproduce import OUTPUT, reproduce


def run(only: str | None, quick: bool, output: str, pipeline: bool = True) -> int:
    """Write the page, or say why not; the exit code. ``only`` holds letters separated by commas."""
    try:
        keys = only.split(",") if only is not None else None
        print(f"written: {reproduce(keys, quick=quick, output=output, pipeline=pipeline)}")
    except (ValueError, ModuleNotFoundError, OSError) as error:
        print(f"hoeffding: {error}", file=sys.stderr)
        return 2
    return 0


def main() -> int:
    """Run from the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hoeffding.reproduce", description="Reproduce the paper.")
    parser.add_argument("--only", help="data sets by the paper's letters, such as A,B")
    parser.add_argument("--quick", action="store_true", help="only A, B and E: some minutes instead of an hour")
    parser.add_argument("-o", "--output", default=OUTPUT, help=f"folder for the page (by default {OUTPUT})")
    parser.add_argument("--no-pipeline", action="store_true", help="do not time the paper's pipeline")
    args = parser.parse_args()
    return run(args.only, args.quick, args.output, not args.no_pipeline)


if __name__ == "__main__":
    sys.exit(main())
