"""What each kind of word can be, as a running daemon knows it, and what is said about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.completion.sources import ABOUT_CHARACTERS, SOURCES, is_plain, list_offers, trim
from ask.completion.tree import load_tree
from tests.client.commands.fake_daemon import FakeDaemon
from tests.client.commands.fake_schedules import schedule
from tests.client.commands.job_records import job

pytestmark = pytest.mark.usefixtures("patient")


def words(kind: str, typed: str = "", *arguments: str) -> list[str]:
    return [word for word, _ in list_offers(kind, typed, arguments)]


def test_fixed_words_are_those_that_begin_so() -> None:
    assert words("choice:deny,ask,auto", "a") == ["ask", "auto"]
    assert words("choice:deny") == ["deny"]
    assert words("text") == []


def test_names_and_ids_of_conversations(daemon: FakeDaemon) -> None:
    named, bare = daemon.create("work"), daemon.create()
    assert words("conversation") == ["work", bare]
    assert words("conversation", "wo") == ["work"]
    assert list_offers("conversation", named[:8], ()) == [(named, "work")]
    assert words("conversation", bare) == [bare]
    assert words("conversation", "%") == []


@pytest.mark.parametrize("name", ["wo\x1b]0;x\x07", "wo\u202ex", "wo\nx", "wo\u2066", "wo\tx"])
def test_a_name_that_no_terminal_may_see_is_offered_by_its_id(
    daemon: FakeDaemon, name: str
) -> None:
    conversation_id = daemon.create(name)
    assert words("conversation", "wo") == []
    assert words("conversation") == [conversation_id]
    ((_, about),) = list_offers("conversation", conversation_id[:6], ())
    assert about.isprintable()


def test_a_name_of_letters_and_joined_emoji_is_offered(daemon: FakeDaemon) -> None:
    daemon.create("k\u00fcche \U0001f469\u200d\U0001f680")
    assert words("conversation", "k") == ["k\u00fcche \U0001f469\u200d\U0001f680"]


def test_models_and_their_aliases(daemon: FakeDaemon) -> None:
    daemon.models = [
        {"name": "openai/gpt-5:free", "provider": "openai", "aliases": ["quick"]},
        {"name": "openai/o3", "provider": "openai"},
    ]
    assert list_offers("model", "", ()) == [
        ("quick", "openai/gpt-5:free"),
        ("openai/gpt-5:free", "quick"),
        ("openai/o3", ""),
    ]
    assert words("model", "openai/gpt-5:") == ["openai/gpt-5:free"]
    assert daemon.called("model/list")[-1]["begins"] == "openai/gpt-5:", "no provider is asked"


def test_tools_with_the_words_for_many(daemon: FakeDaemon) -> None:
    daemon.tool_servers = ["time"]
    assert words("tool") == ["all", "read", "none", "read_file", "write_file", "time__*"]
    assert list_offers("tool", "wr", ()) == [("write_file", "Write a text file.")]
    assert words("rule", "r") == ["read_file"]
    assert words("rule", "", "write_file") == [], "a rule is for one"


def test_servers_and_providers(daemon: FakeDaemon) -> None:
    assert words("server") == []
    daemon.settings["mcpServers"] = {"time": {}, "docs": {}}
    assert words("server") == ["time", "docs"]
    daemon.auth = [{"provider": "openai", "state": "ready", "source": None, "note": None}]
    assert list_offers("provider", "o", ()) == [("openai", "ready")]


def test_jobs_with_what_becomes_of_them(daemon: FakeDaemon) -> None:
    daemon.jobs = [job("4aac0864-1", "running", kind="turn")]
    assert list_offers("job", "4a", ()) == [("4aac0864-1", "turn, running")]


def test_messages_by_their_numbers_and_pins(daemon: FakeDaemon) -> None:
    conversation_id = daemon.create("work")
    for number in (1, 2):
        item = {
            "type": "user_message",
            "id": f"i{number}",
            "parts": [{"type": "text", "text": "hi\x1b[2J"}],
        }
        daemon.append(
            conversation_id, "prompt_accepted", turn_id=f"t{number}", key=None, items=[item],
            options={}, cwd=None, env={},
        )  # fmt: skip
    daemon.append(conversation_id, "item_pinned", item_id="i2")
    assert words("pinned", "", "work") == ["2"]
    assert words("unpinned", "", "work") == ["1"]
    assert list_offers("unpinned", "1", ("work",)) == [("1", "user: hi [2J")]
    assert words("unpinned", "", "nope") == []
    assert words("unpinned") == []


def test_without_a_daemon_there_is_nothing(home: object) -> None:
    for kind in SOURCES:
        if kind != "tool":
            assert words(kind, "", "work") == []


def test_every_kind_of_the_table_is_known() -> None:
    kinds = {
        kind.partition(":")[0]
        for command in load_tree().values()
        for said in [*(o.kind for o in command.options), *command.arguments, command.rest]
        for kind in said.split("+")
    }
    others = {"", "choice", "directory", "file", "flag", "function", "mention", "text"}
    assert kinds - others == set(SOURCES)


@given(st.text(max_size=200))
def test_what_is_said_about_a_word_is_short_and_obeyed_by_no_terminal(text: str) -> None:
    about = trim(text)
    assert len(about) <= ABOUT_CHARACTERS
    assert is_plain(about)


def test_schedules_by_name_or_by_id(daemon: FakeDaemon) -> None:
    daemon.schedules = [schedule("aaaa-1", name="morning"), schedule("bbbb-2")]
    assert list_offers("schedule", "", ()) == [
        ("morning", "What is new?"),
        ("bbbb-2", "What is new?"),
    ]
    assert list_offers("schedule", "aa", ()) == [("aaaa-1", "What is new?")]
