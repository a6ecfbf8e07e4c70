"""What servers offer to read, as it goes with a prompt: read whole, or refused by a sentence."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ask import resources
from ask.attachments import read_mentions
from ask.exits import Failed
from ask.inputs import Input, attach_mentions
from ask.references import Reference
from ask.resources import Resources
from ask.signals import TimeIsUp
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

PNG = b"\x89PNG\r\n\x1a\n and \0 so on"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    """A daemon with two servers, of which one offers a few things."""
    monkeypatch.setenv("ASK_HOME", str(tmp_path / "h"))
    monkeypatch.delenv("ASK_SOCKET", raising=False)
    monkeypatch.chdir(tmp_path)
    with FakeDaemon(tmp_path / "h" / "run" / "askd.sock") as fake:
        fake.settings["mcpServers"] = {"docs": {}, "time": {}}
        fake.contents = {"demo://a": ["one\n"], "demo://b": ["x", "y"], "demo://i": [PNG]}
        yield fake


def refuse(uri: str) -> Failed:
    with pytest.raises(Failed) as caught:
        Resources().read(Reference("docs", uri))
    return caught.value


def test_a_resource_is_attached_under_its_name(daemon: FakeDaemon, tmp_path: Path) -> None:
    Path("x.py").write_text("pass\n")
    text, inputs = attach_mentions("see @docs:demo://a and @x.py, @docs:demo://a", quiet=True)
    assert text == "see docs:demo://a and x.py, docs:demo://a"
    assert inputs == [Input(b"pass\n", "x.py"), Input(b"one\n", "docs:demo://a")]
    asked = {"server": "docs", "uri": "demo://a", "cwd": str(tmp_path)}
    assert daemon.called("mcp/resource") == [asked], "once"


def test_what_names_no_server_is_text_and_one_that_may_is_asked_for_once(
    daemon: FakeDaemon,
) -> None:
    words = "@other:demo://a @more:x:y"
    assert read_mentions(words) == (words, [])
    assert daemon.called("mcp/resource") == []
    assert len(daemon.called("config/read")) == 1


def test_no_daemon_is_needed_for_what_can_be_none(tmp_path: Path) -> None:
    def connect() -> object:
        raise AssertionError("asked")

    found = read_mentions("@user:host @git:main", resources=Resources(connect=connect))  # type: ignore[arg-type]  # it is never called
    assert found == ("@user:host @git:main", [])


def test_images_and_long_texts_come_as_blobs(daemon: FakeDaemon) -> None:
    daemon.contents["demo://long"] = ["ü" * 10, "ü".encode() * 300_000]
    assert Resources().read(Reference("docs", "demo://i")) == [
        Input(PNG, "docs:demo://i", "image/png")
    ]
    inputs = Resources().read(Reference("docs", "demo://long"))
    assert [len(each.content) for each in inputs] == [20, 600_000]
    assert {each.media_type for each in inputs} == {"text/plain"}


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a\0b", "is binary (text/"), (b"\xff\xfe", "is not valid UTF-8 text")],
)
def test_other_kinds_are_refused_by_name(daemon: FakeDaemon, content: bytes, said: str) -> None:
    daemon.contents["demo://c"] = [content]
    error = refuse("demo://c")
    assert error.code == 2
    assert error.data == {"reason": "bad_input"}
    assert error.message.startswith("docs:demo://c")
    assert said in error.message


def test_one_that_cannot_be_read_is_an_error_as_a_file_would_be(daemon: FakeDaemon) -> None:
    error = refuse("demo://nowhere")
    assert (error.code, error.data) == (2, {"reason": "bad_input"})
    assert error.message == "docs:demo://nowhere cannot be read: It has no such thing."
    assert error.hint == (
        "What it offers: ask mcp resources docs. Not meant as a mention? "
        r"Write \@docs:demo://nowhere, or say --no-mentions."
    )


def test_a_daemon_that_is_being_replaced_is_not_called_a_bad_input(daemon: FakeDaemon) -> None:
    daemon.refusals["mcp/resource"] = Refusal("draining", "It stops.")
    assert refuse("demo://a").code == 69


def test_files_are_read_before_a_server_is_asked(daemon: FakeDaemon) -> None:
    with pytest.raises(Failed, match=r"no file nope\.py"):
        attach_mentions("@docs:demo://a @nope.py", quiet=True)
    assert daemon.called("mcp/resource") == []


def test_a_slow_one_is_waited_for_and_a_person_told(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, lines = threading.Event(), list[str]()

    def say(line: str) -> None:
        lines.append(line)
        told.set()

    daemon.reading = lambda: told.wait(10)
    monkeypatch.setattr(resources, "QUIET_S", 0.01)
    monkeypatch.setattr(resources, "say", say)
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    assert Resources().read(Reference("docs", "demo://a"))[0].content == b"one\n"
    assert lines == ["Reading docs:demo://a ...\n"]


def test_it_is_not_waited_for_when_the_prompts_time_is_up(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    over = threading.Event()
    daemon.reading = lambda: over.wait(10)
    monkeypatch.setattr(resources, "QUIET_S", 0.01)
    with pytest.raises(TimeIsUp, match="nothing was asked"):
        Resources(quiet=True, deadline=time.monotonic() + 0.05).read(Reference("docs", "demo://a"))
    over.set()
    assert capfd.readouterr().err == ""
