"""Denials: why a call was not run, in words for the model and in a line for people.

Pure. A model that reads why does not try the same again, or says what it would need;
whoever reads the line knows how to allow it. What a tool says of itself stands in one
line here, however it was written, and is made safe for a terminal by who shows it.
"""

from dataclasses import dataclass
from typing import Literal

from askd.core.approval import Approval, ApprovalRules, Wanted, find_rule
from askd.core.events import QuestionAnswered
from askd.core.items import Text, ToolCall, ToolOutput
from askd.core.questions import EXPIRY

Cause = Literal[
    "settings", "prompt", "nobody", "unconfined", "person", "late", "changed", "storage"
]
"""Who or what refused a call: the settings, what was said with the prompt, that nobody was there
to be asked (of what nothing confines not even `auto` would have helped), a person, the time, that
it is another call by now than was asked about, that nothing can be stored."""

TITLE_CHARACTERS = 200

FOR_MODELS = {
    "settings": "the user's settings refuse it",
    "prompt": "the user sent this prompt with approvals refused",
    "nobody": "it needs a person's approval, and nobody is there to be asked",
    "unconfined": "it needs a person's approval, and nobody is there to be asked",
    "person": "a person refused it",
    "late": "nobody answered in time whether it may run",
    "changed": "what it would do is no longer what a person was asked about; make the call again "
    "if it is still wanted",
    "storage": "nothing can be stored just now, and so nobody can be asked and nothing recorded",
}
FOR_PEOPLE = {
    "settings": "the settings say so",
    "prompt": "--approve deny",
    "nobody": "nobody to ask; --approve auto allows it",
    "unconfined": "nobody to ask, and nothing confines it here",
    "late": "nobody answered in time",
    "changed": "what it would do has changed since it was asked about",
    "storage": "nothing can be stored just now",
}
"""A person who refused a call knows it: that gets no line."""


@dataclass(frozen=True, slots=True)
class Denial:
    """One call that is not run. `reason`: what the person said beside the refusal."""

    cause: Cause
    reason: str | None = None


def find_cause(wanted: Wanted, rules: ApprovalRules, *, said: Approval | None) -> Cause:
    """Why `approval.decide` said `deny`."""
    if find_rule(wanted, rules) == "deny":
        return "settings"
    if said == "deny":
        return "prompt"
    if said is None and find_rule(wanted, rules) is None and rules.policy == "deny":
        return "settings"
    return "nobody" if wanted.confined else "unconfined"


def read_refusal(answer: QuestionAnswered) -> Denial:
    """The denial that an answer is which allows nothing."""
    return Denial("late") if answer.by == EXPIRY else Denial("person", answer.reason)


def deny_call(call: ToolCall, item_id: str, denial: Denial) -> ToolOutput:
    """The output of a call that was not run."""
    said = f"This call was not run: {FOR_MODELS[denial.cause]}."
    if denial.reason:
        said = f"{said} The reason they gave: {denial.reason}"
    return refuse_call(call, item_id, said)


def refuse_call(call: ToolCall, item_id: str, said: str) -> ToolOutput:
    """The same with a sentence of the caller's: not every call that is not run was denied."""
    return ToolOutput(
        item_id, call.call_id, call.name, (Text(said),), is_error=True, synthetic="denied"
    )


def tell_denial(tool: str, title: str, denial: Denial) -> str | None:
    """The line for people; None: they need none."""
    why = FOR_PEOPLE.get(denial.cause)
    return None if why is None else f"Denied: {name_call(tool, title)} ({why})"


def explain_need(tool: str, title: str) -> str:
    """The sentence that ends a turn in which a person was to decide, and none was there."""
    return (
        f"An approval is needed, and there is nobody to ask: {name_call(tool, title)}. Ask on a "
        "terminal, leave the prompt with --detach and answer later, or say --approve auto or deny."
    )


def name_call(tool: str, title: str) -> str:
    """The tool, and what it would do, in one line that is not too long."""
    words = " ".join(title.split())
    if len(words) > TITLE_CHARACTERS:
        words = f"{words[:TITLE_CHARACTERS]}..."
    return f"{tool}: {words}" if words and words != tool else tool
