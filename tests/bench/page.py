"""The page of performance, rendered from what was measured last (`record`).

Below the table of a part that misses a target stands what its module says of that, a text `WHY`
(`parts.explain`). `python -m tests.bench.page` writes the page again when only such words are new.
"""

from collections.abc import Iterator, Mapping

from tests.bench.parts import explain
from tests.bench.record import Section, decode_sections, encode_sections
from tests.system.world import ROOT

PAGE = ROOT / "docs" / "reference" / "performance.md"
RECORD = PAGE.with_suffix(".json")
TITLES = {
    "client": "The client against a Python that does nothing",
    "tabs": "A Tab",
    "first": "The first visible token",
    "cold": "The first prompt after the machine has started",
    "peers": "One question, beside other programs",
    "herd": "Many questions at once",
    "latency": "A token's way through the daemon",
    "requests": "Requests that the daemon answers",
    "fan-out": "One answer, many that watch it",
    "appends": "Durable appends",
    "history": "A store of many messages",
    "memory": "Memory",
    "guards": "Counts that no machine's speed decides",
    "dialects": "What models send",
    "contexts": "What a model sees of a long conversation",
    "lengths": "Long conversations read",
    "plans": "Compactions planned",
    "compactions": "Compactions beside prompts",
}
"""The parts of the bench, by the names that `--only` takes, in the page's order."""
HEAD = """\
# Performance

All of this is measured by one command, `python -m tests.bench`, in a checkout with the extra
`test`; `--only PART` measures one part. Whole processes, or requests, are run in turn, A B A B;
a figure is the median of the pairs' ratios (smallest–largest). Each run's answer is checked, and a
run that shows another one is void. Trust the ratios: both sides of one saw the same machine.
`ask` is the script that `ask install-launcher` writes, unless a row says something else.
A target in bold must hold. What was measured last, by parts, is also in
[performance.json](performance.json).

Other programs are installed by `python -m tests.bench.peers DIR`, and measured with `--peers DIR`.
"""
TABLE = """\
| what | measured | target | holds |
|---|---|---|---|
"""


def render_page(sections: Mapping[str, Section]) -> str:
    """All of the page."""
    return "\n".join([HEAD, *(_render(part, sections.get(part)) for part in TITLES)])


def _render(part: str, section: Section | None) -> str:
    lines = [f"## {TITLES[part]}\n"]
    if section is None:
        lines.append(f"Not measured yet: `python -m tests.bench --only {part} --write`.\n")
    else:
        lines.append("\n".join(_describe(part, section)) + "\n")
        lines.append(TABLE + "".join(f"{row.render()}\n" for row in section.rows))
        if why := explain(part, section.rows):
            lines.append(f"{why}\n")
    return "\n".join(lines)


def _describe(part: str, section: Section) -> Iterator[str]:
    yield f"`--only {part} --rounds {section.rounds}`: {section.machine};"
    if section.versions:
        versions = ", ".join(f"{name} {number}" for name, number in section.versions.items())
        yield f"{versions};"
    if section.load:
        began, ended = section.load
        yield f"load {began} when it began, {ended} at the end;"
    yield f"`python -c pass` took {section.pass_ms} ms at the end."


def read_record() -> dict[str, Section]:
    """What was measured last."""
    return decode_sections(RECORD.read_text(encoding="utf-8"))


def write_page(measured: Mapping[str, Section]) -> None:
    """Put these parts in place of what the page has of them."""
    known = {**read_record(), **measured}
    kept = {part: known[part] for part in TITLES if part in known}
    RECORD.write_text(encode_sections(kept), encoding="utf-8")
    PAGE.write_text(render_page(kept), encoding="utf-8")


if __name__ == "__main__":
    write_page({})
