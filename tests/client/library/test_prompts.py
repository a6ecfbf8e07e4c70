"""A prompt is read and checked whole before anything is sent."""

import os
from pathlib import Path
from typing import Any, cast, get_type_hints

import pytest

import ask
from ask.connection import connect
from ask.exits import Failed
from ask.library.prompts import PASSED_ON, Draft, draft_prompt
from ask.library.values import read_value
from ask.protocol import messages
from tests.client.library.test_values import _plain as plain
from tests.fakes.daemon import FakeDaemon

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def draft(prompt: str = "hi", *, detach: bool = False, **options: Any) -> Draft:
    return draft_prompt(prompt, cast("ask.Options", options), {}, detach=detach)


def options_of(drafted: Draft) -> Any:
    return drafted.params.get("options", {})


def test_a_plain_prompt_says_little() -> None:
    drafted = draft()
    params = drafted.params
    assert params["target"] == {"kind": "new"}
    assert len(params["key"]) == 36
    assert params["cwd"] == os.getcwd()
    assert params["follow"] is True
    assert not {"options", "interactive", "busy", "ephemeral", "terminal"} & set(params)
    assert [each.content for each in drafted.inputs] == [b"hi"]
    assert drafted.deadline is None
    assert draft(model=None, tools=None, key=None).params.keys() == params.keys()


def test_what_is_said_is_passed_on() -> None:
    drafted = draft(
        model="p/m",
        system="Be brief.",
        tools=("read", "bash"),
        stop=iter(["END"]),
        temperature=0.0,
        notify=False,
        busy="fail",
        ephemeral=True,
        key="nightly",
        timeout_s=5,
        on_question=lambda question: None,
    )
    assert options_of(drafted) == {
        "model": "p/m",
        "system": "Be brief.",
        "tools": ["read", "bash"],
        "stop": ["END"],
        "temperature": 0.0,
        "notify": False,
        "timeout_s": 5,
    }
    params = drafted.params
    assert (params["busy"], params["ephemeral"], params["key"]) == ("fail", True, "nightly")
    assert drafted.is_interactive
    assert drafted.deadline is not None
    assert options_of(draft(tools=[])) == {"tools": []}, "none at all is said, too"


def test_options_are_those_of_the_wire() -> None:
    ours, theirs = get_type_hints(ask.Options), get_type_hints(messages.TurnOptions)
    assert set(PASSED_ON) <= set(theirs)
    for name in set(ours) & set(theirs) - {"tools", "stop"}:
        assert plain(ours[name]) == plain(theirs[name]) | {type(None)}, name


def test_the_environment_says_a_model() -> None:
    environ = {"ASK_MODEL": "p/m", "ASK_SYSTEM": "Be brief.", "OPENAI_API_KEY": "k", "X": "y"}
    drafted = draft_prompt("hi", {"model": "p/other"}, environ)
    assert options_of(drafted) == {"model": "p/other", "system": "Be brief."}
    assert drafted.params["secrets"] == {"OPENAI_API_KEY": "k"}
    assert drafted.params["env"] == {}


def test_which_conversation_is_meant() -> None:
    assert draft(conversation="work").params["target"] == {
        "kind": "session",
        "value": "work",
        "create": True,
    }
    assert draft(conversation="work", create=False).params["target"]["create"] is False
    names = ("name", "title", "model")
    row = {
        **dict.fromkeys(names),
        "id": "c-1",
        "state": "idle",
        "message_count": 0,
        "last_seq": 1,
        "created_at": 1.0,
        "updated_at": 1.0,
    }
    value = read_value(ask.Conversation, row)
    assert draft(conversation=value).params["target"] == {"kind": "id", "value": "c-1"}


def test_where_tools_run(tmp_path: Path) -> None:
    status = tmp_path.stat()
    params = draft(cwd=tmp_path).params
    assert (params["cwd"], params["cwd_id"]) == (
        str(tmp_path),
        f"{status.st_dev}:{status.st_ino}",
    )
    for wrong in (tmp_path / "nothing", Path(__file__)):
        with pytest.raises(Failed, match="cannot be worked in") as caught:
            draft(cwd=wrong)
        assert caught.value.code == 2


def test_files_are_what_their_content_says(tmp_path: Path) -> None:
    text, image = tmp_path / "a.txt", tmp_path / "b.txt"
    text.write_text("words")
    image.write_bytes(PNG)
    own = ask.Attachment("more words", "made up")
    inputs = draft("Look:", files=[text, str(image), own, ask.Attachment(b"nameless")]).inputs
    assert [(each.name, each.media_type) for each in inputs] == [
        (None, "text/plain"),
        (str(text), "text/plain"),
        (str(image), "image/png"),
        ("made up", "text/plain"),
        ("attachment", "text/plain"),
    ]
    assert inputs[3].content == b"more words"
    assert len(draft("", files=[text]).inputs) == 1, "a file is enough of a prompt"


