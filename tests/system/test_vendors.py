"""The real daemon and client against every vendor's scripted server, configured by hand.

The servers refuse what breaks their vendor's rules, and none of them may have had
to. Copilot is not here: its sign-in is tested where the tokens are exchanged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.vendor_ollama import CONTEXT_LENGTH
from tests.system.world import ModelServer, World, open_world

DIALECTS = ["openai-responses", "anthropic", "ollama"]
TOKENS = "".join(f"tok{number} " for number in range(20)).strip()

FAILURES = [("FAIL 400", 1, "400"), ("LATE 500", 1, ""), ("CUT", 1, "cut"), ("FAIL 403", 4, "403")]
"""A prompt, the exit code, a word of the sentence."""

CONFIG = """
default_model = "work/fake"

[providers.work]
dialect = "{dialect}"
base_url = "{base_url}"
api_key_env = "WORK_KEY"
"""


@contextmanager
def vendor_world(home: Path, dialect: str, *options: str) -> Iterator[tuple[World, ModelServer]]:
    """A world whose one provider is this vendor's server."""
    server = ModelServer("--api-key", "k-work", *options, dialect=dialect)
    try:
        with open_world(home, model=False) as world:
            path = world.ask_home / "config" / "config.toml"
            path.parent.mkdir(parents=True)
            path.write_text(CONFIG.format(dialect=dialect, base_url=server.base_url))
            world.env["WORK_KEY"] = "k-work"
            yield world, server
    finally:
        server.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation(dialect: str, tmp_path: Path) -> None:
    with vendor_world(tmp_path, dialect) as (world, server):
        assert world.ok("-s", "work", "first").out.strip() == TOKENS
        thought = world.ok("-s", "work", "THINK")
        assert thought.out.strip() == "Done."
        assert "Let me think." not in thought.out
        assert world.ask("-s", "work", "LENGTH").code == 9
        assert world.ok("-s", "work", "-S", "Be brief.", "ECHO:last words").out == "last words\n"
        sent = server.requests()
        assert len(sent) == 4
        assert sent[-1]["stream"] is True
        history = str(sent[-1])
        for words in ("first", "tok19", "Done.", "LENGTH", "Be brief."):
            assert words in history
        assert server.violations() == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_failures(dialect: str, tmp_path: Path) -> None:
    with vendor_world(tmp_path, dialect) as (world, server):
        for prompt, code, sentence in FAILURES:
            failed = world.ask("-s", "work", prompt)
            assert failed.code == code, failed
            assert sentence in failed.err
        assert world.ok("-s", "work", "ECHO:goes on").out == "goes on\n"
        assert server.violations() == []
        refused = world.ask("hi", env={"WORK_KEY": "k-wrong-canary"})
        assert refused.code == 4, refused
        assert "canary" not in refused.err + world.log()
        assert server.violations()


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic"])
def test_a_prompt_over_the_servers_window(dialect: str, tmp_path: Path) -> None:
    """What our own limits let through, and the server does not."""
    with vendor_world(tmp_path, dialect, "--context-tokens", "500") as (world, _):
        refused = world.ask("word " * 1000)
        assert refused.code == 7, refused


def test_ollama_is_told_its_window(tmp_path: Path) -> None:
    """Without it, Ollama reads a few thousand tokens and says nothing of the rest."""
    with vendor_world(tmp_path, "ollama") as (world, server):
        world.ok("hi")
        (sent,) = server.requests()
        assert sent["options"]["num_ctx"] == CONTEXT_LENGTH
