"""The relay: every byte of a line arrives, standard output holds the face's lines and no more."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.commands.conftest import Run
from tests.client.commands.fake_faces import FaceDaemon
from tests.client.commands.fake_log import Refusal
from tests.client.commands.process import Process

Map = dict[str, Any]


@pytest.fixture
def faced(home: Path) -> Iterator[FaceDaemon]:
    """A daemon with a face that says each line back."""
    fake = FaceDaemon(home / "run" / "askd.sock")
    fake.replies = lambda line: [("mcp/message", {"bytes": b"<" + line + b">", "more": False})]
    with fake:
        yield fake


def start(run: Run, *options: str) -> Process:
    return run("mcp", "serve", *options, stdin=subprocess.PIPE)


def feed(process: Process, data: bytes) -> None:
    assert process.process.stdin is not None
    process.process.stdin.write(data)
    process.process.stdin.flush()


def end(process: Process) -> tuple[int, str, str]:
    """Close its standard input; the code, and both outputs."""
    code, out = process.end()
    return code, out, process.err


def test_lines_go_and_come(faced: FaceDaemon, run: Run) -> None:
    process = start(run)
    feed(process, b"one\ntwo")
    process.wait_for("<one>\n")
    feed(process, b" and a half\n\n")
    process.wait_for("<two and a half>\n<>\n")
    faced.last_words = [("mcp/message", {"bytes": b"last", "more": False})]
    assert end(process) == (0, "<one>\n<two and a half>\n<>\nlast\n", "")
    assert faced.closed == 1


def test_the_last_line_needs_no_end(faced: FaceDaemon, run: Run) -> None:
    process = start(run)
    feed(process, b"one\ntwo")
    assert end(process) == (0, "<one>\n<two>\n", "")


def test_a_long_line_goes_and_comes_in_pieces(faced: FaceDaemon, run: Run) -> None:
    long = b"0123456789" * 40_000
    half = len(long) // 2
    faced.replies = lambda line: [
        ("mcp/message", {"bytes": line[:half], "more": True}),
        ("mcp/message", {"bytes": line[half:], "more": False}),
    ]
    process = start(run)
    feed(process, long + b"\n")
    assert end(process) == (0, long.decode() + "\n", "")
    assert faced.heard == [long]
    assert max(len(each["bytes"]) for each in faced.called("mcp/send")) <= 64 * 1024


def test_what_is_chosen_here_holds_for_the_face(
    faced: FaceDaemon, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-lent")
    monkeypatch.setenv("ASK_MODEL", "test/env")
    words = ("-s", "desk", "-T", "read,time__*", "--approve", "deny")
    assert end(start(run, *words))[0] == 0
    monkeypatch.delenv("ASK_MODEL")
    assert end(start(run, "-m", "test/small"))[0] == 0
    pinned, plain = faced.called("mcp/open")
    assert (pinned["conversation"], pinned["model"], pinned["approve"]) == (
        "desk",
        "test/env",
        "deny",
    )
    assert pinned["tools"] == ["read", "time__*"]
    assert pinned["cwd"] == os.getcwd()
    assert pinned["secrets"] == {"OPENAI_API_KEY": "sk-lent"}
    assert plain["model"] == "test/small"
    assert not {"conversation", "tools", "approve"} & set(plain)


def test_a_face_that_ends_says_why(faced: FaceDaemon, run: Run) -> None:
    faced.replies = lambda line: [("mcp/closed", {"message": "It broke."})]
    process = start(run)
    feed(process, b"one\n")
    code = process.process.wait(20)
    assert (code, end(process)[1:]) == (1, ("", "It broke.\n"))


def test_also_where_a_line_was_on_its_way(faced: FaceDaemon, run: Run) -> None:
    faced.ends_after = 2
    faced.replies = lambda line: []
    faced.last_words = [("mcp/closed", {"message": "Enough."})]  # they come a little later
    process = start(run)
    feed(process, b"a\nb\nc\n")
    assert end(process) == (1, "", "Enough.\n")
    assert faced.heard == [b"a", b"b"]


def test_a_daemon_that_goes_is_told(faced: FaceDaemon, run: Run) -> None:
    process = start(run)
    feed(process, b"one\n")
    process.wait_for("<one>\n")
    faced.stop()
    code = process.process.wait(20)
    assert code == 69
    assert end(process)[1:] == (
        "<one>\n",
        "The connection to the daemon was lost.\nSee what happened: ask daemon logs\n",
    )


@pytest.mark.parametrize(
    ("number", "codes"), [(signal.SIGINT, [130]), (signal.SIGTERM, [-signal.SIGTERM, 143])]
)
def test_it_ends_when_it_is_told_to(
    faced: FaceDaemon, run: Run, number: signal.Signals, codes: list[int]
) -> None:
    process = start(run)
    feed(process, b"one\n")
    process.wait_for("<one>\n")
    process.process.send_signal(number)
    assert process.process.wait(20) in codes
    assert end(process)[2].strip() == ""


def test_an_older_daemon_has_no_face(faced: FaceDaemon, run: Run) -> None:
    faced.refusals["mcp/open"] = Refusal("unknown_method", "There is no method 'mcp/open'.")
    code, out, err = end(start(run))
    assert (code != 0, out) == (True, "")
    assert "mcp/open" in err
