"""A home whose daemon is killed again and again, the model that it asks, and who writes to it.

Four write, each on a connection of its own: short talks, talks whose model runs a command,
detached turns with a command, and talks so long that they are compacted; every new conversation
is given a title by the model. A prompt that was not acknowledged is sent again with its key.
What was acknowledged is kept here, outside of everything that is killed.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ask.connection import Client, ConnectionLost, RpcError, Silent
from ask.exits import Failed
from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer, Pause, Status, Step
from tests.faults.kill_daemon import Order
from tests.system.servers import tell, write_config
from tests.system.world import LIMIT_S, ROOT, World

CONFIG = """\
default_model = "work/fake"
title = "model"
[providers.work]
dialect = "openai-chat"
base_url = "{base_url}"
[models."work/fake"]
context_window = 60000
[models."work/small"]
context_window = 3000
max_output_tokens = 500
[context]
compaction_threshold = 0.5
summary_tokens = 200
user_message_tokens = 200
"""
"""The daemon's own server: what runs after a restart has no caller to lend it a key."""
MARK = re.compile(r"<<(\w+)\.(\d+)>>")
"""Begins every prompt: who wrote it, and its number, which only grows."""
LONG = "and so on " * 180
"""Two or three of these are too many for the small model."""
TITLED, SUMMARIZED = "You name conversations.", "Write a concise summary of this conversation"
"""How the daemon's own requests to the model begin."""
PIECE_S = 0.004
"""Between two pieces of an answer, so that kills come in the middle of some."""
TURNS = 5
"""So many acknowledged prompts a conversation: requests stay short."""
UNWAITED = 2
"""So many of a writer's prompts may be unfinished."""
RETRY_S = 0.002
"""Between two tries to connect: of all that is measured here, the finest step."""

Map = dict[str, Any]


class Model:
    """Answers by what is asked, and keeps every fault of a request.

    Attributes:
        faults: a sentence for each request that broke the vendor's rules, or named a prompt twice
            or out of order.
        requests: how many came.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.requests = 0

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """A title, a summary, a command to run, or a few words."""
        if not path.endswith("/chat/completions"):
            return Status(404, b'{"error":{"message":"not here"}}')
        self.requests += 1
        parsed = json.loads(body)
        refusal = chat_answers.find_violation(parsed)
        if refusal is not None:
            self.faults.append(f"a request was refused: {refusal.body.decode()}")
            return refusal
        messages = parsed["messages"]
        texts = chat_answers.user_texts(parsed)
        marks = [(who, int(number)) for text in texts for who, number in MARK.findall(text)]
        if marks != sorted(set(marks)):
            self.faults.append(f"a request has prompts doubled or out of order: {marks}")
        if TITLED in chat_answers.read_text(messages[0]["content"]):
            return _slowly(chat_answers.say("About ", "this"))
        if SUMMARIZED in texts[-1]:
            return _slowly(chat_answers.say("They ", "went ", "on."))
        if "RUN" in texts[-1] and messages[-1]["role"] != "tool":
            who, number = marks[-1]
            command = json.dumps({"command": f"echo {who}.{number} >> effects"})
            return _slowly(chat_answers.call(f"call_{who}{number}", "run_command", command))
        return _slowly(chat_answers.say("So ", "it ", "is."))


def _slowly(steps: list[Step]) -> list[Step]:
    return [each for step in steps for each in (step, Pause(PIECE_S))]


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
        pending: the prompt whose answer never came, as the parameters of its request.
    """

    name: str
    options: Mapping[str, Any]
    words: str
    cwd: Path
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
                self.wait(client, unfinished.pop(0))
            if self._in_talk >= TURNS:
                # Never right after a restart: the conversation that it met goes on.
                self._talk, self._in_talk = self._talk + 1, 0

    def send(self, client: Client) -> Acknowledged:
        """One prompt, the pending one first."""
        if self.pending is None:
            self.pending = self._make()
        answer = client.call("turn/start", self.pending)
        mark = str(self.pending["key"])
        found = Acknowledged(mark, answer["conversation_id"], answer["turn_id"], answer["seq"])
        self.acknowledged.append(found)
        self.pending = None
        self._in_talk += 1
        return found

    def wait(self, client: Client, prompt: Acknowledged) -> None:
        """For its turn's end."""
        turn = {"conversation_id": prompt.conversation_id, "turn_id": prompt.turn_id}
        client.call("turn/wait", {**turn, "timeout_s": LIMIT_S / 2}, limit_s=LIMIT_S)

    def _make(self) -> Map:
        self._count += 1
        mark = f"{self.name}.{self._count}"
        target = {"kind": "session", "value": f"{self.name}-{self._talk}", "create": True}
        return {
            "target": target,
            "key": mark,
            "parts": [{"type": "text", "text": f"<<{mark}>> {self.words}"}],
            "options": dict(self.options),
            "cwd": str(self.cwd),
        }


