"""Instructions of the caller's project: read when a turn begins, said once, kept in the log.

What a turn gets is an event before its start, if it is not what the conversation has
already, so that a request is always what the log says. Reading never keeps a prompt waiting
for long (see `ahead`). What stands in the files is not judged.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

import trio

from askd.core.conversation import Conversation
from askd.core.events import PromptAccepted, TurnOptions
from askd.core.instructions import InstructionFile, join_instructions
from askd.core.standing import find_system, wants_instructions
from askd.sessions.needs import Means, Report
from askd.tools.base import Site
from askd.tools.files.places import show_path
from askd.tools.instructions import Found as Instructions

log = logging.getLogger(__name__)

PATIENCE_S = 1.0
"""Files of a local disk take a millisecond; a prompt is not kept waiting for any other."""

KIND = "instructions"
"""Of progress: what a conversation has got now."""
LATE = (
    f"The instructions of your project could not be read in {PATIENCE_S:g} s: "
    "this prompt goes without them."
)
WAY_OUT = "--no-instructions leaves them out"
NONE_ANY_MORE = "Instructions: none here; those that this conversation had are left out."


@dataclass(frozen=True, slots=True)
class Read:
    """What a project has; `found` None: it took too long to be read."""

    found: Instructions | None


async def read_instructions(
    conversation: Conversation, prompt: PromptAccepted, means: Means
) -> Read:
    """Read what the project of a prompt has, if that is wanted, in no more than `PATIENCE_S`."""
    wanted = wants_instructions(conversation.settings, prompt.options)
    rules = means.instructions.find_rules()
    if wanted is False or not (wanted or rules.enabled):
        return Read(Instructions())
    site = Site(
        conversation_id=conversation.id,
        turn_id=prompt.turn_id,
        call_id="",
        cwd=prompt.cwd,
        cwd_id=prompt.cwd_id,
        env=prompt.env or {},
    )
    with trio.move_on_after(PATIENCE_S):
        return Read(await means.instructions.read(site, rules.files))
    return Read(None)


async def find_instructions(
    conversation: Conversation,
    prompt: PromptAccepted,
    means: Means,
    *,
    report: Report,
    read: Read | None = None,
) -> tuple[InstructionFile, ...] | None:
    """What the turn of a prompt, which begins, gets of its project.

    None: nothing is looked at, for the prompt or its conversation wants none. What differs from
    what the conversation has is reported, and why something was left out.

    Args:
        read: what was read a moment ago; None: it is read now.
    """
    if wants_instructions(conversation.settings, prompt.options) is False:
        return None
    read = read or await read_instructions(conversation, prompt, means)
    if read.found is None:
        log.warning("Instructions were not read in %g s: id=%s", PATIENCE_S, conversation.id)
        report("warning", LATE)
        return ()
    files = read.found.files
    is_news = files != conversation.instructions
    if is_news:
        report(KIND, _describe(files, prompt.cwd))
    if is_news or not conversation.started:
        for sentence in read.found.complaints:
            report("warning", sentence)
    return files


def find_told(
    conversation: Conversation,
    options: TurnOptions,
    found: Sequence[InstructionFile] | None = None,
) -> str | None:
    """The system prompt of a turn with its instructions; `found`: those not in the log yet."""
    system = find_system(conversation.settings, options)
    return join_instructions(system, find_given(conversation, options, found))


def find_given(
    conversation: Conversation,
    options: TurnOptions,
    found: Sequence[InstructionFile] | None = None,
) -> Sequence[InstructionFile]:
    """The instructions of a turn; `found`: those not in the log yet."""
    if wants_instructions(conversation.settings, options) is False:
        return ()
    return conversation.instructions if found is None else found


def _describe(files: Sequence[InstructionFile], cwd: str | None) -> str:
    if not files:
        return NONE_ANY_MORE
    named = ", ".join(f"{_name(each.path, cwd)} ({_say_size(each)})" for each in files)
    return f"Instructions: {named}; {WAY_OUT}"


def _name(path: str, cwd: str | None) -> str:
    """The file as the caller would name it; where they came by a link, its whole path."""
    near = path if cwd is None else os.path.relpath(path, cwd)
    return show_path(path if len(near) > len(path) else near)


def _say_size(file: InstructionFile) -> str:
    whole = file.bytes + file.left_out_bytes
    if file.left_out_bytes:
        return f"the first {_say_bytes(file.bytes)} of {_say_bytes(whole)}"
    return _say_bytes(whole)


def _say_bytes(count: int) -> str:
    return f"{count / 1000:.1f} kB" if count >= 1000 else f"{count} B"
