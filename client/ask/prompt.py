"""A prompt on its long way: what is asked, its inputs read and checked, and how it ends.

Every input is checked before anything is sent. It knows no click: the command
hands it a `Wish`. What it sends for a plain prompt is, byte for byte, what the
short way sends.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ask.acceptance import start_turn
from ask.connection import Client, RpcError
from ask.detached import leave_prompt
from ask.drafts import draft
from ask.endings import End
from ask.exits import (
    CUT,
    DONE,
    FAILED,
    NOT_FOUND,
    PIPE_CLOSED,
    Failed,
    explain_unwritable,
)
from ask.fast import caller
from ask.fast.caller import StdoutClosed, StdoutFailed
from ask.fast.run import Carried
from ask.follow import Follower
from ask.inputs import Input, attach_mentions, read_inputs, send_parts
from ask.listener import Unreachable
from ask.markdown.wanted import open_live
from ask.outputs import check_output, find_code_block, replace_output
from ask.person import Person
from ask.render import Screen, show_usage
from ask.schemas import read_schema, strip_fence
from ask.signals import TimeIsUp
from ask.terminal import strip_controls
from ask.whereabouts import describe, find_terminal
from ask.wish import Wish, check_words

Map = dict[str, Any]

CHOSEN = ("overflow", "tools", "approve", "instructions", "notify")
"""What is passed on as it was chosen."""


def ask_prompt(wish: Wish, environ: Mapping[str, str], carried: Carried | None = None) -> int:
    """Ask, show the answer, and answer the exit code.

    Args:
        carried: what the short way has done already.

    Raises:
        Failed: nothing was asked, or the answer cannot be had.
    """
    carried = carried or Carried(wish.key or caller.make_key())
    if carried.broken is not None:
        raise explain_unwritable(carried.broken, **_locate(wish, carried))
    if carried.refusal is not None:
        _raise_final(carried.refusal)
    if wish.timeout_s is not None and carried.deadline is None:
        carried.deadline = time.monotonic() + wish.timeout_s
    check_words(wish)
    drafted = draft(wish, environ, carried)
    wish = drafted.wish
    schema = None if wish.schema is None else read_schema(wish.schema)
    text, mentioned = drafted.text, list[Input]()
    if not wish.no_mentions:
        text, mentioned = attach_mentions(
            text,
            beside=(*wish.files, *wish.images),
            quiet=wish.quiet,
            environ=environ,
            deadline=carried.deadline,
        )
    inputs = read_inputs(
        drafted.complete(text),
        wish.files,
        carried,
        images=wish.images,
        mentioned=mentioned,
        stdin=not wish.no_stdin,
        quiet=wish.quiet,
    )
    check_output(wish.output)
    target, terminal = find_target(wish, environ)
    plain = wish.raw or wish.as_json or wish.holds or wish.detach
    screen = Screen(
        raw=wish.raw,
        quiet=wish.quiet,
        verbose=wish.verbose,
        answer_filter=carried.filter,
        outlive=wish.output is not None,
        live=None if plain else (carried.live and carried.live.live) or open_live(environ),
    )

    def connect() -> Client:
        client = Client.connect(environ)
        screen.say_verbosely(f"askd {client.hello['version']} (pid {client.hello['pid']})")
        return client

    def start(client: Client) -> Map:
        params = build_params(wish, environ, target=target, terminal=terminal, key=carried.key)
        if schema is not None:
            params.setdefault("options", {})["answer_schema"] = schema
        params["parts"] = send_parts(client, inputs)
        return start_turn(client, params, environ)

    if wish.detach:
        leave_prompt(connect, start, screen, deadline=carried.deadline, as_json=wish.as_json)
        return DONE
    follower = Follower(
        connect=connect,
        start=start,
        screen=screen,
        carried=carried,
        as_json=wish.as_json,
        silent=wish.holds,
        durable=not wish.ephemeral,
        person=Person(screen) if can_ask(wish) else None,
    )
    try:
        end = follower.run()
        code = end.code if end.left else finish(wish, follower, end)
        if screen.failure is not None and code == DONE:
            raise screen.failure
        return code
    except StdoutClosed:
        return PIPE_CLOSED
    except StdoutFailed as failure:
        raise explain_unwritable(str(failure), **_locate(wish, carried)) from None
    except Unreachable as error:
        if carried.answer is not None and not wish.ephemeral:
            error.hint = f"The turn goes on there: ask attach {carried.answer.conversation_id[:8]}"
        raise
    except TimeIsUp:
        line_open = carried.answer is not None and carried.answer.line_open
        if line_open and not (wish.as_json or wish.holds):
            screen.show("\n")
            screen.close()
        raise


# ---- what is asked -----------------------------------------------------------------


def find_target(wish: Wish, environ: Mapping[str, str]) -> tuple[Map, str | None]:
    """Which conversation is meant, and the terminal that will remember it.

    Raises:
        Failed: `-c` where there is no terminal; never a guess such as "the latest".
    """
    terminal = find_terminal(environ)
    if wish.again and terminal is None:
        raise Failed(
            NOT_FOUND,
            "-c needs a terminal, and there is none here.",
            hint="Name the conversation: ask -s NAME ... (or set ASK_TERMINAL)",
            data={"reason": "no_terminal"},
        )
    remembered = None if wish.ephemeral else terminal
    if wish.again:
        return {"kind": "terminal", "value": terminal}, remembered
    if wish.session is not None:
        return {"kind": "session", "value": wish.session, "create": True}, remembered
    return {"kind": "new"}, remembered


def build_params(
    wish: Wish, environ: Mapping[str, str], *, target: Map, terminal: str | None, key: str
) -> Map:
    """The parameters of `turn/start`, but for parts and schema; what is a default is left out."""
    params: Map = {"target": target, "key": key, "parts": []}
    options: Map = {}
    model = wish.model or environ.get("ASK_MODEL")
    system = wish.system or environ.get("ASK_SYSTEM")
    if model:
        options["model"] = model
    if system:
        options["system"] = system
    for name in ("timeout_s", "temperature", "max_output_tokens", "effort", *CHOSEN):
        if getattr(wish, name) is not None:
            options[name] = getattr(wish, name)
    if wish.stop:
        options["stop"] = list(wish.stop)
    if wish.detach:
        options["detach"] = True
    if options:
        params["options"] = options
    if wish.busy is not None:
        params["busy"] = wish.busy
    if wish.ephemeral:
        params["ephemeral"] = True
    params |= describe(environ)
    if terminal is not None:
        params["terminal"] = terminal
    params["follow"] = not wish.detach
    if can_ask(wish):
        params["interactive"] = True
    return params


def can_ask(wish: Wish) -> bool:
    """Whether a person is there to be asked; what is JSON is for a program."""
    return caller.is_interactive() and not wish.as_json and not wish.detach


# ---- how it ends -------------------------------------------------------------------


def finish(wish: Wish, follower: Follower, end: End) -> int:
    """What is left to show and to write when the turn is over; the exit code."""
    screen, answer, text = follower.screen, follower.answer, end.text
    if wish.holds:
        text = pick_text(wish, follower, end)
        answer.line_open = bool(text) and not text.endswith("\n")
        if not wish.as_json:
            screen.show(text)
    open_line = answer.line_open and not wish.as_json
    if follower.carried.interrupted and not (open_line and os.isatty(1)):
        screen.break_line()
    if open_line:
        screen.show("\n")
    screen.close()
    if end.code == DONE and wish.output is not None:
        written = text if wish.raw else strip_controls(text)
        try:
            replace_output(Path(wish.output), written)
        except Failed as error:
            located = _locate(wish, follower.carried)
            data = {**error.data, **located["data"]}
            raise Failed(error.code, error.message, hint=located["hint"], data=data) from None
    if end.message:
        Screen().say(end.message)
    if wish.usage:
        Screen().say(show_usage(end.usage))
    screen.say(answer.conversation_id[:8])
    return end.code


def pick_text(wish: Wish, follower: Follower, end: End) -> str:
    """What is shown of an answer that was held back; nothing if it did not come to that."""
    if wish.schema is not None:
        return strip_fence(end.text) if end.code == DONE else ""
    if end.code not in (DONE, CUT):
        return ""
    found = find_code_block(end.text)
    if found is None:
        located = _locate(wish, follower.carried)
        data = {"reason": "no_code_block", **located["data"]}
        raise Failed(FAILED, "The answer has no code block.", hint=located["hint"], data=data)
    return found


def _raise_final(refusal: Mapping[str, Any]) -> None:
    """Raise the daemon's refusal, unless asking again in another way may help."""
    data = refusal.get("data")
    error = RpcError(
        int(refusal.get("code", FAILED)),
        str(refusal.get("message", "The daemon refused.")),
        data if isinstance(data, dict) else None,
    )
    if error.reason not in ("secrets_needed", "draining"):
        raise error


def _locate(wish: Wish, carried: Carried) -> Map:
    """Where an answer can be found that did not get where it should: a hint, and data."""
    if carried.answer is None:
        return {"hint": None, "data": {}}
    conversation_id = carried.answer.conversation_id
    hint = None if wish.ephemeral else f"The answer is kept: ask history show {conversation_id[:8]}"
    return {"hint": hint, "data": {"conversation_id": conversation_id}}
