"""Keys and sign-ins: from standard input or a browser, never an argument, never shown."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ask.commands.auth import KEY_LIMIT_BYTES, show_time
from tests.client.commands.conftest import Ask, Result, Run
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal

KEY = "sk-canary-123"


@contextmanager
def standard_input(content: bytes) -> Iterator[None]:
    """Descriptor 0 as a file with this content."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.write(writer, content)
    os.close(writer)
    before = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def pipe(ask: Ask, content: bytes, *words: str) -> Result:
    with standard_input(content):
        return ask(*words)


def test_auth_alone_names_its_commands(ask: Ask) -> None:
    result = ask("auth")
    assert result.code == 2
    assert "login, logout, set-key, status" in result.err


def test_status_is_a_table_with_notes(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    daemon.auth += [
        {"provider": "openai", "state": "ready", "source": "OPENAI_API_KEY, yours"},
        {
            "provider": "chatgpt",
            "state": "expired",
            "source": "/home/me/.codex/auth.json",
            "valid_until_at": 1_767_225_600.0,
            "account": "me@here\x1b[2J",
        },
        {"provider": "claude", "state": "unusable", "note": "The vendor\nlimits this."},
        {"provider": "work", "state": "missing"},
    ]
    result = ask("auth", "status")
    assert result.code == 0
    assert result.out.splitlines() == [
        "openai   ready     OPENAI_API_KEY, yours",
        f"chatgpt  expired   /home/me/.codex/auth.json  me@here  until {show_time(1_767_225_600)}",
        "claude   unusable",
        "    The vendor",
        "    limits this.",
        "work     missing",
    ]
    (params,) = daemon.called("auth/status")
    assert params["secrets"] == {"OPENAI_API_KEY": KEY}
    assert KEY not in result.out + result.err
    assert [each["state"] for each in json.loads(ask("auth", "status", "--json").out)] == [
        "ready",
        "expired",
        "unusable",
        "missing",
    ]


def test_status_without_a_provider(daemon: FakeDaemon, ask: Ask) -> None:
    assert ask("auth", "status").out.splitlines() == [
        "No credentials, and no provider is configured.",
        "Keep a key: ask auth set-key openai",
    ]
    assert ask("auth", "status", "--json").out == "[]\n"


def test_a_time_beyond_all_calendars_is_one_too() -> None:
    assert show_time(1e300) == "a time that no calendar has"


def test_a_key_comes_from_standard_input(daemon: FakeDaemon, ask: Ask) -> None:
    result = pipe(ask, f" {KEY}\r\n".encode(), "auth", "set-key", "work")
    assert (result.code, result.err) == (0, "")
    assert result.out == "The key of work is kept in /home/me/keys.json.\n"
    assert daemon.keys == {"work": KEY}
    result = pipe(ask, KEY.encode(), "auth", "set-key", "work", "--json")
    assert json.loads(result.out)["changed"] is False
    assert KEY not in result.out


@pytest.mark.parametrize(
    "content",
    [b"", b" \n", f"{KEY}\nmore".encode(), KEY.encode() + b"\xff", KEY.encode() + b"\x00", b"a b"],
)
def test_what_can_be_no_key_is_refused_unrepeated(
    daemon: FakeDaemon, ask: Ask, content: bytes
) -> None:
    result = pipe(ask, content, "auth", "set-key", "work", "--json")
    assert result.code == 2
    assert json.loads(result.out)["data"]["reason"] == "bad_input"
    assert KEY not in result.out + result.err
    assert daemon.calls == []


def test_a_file_that_was_not_meant_is_no_key(home: Path, ask: Ask) -> None:
    path = home.parent / "large"
    path.write_bytes(b"k" * (KEY_LIMIT_BYTES + 1))
    with path.open("rb") as stream:
        before = os.dup(0)
        os.dup2(stream.fileno(), 0)
        try:
            result = ask("auth", "set-key", "work")
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert result.code == 2
    assert "too long" in result.err


def test_a_key_is_never_an_argument(daemon: FakeDaemon, ask: Ask) -> None:
    for words in (("work", KEY), ("work", KEY, "--json"), ("--json", "work", "--", KEY)):
        result = pipe(ask, b"", "auth", "set-key", *words)
        assert result.code == 2
        assert "never an argument" in result.err
        assert KEY not in result.out + result.err
    assert daemon.calls == []
    assert ask("auth", "set-key").code == 2


def test_on_a_terminal_the_key_is_typed_unseen(daemon: FakeDaemon) -> None:
    person, terminal = os.openpty()
    # A session of its own: getpass must find this terminal and not that of whoever runs the tests.
    process = subprocess.Popen(
        [sys.executable, "-m", "ask", "auth", "set-key", "work"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen = b""
    while b"Key for work (not shown): " not in seen:
        seen += os.read(person, 1000)
    os.write(person, f"{KEY}\n".encode())
    out, _ = process.communicate(timeout=20)
    os.set_blocking(person, False)
    with suppress(OSError):  # nothing more was written
        seen += os.read(person, 1000)
    os.close(person)
    assert (process.returncode, daemon.keys) == (0, {"work": KEY})
    assert KEY not in f"{seen.decode()} {out.decode()}"


def test_on_a_terminal_no_key_is_no_talk_of_standard_input(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang_up(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    monkeypatch.setattr("getpass.getpass", hang_up)
    result = ask("auth", "set-key", "work")
    assert result.code == 2
    assert result.err.startswith("\nNo key was given.\n")
    assert daemon.keys == {}


def test_a_key_is_forgotten_once(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.keys["work"] = KEY
    result = ask("auth", "logout", "work")
    assert result.out == "Forgotten: what /home/me/keys.json held for work.\n"
    assert result.err == "Revoke it at the vendor too.\n"
    assert ask("auth", "logout", "work").out == "Nothing is kept for work.\n"
    assert json.loads(ask("auth", "logout", "work", "--json").out)["changed"] is False


def test_a_sign_in_says_how_it_ended(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.pending = 2
    result = ask("auth", "login", "chatgpt")
    assert result.code == 0
    assert result.out == "Signed in to chatgpt as me@here; it is kept in /home/me/auth.json.\n"
    assert "    https://v/auth" in result.err.splitlines()
    assert "paste" not in result.err, "there is no terminal to paste into"
    assert len(daemon.called("auth/wait")) == 3
    record = json.loads(ask("auth", "login", "chatgpt", "--json").out)
    assert record == {"provider": "chatgpt", "account": "me@here", "path": "/home/me/auth.json"}


@pytest.mark.parametrize(("reason", "code"), [("login_failed", 4), ("login_not_found", 3)])
def test_a_sign_in_that_failed_ends_with_its_code(
    daemon: FakeDaemon, ask: Ask, reason: str, code: int
) -> None:
    daemon.refusals["auth/wait"] = Refusal(reason, "The sign-in failed: access_denied.")
    result = ask("auth", "login", "chatgpt")
    assert (result.code, result.out) == (code, "")
    assert "access_denied" in result.err
    daemon.refusals["auth/login"] = Refusal("bad_params", "There is no sign-in for 'work'.")
    assert ask("auth", "login", "work").code == 2


def test_on_a_terminal_an_address_can_be_pasted(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    daemon.begun["can_paste"] = True
    daemon.pending = 10**9
    person, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ask", "auth", "login", "chatgpt", "--json"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    seen = b""
    while b"Waiting for the browser" not in seen:
        seen += os.read(person, 1000)
    os.write(person, b"http://localhost:1455/?code=ok\n")
    out, _ = process.communicate(timeout=20)
    os.close(person)
    assert b"paste that address here" in seen
    assert (process.returncode, json.loads(out)["account"]) == (0, "me@here")
    assert daemon.called("auth/wait")[-1]["pasted"] == "http://localhost:1455/?code=ok"


def test_ctrl_c_gives_up(daemon: FakeDaemon, run: Run) -> None:
    daemon.pending = 10**9
    process = run("auth", "login", "chatgpt", stderr=subprocess.STDOUT)
    process.wait_for("Waiting for the browser")
    process.press_ctrl_c()
    code, _ = process.end()
    assert code == 130
    assert "Traceback" not in process.out
