"""Slash commands that change what further prompts are sent with: model, system, tools, files.

They hold for this chat, from the next prompt on, and are nobody else's; the conversation
keeps what its first prompt said. `-` takes a wish back. What is said to the turn that runs
changes none of it: that turn keeps what it began with.
"""

import difflib
import os
import shlex

from ask.chat.desk import Desk
from ask.chat.looks import fetch_models
from ask.commands.calls import Map
from ask.commands.layout import count
from ask.commands.tools import lay_out_tools
from ask.exits import USAGE, Failed
from ask.images import find_image_type
from ask.inputs import Input, check_text, read_content, show_path
from ask.terminal import strip_controls

BACK = "-"
"""Takes a wish back."""
ALONE = ("none",)
"""Words of `/tools` that go with no other."""


def choose_model(desk: Desk, rest: str) -> str:
    """Say which model answers, or choose it for the prompts to come."""
    if not rest:
        found = desk.options.get("model") or (
            None if desk.conversation_id is None else desk.find().get("model")
        )
        return _say(desk, f"Model: {found}" if found else "Model: the default one.")
    if rest == BACK:
        desk.options.pop("model", None)
        return _say(desk, "Further prompts go to the conversation's own model.")
    page = fetch_models(desk)
    names = [str(row["name"]) for row in page["data"]]
    names += [str(each) for row in page["data"] for each in row.get("aliases") or ()]
    desk.options["model"] = rest
    said = f"Further prompts go to {rest}."
    if names and rest not in names:
        near = difflib.get_close_matches(rest, names, n=1)
        said += " No provider has listed it" + (f"; did you mean {near[0]}?" if near else ".")
    return _say(desk, said)


def choose_system(desk: Desk, rest: str) -> str:
    """Show the system prompt of the prompts to come, or choose it."""
    if not rest:
        found = desk.options.get("system")
        return _say(desk, f"System prompt: {found}" if found else "The conversation's own.")
    if rest == BACK:
        desk.options.pop("system", None)
        return _say(desk, "Further prompts have the conversation's own system prompt.")
    desk.options["system"] = rest
    return _say(desk, "Further prompts have this system prompt.")


def choose_tools(desk: Desk, rest: str) -> str:
    """List the tools, or say which are offered with the prompts to come."""
    if not rest:
        asked = {} if desk.conversation_id is None else {"conversation_id": desk.conversation_id}
        page = desk.caller.call("tool/list", asked)
        desk.show(strip_controls("\n".join(lay_out_tools(page["data"], desk.columns()))))
        chosen = desk.options.get("tools")
        if chosen:
            desk.tell(strip_controls(f"This chat offers: {', '.join(chosen)}"))
        return f"Command result: {count(len(page['data']), 'tool')} listed"
    if rest == BACK:
        desk.options.pop("tools", None)
        return _say(desk, "Further prompts offer the conversation's own tools.")
    words = rest.replace(",", " ").split()
    if len(words) > 1 and set(ALONE) & set(words):
        raise Failed(USAGE, "none goes with no other word.")
    desk.options["tools"] = words
    return _say(desk, f"Further prompts offer: {', '.join(words)}")


def choose_approval(desk: Desk, rest: str) -> str:
    """Show or choose what becomes of a call that needs a person's word."""
    if not rest:
        found = desk.options.get("approve")
        return _say(desk, f"Approval: {found}" if found else "Approval: as the settings say.")
    if rest == BACK:
        desk.options.pop("approve", None)
        return _say(desk, "Approval: as the settings say.")
    desk.options["approve"] = rest
    return _say(desk, f"Approval: {rest}")


def attach_files(desk: Desk, rest: str) -> str:
    """Read files and images that go with the next prompt; without any, say which do.

    Raises:
        Failed: one of them cannot be taken; none is attached then.
    """
    if rest == BACK:
        desk.attached.clear()
        return _say(desk, "Nothing is attached.")
    if rest:
        try:
            paths = shlex.split(rest)
        except ValueError:
            raise Failed(USAGE, "A quotation mark is left open.") from None
        desk.attached += [read_attachment(path) for path in paths]
    names = [f"{each.name} ({len(each.content):,} bytes)" for each in desk.attached]
    said = f"With the next prompt: {', '.join(names)}" if names else "Nothing is attached."
    return _say(desk, said)


def read_attachment(path: str) -> Input:
    """A file as text or, if it is one, as an image.

    Raises:
        Failed: it cannot be read, or is neither.
    """
    name = show_path(path)
    content = read_content(os.path.expanduser(path), name)
    media_type = find_image_type(content)
    if media_type is not None:
        return Input(content, name, media_type)
    if b"\0" in content:
        raise Failed(USAGE, f"{name} is neither text nor an image that models take.")
    return Input(check_text(content, name), name)


def steer(desk: Desk, rest: str) -> str:
    """Say this to what is being answered."""
    if desk.steer is None:
        raise Failed(USAGE, "Nothing is being answered: just ask.")
    return f"Command result: {desk.steer(rest)}"


def word_steering(accepted: Map) -> str:
    """What became of a message that was to steer (`TurnStartResult`), for its person."""
    if accepted.get("steers"):
        said = "Said to the turn that runs: it stops where it is, and answers this."
        return f"{said}\n{accepted['warning']}" if accepted.get("warning") else said
    before = int(accepted["position"])
    return f"The turn was over. {before} wait before this." if before else "This is asked now."


def _say(desk: Desk, said: str) -> str:
    """Tell a person, and keep it."""
    plain = strip_controls(said)
    desk.tell(plain)
    return f"Command result: {plain}"
