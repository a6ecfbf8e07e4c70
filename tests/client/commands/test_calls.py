"""What all commands share: which conversation is meant, pages, what is known of the caller."""

from typing import Any, ClassVar

import pytest

from ask.commands import calls
from ask.exits import Failed
from ask.inputs import INLINE_LIMIT_BYTES
from tests.client.commands.conftest import Ask
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_log import Refusal


def test_a_daemon_is_found_only_if_it_listens(daemon: FakeDaemon) -> None:
    assert calls.is_running()
    daemon.stop()
    assert not calls.is_running()


def test_the_caller_is_taken_by_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("UNRELATED", "x")
    caller = calls.take_caller()
    assert caller["env"]["LANG"] == "de_DE.UTF-8"
    assert caller["secrets"]["OPENAI_API_KEY"] == "sk-1"
    assert "UNRELATED" not in caller["env"]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("model/list", ["models", "list"]),
        ("model/refresh", ["models", "refresh"]),
        ("auth/status", ["auth", "status"]),
        ("conversation/create", ["new", "-m", "work/m"]),
    ],
)
def test_a_key_that_the_settings_name_is_taken_too(
    method: str, words: list[str], daemon: FakeDaemon, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORK_KEY", "w-1")
    work = {"api_key_env": "WORK_KEY"}
    daemon.settings["providers"] = {"work": work, "none": {"api_key_env": None}}
    assert ask(*words).code == 0
    (sent,) = daemon.called(method)
    assert sent["secrets"]["WORK_KEY"] == "w-1"


def test_a_secret_that_is_asked_for_is_sent_with_the_same_key(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORK_KEY", "w-1")
    daemon.refusals["turn/start"] = Refusal("secrets_needed", "A key.", names=["WORK_KEY"])
    with calls.open_client() as client, pytest.raises(Failed):
        calls.start_turn(client, {"kind": "new"}, "hi", key="k-1")
    first, second = daemon.called("turn/start")
    assert first["key"] == second["key"] == "k-1"
    assert "WORK_KEY" not in first.get("secrets", {})
    assert second["secrets"]["WORK_KEY"] == "w-1"


def test_a_secret_that_nobody_has_is_not_asked_for_twice(daemon: FakeDaemon) -> None:
    daemon.refusals["turn/start"] = Refusal("secrets_needed", "A key.", names=["NO_SUCH_KEY"])
    with calls.open_client() as client, pytest.raises(Failed) as caught:
        calls.start_turn(client, {"kind": "new"}, "hi", key="k-1")
    assert caught.value.code == 4
    assert len(daemon.called("turn/start")) == 1


def test_a_text_that_no_message_holds_travels_as_a_blob() -> None:
    class Listening:
        """Takes whatever it is asked."""

        asked: ClassVar[list[tuple[str, Any]]] = []

        def call(self, method: str, params: Any = None, *, limit_s: float = 0.0) -> dict[str, Any]:
            self.asked.append((method, params))
            return {}

    text = "x\n" * INLINE_LIMIT_BYTES
    calls.start_turn(Listening(), {"kind": "new"}, text, key="k-1")
    *chunks, (method, params) = Listening.asked
    assert {name for name, _ in chunks} == {"blob/put"}
    assert b"".join(chunk["bytes"] for _, chunk in chunks) == text.encode()
    (part,) = params["parts"]
    assert (method, part["type"], part["bytes"]) == ("turn/start", "blob", len(text))
    assert "name" not in part


def test_here_is_this_terminals_conversation(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("work")
    daemon.terminals["name:here"] = conversation_id
    with calls.open_client() as client:
        assert calls.resolve_here(client, None)["id"] == conversation_id
        assert calls.resolve_here(client, "work")["id"] == conversation_id
        with pytest.raises(Failed) as caught:
            calls.resolve_here(client, "nobody")
    assert caught.value.code == 3


def test_bytes_that_are_no_text_name_nobody(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("?")  # what the wire would make of them
    for words in (["new", "\udcff"], ["rename", "?", "\udcff"], ["history", "show", "\udcff"]):
        result = ask(*words)
        assert (result.code, result.err) == (2, "The conversation's name is not valid UTF-8.\n")
    assert list(daemon.names.values()) == ["?"]


def test_a_prefix_that_is_too_short_says_so(daemon: FakeDaemon, ask: Ask) -> None:
    daemon.create("work")
    hint = "The beginning of an id has at least 4 characters."
    assert hint in ask("history", "show", "f4").err
    assert hint not in ask("history", "show", "f4f4f4").err
    assert hint not in ask("history", "show", "wor").err
