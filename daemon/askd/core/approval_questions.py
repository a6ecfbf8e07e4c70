"""The question whether a call may run: what a person is shown, and what the answer is bound to.

Pure values. It holds what will be run and not what somebody says of it, and what is too long
to be shown is said to be cut. It makes nothing safe for a terminal: who shows it does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askd.core.approval import Grant
from askd.core.arguments import canonical_arguments
from askd.core.grants import ALWAYS, encode_grant
from askd.core.questions import Choice

YES = "yes"
NO = "no"

BODY_CHARACTERS = 131_072 + 5_120
"""Of the arguments or of a diff that are shown: all of the longest command, with a line about the
longest directory, and of the longest diff that a tool shows. An event with it fits a message,
whatever characters they are."""
TEXT_CHARACTERS = 8_192
"""Of these in the text, for whoever shows a question without knowing what it is about."""
TITLE_CHARACTERS = 400
ARGUMENT_BYTES = 8_192
"""Of the arguments that a question keeps; it is bound to all of them by their digest."""

UNCONFINED = (
    "Nothing confines it on this machine: it can do whatever you can, and it could reach this "
    "daemon's socket and answer its own questions."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """What `sessions.parking` asks: the text, the ways to answer, facts for programs."""

    text: str
    choices: tuple[Choice, ...]
    more: Mapping[str, Any]


def describe_approval(
    *,
    tool: str,
    call_id: str,
    conversation_id: str,
    cwd: str | None,
    arguments: str,
    title: str,
    body: str = "",
    grant: Grant | None = None,
    confined: bool = True,
    confinement: str = "",
) -> ApprovalQuestion:
    """The question for one call; the same values make the same question.

    Args:
        arguments: as the model wrote them.
        title, body, grant, confined: of the call's preview.
        confinement: a sentence about what confines it; where nothing does, one is made here.
    """
    shown_title = " ".join(cut_middle(" ".join(title.split()), TITLE_CHARACTERS).split())
    shown_body = cut_middle(body.strip("\n"), BODY_CHARACTERS)
    brief = cut_middle(shown_body, TEXT_CHARACTERS)
    sentence = confinement if confined else UNCONFINED
    canonical = canonical_arguments(arguments)
    choices = [Choice(YES, "Yes")]
    if grant is not None:
        choices.append(Choice(ALWAYS, f"Always in this conversation: {grant.label or tool}"))
    choices.append(Choice(NO, "No"))
    return ApprovalQuestion(
        text="\n\n".join(each for each in (shown_title, brief, sentence) if each),
        choices=tuple(choices),
        more={
            "tool": tool,
            "call_id": call_id,
            "conversation_id": conversation_id,
            "cwd": cwd,
            "title": shown_title,
            "body": shown_body,
            "confined": confined,
            "confinement": sentence,
            "arguments": _cut_bytes(canonical, ARGUMENT_BYTES),
            "arguments_sha256": digest_arguments(arguments),
            "grant": None if grant is None else encode_grant(grant),
        },
    )


def digest_arguments(text: str) -> str:
    """SHA-256 of the canonical arguments, in hex."""
    return hashlib.sha256(canonical_arguments(text).encode(errors="replace")).hexdigest()


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: the beginning, the end, and how much is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out} characters are not shown ...]\n{text[-tail:]}"


def _cut_bytes(text: str, limit: int) -> str:
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
