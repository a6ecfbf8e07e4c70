"""`ask.connect()` and the client that it answers: the door of the library.

It wires the rooms together and decides nothing of its own.
"""

import os
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Unpack

from ask.exits import NO_DAEMON
from ask.hosts import VARIABLE
from ask.library.begin import begin_turn, follow_job, leave_turn
from ask.library.conversations import Conversations
from ask.library.errors import NoDaemon, translated
from ask.library.events import Question, encode_answer
from ask.library.jobs import Jobs
from ask.library.link import Link
from ask.library.prompts import Options, draft_prompt
from ask.library.subscription import Subscription
from ask.library.turn import Turn
from ask.library.values import Conversation, Job


class Client:
    """A connection to the user's daemon, made by `connect`. Use it as a context manager.

    It belongs to the thread and the process that made it; any other use is a `UsageError`.
    What it needs it connects again: a daemon that ends and comes back costs nothing but the
    request that was under way, and that only if it might have done something.

    Attributes:
        conversations: listing, reading, naming, forking, deleting.
        jobs: background work.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, *, start: bool = True) -> None:
        self._link = Link(os.environ if environ is None else environ, start=start)
        self._following: weakref.WeakSet[Turn | Subscription] = weakref.WeakSet()
        self.conversations = Conversations(self._link)
        self.jobs = Jobs(self._link)
        self._link.greet()

    def ask(self, prompt: str, **options: Unpack[Options]) -> str:
        """Ask, wait, and answer what the model said.

        Raises:
            Error: it did not go well; `text` is what was said by then.
        """
        with self.turn(prompt, **options) as turn:
            return turn.result()

    def turn(self, prompt: str, **options: Unpack[Options]) -> Turn:
        """Ask, and follow: the turn is stored when this returns, and brings events.

        Raises:
            Error: it was refused; nothing is stored then.
        """
        self._link.check()
        with translated():
            draft = draft_prompt(prompt, options, self._link.environ)
        turn = begin_turn(self._link, draft)
        self._following.add(turn)
        return turn

    def detach(self, prompt: str, **options: Unpack[Options]) -> Job:
        """Ask, and leave: the turn is a job, which outlives this program and the daemon.

        It may wait for a person for 24 hours. `client.follow` reads what comes of it,
        `client.jobs.wait` waits for its end.

        Raises:
            Error: it was refused; nothing is stored then.
        """
        self._link.check()
        with translated():
            draft = draft_prompt(prompt, options, self._link.environ, detach=True)
        accepted = leave_turn(self._link, draft)
        if accepted.get("job_id") is None:
            message = "The daemon that runs is older and makes no job of a turn."
            raise NoDaemon(NO_DAEMON, message, hint="Replace it: ask daemon restart")
        return self.jobs.read(str(accepted["job_id"]))

    def follow(self, job: Job | str) -> Turn:
        """The turn that a job is, from its prompt on, whether it runs or is over.

        Raises:
            NotFound: there is no such job, or it is no turn.
        """
        turn = follow_job(self._link, self.jobs.read(job))
        self._following.add(turn)
        return turn

    def subscribe(
        self,
        conversation: Conversation | str,
        *,
        since: int | None = None,
        interactive: bool = False,
    ) -> Subscription:
        """Follow a conversation, whoever asks in it.

        Args:
            since: begin after the event with this seq: 0 is the beginning; None: now.
            interactive: somebody will answer what is asked, with `answer`.

        Raises:
            NotFound: it is not there.
        """
        found = self.conversations.find(conversation)
        after = found.last_seq if since is None else since
        subscription = Subscription(self._link, found.id, since=after, interactive=interactive)
        self._following.add(subscription)
        return subscription

    def answer(
        self,
        question: Question,
        decision: str,
        *,
        reason: str | None = None,
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """Decide what a turn waits for; the first answer counts.

        Args:
            question: as a turn, a subscription or a job brought it.
            decision: one of its choices.
            reason: why; a model is told of a refused call.
            content: with `accept` of an elicitation, what was asked for.

        Raises:
            NotFound: it is not open any more.
            UsageError: that is none of its choices.
        """
        asked = encode_answer(question, decision, reason=reason, content=content)
        self._link.call("question/answer", asked)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One request of the protocol as it is, for what has no method here.

        `client.call("daemon/status")["pid"]`; the page of the protocol lists all of them.
        Notifications come to turns and subscriptions only.
        """
        return self._link.call(method, params)

    def close(self) -> None:
        """Close everything. Turns go on. Closing twice is no error."""
        for each in list(self._following):
            each.close()
        self._link.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in list(self._following):
            each.__exit__(kind, error, traceback)
        self.close()


def connect(
    environ: Mapping[str, str] | None = None, *, start: bool = True, host: str | None = None
) -> Client:
    """Connect to the user's daemon.

    Args:
        environ: where it is looked for and what it is told of the caller; None: `os.environ`.
        start: start it if none runs.
        host: `ssh://USER@HOST`: the daemon of another machine; None: as `ASK_HOST` says.

    Raises:
        NoDaemon: none runs and none can be started, or it speaks another protocol.
    """
    environ = os.environ if environ is None else environ
    return Client(environ if host is None else {**environ, VARIABLE: host}, start=start)
