"""What was measured last, part by part: `docs/reference/performance.json`, read and written.

A part that is measured alone replaces only itself. Each says on which machine, by which versions
and how busy a machine it was measured.
"""

import dataclasses
import json
import os
import platform
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.measure import Command, run_once
from tests.bench.rows import Row

PACKAGES = ("askd", "trio", "httpx", "pydantic", "msgpack")


@dataclass(frozen=True, slots=True)
class Section:
    """One part's rows, and of which run they are.

    Attributes:
        rounds: pairs a row, as asked for; slow rows take fewer.
        machine: cores, kernel, Python.
        versions: of what took part, by names; empty: they were not kept.
        load: the processes that wanted a core when the part began and ended; empty: not kept.
        pass_ms: what `python -c pass` took at the end.
        rows: in their order.
    """

    rounds: int
    machine: str
    versions: Mapping[str, str]
    load: Sequence[float]
    pass_ms: int
    rows: Sequence[Row]


def describe_run(
    rows: Sequence[Row], rounds: int, *, load: float, peers: Mapping[str, str]
) -> Section:
    """The section of a part that has just been measured; `load`: when it began."""
    base = run_once(Command([sys.executable, "-c", "pass"], dict(os.environ)))
    return Section(
        rounds=rounds,
        machine=describe_machine(),
        versions={
            **{name: version(name) for name in PACKAGES},
            "sqlite": sqlite3.sqlite_version,
            **peers,
        },
        load=[round(load, 1), round(os.getloadavg()[0], 1)],
        pass_ms=round(base.wall_s * 1000),
        rows=rows,
    )


def describe_machine() -> str:
    """What the times depend on, and nothing that names it."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("model name"):
            model = f" ({line.partition(':')[2].strip()})"
            break
    kernel = platform.release().partition("-")[0]
    return f"{os.cpu_count()} cores{model}, Linux {kernel}, Python {platform.python_version()}"


def encode_sections(sections: Mapping[str, Section]) -> str:
    """As JSON, by the names of the parts."""
    shown = {name: dataclasses.asdict(section) for name, section in sections.items()}
    return json.dumps(shown, indent=1, ensure_ascii=False) + "\n"


def decode_sections(text: str) -> dict[str, Section]:
    """What `encode_sections` wrote."""
    found: dict[str, dict[str, Any]] = json.loads(text)
    return {
        name: Section(**{**fields, "rows": [Row(**row) for row in fields["rows"]]})
        for name, fields in found.items()
    }
