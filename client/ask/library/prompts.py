"""A prompt as a program writes it: its options, its files, and what is sent of them.

Everything is read and checked before anything is sent. An `@` in the words means
nothing, and standard input is not looked at: both belong to the command line.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from ask.acceptance import start_turn
from ask.connection import Client
from ask.exits import USAGE, Failed
from ask.fast import caller
from ask.hosts import DIRECTORY_VARIABLE
from ask.images import find_image_type
from ask.inputs import FILES_LIMIT, TEXT, Input, check_text, read_content, send_parts, show_path
from ask.library.events import Question
from ask.library.values import Conversation
from ask.protocol.limits import BLOB_LIMIT_BYTES
from ask.schemas import read_schema
from ask.whereabouts import describe, is_far, limit_tools
from ask.wish import Wish, check_words

Map = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attachment:
    """Content that is in no file: text, or the bytes of a text or an image."""

    content: bytes | str
    name: str | None = None


class Options(TypedDict, total=False):
    """What `ask`, `turn` and `detach` take beside the prompt.

    None is the same as not said; then the conversation or the settings decide.
    """

    conversation: "Conversation | str | None"
    """Where to ask: a conversation, an id, a name, or the beginning of an id; none: a new one."""
    create: bool | None
    """Whether a conversation of a new name is created (it is); else that is `NotFound`."""
    model: str | None
    """`provider/model` or an alias."""
    system: str | None
    """A system prompt."""
    files: "Iterable[str | os.PathLike[str] | Attachment] | None"
    """Texts and images to attach: paths, or `Attachment`s; what they are, their content says."""
    schema: Mapping[str, Any] | str | None
    """A JSON schema that the answer must fit, or a list of fields: `"name, age int"`; see
    `Turn.json`."""
    tools: Iterable[str] | None
    """Which tools the model may use: names, patterns, and the groups `all`, `read`, `none`."""
    approve: Literal["deny", "ask", "auto"] | None
    """What becomes of a tool's call that needs a person's word; `ask` needs `on_question` or
    `interactive`."""
    on_question: "Callable[[Question], str | None] | None"
    """Decides what is asked while the turn is read: the decision, or None to leave it open. It
    makes the turn interactive."""
    interactive: bool | None
    """Whether somebody will answer a `Question` that the turn brings, with `Client.answer`."""
    overflow: Literal["compact", "reset", "continue", "ask"] | None
    """What to do when the conversation does not fit the model's window any more."""
    effort: Literal["none", "minimal", "low", "medium", "high"] | None
    """How much the model is to think before it answers."""
    temperature: float | None
    """How freely the model chooses its words."""
    max_output_tokens: int | None
    """Cut the answer after so many tokens."""
    stop: Iterable[str] | None
    """Texts at which the model stops."""
    instructions: bool | None
    """Whether the instructions of the project at `cwd` (`AGENTS.md`) are sent with it."""
    notify: bool | None
    """Whether the command of `[notify]` is run when the turn ends or asks."""
    busy: Literal["queue", "fail"] | None
    """Wait behind other turns (that is what it does), or raise `Busy`."""
    ephemeral: bool | None
    """Keep the conversation in memory only; it ends with the daemon."""
    key: str | None
    """1 to 128 printable characters, best a UUID: the same key is the same turn, also after a
    crash of either side; none: one is made."""
    timeout_s: float | None
    """End the turn after so long, queueing included: `TimeLimit`."""
    cwd: "str | os.PathLike[str] | None"
    """Where tools run; none: where the process is. On another machine a path of that one."""


WORDS = tuple(Options.__annotations__)
"""The names of all options."""
TEXTS = ("model", "system", "key")
SEVERAL = ("files", "tools", "stop")
PASSED_ON = (
    "temperature", "max_output_tokens", "effort", "overflow", "approve", "instructions", "notify",
    "timeout_s",
)  # fmt: skip
"""What the daemon is told as it was said."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt that can be sent, and sent again.

    Attributes:
        params: of `turn/start`, but for its parts.
        inputs: what the parts are made of.
        deadline: when its time is over, in seconds of `time.monotonic`.
    """

    params: Map
    inputs: tuple[Input, ...]
    environ: Mapping[str, str]
    deadline: float | None = None
    on_question: Callable[[Question], str | None] | None = None

    @property
    def key(self) -> str:
        """The same key is the same turn."""
        return str(self.params["key"])

    @property
    def is_interactive(self) -> bool:
        """Whether somebody answers questions."""
        return bool(self.params.get("interactive"))

    def send(self, connection: Client, *, limit_s: float) -> Map:
        """Send it: a `TurnStartResult`."""
        params = {**self.params, "parts": send_parts(connection, self.inputs)}
        return start_turn(connection, params, self.environ, limit_s=limit_s)