def test_a_mention_means_nothing() -> None:
    assert [each.content for each in draft("See @/etc/passwd").inputs] == [b"See @/etc/passwd"]


@pytest.mark.parametrize(
    ("prompt", "options", "why"),
    [
        ("", {}, "empty"),
        (" \n", {}, "empty"),
        ("\ud800", {}, "UTF-8"),
        ("hi", {"conversation": "\ud800"}, "UTF-8"),
        ("hi", {"key": ""}, "key"),
        ("hi", {"files": ["nothing"]}, "cannot be read"),
        ("hi", {"files": [ask.Attachment(b"\0")]}, "binary"),
        ("hi", {"files": [ask.Attachment(b"\xff")]}, "UTF-8"),
        ("hi", {"files": [ask.Attachment("x")] * 1001}, "at most 1000"),
        ("hi", {"schema": "age number of years"}, "field"),
        ("hi", {"timeout_s": 0}, "time limit"),
        ("hi", {"timeout_s": float("nan")}, "time limit"),
    ],
)
def test_what_makes_no_sense_is_refused(prompt: str, options: Any, why: str) -> None:
    with pytest.raises(Failed, match=why) as caught:
        draft(prompt, **options)
    assert caught.value.code == 2


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="tool"):
        draft(tool=["read"])
    with pytest.raises(TypeError, match="tool"):
        draft(tool=None)
    with pytest.raises(TypeError, match=r"no such option .*: timeout; did you mean timeout_s\?$"):
        draft(timeout=5)
    with pytest.raises(TypeError, match=r"no such option of a prompt: zzz$"):
        draft(zzz=5)


@pytest.mark.parametrize("name", ["ephemeral", "interactive", "on_question"])
def test_nobody_is_there_for_what_is_detached(name: str) -> None:
    said: dict[str, Any] = {name: lambda question: None}
    with pytest.raises(Failed, match=name):
        draft(detach=True, **said)
    said[name] = None
    assert draft(detach=True, **said).params["follow"] is False
    assert options_of(draft(detach=True))["detach"] is True


def test_a_schema_may_be_short() -> None:
    (field,) = options_of(draft(schema="age int"))["answer_schema"]["properties"].items()
    assert field == ("age", {"type": "integer"})
    assert options_of(draft(schema={"type": "object"}))["answer_schema"] == {"type": "object"}


def test_it_is_sent_whole_and_large_texts_beside_it(lone_home: Path) -> None:
    drafted = draft("Read:", files=[ask.Attachment("x" * 300_000, "long.txt")])
    with FakeDaemon(lone_home) as daemon, connect() as connection:
        assert drafted.send(connection, limit_s=5.0)["turn_id"] == "turn-1"
    (asked,) = daemon.asked("turn/start")
    assert [part["type"] for part in asked["parts"]] == ["text", "blob"]
    assert daemon.asked("blob/put")[0]["size"] == 300_000


def test_on_another_machine_its_paths_count(tmp_path: Path) -> None:
    far = {"ASK_HOST": "ssh://far", "OPENAI_API_KEY": "k", "HOME": "/home/me"}
    params = draft_prompt("hi", {"cwd": "/srv/project", "tools": ["read"]}, far).params
    assert (params["cwd"], params["far"]) == ("/srv/project", True)
    assert not {"cwd_id", "env", "secrets"} & set(params), "what is near stays near"
    with pytest.raises(Failed, match="absolute"):
        draft_prompt("hi", {"cwd": "project"}, far)
    with pytest.raises(Failed, match="no directory over there"):
        draft_prompt("hi", {"tools": ["read"]}, far)
    assert "cwd" not in draft_prompt("hi", {}, far).params


@pytest.mark.parametrize(
    ("prompt", "options", "said"),
    [
        (5, {}, "prompt is a text, and not int"),
        (b"hi", {}, "prompt is a text, and not bytes"),
        ("hi", {"model": 5}, "model is a text"),
        ("hi", {"timeout_s": "5"}, "timeout_s is a number, and not str"),
        ("hi", {"stop": "END"}, "stop takes several"),
        ("hi", {"tools": "read"}, "tools takes several"),
        ("hi", {"files": "/etc/hostname"}, "files takes several"),
        ("hi", {"files": Path("/etc/hostname")}, "files takes several"),
    ],
)
def test_what_would_mean_something_else_is_refused(
    prompt: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        draft(prompt, **options)
