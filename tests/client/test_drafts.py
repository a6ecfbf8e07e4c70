"""A prompt with its template applied: what is asked then, and of whom."""

import os
from pathlib import Path
from typing import Any

import pytest

from ask.drafts import draft, read_chat_options
from ask.exits import Failed
from ask.fast.run import Carried
from ask.prompt import ask_prompt
from ask.wish import Wish
from tests.fakes.daemon import FakeDaemon, answer

Map = dict[str, Any]

SET = """\
+++
model = "t/model"
system = "You speak $to."
tools = "read"
approve = "deny"
temperature = 0.5
max_output_tokens = 9
effort = "low"
schema = "name"
[defaults]
to = "French"
+++
Translate: $input
"""


@pytest.fixture
def templates(lone_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for templates, and another to stand in."""
    directory = lone_home.parents[1] / "config" / "templates"
    directory.mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return directory


def pipe(writer: int, content: bytes) -> None:
    os.write(writer, content)
    os.close(writer)


def send(lone_home: Path, **wish: Any) -> Map:
    """What the daemon is asked with this wish."""
    with FakeDaemon(lone_home, answer("{}")) as daemon:
        ask_prompt(Wish(**{"template": "t", "quiet": True, **wish}), os.environ)
    (params,) = daemon.asked("turn/start")
    return dict(params)


def texts(params: Map) -> list[tuple[str, str | None]]:
    return [(part["text"], part.get("name")) for part in params["parts"]]


def refuse(lone_home: Path, **wish: Any) -> Failed:
    with FakeDaemon(lone_home) as daemon, pytest.raises(Failed) as caught:
        ask_prompt(Wish(**{"template": "t", "quiet": True, **wish}), os.environ)
    assert daemon.requests == [], "nothing was asked"
    return caught.value


def test_without_a_template_nothing_is_changed() -> None:
    wish = Wish(words=("a", "$b", "$$"))
    drafted = draft(wish, {}, Carried("k"))
    assert drafted.wish is wish
    assert drafted.text == "a $b $$"
    assert drafted.complete("a\0b") == "a\0b"


def test_what_a_template_says_is_asked(templates: Path, lone_home: Path) -> None:
    (templates / "t.md").write_text(SET)
    params = send(lone_home, words=("good", "day"), parameters=(("to", "Greek"),))
    assert texts(params) == [("Translate: good day", None)]
    schema = params["options"].pop("answer_schema")
    assert list(schema["properties"]) == ["name"]
    assert params["options"] == {
        "model": "t/model",
        "system": "You speak Greek.",
        "tools": ["read"],
        "approve": "deny",
        "temperature": 0.5,
        "max_output_tokens": 9,
        "effort": "low",
    }


def test_the_command_line_wins_and_then_the_template(
    templates: Path, lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (templates / "t.md").write_text(SET)
    monkeypatch.setenv("ASK_MODEL", "e/model")
    monkeypatch.setenv("ASK_SYSTEM", "Of the environment.")
    said: Map = {
        "model": "a/b",
        "system": "Mine: $to.",
        "tools": ["none"],
        "approve": "auto",
        "temperature": 0.0,
        "max_output_tokens": 1,
        "effort": "none",
    }
    params = send(lone_home, words=("x",), schema="age int", **said)
    assert list(params["options"].pop("answer_schema")["properties"]) == ["age"]
    assert params["options"] == said
    assert send(lone_home, words=("x",))["options"]["model"] == "t/model"
    assert "answer_schema" not in draft_options(words=("x",), extract=True)


def draft_options(**wish: Any) -> Map:
    settled = draft(Wish(template="t", **wish), os.environ, Carried("k")).wish
    assert settled.schema is None or not settled.extract
    return {"answer_schema": settled.schema} if settled.schema else {}


def test_a_code_block_is_taken_out_where_there_is_an_answer(templates: Path) -> None:
    (templates / "t.md").write_text("+++\nextract = true\n+++\nhi")

    def settle(**wish: Any) -> Wish:
        return draft(Wish(template="t", **wish), os.environ, Carried("k")).wish

    assert settle().extract
    assert not settle(detach=True).extract
    settled = settle(schema="a")
    assert (settled.extract, settled.schema) == (False, "a")


# ---- what $input is ----------------------------------------------------------------


def test_words_are_the_input_and_what_is_piped_stays_beside(
    templates: Path, lone_home: Path, stdin: int
) -> None:
    (templates / "t.md").write_text("Say: $input!")
    pipe(stdin, b"a log\n")
    params = send(lone_home, words=("why",))
    assert texts(params) == [("Say: why!", None), ("a log\n", "stdin")]


def test_what_is_piped_is_the_input_where_there_are_no_words(
    templates: Path, lone_home: Path, stdin: int
) -> None:
    (templates / "t.md").write_text("Say: $input!")
    pipe(stdin, "$input $$ ü\n\n".encode())
    assert texts(send(lone_home)) == [("Say: $input $$ ü!", None)]


def test_without_a_place_words_follow_the_prompt(
    templates: Path, lone_home: Path, stdin: int
) -> None:
    (templates / "t.md").write_text("Summarize.\n")
    (templates.parents[1] / "notes.txt").write_text("notes")
    path = str(templates.parents[1] / "notes.txt")
    pipe(stdin, b"a log")
    params = send(lone_home, words=("this", "one"), files=(path,))
    assert texts(params) == [
        ("Summarize.\n\nthis one", None),
        ("notes", path),
        ("a log", "stdin"),
    ]


def test_a_template_of_settings_alone_leaves_the_words_alone(
    templates: Path, lone_home: Path
) -> None:
    (templates / "t.md").write_text('+++\nsystem = "Be brief."\n+++\n')
    assert texts(send(lone_home, words=("a $b $$",))) == [("a $b $$", None)]
    assert refuse(lone_home, no_stdin=True).data["reason"] == "empty_prompt"


@pytest.mark.parametrize("piped", [b"", b" \n"])
def test_nothing_to_work_on_is_said(
    templates: Path, lone_home: Path, stdin: int, piped: bytes
) -> None:
    (templates / "t.md").write_text("Say: $input")
    pipe(stdin, piped)
    error = refuse(lone_home)
    assert error.message == "The template 't' needs something to work on."
    assert refuse(lone_home, no_stdin=True, words=(" ",)).data["reason"] == "empty_prompt"


def test_an_image_that_is_piped_is_no_input(templates: Path, lone_home: Path, stdin: int) -> None:
    (templates / "t.md").write_text("Describe $input")
    pipe(stdin, b"\x89PNG\r\n\x1a\n and so on")
    assert "needs something" in refuse(lone_home, images=("-",)).message


# ---- mentions ----------------------------------------------------------------------


def test_mentions_count_in_what_a_person_wrote(templates: Path, lone_home: Path) -> None:
    for name in ("a", "b", "c"):
        Path(f"{name}.txt").write_text(name)
    (templates / "t.md").write_text("See @a.txt and @$file; $input")
    params = send(lone_home, words=("@c.txt?",), parameters=(("file", "b.txt"),))
    assert texts(params) == [
        ("See a.txt and b.txt; c.txt?", None),
        ("a", "a.txt"),
        ("b", "b.txt"),
        ("c", "c.txt"),
    ]


def test_mentions_do_not_count_in_what_was_piped(
    templates: Path, lone_home: Path, stdin: int
) -> None:
    Path("a.txt").write_text("secret")
    (templates / "t.md").write_text("See @a.txt: $input, @$input")
    pipe(stdin, b"a.txt @a.txt `")
    params = send(lone_home)
    assert texts(params) == [
        ("See a.txt: a.txt @a.txt `, @a.txt @a.txt `", None),
        ("secret", "a.txt"),
    ]


# ---- what is wrong -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "code", "said"),
    [
        ({"template": "tt"}, 3, "There is no template 'tt'."),
        ({"template": "a/b"}, 2, "cannot be one"),
        ({"template": "docs:"}, 2, "cannot be one"),
        ({"template": ":review"}, 2, "cannot be one"),
        ({}, 2, "needs file"),
        ({"parameters": (("file", "x"), ("line", "3"))}, 2, "has no parameter 'line'"),
        ({"parameters": (("file", "\udcff"),)}, 2, "The parameter 'file' is not valid UTF-8"),
    ],
)
def test_nothing_is_sent_when_something_is_wrong(
    templates: Path, lone_home: Path, wish: Map, code: int, said: str
) -> None:
    (templates / "t.md").write_text("Look at $file.")
    error = refuse(lone_home, words=("x",), **wish)
    assert (error.code, said in error.message) == (code, True)


def test_a_parameter_is_the_same_however_it_was_typed(templates: Path, lone_home: Path) -> None:
    (templates / "t.md").write_text("Über $größe.")
    params = send(lone_home, parameters=(("gro\u0308ße", "10"),))
    assert texts(params) == [("Über 10.", None)]


# ---- prompts of servers ------------------------------------------------------------


ARGUMENT = {"name": "file", "description": "", "required": True}
SERVED: Map = {
    "mcp/prompts": {
        "data": [{"name": "review", "description": "", "arguments": [ARGUMENT]}],
        "left_out": 0,
    },
    "mcp/prompt": {"messages": [{"role": "user", "text": "Look at x.py @a.txt $x\n"}]},
}


def test_the_prompt_of_a_server_is_above_the_words_and_mentions_nothing(
    templates: Path, lone_home: Path
) -> None:
    Path("a.txt").write_text("a")
    wish = Wish(
        template="docs:review", parameters=(("file", "x.py"),), words=("and", "@a.txt"), quiet=True
    )
    with FakeDaemon(lone_home, answer("x"), results=SERVED) as daemon:
        assert ask_prompt(wish, os.environ) == 0
    (params,) = daemon.asked("turn/start")
    assert texts(params) == [("Look at x.py @a.txt $x\n\nand a.txt", None), ("a", "a.txt")]
    (asked,) = daemon.asked("mcp/prompt")
    assert asked == {"server": "docs", "name": "review", "arguments": {"file": "x.py"}}


def test_what_a_servers_prompt_needs_is_named_as_it_is_typed(lone_home: Path) -> None:
    with FakeDaemon(lone_home, results=SERVED) as daemon, pytest.raises(Failed) as caught:
        ask_prompt(Wish(template="docs:review", words=("x",)), os.environ)
    assert caught.value.hint == "Say it: -p file=..."
    assert daemon.asked("turn/start") == []


# ---- in a chat ---------------------------------------------------------------------


def test_what_a_chat_takes_of_a_template(templates: Path) -> None:
    (templates / "t.md").write_text(SET)
    options, left = read_chat_options("t", {"to": "Greek"}, os.environ)
    assert options == {
        "model": "t/model",
        "system": "You speak Greek.",
        "tools": ["read"],
        "approve": "deny",
        "temperature": 0.5,
        "max_output_tokens": 9,
        "effort": "low",
    }
    assert left == ["prompt", "schema"]
    (templates / "s.md").write_text('+++\nsystem = "Be brief."\n+++\n')
    assert read_chat_options("s", {}, os.environ) == ({"system": "Be brief."}, [])


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("docs:review", {}, "has no settings for a chat"),
        ("nope", {}, "There is no template"),
        ("t", {"x": "1"}, "has no parameter 'x'"),
        ("t", {"to": "\udcff"}, "not valid UTF-8"),
    ],
)
def test_what_no_chat_can_take(
    templates: Path, name: str, values: dict[str, str], said: str
) -> None:
    (templates / "t.md").write_text(SET)
    with pytest.raises(Failed, match=said):
        read_chat_options(name, values, os.environ)
