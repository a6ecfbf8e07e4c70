"""What a parameter completes is said by a kind; click's own way finds the same."""

import pytest
from click import Context
from click.shell_completion import CompletionItem

from ask.commands.api import complete_method
from ask.commands.completing import Completes, complete_file, complete_words
from ask.commands.completion import completion_command
from tests.client.commands.fake_daemon import FakeDaemon

PARAMETER = completion_command.params[0]
CONTEXT = Context(completion_command)


def show(found: list[CompletionItem[str]]) -> list[tuple[str, str, str | None]]:
    return [(each.value, each.type, each.help) for each in found]


def test_words_and_paths() -> None:
    assert complete_words("one", "two").kinds == "choice:one,two"
    both = Completes("choice:codex,claude+file")
    assert show(both(CONTEXT, PARAMETER, "co")) == [("codex", "plain", None), ("co", "file", None)]
    assert show(complete_file(CONTEXT, PARAMETER, "x")) == [("x", "file", None)]
    assert show(Completes("directory")(CONTEXT, PARAMETER, "")) == [("", "dir", None)]


def test_what_a_daemon_knows(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ask.completion.daemon.LIMIT_S", 20.0)
    named = daemon.create("work")
    complete = Completes("conversation")
    assert show(complete(CONTEXT, PARAMETER, "wo")) == [("work", "plain", None)]
    assert show(complete(CONTEXT, PARAMETER, named[:6])) == [(named, "plain", "work")]
    daemon.stop()
    assert complete(CONTEXT, PARAMETER, "wo") == []


def test_methods_complete() -> None:
    assert complete_method(CONTEXT, PARAMETER, "blob/") == ["blob/put", "blob/read"]
