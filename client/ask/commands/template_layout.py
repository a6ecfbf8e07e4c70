"""How templates are laid out as text: a line each, how it begins, its parameters.

Values in, lines out. What files and servers say is shown on one line, with nothing that a
terminal would obey.
"""

from collections.abc import Sequence

from ask.commands.calls import Map
from ask.commands.layout import flatten
from ask.graphemes import find_width, fit

NARROW_COLUMNS = 20
"""What would have less room than this is left out."""
INDENT = "  "


def describe_prompt(row: Map) -> Map:
    """A server's prompt for the list."""
    return {
        "name": f"{row['server']}:{row['name']}",
        "source": "server",
        "description": row["description"] or None,
        "first_line": "",
        "input": False,
        "parameters": [
            {"name": each["name"], "default": None if each["required"] else ""}
            for each in row["arguments"]
        ],
    }


def lay_out(rows: Sequence[Map], columns: int | None) -> list[str]:
    """A template a line, beneath it how it begins, and its parameters; in brackets those that
    may be left out.
    """
    width = max(find_width(flatten(row["name"])) for row in rows)
    lines = []
    for row in rows:
        name = flatten(row["name"])
        if "error" in row:
            lines.append(_join(fit(name, width), f"(broken: ask templates show {name})", columns))
            continue
        said, *rest = [each for each in (row["description"], row["first_line"]) if each] or [""]
        lines.append(_join(fit(name, width), flatten(said), columns))
        lines += [f"{INDENT}{_join('', flatten(each), columns)}" for each in rest]
        if row["parameters"]:
            lines.append(f"{INDENT}{' '.join(_say(each) for each in row['parameters'])}")
    return lines


def _say(parameter: Map) -> str:
    said = f"-p {flatten(parameter['name'])}={flatten(parameter['default'] or '') or '...'}"
    return said if parameter["default"] is None else f"[{said}]"


def _join(name: str, said: str, columns: int | None) -> str:
    indent = f"{name}{INDENT}" if name else ""
    if columns is None:
        return f"{indent}{said}".rstrip()
    room = columns - find_width(indent) - len(INDENT)
    return f"{indent}{fit(said, room)}".rstrip() if room >= NARROW_COLUMNS else name.rstrip()
