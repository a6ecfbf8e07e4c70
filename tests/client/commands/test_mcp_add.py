"""A server of tools by hand: a program, an address, an object of another program's file."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


def test_a_program_and_what_comes_after_the_dashes(daemon: FakeDaemon, ask: Ask) -> None:
    result = ask("mcp", "add", "time", "--", "sh", "-c", "x --env A=b", "--json")
    assert (result.code, result.out) == (0, "Added: time\n")
    assert result.err.splitlines() == [
        "Written: /home/me/config.toml",
        "See that it works: ask mcp test time",
    ]
    assert daemon.written["time"] == {"command": "sh", "args": ["-c", "x --env A=b", "--json"]}
    assert daemon.called("mcp/test") == [], "nothing is started"


def test_all_that_can_be_said_of_a_program(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTES_TOKEN", "nt-canary")
    words = ("-e", "A=b=c", "--env", "NOTES_TOKEN", "--cwd", ".", "--disabled")
    result = ask("mcp", "add", "notes", *words, "--", "./serve")
    assert daemon.written["notes"] == {
        "command": str(tmp_path / "serve"),
        "env": {"A": "b=c", "NOTES_TOKEN": "nt-canary"},
        "cwd": str(tmp_path),
        "enabled": False,
    }
    assert f"There is no program {tmp_path}/serve." in result.err
    assert "mode 0600" in result.err
    assert "canary" not in result.out + result.err


def test_what_may_be_meant_for_an_address(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ask("mcp", "add", "docs", "ftp://h/mcp")
    assert result.code == 2
    assert "'ftp://h/mcp' is no address of http:// or https://." in result.err
    assert daemon.written == {}
    for words, said in (
        (["h.example/mcp"], "An address begins with https:// or http://."),
        (["./list.txt"], "list.txt is no program that can be run."),
        (["no-such-program-here"], "no-such-program-here is no program on your PATH."),
    ):
        (tmp_path / "list.txt").write_text("")
        assert said in ask("mcp", "add", "docs", "--force", *words).err


def test_an_address(daemon: FakeDaemon, ask: Ask) -> None:
    words = ("--header", "X-Key: sk-canary", "-H", "A:b", "--bearer-token-env", "T")
    result = ask("mcp", "add", "docs", "https://h/mcp", *words)
    assert daemon.written["docs"] == {
        "url": "https://h/mcp",
        "headers": {"X-Key": "sk-canary", "A": "b"},
        "bearer_token_env": "T",
    }
    assert "canary" not in result.out + result.err


def test_a_token_in_a_file_is_found_from_anywhere(
    daemon: FakeDaemon, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask("mcp", "add", "docs", "https://h/mcp", "--bearer-token-file", "token")
    path = str(tmp_path / "token")
    assert daemon.written["docs"] == {"url": "https://h/mcp", "bearer_token_file": path}
    result = ask("mcp", "add", "x", "--bearer-token-file", "token", "--", "sh")
    assert (result.code, "are for a URL" in result.err) == (2, True)


def test_what_is_no_text_is_not_written_as_another(daemon: FakeDaemon, ask: Ask) -> None:
    for words in (("x", "--", "\udcff"), ("x", "--env", "A=\udcff", "--", "y"), ("\udcff", "x")):
        result = ask("mcp", "add", *words)
        assert result.code == 2, words
    assert ask("mcp", "add-json", "x", '{"command": "a\\ud800"}').code == 2
    assert daemon.written == {}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"command": "sh"}', None),
        (b"\xff\xfe", "That is no JSON."),
        (b"", "That is no JSON."),
        (b" " * 300_000, "That is too long for one server."),
    ],
)
def test_an_object_is_read_from_standard_input(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch, data: bytes, said: str | None
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    result = ask("mcp", "add-json", "x", "-")
    assert result.code == (0 if said is None else 2)
    assert (said or "") in result.err
    assert daemon.written == ({"x": {"command": "sh"}} if said is None else {})


def test_the_words_of_other_programs_commands(daemon: FakeDaemon, ask: Ask) -> None:
    ask("mcp", "add", "--transport", "http", "a", "https://h/mcp")
    ask("mcp", "add", "b", "--env", "K=v", "--", "npx", "-y", "x")
    ask("mcp", "add", "c", "https://h", "--bearer-token-env-var", "T")
    ask("mcp", "add", "-t", "stdio", "d", "--", "sh")
    assert daemon.written == {
        "a": {"url": "https://h/mcp"},
        "b": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}},
        "c": {"url": "https://h", "bearer_token_env": "T"},
        "d": {"command": "sh"},
    }


def test_a_server_that_is_there_is_replaced_by_force_alone(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.configure("time", command="old", env={"A": "b"})
    result = ask("mcp", "add", "time", "--", "sh")
    assert (result.code, daemon.written["time"]["command"]) == (2, "old")
    assert result.err == "There is a server 'time' already.\nReplace it: --force\n"
    assert ask("mcp", "add", "time", "--force", "--", "sh").out == "Replaced: time\n"
    assert daemon.written["time"] == {"command": "sh"}, "nothing of the old one is left"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x",), "Missing argument"),
        (("a__b", "--", "x"), "'a__b' is no name for a server"),
        (("x", "npx", "-y", "y"), "the server's own command comes after --: ask mcp add NAME"),
        (("x", "https://h", "more"), "After a URL nothing can come, and 'more' does."),
        (("x", "https://h", "--env", "A=b"), "--env and --cwd are for a command"),
        (("x", "https://h", "--cwd", "/"), "--env and --cwd are for a command"),
        (("x", "--header", "A: b", "--", "y"), "--header and --bearer-token-... are for a URL."),
        (("x", "--header", "sk-canary", "https://h"), "--header takes 'NAME: VALUE'."),
        (("x", "--env", "=sk-canary", "--", "y"), "--env takes NAME=VALUE, or NAME."),
        (("x", "--env", "NOT_SET_HERE", "--", "y"), "there is no such variable here."),
        (("x", "--cwd", "/not/there", "--", "y"), "--cwd: /not/there is no directory."),
        (("x", "-t", "sse", "https://h"), "'sse' is not one of 'stdio', 'http'"),
    ],
)
def test_what_cannot_be_meant(
    daemon: FakeDaemon, ask: Ask, words: tuple[str, ...], said: str
) -> None:
    result = ask("mcp", "add", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert "canary" not in result.err
    assert daemon.written == {}


def test_what_the_settings_refuse_is_said_as_they_say_it(daemon: FakeDaemon, ask: Ask) -> None:
    sentence = "config.toml, line 4: mcpServers.x.url: is no address"
    daemon.refusals["config/write"] = Refusal("bad_config", sentence)
    result = ask("mcp", "add", "x", "http://")
    assert (result.code, "mcpServers.x.url: is no address" in result.err) == (2, True)


def test_for_programs_it_is_an_object(daemon: FakeDaemon, ask: Ask) -> None:
    added = json.loads(ask("mcp", "add", "x", "--json", "--", "sh").out)
    path = "/home/me/config.toml"
    assert added == {"name": "x", "kind": "stdio", "replaced": False, "path": path, "notes": []}


def test_an_object_as_it_stands_in_others_files(
    daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_TOKEN", "xt-canary")
    entry = {"type": "stdio", "command": "sh", "env": {"T": "${X_TOKEN}"}, "alwaysAllow": ["a"]}
    result = ask("mcp", "add-json", "x", json.dumps(entry))
    assert daemon.written["x"] == {"command": "sh", "env": {"T": "xt-canary"}}
    assert result.err.splitlines()[:2] == [
        "X_TOKEN of your environment is written into the settings",
        "left out: alwaysAllow",
    ]
    assert "canary" not in result.out + result.err


def test_the_only_server_of_a_whole_file(daemon: FakeDaemon, ask: Ask) -> None:
    whole = {"mcpServers": {"theirs": {"url": "http://h/mcp"}}}
    ask("mcp", "add-json", "mine", json.dumps(whole))
    assert daemon.written == {"mine": {"url": "http://h/mcp"}}
    whole["mcpServers"]["more"] = {"url": "http://i/mcp"}
    result = ask("mcp", "add-json", "two", json.dumps(whole))
    assert (result.code, "That describes 2 servers" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nope sk-canary", "That is no JSON."),
        ("[]", "no object"),
        ('{"type": "sse", "url": "http://h"}', "x cannot be added, for it speaks SSE"),
        ('{"mcpServers": {}}', "That describes 0 servers"),
    ],
)
def test_what_is_no_server(daemon: FakeDaemon, ask: Ask, text: str, said: str) -> None:
    result = ask("mcp", "add-json", "x", text)
    assert (result.code, said in result.err, "canary" in result.err) == (2, True, False)
    assert daemon.written == {}
