"""A prompt with its template applied: what is wished then, and what its words become.

What the command line says wins over the template. Mentions count in what a person wrote,
which is the words, the template and `-p`; never in what was piped, or what a server says.
It sends nothing, and asks the daemon for a server's prompt only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ask.exits import USAGE, Failed
from ask.fast.run import Carried
from ask.inputs import STDIN_IMAGE, read_stdin
from ask.placeholders import normalize
from ask.wish import Wish

if TYPE_CHECKING:
    from ask.templates import Template

PIPED = "\0"
"""Stands for what was piped, until mentions have been looked for: no text of ours can hold it."""
TURN_SETTINGS = ("model", "system", "approve", "temperature", "max_output_tokens", "effort")
"""What a template says of a turn, under the names that the command line has for it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is asked, its mentions not followed yet.

    Attributes:
        wish: with what the template says, where the command line says nothing.
        text: in which mentions are looked for.
        piped: standard input, if its place is in the text.
        before: what stands above the text and mentions nothing.
    """

    wish: Wish
    text: str
    piped: str = ""
    before: str = ""

    def complete(self, text: str) -> str:
        """The whole prompt, given its text after mentions were followed."""
        whole = text.replace(PIPED, self.piped) if self.piped else text
        return _join(self.before, whole)


def draft(wish: Wish, environ: Mapping[str, str], carried: Carried) -> Draft:
    """Apply the template of a wish, if it has one.

    Args:
        carried: what is read of standard input is added to it.

    Raises:
        Failed: there is no such template, it cannot be used, or lacks a value.
    """
    words = " ".join(wish.words)
    if wish.template is None:
        return Draft(wish, words)
    check_parameter_texts(wish.parameters)
    values = {normalize(key): value for key, value in wish.parameters}
    server, _, name = wish.template.partition(":")
    if server and name:
        return Draft(wish, words, before=_ask_server(wish, server, name, values, environ, carried))
    from ask.template_files import read_template
    from ask.templates import INPUT, check_parameters, fill_text

    template = read_template(wish.template, environ)
    check_parameters(template, values)
    wish = settle(wish, template, values)
    piped = ""
    if template.takes_input:
        if words.strip():
            values[INPUT] = words
        elif not wish.no_stdin and STDIN_IMAGE not in wish.images:
            piped = read_stdin(carried, quiet=wish.quiet).decode().rstrip("\n")
            wish = replace(wish, no_stdin=True)
            if piped.strip():
                values[INPUT] = PIPED
        words = ""
    return Draft(wish, _join(fill_text(template, template.body, values), words), piped)


def settle(wish: Wish, template: "Template", values: Mapping[str, str]) -> Wish:
    """The wish with a template's settings where it says nothing itself."""
    found = {
        each: getattr(template, each)
        for each in TURN_SETTINGS
        if getattr(wish, each) is None and getattr(template, each) is not None
    }
    if "system" in found:
        from ask.templates import fill_text

        found["system"] = fill_text(template, found["system"], values)
    wish = replace(wish, **found)
    if wish.tools is None and template.tools is not None:
        wish = replace(wish, tools=list(template.tools))
    if wish.schema is None and not wish.extract:
        # What `--detach` prints is no answer, so that nothing can be taken out of it.
        extract = template.extract and not wish.detach
        wish = replace(wish, schema=template.schema, extract=extract)
    return wish


def read_chat_options(
    name: str, parameters: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """What a template says of each turn of a chat, as `turn/start` takes it, and what is left.

    The second are the template's other parts, in words: a chat does not use them.

    Raises:
        Failed: there is no such template, or it cannot be used in a chat.
    """
    if all(name.partition(":")):
        raise Failed(
            USAGE,
            f"{name} is a server's prompt, and has no settings for a chat.",
            hint=f"Ask it: ask -t {name}",
            data={"reason": "usage"},
        )
    from ask.template_files import read_template
    from ask.templates import check_parameters

    check_parameter_texts(tuple(parameters.items()))
    values = {normalize(key): value for key, value in parameters.items()}
    template = read_template(name, environ)
    check_parameters(template, values)
    settled = settle(Wish(), template, values)
    options = {each: getattr(settled, each) for each in (*TURN_SETTINGS, "tools")}
    parts = {"prompt": template.body, "schema": template.schema, "extract": template.extract}
    said = {key: value for key, value in options.items() if value is not None}
    return said, [part for part, is_there in parts.items() if is_there]


def check_parameter_texts(parameters: tuple[tuple[str, str], ...]) -> None:
    """Raise `Failed` for a parameter that is no text: the shell may hand over any bytes."""
    for key, value in parameters:
        try:
            f"{key}{value}".encode()
        except UnicodeEncodeError:
            shown = key.encode(errors="replace").decode()
            message = f"The parameter {shown!r} is not valid UTF-8."
            raise Failed(USAGE, message, data={"reason": "usage"}) from None


def _ask_server(
    wish: Wish,
    server: str,
    name: str,
    values: Mapping[str, str],
    environ: Mapping[str, str],
    carried: Carried,
) -> str:
    from ask.connection import Client
    from ask.server_prompts import fetch_prompt, join_messages

    with Client.connect(environ) as client:
        messages = fetch_prompt(
            client, server, name, values, deadline=carried.deadline, quiet=wish.quiet, option="-p "
        )
    return join_messages(messages).strip("\n")


def _join(first: str, second: str) -> str:
    """Two texts, an empty line between them; one of them may be empty."""
    return "\n\n".join(each for each in (first, second) if each.strip())
