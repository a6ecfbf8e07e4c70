"""Writes `docs/reference/log.md`: every record of the daemon's log, and what it means.

Level, name and text come from the sources; what a record means is written by hand, into the
page itself. `python -m tests.house.log_page` makes the page anew and keeps what was written
of the records that are still there; a test says which ones lack it.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache

from tests.house.pages import REFERENCE, render_table, write_page
from tests.house.texts import HOLE, Module, Place, fill_specs, find_texts, read_modules, walk

PATH = REFERENCE / "log.md"

LEVELS = {
    "critical": "CRITICAL",
    "error": "ERROR",
    "exception": "ERROR",
    "warning": "WARNING",
    "info": "INFO",
}
"""By the method that writes it; records of the level DEBUG are for who has the sources open."""

LOGGERS = ("log", "logger")

ROOMS = {
    "": "The daemon itself",
    "server": "Connections and requests",
    "jobs": "Jobs and schedules",
    "sessions": "Conversations and turns",
    "providers": "Models and sign-ins",
    "store": "Storage",
    "tools": "Tools",
}
"""The rooms of the daemon that write records, in the order of the page; `""` is their roof."""

HEAD = """\
# The log

What `askd` writes on standard error, which is the journal under systemd and a file elsewhere;
`ask daemon logs` shows it wherever it is. A line is

```text
2031-04-05T06:07:08.090+02:00 WARNING askd.sessions.driver: Storage fails: id=…: …
```

time, level, name and text; what begins with four blanks belongs to the record above it, such as
a traceback. In these tables `…` stands for what differs. `[log] level` of the
[settings](settings.md) says from which level on records are written, `ASK_LOG` goes before it. No
record holds a secret or what somebody said to a model.

- **INFO**: nothing is wrong.
- **WARNING**: something did not work and the daemon goes on without it, or tries again by itself.
- **ERROR**: something is lost or wants a look. With a traceback that no sentence here explains it
  is a fault of `askd`: please report it.
- **CRITICAL**: the daemon ends.

Where a text is only `…`, the record is the sentence of [an error](errors.md).
"""

FOOT = """
Level, name and text are generated from the sources by `tests/house/log_page.py`, what they mean is
written here.
"""

_ROW = re.compile(r"^\| ([A-Z]+) \| `([\w.]+)` \| `(.+?)` \| (.*) \|$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Record:
    """A record that can be written: the name of its logger, its text with holes, its level."""

    name: str
    text: str
    level: str

    @property
    def room(self) -> str:
        _, _, below = self.name.partition(".")
        room = below.partition(".")[0]
        return room if room in ROOMS else ""


@cache
def find_records() -> tuple[Record, ...]:
    """Every record at INFO or above, each once."""
    found = set()
    for module in read_modules().values():
        for node, place in walk(module):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=logger), attr=method)):
                    if logger in LOGGERS and method in LEVELS:
                        found |= {
                            Record(_find_name(module, logger), text, LEVELS[method])
                            for text in _read(node, place)
                        }
                case _:
                    pass
    return tuple(sorted(found))


def find_meanings(page: str) -> dict[Record, str]:
    """What a page says of each record."""
    return {
        Record(name, text.replace("\\|", "|"), level): meaning.replace("\\|", "|")
        for level, name, text, meaning in _ROW.findall(page)
    }


def render(meanings: dict[Record, str]) -> str:
    """The whole page; a record without a meaning has an empty cell."""
    records = find_records()
    page = HEAD
    for room, title in ROOMS.items():
        rows = [
            (each.level, f"`{each.name}`", f"`{each.text}`", meanings.get(each, ""))
            for each in records
            if each.room == room
        ]
        page += f"\n## {title}\n\n"
        page += render_table(("level", "name", "text", "what it means, and what to do"), rows)
    return page + FOOT


def _read(node: ast.Call, place: Place) -> list[str]:
    text, *given = node.args
    return [
        filled
        for each in find_texts(text, place)
        for filled in fill_specs(each, [_fill(one, place) for one in given])
    ]


def _fill(node: ast.expr, place: Place) -> list[str]:
    """What stands for a specifier: a sentence of the sources; one word would be a guess."""
    texts = find_texts(node, place)
    return texts if all(" " in each.strip() for each in texts) else [HOLE]


def _find_name(module: Module, logger: str) -> str:
    """The name that a logger was asked for by: the module's, but where a word is given."""
    match module.values.get(logger):
        case ast.Call(args=[ast.Constant(value=str(name))]):
            return name
        case _:
            pass
    return module.name


if __name__ == "__main__":
    written = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
    write_page(PATH, render(find_meanings(written)))
