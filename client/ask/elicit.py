"""What a server wants to know, as a person reads it, and what they typed, as it is sent back.

What a server says stands behind a gutter, row by row, and nothing of it reaches a terminal
that would act or hide. A form is filled in field by field and sent only after a last yes.
An address is shown whole and never opened. It sends nothing itself.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from ask.approve import GUTTER, Sight, lay_out_label
from ask.forms import (
    FORMATS,
    Field,
    is_brief,
    name_field,
    read_fields,
    read_value,
    word_field,
)
from ask.reveal import reveal_text, shorten_line, wrap

Map = Mapping[str, Any]
ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
BACK, MORE = "/back", "/more"
WORDS = {
    "1": ACCEPT,
    "y": ACCEPT,
    "yes": ACCEPT,
    "a": ACCEPT,
    ACCEPT: ACCEPT,
    "2": DECLINE,
    "d": DECLINE,
    "n": DECLINE,
    "no": DECLINE,
    DECLINE: DECLINE,
    "3": CANCEL,
    "c": CANCEL,
    CANCEL: CANCEL,
}
"""How a decision may be typed; the numbers are those of the choices that are shown."""
NO_SECRETS = "Type no password and no key: no server may ask for them so, and all is kept."
HOW = (
    "An empty line takes what stands in brackets, or leaves out what is not required. "
    f"{BACK} goes back a field, /{DECLINE} and /{CANCEL} end it."
)
YOURSELF = "Nothing is opened for you: open it yourself, if you trust where it leads."


class Elicitation(NamedTuple):
    """What is wanted, and by whom; without fields it is a yes or a no."""

    server: str
    tool: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str | None = None
    host: str | None = None


def read_elicitation(detail: Map, text: str) -> Elicitation:
    """What an elicitation's `detail` says; where it does not say more than a text, that."""
    schema = detail.get("schema")
    url, host = detail.get("url"), detail.get("host")
    return Elicitation(
        server=str(detail.get("server", "?")),
        tool=str(detail.get("tool", "?")),
        message=str(detail.get("message", text)),
        fields=read_fields(schema) if isinstance(schema, Mapping) else (),
        url=None if url is None else str(url),
        host=None if host is None else str(host),
    )


# ---- what is shown ---------------------------------------------------------------------


def lay_out_elicitation(
    asked: Elicitation, sight: Sight, *, more: str = "", whole: bool = True
) -> list[str]:
    """The lines that say who wants to know what.

    Args:
        more: how to see what was cut.
        whole: with every field of the form; else they are asked for one by one.
    """
    who = f"Asked by the server {_name(asked.server)}, in a call of {asked.tool}:"
    lines = _wrap_own(who, sight)
    lines += _lay_out_theirs(asked.message, sight, more)
    if asked.url is not None:
        host = _name(asked.host or "?")
        # Not broken into rows: it holds no space, and is to be copied.
        lines += ["", f"It leads to {reveal_text(host)}:", f"  {reveal_text(asked.url)}", YOURSELF]
    if asked.fields and not whole:
        lines += _wrap_own(f"{NO_SECRETS} {HOW}", sight)
    elif asked.fields:
        for place, each in enumerate(asked.fields, start=1):
            head = lay_out_field(asked, place, sight, named=True)
            lines += ["", *head, *_wrap_own(word_field(each), sight)]
    return lines


def lay_out_field(
    asked: Elicitation, place: int, sight: Sight, *, named: bool = False
) -> list[str]:
    """What stands above the line on which a field is filled in; `place` counts from 1.

    `named`: also with the name by which `NAME=VALUE` fills it in, if its title is another.
    """
    it = asked.fields[place - 1]
    needed = "required" if it.required else "may be left out"
    name = f", named {name_field(it.name)}" if named and it.title not in ("", it.name) else ""
    lines = _wrap_own(f"Field {place} of {len(asked.fields)}, {needed}{name}:", sight)
    lines += _lay_out_theirs(it.title or it.name, sight)
    if it.description:
        lines += _lay_out_theirs(it.description, sight)
    if it.form and it.form not in FORMATS:
        lines += ["In this form:", *_lay_out_theirs(it.form, sight)]
    if isinstance(it.default, str) and not it.choices and not is_brief(it.default):
        lines += ["An empty line takes:", *_lay_out_theirs(it.default, sight)]
    labels = [lay_out_label(title, sight) for _, title in it.choices]
    return lines + [f"{number}. {label}" for number, label in enumerate(labels, start=1)]


