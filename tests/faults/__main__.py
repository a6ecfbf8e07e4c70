"""`python -m tests.faults [NAME ...]`: runs proofs in their full size, and says what holds.

Everything happens in a temporary directory and on loopback. It ends with 1 if a claim is broken
or its control shows nothing.
"""

import argparse
import secrets
import sys
import tempfile
from pathlib import Path

from tests.faults import page, programmes
from tests.faults.programmes import Verdict

SEED_BITS = 32


def main() -> int:
    """Read the command line, run, and print as it goes."""
    names = programmes.list_names()
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--ci", action="store_true", help="the size that the test suite runs")
    parser.add_argument("--size", type=int, help="so many cases")
    parser.add_argument("--seed", type=int, help="of an earlier run, to see the same again")
    parser.add_argument("--write", action="store_true", help="into docs/reference/reliability.*")
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"no such proof: {', '.join(sorted(unknown))}")
    seed = secrets.randbits(SEED_BITS) if options.seed is None else options.seed
    fine = True
    for name in options.names or names:
        proof = programmes.load(name)
        size = options.size or (proof.CI if options.ci else proof.FULL)
        print(f"{name}: {size:,} {proof.UNIT}, seed {seed} ...", flush=True)
        with tempfile.TemporaryDirectory(prefix="ask-proof-") as directory:
            report = programmes.run(name, size, seed, Path(directory))
        print(report.render(), flush=True)
        fine = fine and report.verdict is Verdict.HOLDS
        if options.write:
            page.write(report)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