def draft_prompt(
    prompt: str, options: Options, environ: Mapping[str, str], *, detach: bool = False
) -> Draft:
    """Read and check what a program wants to ask.

    Raises:
        TypeError: an option that there is not, or of another kind than it has.
        exits.Failed: a text that is none, a file that cannot be taken, nothing to ask.
    """
    unknown = sorted(set(options) - set(WORDS))
    if unknown:
        near = get_close_matches(unknown[0], WORDS, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise TypeError(f"no such option of a prompt: {', '.join(unknown)}{meant}")
    said: Map = {name: value for name, value in options.items() if value is not None}
    _check_kinds(prompt, said)
    if detach:
        _refuse_attended(said)
    tools, stop = list(said.get("tools", ())), list(said.get("stop", ()))
    model = said.get("model") or environ.get("ASK_MODEL")
    system = said.get("system") or environ.get("ASK_SYSTEM")
    conversation = said.get("conversation")
    name = conversation if isinstance(conversation, str) else None
    key = said.get("key", caller.make_key())
    check_words(
        Wish(session=name, model=model, system=system, key=key, stop=tuple(stop), tools=tools)
    )
    passed_on: Map = {name: said[name] for name in PASSED_ON if name in said}
    chosen = {"model": model, "system": system, "stop": stop}
    passed_on |= {name: value for name, value in chosen.items() if value}
    if "tools" in said:
        passed_on["tools"] = tools
    if "schema" in said:
        passed_on["answer_schema"] = _read_schema(said["schema"])
    if detach:
        passed_on["detach"] = True
    params: Map = {"target": find_target(conversation, create=said.get("create", True)), "key": key}
    params |= {"options": passed_on} if passed_on else {}
    params |= {name: said[name] for name in ("busy", "ephemeral") if said.get(name)}
    params |= describe_caller(environ, said.get("cwd"))
    params["follow"] = not detach
    if said.get("interactive") or "on_question" in said:
        params["interactive"] = True
    timeout_s = said.get("timeout_s")
    if timeout_s is not None and not 0 < timeout_s < math.inf:
        message = "A time limit is a number of seconds above 0."
        raise Failed(USAGE, message, data={"reason": "usage"})
    if "cwd" in said and is_far(environ):
        environ = {**environ, DIRECTORY_VARIABLE: os.fspath(said["cwd"])}
    limit_tools(passed_on, environ)  # from afar without a directory: said before anything is sent
    return Draft(
        params,
        tuple(_read_inputs(prompt, said.get("files", ()))),
        environ,
        None if timeout_s is None else time.monotonic() + timeout_s,
        said.get("on_question"),
    )


def find_target(conversation: "Conversation | str | None", *, create: bool) -> Map:
    """Which conversation is meant, as a `Target`."""
    match conversation:
        case None:
            return {"kind": "new"}
        case Conversation():
            return {"kind": "id", "value": conversation.id}
        case _:
            return {"kind": "session", "value": conversation, "create": create}


def describe_caller(environ: Mapping[str, str], cwd: "str | os.PathLike[str] | None") -> Map:
    """What the daemon is told of the caller: `cwd`, `cwd_id`, `env`, `secrets`.

    Raises:
        exits.Failed: `cwd` is no directory, or for another machine no absolute path.
    """
    if cwd is None:
        return describe(environ)
    if is_far(environ):
        return describe({**environ, DIRECTORY_VARIABLE: os.fspath(cwd)})
    path = os.path.abspath(cwd)
    try:
        status = os.stat(os.path.join(path, "."))
        path.encode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is no text"
        raise _unfit(f"{show_path(path)} cannot be worked in: {why}.") from None
    return {**describe(environ), "cwd": path, "cwd_id": f"{status.st_dev}:{status.st_ino}"}


def _check_kinds(prompt: object, said: Map) -> None:
    """Refuse what would mean something else: a text is a sequence of its letters, too."""
    for name, value in {"prompt": prompt, **{name: said.get(name, "") for name in TEXTS}}.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, and not {type(value).__name__}")
    for name in SEVERAL:
        if isinstance(said.get(name), str | bytes | os.PathLike | Attachment):
            raise TypeError(f"{name} takes several: give a list, also of one")
    timeout_s = said.get("timeout_s", 0)
    if not isinstance(timeout_s, int | float):
        raise TypeError(f"timeout_s is a number, and not {type(timeout_s).__name__}")


def _refuse_attended(said: Map) -> None:
    for name in ("ephemeral", "interactive", "on_question"):
        if said.get(name):
            message = f"A detached prompt cannot have {name}: nobody is there."
            raise Failed(USAGE, message, data={"reason": "usage"})


def _read_schema(schema: Mapping[str, Any] | str) -> Map:
    return read_schema(schema) if isinstance(schema, str) else dict(schema)


def _read_inputs(
    prompt: str, files: "Iterable[str | os.PathLike[str] | Attachment]"
) -> Iterable[Input]:
    attached = [_read_file(each) for each in files]
    if len(attached) > FILES_LIMIT:
        raise _unfit(f"A prompt takes at most {FILES_LIMIT} files, not {len(attached)}.")
    if prompt.strip():
        try:
            attached.insert(0, Input(prompt.encode()))
        except UnicodeEncodeError:
            raise _unfit("The prompt is not valid UTF-8.") from None
    if not attached:
        raise Failed(USAGE, "The prompt is empty.", data={"reason": "empty_prompt"})
    return attached


def _read_file(file: "str | os.PathLike[str] | Attachment") -> Input:
    if isinstance(file, Attachment):
        content = file.content.encode() if isinstance(file.content, str) else file.content
        name = file.name or "attachment"
        if len(content) > BLOB_LIMIT_BYTES:
            raise _unfit(f"{name} is larger than {BLOB_LIMIT_BYTES >> 20} MiB.")
    else:
        name = show_path(os.fspath(file))
        content = read_content(os.fspath(file), name)
    media_type = find_image_type(content)
    if media_type is not None:
        return Input(content, name, media_type)
    if b"\0" in content:
        raise _unfit(f"{name} is a binary file; a prompt takes text and images.")
    return Input(check_text(content, name), name, TEXT)


def _unfit(message: str) -> Failed:
    return Failed(USAGE, message, data={"reason": "bad_input"})