def _lay_out_theirs(text: str, sight: Sight, more: str = "") -> list[str]:
    columns = None if sight.columns is None else sight.columns - len(GUTTER)
    rows = (row for line in text.split("\n") for row, _ in wrap(line, columns, at_words=True))
    shown = list(islice(rows, sight.rows))
    lines = [f"{GUTTER}{row}" for row in shown]
    rest = sum(1 for _ in rows)
    if rest:
        lines.append(f"  ... {rest:,} more row{'s' if rest > 1 else ''}{more}")
    return lines


def _wrap_own(sentence: str, sight: Sight) -> list[str]:
    words = reveal_text(sentence)
    return textwrap.wrap(words, sight.columns) if sight.columns else [words]


def _name(text: str) -> str:
    return f'"{" ".join(text.split())}"'


# ---- what is typed ---------------------------------------------------------------------


def read_decision(text: str) -> str | None:
    """What a typed line decides; None: nothing."""
    return WORDS.get(text.strip().lower())


@dataclass(slots=True)
class Filling:
    """A form that somebody at a terminal fills in.

    Attributes:
        left: the places of the fields that are still to be asked for, counted from 1.
    """

    asked: Elicitation
    left: list[int] = field(init=False)
    values: dict[str, Any] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = list(range(1, len(self.asked.fields) + 1))

    @property
    def _next(self) -> Field:
        """The field that is asked for."""
        return self.asked.fields[self.left[0] - 1]

    def show(self, choices: Sequence[str], sight: Sight) -> str:
        """What stands before the next line that is typed; it ends within a line."""
        if self.left:
            head = lay_out_field(self.asked, self.left[0], sight)
            return "\n".join([*head, f"{word_field(self._next)}: "])
        said = [
            row
            for it in self.asked.fields
            if it.name in self.values
            for row in _lay_out_theirs(f"{it.name}: {_word_value(it, self.values[it.name])}", sight)
        ]
        numbered = [f"{place}. {label}" for place, label in enumerate(choices, start=1)]
        head = [
            f"The server {reveal_text(_name(self.asked.server))} would get:",
            *(said or ["  nothing"]),
        ]
        return "\n".join([*head, "", *numbered, "", f"Send it? (1-{len(choices)} or y/d/c) "])

    def hear(self, line: str) -> tuple[str | None, str | None]:
        """Take a typed line: what it decides, if it does, and what is wrong with it."""
        text = line.strip()
        if text in (f"/{DECLINE}", f"/{CANCEL}"):
            return text[1:], None
        if text == BACK:
            if self.done:
                self.left.insert(0, self.done.pop())
            return None, None
        if not self.left:
            return read_decision(text), None
        return None, None if text == MORE else self._take(text)

    def _take(self, text: str) -> str | None:
        """Fill in the field that is asked for; a sentence if it does not fit."""
        it = self._next
        if text:
            try:
                self.values[it.name] = read_value(it, text)
            except ValueError as error:
                return str(error)
        elif it.default is not None:
            self.values[it.name] = it.default
        elif it.required:
            return "This is required."
        else:
            self.values.pop(it.name, None)
        self.done.append(self.left.pop(0))
        return None

    def reopen(self, amiss: Map) -> list[str]:
        """Ask again for the fields that the daemon did not take; a sentence about each."""
        places = {each.name: place for place, each in enumerate(self.asked.fields, start=1)}
        self.left = sorted(places[name] for name in amiss if name in places)
        self.done = [each for each in self.done if each not in self.left]
        return [
            (f"{name_field(str(name))}: " if name else "") + shorten_line(str(said), None)
            for name, said in amiss.items()
        ]


def _word_value(it: Field, value: Any) -> str:
    """What is sent; of a choice also what it stands for, which is what was chosen from."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    titles = {each: title for each, title in it.choices if title != each}
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(f"{each} ({titles[each]})" if each in titles else str(each) for each in chosen)
