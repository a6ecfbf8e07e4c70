"""The turns that are jobs: what was asked and said, shown at once or as it comes.

A turn's log is the conversation's, from its prompt on; what else happens there
meanwhile is left out. It changes nothing but for the answer to an open question.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ask.commands.calls import PAGE, Map
from ask.commands.views import ALL, TextView
from ask.exits import USAGE, Failed
from ask.fast.caller import find_terminal
from ask.feed import Feed, Missed, News
from ask.graphemes import shorten
from ask.questions import Question, encode_answer, lay_out_question, read_choice, read_question
from ask.scene import lay_out_prompt
from ask.transcript import describe_blob, find_stand_in, read_content, read_item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ask.connection import Client

ANSWER_LIMIT = 2000
"""Characters of an answer that `ask jobs show` shows; `ask jobs logs` has all."""
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


def _insist(client: "Client", feed: TurnFeed, view: TextView) -> "Client":
    """Show what comes next; where the connection is lost, on another one. Answers with it."""
    from ask.connection import Client, ConnectionLost
    from ask.listener import NoDaemon

    try:
        view.show(feed.wait(client))
        return client
    except ConnectionLost as lost:
        client.close()
        deadline = time.monotonic() + RECONNECT_LIMIT_S
        while time.monotonic() < deadline:
            # A detached turn outlives its daemon: the next one is started if need be.
            with suppress(NoDaemon, ConnectionLost):
                client = Client.connect()
                view.show(feed.read(client))
                return client
            time.sleep(RECONNECT_PAUSE_S)
        raise lost from None


def lay_out_turn(client: "Client", job: Map) -> list[str]:
    """What was asked, what was said so far, and the open question with the ways to answer it."""
    lines: list[str] = []
    feed = TurnFeed(job)
    said: dict[str, str] = {}
    for news in feed.read(client):
        event = news.fields
        if news.method == "delta":
            if event["kind"] == "text":
                said[event["item_id"]] = said.get(event["item_id"], "") + event["text"]
        elif event["type"] == "prompt_accepted":
            for item in event.get("items", [find_stand_in(event)]):
                lines += ["", lay_out_prompt(item, event)]
        elif event["type"] == "item_added":
            _take_item(said, event)
    texts = [text.strip("\n") for text in said.values()]
    lines += [line for text in texts if text for line in ("", shorten(text, ANSWER_LIMIT))]
    question = find_question(job)
    if question is not None:
        lines += ["", lay_out_question(question).strip("\n")]
        ways = "|".join(str(place) for place, _ in enumerate(question.choices, start=1))
        lines += ["", f"Answer it: ask jobs show {job['id'][:8]} --answer {ways}"]
    return lines


def _take_item(said: dict[str, str], event: "Mapping[str, Any]") -> None:
    message = read_item(event.get("item", find_stand_in(event)), event)
    if message is None:
        return
    if event.get("status") == "superseded":
        said.pop(message.item_id, None)
    elif message.role == "assistant":
        said[message.item_id] = read_content(message, describe_blob)


def find_question(job: Map) -> Question | None:
    """The open question of a job's turn, if it has one with choices."""
    asked = job.get("question")
    if not asked:
        return None
    return read_question(
        {**asked, "conversation_id": job["conversation_id"], "turn_id": job["turn_id"]}
    )


def answer_question(client: "Client", job: Map, said: str, environ: "Mapping[str, str]") -> str:
    """Answer what a job's turn waits for; what was chosen, as a person reads it.

    Args:
        said: the number of a choice, or the word of its decision.

    Raises:
        Failed: nothing is open, it is no choice, or somebody was faster.
    """
    question = find_question(job)
    if question is None:
        raise Failed(USAGE, f"The job {job['id']} waits for no answer.")
    decision = read_choice(question, said)
    if decision is None and said in dict(question.choices):
        decision = said
    if decision is None:
        raise Failed(
            USAGE,
            f"{said!r} is no choice: give {_list(question.choices)}.",
            data={"reason": "usage"},
        )
    client.call("question/answer", encode_answer(question, decision, find_terminal(environ)))
    return dict(question.choices)[decision]


def _list(choices: Sequence[tuple[str, str]]) -> str:
    ways = [f"{place} or {decision}" for place, (decision, _) in enumerate(choices, start=1)]
    return ", ".join(ways)
