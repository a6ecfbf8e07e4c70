"""The turns that are jobs: what was asked and said, shown at once or as it comes.

A turn's log is the conversation's, from its prompt on; what else happens there
meanwhile is left out. It changes nothing but for the answer to an open question.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ask.activity import describe_end
from ask.approve import find_sight
from ask.blobs import read_answer as read_whole_answer
from ask.commands.calls import PAGE, Map, write_text
from ask.commands.views import ALL, TextView, is_event
from ask.elicit import ACCEPT
from ask.exits import USAGE, Failed
from ask.feed import Feed, Missed, News
from ask.forms import read_pairs, read_whole
from ask.graphemes import shorten
from ask.patience import Patience
from ask.person import STDOUT
from ask.questions import (
    Answer,
    Question,
    encode_answer,
    lay_out_question,
    read_answer,
    read_question,
)
from ask.reveal import shorten_line
from ask.said import Said
from ask.scene import lay_out_call, lay_out_prompt
from ask.terminal import strip_controls
from ask.transcript import describe_blob, find_stand_in, read_content, read_item
from ask.whereabouts import find_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ask.connection import Client

ANSWER_LIMIT = 2000
"""Characters of an answer that `ask jobs show` shows; `ask jobs logs` has all."""
ENDING_COLUMNS = 200
"""How much is shown of how a call has failed."""
RECONNECT_LIMIT_S = 60.0
"""How long a lost daemon is looked for; a restart takes a few seconds."""
RECONNECT_PAUSE_S = 0.2


class TurnFeed:
    """What is new of one turn of a conversation.

    Attributes:
        over: its end has come, stored or not.
    """

    def __init__(self, job: Map) -> None:
        self._conversation_id = str(job["conversation_id"])
        self._turn_id = str(job["turn_id"])
        self._feed = Feed(seq=max(int(job["seq"]) - 1, 0))
        self.over = False

    def read(self, client: "Client") -> list[News]:
        """All until now; from then on it is subscribed to."""
        found: list[News] = []
        while True:
            asked = {"conversation_id": self._conversation_id, "after_seq": self._feed.seq}
            page = client.call("conversation/subscribe", {**asked, "limit": PAGE})
            found += self._choose(self._feed.take_page(page["data"], page["live"]))
            if page.get("next_after_seq") is None or self.over:
                return found

    def wait(self, client: "Client") -> list[News]:
        """What comes next."""
        method, fields = client.receive()
        if fields.get("conversation_id") != self._conversation_id:
            return []
        try:
            return self._choose(self._feed.take(method, fields))
        except Missed:
            return self.read(client)

    def _choose(self, found: list[News]) -> list[News]:
        chosen = [each for each in found if each.fields.get("turn_id") == self._turn_id]
        for each in chosen:
            ends = each.method == "event" and each.fields["type"] == "turn_finished"
            self.over = self.over or ends or each.method == "turn_unsaved"
        return chosen


def check_turn(job: Map) -> None:
    """Raise `Failed` for a job that is no turn, or whose turn cannot be read any more."""
    if job["kind"] != "turn":
        raise Failed(USAGE, f"The job {job['id']} is no turn, and nothing is said in it.")
    if job.get("seq") is None:
        raise Failed(USAGE, f"The turn of the job {job['id']} cannot be read.")


class Shows(Protocol):
    """Whatever takes what is new of a turn."""

    def show(self, found: list[News]) -> None:
        """Take it."""


class Kept:
    """Shows nothing, and keeps the turn's events."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []

    def show(self, found: list[News]) -> None:
        """Keep what is an event."""
        self.events += [news.fields for news in found if is_event(news)]


def show_answer(client: "Client", job: Map, *, follow: bool) -> None:
    """Write the answer of a job's turn as a pipe gets it, if there is one; with `follow` its last.

    It is what `-o` would have written of a prompt that was waited for.
    """
    check_turn(job)
    feed, kept = TurnFeed(job), Kept()
    kept.show(feed.read(client))
    while follow and not feed.over:
        client = _insist(client, feed, kept)
    said = Said()
    for event in kept.events:
        said.take_event(read_whole_answer(client, event))
    text = strip_controls(said.answer)
    write_text(text if not text or text.endswith("\n") else f"{text}\n")


def show_log(client: "Client", job: Map, *, follow: bool) -> None:
    """Write what was asked and said in a job's turn; with `follow` until it is over."""
    check_turn(job)
    feed, view = TurnFeed(job), TextView(ALL)
    try:
        view.show(feed.read(client))
        while follow and not feed.over:
            client = _insist(client, feed, view)
    finally:
        view.end_line()


def _insist(client: "Client", feed: TurnFeed, view: Shows) -> "Client":
    """Show what comes next; where the connection is lost, on another one. Answers with it."""
    from ask.connection import Client, ConnectionLost
    from ask.listener import NoDaemon, Unreachable

    try:
        view.show(feed.wait(client))
        return client
    except ConnectionLost as lost:
        client.close()
        patience = Patience(RECONNECT_LIMIT_S, RECONNECT_PAUSE_S)
        while True:
            # A detached turn outlives its daemon: the next one is started if need be.
            try:
                client = Client.connect()
                view.show(feed.read(client))
                return client
            except NoDaemon as error:
                pause_s = patience.find_pause(error if isinstance(error, Unreachable) else lost)
            time.sleep(pause_s)