@dataclass(slots=True)
class Life:
    """One daemon from its start to its end.

    Attributes:
        ready_s: from the fork to the first answer on its socket; None: it came to none.
        is_own_end: it ended itself where its order said.
    """

    pid: int
    began: float
    ready_s: float | None = None
    is_own_end: bool = False


class House:
    """The home, its model, its writers, and the process of which all daemons are forks."""

    def __init__(self, world: World, model: Model) -> None:
        self.world = world
        self.model = model
        self.project = world.home / "project"
        self.project.mkdir()
        tools = {"tools": ["run_command"], "approve": "auto"}
        makers: tuple[tuple[str, Map, str], ...] = (
            ("chat", {}, "so"),
            ("tools", tools, "RUN it"),
            ("detached", {**tools, "detach": True}, "RUN it"),
            ("long", {"model": "work/small"}, LONG),
        )
        self.writers = [
            Writer(name, options, words, self.project) for name, options, words in makers
        ]
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kill_daemon"],
            cwd=ROOT,
            env={**world.env, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._said = b""

    def live_once(self, order: Order, limit_s: float, *, from_ready: bool = False) -> Life:
        """One daemon under its writers, killed after `limit_s` if not by itself before.

        The time counts from the fork, or from its first answer.
        """
        assert self._program.stdin is not None
        self._program.stdin.write(order.encode().encode())
        pid = int(self._read_line(LIMIT_S).removeprefix("pid "))
        life = Life(pid, time.monotonic())
        gone = threading.Event()
        writers = [
            threading.Thread(target=self._keep_writing, args=(each, gone)) for each in self.writers
        ]
        greeter = threading.Thread(target=self._greet, args=(life, gone))
        for thread in (greeter, *writers):
            thread.start()
        if from_ready:
            greeter.join(LIMIT_S)
            assert life.ready_s is not None, "the daemon never answered"
        life.is_own_end = self._wait_dead(limit_s)
        if not life.is_own_end:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            assert self._wait_dead(LIMIT_S), "the daemon did not die"
        gone.set()
        for thread in (greeter, *writers):
            thread.join(LIMIT_S)
            assert not thread.is_alive(), "a writer did not hear of the daemon's end"
        return life

    def _greet(self, life: Life, gone: threading.Event) -> None:
        client = self._connect(gone)
        if client is not None:
            life.ready_s = time.monotonic() - life.began
            client.close()

    def _keep_writing(self, writer: Writer, gone: threading.Event) -> None:
        client = self._connect(gone)
        if client is None:
            return
        with client:
            try:
                writer.write(client)
            except (RpcError, Silent) as error:
                writer.refusals.append(f"{writer.name} was refused: {error}")
            except ConnectionLost:
                return

    def _connect(self, gone: threading.Event) -> Client | None:
        while not gone.is_set():
            try:
                return Client.connect(self.world.env, start=False)
            except Failed:
                time.sleep(RETRY_S)
        return None

    def _wait_dead(self, limit_s: float) -> bool:
        """Whether it has died within this time."""
        line = self._read_line(limit_s)
        if not line:
            return False
        status = int(line.removeprefix("dead "))
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"it ended by itself: {status}"
        return True

    def _read_line(self, limit_s: float) -> str:
        """What the program says next; empty: nothing within this time."""
        assert self._program.stdout is not None
        until = time.monotonic() + limit_s
        while b"\n" not in self._said:
            left = max(0.0, until - time.monotonic())
            if not select.select([self._program.stdout], [], [], left)[0]:
                return ""
            data = os.read(self._program.stdout.fileno(), 4096)
            assert data, "the program of the daemons has ended"
            self._said += data
        line, _, self._said = self._said.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """End the process of which the daemons were forks; none of them lives."""
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(LIMIT_S)
        assert self._program.stdout is not None
        self._program.stdout.close()


@contextmanager
def open_house(directory: Path) -> Iterator[House]:
    """A house in an empty directory."""
    model = Model()
    with tell(model.answer) as told:
        world = World(directory, None)
        write_config(world, CONFIG.format(base_url=told.base_url))
        try:
            with closing(House(world, model)) as house:
                yield house
        finally:
            world.close()
