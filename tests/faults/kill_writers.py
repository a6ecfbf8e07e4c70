"""Who writes to a daemon that is killed: prompts with a mark, and which of them it has.

Each prompt goes to the next dialect in turn, so that a conversation that a kill has met goes on
with another one. A prompt that was not acknowledged is sent again with its key. What was
acknowledged is kept here, outside of everything that is killed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ask.connection import Client
from tests.faults.kill_model import DIALECTS
from tests.system.world import LIMIT_S

LONG = "and so on " * 180
"""Two or three of these are too many for the small model."""
TURNS = 5
"""So many acknowledged prompts a conversation: requests stay short."""
UNWAITED = 2
"""So many of a writer's prompts may be unfinished."""
TOOLS: Mapping[str, Any] = {"tools": ["run_command"], "approve": "auto"}

Map = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A prompt that the daemon said it has."""

    mark: str
    conversation_id: str
    turn_id: str
    seq: int


@dataclass(slots=True)
class Writer:
    """Sends prompts as long as somebody takes them, and keeps what was acknowledged.

    Attributes:
        model: of which size: "fake", or "small".
        pending: the prompt whose answer never came, as the parameters of its request.
    """

    name: str
    options: Mapping[str, Any]
    words: str
    cwd: Path
    model: str = "fake"
    acknowledged: list[Acknowledged] = field(default_factory=list)
    pending: Map | None = None
    refusals: list[str] = field(default_factory=list)
    _count: int = 0
    _talk: int = 0
    _in_talk: int = 0

    def write(self, client: Client) -> None:
        """Until the connection is lost, which raises `Failed`; a refusal too, and is kept."""
        unfinished: list[Acknowledged] = []
        while True:
            unfinished.append(self.send(client))
            if len(unfinished) >= UNWAITED:
                wait(client, unfinished.pop(0))
            if self._in_talk >= TURNS:
                # Never right after a restart: the conversation that it met goes on.
                self._talk, self._in_talk = self._talk + 1, 0

    def send(self, client: Client) -> Acknowledged:
        """One prompt, the pending one first."""
        if self.pending is None:
            self.pending = self._make()
        found = send(client, self.pending)
        self.acknowledged.append(found)
        self.pending = None
        self._in_talk += 1
        return found

    def _make(self) -> Map:
        self._count += 1
        mark = f"{self.name}.{self._count}"
        target = {"kind": "session", "value": f"{self.name}-{self._talk}", "create": True}
        dialect = DIALECTS[self._count % len(DIALECTS)]
        options = {**self.options, "model": f"at-{dialect}/{self.model}"}
        return make_prompt(mark, self.words, target, options, self.cwd)


def make_prompt(
    mark: str, words: str, target: Mapping[str, Any], options: Mapping[str, Any], cwd: Path
) -> Map:
    """The parameters of `turn/start` for a marked prompt."""
    return {
        "target": dict(target),
        "key": mark,
        "parts": [{"type": "text", "text": f"<<{mark}>> {words}"}],
        "options": dict(options),
        "cwd": str(cwd),
    }


def send(client: Client, prompt: Map) -> Acknowledged:
    """Have a prompt accepted."""
    answer = client.call("turn/start", prompt)
    return Acknowledged(
        str(prompt["key"]), answer["conversation_id"], answer["turn_id"], answer["seq"]
    )


def wait(client: Client, prompt: Acknowledged) -> None:
    """For its turn's end."""
    turn = {"conversation_id": prompt.conversation_id, "turn_id": prompt.turn_id}
    client.call("turn/wait", {**turn, "timeout_s": LIMIT_S / 2}, limit_s=LIMIT_S)


def make_writers(project: Path) -> Sequence[Writer]:
    """The four: short talks, talks with commands, detached turns with commands, long talks."""
    return (
        Writer("chat", {}, "so", project),
        Writer("tools", TOOLS, "RUN it", project),
        Writer("detached", {**TOOLS, "detach": True}, "RUN it", project),
        Writer("long", {}, LONG, project, model="small"),
    )
