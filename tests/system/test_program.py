"""Every program of the page about programs, run as it stands, on a real daemon."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask.connection import Client
from tests.fakes import chat_answers
from tests.fakes.chat_answers import Answer
from tests.fakes.chat_server import ChatServer
from tests.fakes.scripted_server import open_server
from tests.house.pages import ROOT
from tests.house.prose import FENCE
from tests.system.servers import serve
from tests.system.world import World

PAGE = ROOT / "docs" / "how-to" / "write-a-program.md"
PROGRAMS = [
    block for language, block in FENCE.findall(PAGE.read_text("utf-8")) if language == "python"
]
JSON_PROMPT = "Minka is four years old."
TOOLS_PROMPT = "Tidy up."


class Author(ChatServer):
    """A model that answers each prompt of the page as a reader would expect."""

    def take_scripted(self) -> Answer | None:
        last = self.requests[-1]["messages"][-1]
        said = str(last["content"])
        if JSON_PROMPT in said:
            return chat_answers.say('{"name": "Minka", "age": 4}')
        if last["role"] == "user" and said == TOOLS_PROMPT:
            return chat_answers.call_all([("run_command", {"command": "rm -rf old"})])
        return super().take_scripted()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world that the test's own process lives in, as a program does."""
    server = Author()
    with serve(open_server(server)):
        world = World(tmp_path, None)
        world.env |= {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": server.base_url}
        for name in [each for each in os.environ if each.startswith(("ASK_", "OPENAI_"))]:
            monkeypatch.delenv(name)
        for name, value in world.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        try:
            yield world
        finally:
            world.close()
        assert server.violations == []


def run(program: str) -> None:
    """Run it in this process, as the module that was started."""
    exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})


def test_every_program_runs(home: World, capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for program in PROGRAMS:
        run(program)
        said[program] = capsys.readouterr().out
        with Client.connect(home.env) as client:
            for row in client.call("conversation/list", {"limit": 50})["data"]:
                client.call("conversation/delete", {"conversation_id": row["id"]})
    assert len(PROGRAMS) == len(said) >= 12
    (value,) = [out for program, out in said.items() if JSON_PROMPT in program]
    assert value == "4\n"
    (asked,) = [out for program, out in said.items() if TOOLS_PROMPT in program]
    assert "rm -rf old" in asked
    (streamed,) = [out for program, out in said.items() if "TextDelta(text)" in program]
    assert "tok0 tok1 " in streamed
    assert "completed, code 0" in streamed
    (watched,) = [out for program, out in said.items() if "subscribe" in program]
    assert "Finished" in watched
