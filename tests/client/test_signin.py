"""A sign-in from a person's side: what is shown, what is pasted, when it is over."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from ask import signin
from ask.connection import RpcError
from ask.exits import Failed
from ask.signin import lay_out_steps, open_browser, read_pasted, sign_in

BEGUN = {"login_id": "l", "url": "https://v/auth", "can_paste": True, "expires_at": 4e9}
DONE = {"state": "done", "account": "me", "path": "p"}
PENDING = {"state": "pending"}


class ScriptedClient:
    """Answers `auth/wait` from a list; the last answer again and again."""

    def __init__(self, *waits: dict[str, Any], begun: dict[str, Any] = BEGUN) -> None:
        self.waits = list(waits)
        self.begun = begun
        self.pasted: list[str | None] = []

    def call(self, method: str, params: dict[str, Any], *, limit_s: float = 30.0) -> dict[str, Any]:
        if method == "auth/login":
            assert limit_s > 60, "the daemon may ask the provider for a minute"
            return self.begun
        assert (method, params["login_id"]) == ("auth/wait", "l")
        assert 0 < params["timeout_s"] < 10
        self.pasted.append(params["pasted"])
        if params["pasted"] is not None:
            if "code=" not in params["pasted"]:
                code = 4 if "error=" in params["pasted"] else 2
                raise RpcError(code, "That is not the address of this sign-in.")
            return DONE
        return self.waits.pop(0) if len(self.waits) > 1 else self.waits[0]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A person at a terminal whose lines are written to this descriptor."""
    reader, writer = os.pipe()
    monkeypatch.setattr(signin, "_is_person_there", lambda: True)
    monkeypatch.setattr(signin, "read_pasted", lambda descriptor: read_pasted(reader))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    yield writer
    os.close(reader)


def run(client: ScriptedClient) -> dict[str, Any]:
    return sign_in(client, "chatgpt")  # type: ignore[arg-type]  # the one method that is used


def test_a_pasted_address_is_sent_on_and_not_shown(
    typed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    client = ScriptedClient(PENDING)
    os.write(typed, b"\n  http://localhost:1/?code=sk-canary\n")
    assert run(client) == DONE
    os.close(typed)
    assert client.pasted[-1] == "http://localhost:1/?code=sk-canary"
    said = capsys.readouterr()
    assert "paste that address here" in said.err
    assert "canary" not in said.out + said.err


def test_a_wrong_address_can_be_pasted_again(
    typed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    client = ScriptedClient(PENDING)
    read_line = iter(["https://somewhere/else\n", None, "http://localhost/?code=1\n"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signin, "read_pasted", lambda descriptor: next(read_line))
        assert run(client) == DONE
    os.close(typed)
    assert client.pasted == ["https://somewhere/else", None, "http://localhost/?code=1"]
    assert "not the address of this sign-in" in capsys.readouterr().err


def test_an_address_that_says_no_ends_it(typed: int) -> None:
    os.write(typed, b"http://localhost/?error=access_denied\n")
    with pytest.raises(RpcError) as caught:
        run(ScriptedClient(PENDING))
    os.close(typed)
    assert caught.value.code == 4


def test_blank_lines_are_nothing_and_the_end_of_input_ends_the_pasting_alone(typed: int) -> None:
    client = ScriptedClient(PENDING, PENDING, DONE)
    os.write(typed, b" \n")
    os.close(typed)
    assert run(client) == DONE
    assert client.pasted == [None, None, None]


def test_a_descriptor_that_cannot_be_read_is_at_its_end() -> None:
    reader, writer = os.pipe()
    assert read_pasted(reader) is None
    os.close(writer)
    assert read_pasted(reader) == ""
    os.close(reader)
    assert read_pasted(reader) == ""


def test_a_sign_in_that_nobody_ends_is_over_when_its_time_is() -> None:
    client = ScriptedClient(PENDING, begun={**BEGUN, "expires_at": 5.0})
    with pytest.raises(Failed, match="not finished in time") as caught:
        run(client)
    assert (caught.value.code, caught.value.data["reason"]) == (4, "login_failed")
    assert client.pasted == [None]


def test_a_code_is_shown_with_the_address() -> None:
    lines = lay_out_steps({"url": "https://v/device", "user_code": "ABCD-1234"}, can_paste=False)
    assert "    https://v/device" in lines
    assert "    ABCD-1234" in lines
    assert not any("paste" in line for line in lines)


def test_a_browser_is_opened_only_on_a_desktop_with_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("subprocess.Popen", lambda words, **_: started.append(words))
    desktop = {"WAYLAND_DISPLAY": "wayland-0"}
    assert not open_browser("https://v", desktop), "the tests have no terminal"
    monkeypatch.setattr(signin, "_is_person_there", lambda: True)
    assert not open_browser("https://v", {})
    assert not open_browser("--help", desktop)
    assert not open_browser("file:///etc/passwd", desktop)
    assert started == []
    assert open_browser("https://v", desktop)
    assert started == [["/bin/xdg-open", "https://v"]]

    def fail(*_: object, **__: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr("subprocess.Popen", fail)
    assert open_browser("https://v", desktop), "a browser that does not open is no error"