def lay_out_turn(client: "Client", job: Map) -> list[str]:
    """What was asked, what was said so far, and the open question with the ways to answer it."""
    lines: list[str] = []
    feed = TurnFeed(job)
    said: dict[str, str] = {}
    calls: dict[tuple[str, str], str] = {}
    for news in feed.read(client):
        event = news.fields
        if news.method == "delta":
            if event["kind"] == "text":
                said[event["item_id"]] = said.get(event["item_id"], "") + event["text"]
        elif event["type"] == "prompt_accepted":
            for item in event.get("items", [find_stand_in(event)]):
                lines += ["", lay_out_prompt(item, event)]
        elif event["type"] == "item_added":
            _take_item(said, calls, event)
    texts = [
        "\n".join([text, *(line for (item_id, _), line in calls.items() if item_id == each)])
        for each, text in said.items()
    ]
    texts = [text.strip("\n") for text in texts]
    lines += [line for text in texts if text for line in ("", shorten(text, ANSWER_LIMIT))]
    question = find_question(job)
    if question is not None:
        # Plain and whole, and yet in rows: none of it may begin where our own words do.
        sight = replace(find_sight(STDOUT, os.environ), rows=None, coloured=False)
        lines += ["", lay_out_question(question, sight).strip("\n")]
        lines += ["", f"Answer it: ask jobs show {job['id'][:8]} --answer {_word_ways(question)}"]
    return lines


def _word_ways(question: Question) -> str:
    """What `--answer` takes, and what goes with it."""
    asked = question.elicitation
    if asked is None:
        return "|".join(str(place) for place, _ in enumerate(question.choices, start=1))
    content = " --content NAME=VALUE" if asked.fields else ""
    return f"accept{content} (or decline, cancel)"


def _take_item(
    said: dict[str, str], calls: dict[tuple[str, str], str], event: "Mapping[str, Any]"
) -> None:
    """What an item says, and by item and call what it calls, with how that has ended."""
    item = event.get("item", find_stand_in(event))
    if item.get("type") == "tool_output":
        caller = str(item.get("id")).rpartition(".")[0], str(item.get("call_id"))
        how = describe_end(item)
        if caller in calls and how:
            calls[caller] += f" ({shorten_line(how, ENDING_COLUMNS)})"
        return
    message = read_item(item, event)
    if message is None:
        return
    if event.get("status") == "superseded":
        said.pop(message.item_id, None)
    elif message.role == "assistant":
        said[message.item_id] = read_content(message, describe_blob)
        calls |= {(message.item_id, call.id): lay_out_call(call) for call in message.calls}


def find_question(job: Map) -> Question | None:
    """The open question of a job's turn, if it has one with choices."""
    asked = job.get("question")
    if not asked:
        return None
    return read_question(
        {**asked, "conversation_id": job["conversation_id"], "turn_id": job["turn_id"]}
    )


def answer_question(
    client: "Client",
    job: Map,
    said: str,
    environ: "Mapping[str, str]",
    content: Sequence[str] = (),
) -> str:
    """Answer what a job's turn waits for; what was chosen, as a person reads it.

    Args:
        said: the number of a choice, or the word of its decision; of an approval as it is
            typed at a terminal, `n because ...`.
        content: what a form is filled in with: one JSON object, or `NAME=VALUE` words.

    Raises:
        Failed: nothing is open, it is no choice, or somebody was faster.
    """
    question = find_question(job)
    if question is None:
        raise Failed(USAGE, f"The job {job['id']} waits for no answer.")
    answer = read_answer(question, said)
    if answer is None and said in dict(question.choices):
        answer = Answer(said)
    if answer is None:
        raise Failed(
            USAGE,
            f"{said!r} is no choice: give {_list(question.choices)}.",
            data={"reason": "usage"},
        )
    answer = answer._replace(content=_read_content(question, answer, content))
    client.call("question/answer", encode_answer(question, answer, find_terminal(environ)))
    return dict(question.choices)[answer.decision]


def _read_content(
    question: Question, answer: Answer, said: Sequence[str]
) -> "Mapping[str, Any] | None":
    """What goes with the answer; None: nothing. Raises `Failed` for what cannot."""
    asked = question.elicitation
    if asked is None or not asked.fields or answer.decision != ACCEPT:
        if said:
            raise Failed(USAGE, "--content goes with --answer accept.")
        return None
    try:
        if len(said) == 1 and said[0].lstrip().startswith("{"):
            found: Map = json.loads(said[0], parse_int=read_whole)
        else:
            found = read_pairs(asked.fields, said)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise Failed(USAGE, f"--content: {error}", data={"reason": "usage"}) from None
    return found


def _list(choices: Sequence[tuple[str, str]]) -> str:
    ways = [f"{place} or {decision}" for place, (decision, _) in enumerate(choices, start=1)]
    return ", ".join(ways)
