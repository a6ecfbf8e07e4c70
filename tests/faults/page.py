"""The page of proofs: docs/reference/reliability.md, and the same as JSON beside it.

The JSON holds the last run of each proof; the page is written from it, so that one proof run
alone replaces its own line and leaves all others as they are.
"""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from tests.faults.programmes import SHOWN_HARMS, Report
from tests.house.floors import ROOT

DATA = ROOT / "docs" / "reference" / "reliability.json"
PAGE = DATA.with_suffix(".md")

INTRODUCTION = """\
# What has been proved, and how to repeat it

Each line is a programme of `tests/faults/proofs/`: a claim, so many cases, and a control, which is
the same run against a house that is built wrong. A control has to show the harm; where it shows
none, the proof is void and says so. The check runs a smaller size of each: the test suite those
that can share a machine, and behind it `--ci --alone` those that need one for themselves.

```text
python -m tests.faults                    # all, in full: hours
python -m tests.faults --ci               # all, as the check runs them: under 25 minutes
python -m tests.faults --ci --alone       # those of them that the test suite leaves out
python -m tests.faults NAME               # one, in full
python -m tests.faults NAME --seed N      # the same cases again
python -m tests.faults NAME --write       # and into this page
```

Each run ends with what each proof took, and all together. It ends with 1 if a claim is broken or
its control shows nothing. They need a checkout with the extra `test`, Linux, and for some
`strace`, `bwrap` and the right to mount: one that cannot run says what it misses, is counted as
not run, and a run that is fine but for such ends with 77. This page and
`docs/reference/reliability.json` are written by `--write` alone.
"""


def describe(report: Report) -> dict[str, Any]:
    """A run as it stands in the JSON."""
    return {
        "claim": report.proof.CLAIM,
        "control": report.proof.CONTROL,
        "unit": report.proof.UNIT,
        "full": report.proof.FULL,
        "verdict": report.verdict.value,
        "cases": report.proved.cases,
        "harms": len(report.proved.harms),
        "shown": list(report.proved.harms[:SHOWN_HARMS]),
        "control_cases": report.controlled.cases,
        "control_harms": len(report.controlled.harms),
        "figures": dict(report.proved.figures),
        "seed": report.seed,
        "took_s": round(report.took_s),
        "on": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release().partition('-')[0]}, "
        f"Python {platform.python_version()}",
    }


def render(proofs: dict[str, dict[str, Any]]) -> str:
    """The page."""
    lines = [
        INTRODUCTION,
        "| proof | cases | harms | control: cases, harms | verdict |",
        "|---|---|---|---|---|",
    ]
    for name, proof in sorted(proofs.items()):
        cases = f"{proof['cases']:,} {proof['unit']}"
        if proof["cases"] < proof["full"]:
            cases += f" of {proof['full']:,}"
        controlled = f"{proof['control_cases']:,}, {proof['control_harms']:,}"
        verdict = proof["verdict"] if proof["verdict"] == "holds" else f"**{proof['verdict']}**"
        lines.append(
            f"| [{name}](#{name}) | {cases} | {proof['harms']} | {controlled} | {verdict} |"
        )
    for name, proof in sorted(proofs.items()):
        lines += ["", f"## {name}", "", proof["claim"], "", f"Control: {proof['control']}", ""]
        lines += [f"- {what}: {figure}" for what, figure in proof["figures"].items()]
        lines += [f"- Harm: {harm}" for harm in proof["shown"]]
        took = f"{proof['took_s']:,} s"
        lines.append(f"- Run on {proof['on']}, seed {proof['seed']}, {took}; {proof['machine']}.")
    return "\n".join(lines) + "\n"


def read(path: Path = DATA) -> dict[str, dict[str, Any]]:
    """The last run of each proof."""
    if not path.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(report: Report) -> None:
    """Put one run in place of the last of its proof."""
    proofs = {**read(), report.name: describe(report)}
    DATA.write_text(json.dumps(proofs, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(render(read()), encoding="utf-8")
