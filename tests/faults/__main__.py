"""`python -m tests.faults [NAME ...]`: runs proofs in their full size, and says what holds.

Everything happens in a temporary directory and on loopback. It ends with 1 if a claim is broken
or its control shows nothing, and with 77 if all is well but for a proof that cannot run here.
"""

import argparse
import functools
import secrets
import sys

from tests.faults import page, programmes, rounds
from tests.faults.rounds import Asked

SEED_BITS = 32


def main() -> int:
    """Read the command line, run, and print as it goes."""
    names = programmes.list_names()
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--ci", action="store_true", help="the size and seed of the test suite")
    parser.add_argument("--alone", action="store_true", help="those that the test suite leaves out")
    parser.add_argument("--again", action="store_true", help="try what does not hold once more")
    parser.add_argument("--size", type=int, help="so many cases")
    parser.add_argument("--seed", type=int, help="of an earlier run, to see the same again")
    parser.add_argument("--write", action="store_true", help="into docs/reference/reliability.*")
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"no such proof: {', '.join(sorted(unknown))}")
    if options.names and options.alone:
        parser.error("either names, or --alone")
    if options.write and options.again:
        parser.error("what holds only when it is tried again is not for the page")
    seed = options.seed
    if seed is None:
        seed = programmes.CI_SEED if options.ci else secrets.randbits(SEED_BITS)
    say = functools.partial(print, flush=True)
    all_tried = []
    for name in options.names or (sorted(programmes.ALONE) if options.alone else names):
        proof = programmes.load(name)
        size = options.size or (proof.CI if options.ci else proof.FULL)
        tried = rounds.play(Asked(name, size, seed), say, tries=2 if options.again else 1)
        if options.write and tried.report is not None:
            page.write(tried.report)
        all_tried.append(tried)
    say(rounds.tabulate(all_tried, rounds.CI_LIMIT_S if options.ci else None))
    return rounds.find_code(all_tried)


if __name__ == "__main__":
    sys.exit(main())
