"""How servers of tools are laid out as text: a table of them, a test of one, doctor's lines.

Values in, lines out. What a server says stands on one line, cut to the terminal, with nothing
that a terminal would obey.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ask.commands.calls import Map
from ask.commands.findings import Finding
from ask.commands.layout import NARROW_COLUMNS, count, flatten
from ask.graphemes import find_width, fit

HEADINGS = ("Server", "Kind", "State", "Tools", "Offered", "")
SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def lay_out_servers(rows: Sequence[Map], columns: int | None) -> list[str]:
    """A server a line, under headings; what is wrong with it at the end."""
    lines = [HEADINGS, *(_list_cells(row) for row in rows)]
    widths = [max(find_width(line[place]) for line in lines) for place in range(5)]
    table = []
    for line in lines:
        text = "  ".join(fit(cell, width) for cell, width in zip(line[:5], widths, strict=True))
        table.append(_end_line(f"{text}  ", line[5], columns))
    return table


def _list_cells(row: Map) -> tuple[str, str, str, str, str, str]:
    # What was never asked has no tools that anybody knows of.
    is_known = bool(row["tools"]) or row["state"] == "ready"
    tools, offered = (str(row["tools"]), str(row["offered"])) if is_known else ("-", "-")
    return flatten(row["name"]), row["kind"], row["state"], tools, offered, name_error(row)


def name_error(row: Map) -> str:
    """What is wrong with a server, on one line, its name not repeated; nothing: empty."""
    return flatten(row["error"] or "").removeprefix(f"{row['name']}: ")


def lay_out_test(tested: Map, columns: int | None) -> list[str]:
    """What a server that is ready says of itself, and its tools with their first sentences."""
    record = tested["server"]
    version = f", version {flatten(record['version'])}" if record["version"] else ""
    offers = [count(record["tools"], "tool")]
    offers += [f"{'has' if record[each] else 'no'} {each}" for each in ("resources", "prompts")]
    lines = [f"{record['name']}: {record['state']}{version}; {', '.join(offers)}"]
    width = max((find_width(flatten(each["name"])) for each in tested["data"]), default=0)
    for each in tested["data"]:
        kept = "" if each["offered"] else "(not offered) "
        first = SENTENCE_END.split(flatten(each["description"]), maxsplit=1)[0]
        text = f"  {fit(flatten(each['name']), width)}  "
        lines.append(_end_line(text, f"{kept}{first}", columns))
    left = record["tools"] - len(tested["data"])
    return lines + ([f"  and {left} more"] if left > 0 else [])


def _end_line(text: str, rest: str, columns: int | None) -> str:
    """The line with its rest, as far as a terminal has room for it."""
    if columns is not None:
        room = columns - find_width(text)
        rest = fit(rest, room) if room >= NARROW_COLUMNS else ""
    return (text + rest).rstrip()


def find_servers(rows: Iterable[Map]) -> Iterator[Finding]:
    """What `ask doctor` says of each configured server, as it is; none is started for it."""
    for row in rows:
        name, state = flatten(row["name"]), row["state"]
        if state == "failed":
            text = f"{name}: {name_error(row) or 'it could not be started'}"
            yield Finding("mcp", "warn", text, f"Try it: ask mcp test {name}")
            continue
        how = {"off": "not enabled", "idle": "not needed yet", "starting": "starting"}.get(
            state, f"runs, {count(row['offered'], 'tool')} offered"
        )
        yield Finding("mcp", "ok", f"{name}: {how}")
