"""The real Codex goes on with a conversation of ours: its file, its program, a scripted server.

Skipped unless `codex` is on PATH (`npm i @openai/codex`). It is run with a home of
its own against a server on loopback, and asks nobody else.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_answers import Answer, Status
from tests.fakes.vendor import Said
from tests.fakes.vendor_openai import OpenAIResponses
from tests.system.servers import tell, write_config
from tests.system.test_scenarios import (
    SUMMARY,
    find_rollout,
    show_context,
    talk_long,
    wait_rollout,
)
from tests.system.world import LIMIT_S, World

CODEX = shutil.which("codex")

pytestmark = pytest.mark.skipif(CODEX is None, reason="no codex on PATH: npm i @openai/codex")

CONFIG = """
model = "gpt-5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{base_url}/v1"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 1
stream_max_retries = 1
"""

COMPACTING = """
[models."fake/fake"]
context_window = 3000
max_output_tokens = 500
[context]
summary_tokens = 200
user_message_tokens = 200
"""


class Codex:
    """Codex with a home of its own, and the server that it asks.

    Attributes:
        asked: the bodies of its requests.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.asked: list[bytes] = []
        home.mkdir()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Every prompt is answered; what else Codex asks for is not there."""
        if (method, path) != ("POST", "/v1/responses"):
            return Status(404, b'{"error":{"message":"not here"}}')
        self.asked.append(body)
        return list(OpenAIResponses().speak(Said(texts=("So it was.",))))

    def take(self, rollout: Path) -> Path:
        """Put a rollout where Codex looks, below the same folders, under the same name."""
        place = self.home.joinpath("sessions", *rollout.parts[-4:])
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rollout, place)
        return place

    def resume(self, conversation_id: str, text: str) -> list[dict[str, Any]]:
        """Go on with it; the items of the request that Codex sends."""
        assert CODEX is not None
        with tell(self.answer) as server:
            config = CONFIG.format(base_url=server.base_url)
            (self.home / "config.toml").write_text(config)
            home = str(self.home)
            result = subprocess.run(
                [CODEX, "exec", "--skip-git-repo-check", "--json", "resume", conversation_id, text],
                cwd=home,
                env={"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        assert result.returncode == 0, (result.stdout, result.stderr)
        assert "So it was." in result.stdout
        (body,) = self.asked
        items: list[dict[str, Any]] = json.loads(body)["input"]
        return items


def find_said(items: list[dict[str, Any]], among: set[str]) -> list[tuple[str, str]]:
    """Who said what, of these words: Codex puts words of its own between them."""
    return [(role, text) for role, text in find_all_said(items) if text in among]


def find_all_said(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Who said what."""
    return [
        (str(item["role"]), str(part["text"]))
        for item in items
        if item.get("type", "message") == "message"
        for part in item["content"]
        if "text" in part
    ]


def test_codex_resumes_what_was_said_here_before_and_after_a_clear(world: World) -> None:
    assert world.model is not None
    write_config(
        world,
        'default_model = "fake/fake"\n[providers.fake]\ndialect = "openai-chat"\n'
        f'base_url = "{world.model.base_url}"\n',
    )
    world.ok("-s", "work", "ECHO:My name is Alice")
    world.ok("-s", "work", "ECHO:I live in Rome")
    first = wait_rollout(world, "work")
    conversation_id = str(world.events("work")[0]["id"])
    assert find_rollout(world, conversation_id) == [first]
    words = {"ECHO:My name is Alice", "My name is Alice", "ECHO:I live in Rome", "I live in Rome"}
    words |= {"ECHO:A new start", "A new start", "What is my name?"}
    codex = Codex(world.home / "codex")
    theirs = codex.take(first)
    items = codex.resume(conversation_id, "What is my name?")
    assert find_said(items, words) == [
        ("user", "ECHO:My name is Alice"),
        ("assistant", "My name is Alice"),
        ("user", "ECHO:I live in Rome"),
        ("assistant", "I live in Rome"),
        ("user", "What is my name?"),
    ]
    # What Codex has added comes back here, with all that was ours.
    back = world.ok("history", "import", str(theirs)).out.strip()
    shown = json.loads(world.ok("history", "show", back, "--raw").out)
    contents = [each["content"] for each in shown["messages"]]
    assert contents[-2:] == ["What is my name?", "So it was."]
    assert shown["message_count"] == 6

    world.ok("clear", "work")
    world.ok("-s", "work", "ECHO:A new start")
    codex = Codex(world.home / "codex again")
    codex.take(wait_rollout(world, "work"))
    items = codex.resume(conversation_id, "What is my name?")
    assert find_said(items, words) == [
        ("user", "ECHO:A new start"),
        ("assistant", "A new start"),
        ("user", "What is my name?"),
    ]


def test_codex_resumes_after_a_compaction(world: World) -> None:
    assert world.model is not None
    write_config(
        world,
        'default_model = "fake/fake"\n[providers.fake]\ndialect = "openai-chat"\n'
        f'base_url = "{world.model.base_url}"\n{COMPACTING}',
    )
    talk_long(world, "work", range(8))
    world.ok("compact", "work")
    world.ok("-s", "work", "ECHO:A new start")
    context = show_context(world, "work")
    codex = Codex(world.home / "codex")
    theirs = codex.take(wait_rollout(world, "work"))
    items = codex.resume(str(world.events("work")[0]["id"]), "What is my name?")
    expected = [*context, "What is my name?"]
    assert [text for _, text in find_said(items, set(expected))] == expected
    summaries = [text for _, text in find_all_said(items) if SUMMARY in text]
    assert summaries == [text for text in context if SUMMARY in text], "once, and as it was"
    assert not any(text.startswith("turn 0 ") for _, text in find_all_said(items))
    back = world.ok("history", "import", str(theirs)).out.strip()
    assert show_context(world, back) == [*expected, "So it was."]
