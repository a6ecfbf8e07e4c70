"""Elicitations: what a server wants a person to say in the middle of a call, as a question.

Pure values. What a server sends is of others' making: what does not fit the flat forms of
MCP (2025-11-25, "Elicitation": texts, numbers, yes or no, choices), or is too large to be
shown, is refused with a sentence and never half asked. What is asked is written anew, so
that whoever shows it meets one shape. An address is shown whole and opened by nobody here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from askd.core.approval_questions import cut_middle
from askd.core.events import QuestionAsked
from askd.core.forms import Form, check_fields, read_form
from askd.core.questions import Choice
from askd.core.writable import make_writable

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"

WHO_CHARACTERS = 64
MESSAGE_CHARACTERS = 8_192
"""Of what a server says; an approval shows as much of a call."""
URL_CHARACTERS = 4_096
"""A sign-in's address with all its parameters has some hundreds."""

PORT_LIMIT = 65_535
_PAGE = re.compile(
    r"https?://([^/?#]*@)?(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>\d{1,5}))?([/?#].*)?",
    re.IGNORECASE,
)
"""RFC 3986, section 3.2, of names that need no decoding: what stands before an @ is no host."""

Mode = Literal["form", "url", "confirm"]


class CannotAsk(Exception):
    """It cannot be asked as it is; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """What is asked: the text, the ways to answer, facts for programs."""

    text: str
    choices: tuple[Choice, ...]
    more: Mapping[str, Any]


def describe_elicitation(
    *,
    who: str,
    tool: str,
    call_id: str,
    text: str,
    schema: Mapping[str, Any] | None = None,
    url: str | None = None,
) -> Elicitation:
    """The question for one wish; raise `CannotAsk`.

    Args:
        who: the server. `tool`, `call_id`: the call in whose middle it asks.
        text: what it says.
        schema: of the object that it wants; None: nothing but a yes.
        url: where a person is to go.
    """
    server = " ".join(make_writable(who).split())[:WHO_CHARACTERS]
    message = cut_middle(make_writable(text).strip(), MESSAGE_CHARACTERS)
    more: dict[str, Any] = {"server": server, "tool": tool, "call_id": call_id, "message": message}
    head = f"The server {server!r} asks, in a call of {tool}:"
    lines = [head, message]
    mode: Mode = "confirm"
    accept = "Yes"
    if url is not None:
        mode, accept = "url", "Yes, I open it myself"
        more |= {"url": url, "host": _find_host(url)}
        lines += [f"It wants you to visit {more['host']}:", url]
    elif schema is not None:
        form = _read_form(schema)
        if form.fields:
            mode, accept = "form", "Send it"
            more["schema"] = form.schema
            lines += ["\n".join(form.describe())]
    more["mode"] = mode
    return Elicitation(
        text="\n\n".join(each for each in lines if each),
        choices=(
            Choice(ACCEPT, accept),
            Choice(DECLINE, "Decline: the server is told no"),
            Choice(CANCEL, "Cancel: the server is told that nobody decided"),
        ),
        more=more,
    )


def check_answer(
    question: QuestionAsked, decision: str, content: Mapping[str, Any] | None
) -> dict[str, str]:
    """What is wrong with an answer's content: a sentence by field; none: it can be given.

    The field `""` is the content as a whole.
    """
    schema = question.detail.get("schema") if question.kind == "elicitation" else None
    if question.kind != "elicitation" or decision != ACCEPT:
        whole = "Content goes with accept, as the answer to an elicitation, and with nothing else."
        return {} if content is None else {"": whole}
    if not isinstance(schema, Mapping):
        return {"": "This question wants a decision and no content."} if content else {}
    try:
        form = read_form(schema)
    except ValueError as error:  # a log of another version, or one that was rewritten
        return {"": f"The form cannot be read any more: {error}"}
    return check_fields(form, content or {})


def _read_form(schema: Mapping[str, Any]) -> Form:
    try:
        return read_form(schema)
    except ValueError as error:
        raise CannotAsk(f"its form cannot be shown: {error}") from None


def _find_host(url: str) -> str:
    """The machine that an address leads to; raise `CannotAsk` for what is no plain address."""
    if len(url) > URL_CHARACTERS:
        raise CannotAsk(f"its address has more than {URL_CHARACTERS:,} characters.")
    # What a browser would take for another address than the eye does is none.
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise CannotAsk("its address holds characters that no address has.")
    found = _PAGE.fullmatch(url)
    if found is None or int(found["port"] or 0) > PORT_LIMIT:
        raise CannotAsk("its address is not one of a web page (https or http).")
    host = found["host"].lower()
    return host if found["port"] is None else f"{host}:{found['port']}"
