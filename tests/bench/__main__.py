"""`python -m tests.bench`: measures, prints a table, and says with exit code 1 what must hold and
does not.

Everything talks to loopback alone. Targets are ratios of things measured in the same run (see
`measure`). A peer that is not there is named as not measured; `tests.bench.peers` installs them.
Measure on a machine that does nothing else.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.history import MESSAGES
from tests.bench.loops import find_loop
from tests.bench.page import PAGE, write_page
from tests.bench.parts import PARTS, Asked, open_bench
from tests.bench.peers import find_peers
from tests.bench.record import Section, describe_run, encode_sections
from tests.bench.rows import Row
from tests.system.world import ROOT


def measure(part: str, asked: Asked) -> list[Row]:
    """The rows of one part, in a home of its own; each is printed when it is there."""
    rows: list[Row] = []
    with open_bench(asked) as bench:
        for row in PARTS[part](bench):
            print(row.render(), flush=True)
            rows.append(row)
    return rows


def read_parts(text: str) -> list[str]:
    """The parts that were asked for, with commas between; all of them for nothing."""
    named = [each for each in text.split(",") if each]
    if unknown := set(named) - PARTS.keys():
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    return [part for part in PARTS if part in named] if named else list(PARTS)


def main() -> int:
    """Measure, print, write; 1 if a target that must hold does not."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="pairs a row")
    parser.add_argument("--only", default="", help=f"parts, with commas: {', '.join(PARTS)}")
    parser.add_argument("--peers", type=Path, help="where tests.bench.peers has installed them")
    parser.add_argument("--corpora", type=Path, help="where the large stores are, or are built")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="of the largest store")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--json", type=Path, help="write what was measured to this file, as JSON")
    options = parser.parse_args()
    peers = find_peers(options.peers)
    asked = Asked(
        options.rounds, options.corpora, options.messages, peers, find_loop(options.peers)
    )
    versions = {peer.kind.name: peer.version for peer in peers.values()}
    measured: dict[str, Section] = {}
    void: list[str] = []
    for part in read_parts(options.only):
        load = os.getloadavg()[0]
        try:
            rows = measure(part, asked)
        except Exception:  # one part's fault is no other's: a whole run takes an hour
            traceback.print_exc()
            void.append(part)
            continue
        section = describe_run(rows, options.rounds, load=load, peers=versions)
        measured[part] = section
        if options.json is not None:
            options.json.write_text(encode_sections(measured), encoding="utf-8")
        if options.write:
            write_page({part: section})
    return judge(measured, void)


def judge(measured: Mapping[str, Section], void: Sequence[str]) -> int:
    """Say what is void and what must hold and does not: 1 if there is any such."""
    rows = [row for section in measured.values() for row in section.rows]
    failed = [row.name for row in rows if row.must and row.holds is False]
    for part in void:
        print(f"void: {part}", file=sys.stderr)
    for name in failed:
        print(f"does not hold: {name}", file=sys.stderr)
    return 1 if failed or void else 0


if __name__ == "__main__":
    sys.exit(main())
