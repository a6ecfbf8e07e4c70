"""A prompt on its long way, from the wish to the exit code."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ask.exits import Failed
from ask.fast.codec import Answer
from ask.fast.run import Carried
from ask.prompt import ask_prompt, build_params, find_target
from ask.wish import Wish
from tests.fakes.daemon import FakeDaemon, Refusal, Stage, answer

Captured = pytest.CaptureFixture[str]


def ask(carried: Carried | None = None, **wish: Any) -> int:
    return ask_prompt(Wish(**{"words": ("hi",), **wish}), os.environ, carried)


def test_an_answer_and_the_conversations_id(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer("one two", "one ", "two")) as daemon:
        assert ask() == 0
    (conversation_id,) = daemon.events
    assert capfd.readouterr() == ("one two\n", f"{conversation_id[:8]}\n")


def test_all_that_may_be_wished_for_is_sent(lone_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a note")
    with FakeDaemon(lone_home, answer("x")) as daemon:
        ask(
            words=("what", "now?"),
            session="work",
            model="a/b",
            system="be brief",
            files=(str(path),),
            key="k-1",
            timeout_s=2.5,
            busy="fail",
            quiet=True,
        )
    (params,) = daemon.asked("turn/start")
    assert params["target"] == {"kind": "session", "value": "work", "create": True}
    assert params["options"] == {"model": "a/b", "system": "be brief", "timeout_s": 2.5}
    assert params["parts"] == [
        {"type": "text", "text": "what now?"},
        {"type": "text", "text": "a note", "name": str(path)},
    ]
    assert (params["key"], params["busy"], params["cwd"]) == ("k-1", "fail", os.getcwd())


def test_what_the_model_is_asked_for_is_sent(lone_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n and so on")
    with FakeDaemon(lone_home, answer("x")) as daemon:
        ask(
            images=(str(path),),
            schema="age int",
            temperature=0.0,
            max_output_tokens=7,
            stop=("END", "\n"),
            effort="none",
            tools=["read", "time__*"],
            approve="ask",
        )
    (params,) = daemon.asked("turn/start")
    schema = params["options"].pop("answer_schema")
    assert schema["properties"] == {"age": {"type": "integer"}}
    assert params["options"] == {
        "temperature": 0.0,
        "max_output_tokens": 7,
        "stop": ["END", "\n"],
        "effort": "none",
        "tools": ["read", "time__*"],
        "approve": "ask",
    }
    assert [part["type"] for part in params["parts"]] == ["text", "blob"]
    assert params["parts"][1]["media_type"] == "image/png"


def test_nothing_is_sent_with_a_schema_that_is_none(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon:
        for wish in (
            {"schema": "age years"},
            {"images": ("/nowhere",)},
            {"stop": ("\ud800",)},
            {"tools": ["\ud800"]},
        ):
            with pytest.raises(Failed) as caught:
                ask(**wish)
            assert caught.value.code == 2
    assert daemon.requests == []


def test_what_is_mentioned_is_sent_once(
    lone_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.py").write_text("one\ntwo\n")
    Path("y.py").write_text("y")
    words = ("fix", "@x.py#L2", "@y.py")
    with FakeDaemon(lone_home, answer("x"), answer("x")) as daemon:
        ask(words=words, files=("y.py",))
        ask(words=words, no_mentions=True)
    first, second = daemon.asked("turn/start")
    assert first["parts"] == [
        {"type": "text", "text": "fix x.py#L2 y.py"},
        {"type": "text", "text": "y", "name": "y.py"},
        {"type": "text", "text": "two\n", "name": "x.py#L2"},
    ]
    assert second["parts"] == [{"type": "text", "text": "fix @x.py#L2 @y.py"}]


def test_nothing_is_sent_when_a_mentioned_file_is_missing(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon, pytest.raises(Failed, match=r"no file nope\.py"):
        ask(words=("fix", "@nope.py"))
    assert daemon.requests == []


def test_standard_input_is_never_searched(lone_home: Path) -> None:
    carried = Carried("k")
    carried.stdin = b"see @nope.py"
    with FakeDaemon(lone_home, answer("x")) as daemon:
        ask(carried, words=())
    assert daemon.asked("turn/start")[0]["parts"] == [{"type": "text", "text": "see @nope.py"}]


def test_the_callers_variables_are_below_the_options(lone_home: Path) -> None:
    environ = {"ASK_MODEL": "env/m", "ASK_SYSTEM": "env", "OPENAI_API_KEY": "sk", "OTHER": "x"}
    target = {"kind": "new"}
    params = build_params(Wish(), environ, target=target, terminal=None, key="k")
    assert params["options"] == {"model": "env/m", "system": "env"}
    assert params["secrets"] == {"OPENAI_API_KEY": "sk"}
    assert params["env"] == {}
    wish = Wish(model="a/b", system="said")
    params = build_params(wish, environ, target=target, terminal=None, key="k")
    assert params["options"] == {"model": "a/b", "system": "said"}


@pytest.mark.parametrize(
    ("wish", "environ", "expected"),
    [
        (Wish(), {"ASK_TERMINAL": "a"}, ({"kind": "new"}, "name:a")),
        (
            Wish(again=True),
            {"ASK_TERMINAL": "a"},
            ({"kind": "terminal", "value": "name:a"}, "name:a"),
        ),
        (
            Wish(session="s", ephemeral=True),
            {"ASK_TERMINAL": "a"},
            ({"kind": "session", "value": "s", "create": True}, None),
        ),
    ],
)
def test_which_conversation_is_meant(
    wish: Wish, environ: dict[str, str], expected: tuple[Any, Any]
) -> None:
    assert find_target(wish, environ) == expected


def test_again_without_a_terminal_is_never_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ask.prompt.find_terminal", lambda environ: None)
    with pytest.raises(Failed, match="-c needs a terminal") as caught:
        find_target(Wish(again=True), {})
    assert (caught.value.code, caught.value.data["reason"]) == (3, "no_terminal")


def test_keys_that_the_endpoint_needs_are_sent_on_request(
    lone_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = Refusal(4, "secrets_needed", "WORK_KEY is needed.", names=["WORK_KEY", "OTHER"])
    monkeypatch.setenv("WORK_KEY", "wk")
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    with FakeDaemon(lone_home, answer("x"), refuse={"turn/start": [needed]}) as daemon:
        assert ask() == 0
    first, second = daemon.asked("turn/start")
    assert first["secrets"] == {"OPENAI_API_KEY": "sk"}
    assert second["secrets"] == {"OPENAI_API_KEY": "sk", "WORK_KEY": "wk"}
    assert first["key"] == second["key"]


def test_keys_that_are_not_there_are_said(lone_home: Path) -> None:
    needed = Refusal(4, "secrets_needed", "WORK_KEY is needed.", names=["WORK_KEY"])
    with (
        FakeDaemon(lone_home, refuse={"turn/start": [needed]}) as daemon,
        pytest.raises(Failed, match="WORK_KEY is needed") as caught,
    ):
        ask()
    assert caught.value.code == 4
    assert len(daemon.asked("turn/start")) == 1


# ---- answers that must fit ----------------------------------------------------------


def test_json_is_printed_when_it_is_whole_and_alone(lone_home: Path, capfd: Captured) -> None:
    text = '```json\n{"age": 36}\n```\n'

    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("thirty-six")
        stage.item_id += "b"
        stage.delta(text[:8])
        stage.say_whole(text, completion=2)
        stage.finish()

    with FakeDaemon(lone_home, play):
        assert ask(schema="age int", quiet=True) == 0
    assert capfd.readouterr() == ('{"age": 36}\n', "")


def test_an_answer_that_does_not_fit_is_not_printed(
    lone_home: Path, tmp_path: Path, capfd: Captured
) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole("thirty-six")
        stage.finish("failed", 1, reason="schema_mismatch", message="It does not fit.")

    path = tmp_path / "out"
    with FakeDaemon(lone_home, play):
        assert ask(schema="age int", output=str(path)) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("It does not fit.\n")
    assert not path.exists()


def test_a_cut_answer_is_not_printed_either(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.say_whole('{"age": ')
        stage.finish("completed", 9)

    with FakeDaemon(lone_home, play):
        assert ask(schema="age int") == 9
    assert capfd.readouterr().out == ""


def test_json_goes_to_a_file_without_its_fence(lone_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with FakeDaemon(lone_home, answer("```\n{}\n```")):
        assert ask(schema="{}", output=str(path), quiet=True) == 0
    assert path.read_text() == "{}\n"


def test_with_json_the_events_are_as_ever(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer('{"a": 1}', '{"a"', ": 1}")):
        assert ask(schema="{}", as_json=True, quiet=True) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["text"] for line in lines if line["type"] == "delta"] == ['{"a"', ": 1}"]
    assert lines[-1]["type"] == "turn_finished"


# ---- what becomes of the answer ----------------------------------------------------

BLOCK = "Here:\n```sh\nls\n```\n"


def test_extract_prints_the_block_alone(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer(BLOCK, BLOCK[:9], BLOCK[9:])):
        assert ask(extract=True, quiet=True) == 0
    assert capfd.readouterr() == ("ls\n", "")


def test_extract_without_a_block(lone_home: Path, capfd: Captured) -> None:
    with (
        FakeDaemon(lone_home, answer("no code")) as daemon,
        pytest.raises(Failed, match="no code block") as caught,
    ):
        ask(extract=True)
    assert caught.value.code == 1
    (conversation_id,) = daemon.events
    assert caught.value.hint == f"The answer is kept: ask history show {conversation_id[:8]}"
    assert caught.value.data == {"reason": "no_code_block", "conversation_id": conversation_id}
    assert capfd.readouterr().out == ""


def test_extract_with_json_changes_the_file_alone(
    lone_home: Path, tmp_path: Path, capfd: Captured
) -> None:
    path = tmp_path / "out"
    with FakeDaemon(lone_home, answer(BLOCK)):
        assert ask(extract=True, as_json=True, output=str(path)) == 0
    assert path.read_text() == "ls\n"
    assert capfd.readouterr().out.splitlines()[-1].startswith('{"conversation_id"')


@pytest.mark.parametrize(
    ("outcome", "code", "content"),
    [("completed", 0, "new\n"), ("completed", 9, "old"), ("failed", 1, "old")],
)
def test_a_file_is_replaced_only_by_a_whole_answer(
    lone_home: Path, tmp_path: Path, capfd: Captured, outcome: str, code: int, content: str
) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def play(stage: Stage) -> None:
        stage.say_whole("new")
        stage.finish(outcome, code)

    with FakeDaemon(lone_home, play):
        assert ask(output=str(path)) == code
    assert path.read_text() == content
    assert capfd.readouterr().out == "new\n"


def test_usage_and_failure_are_said_even_when_quiet(lone_home: Path, capfd: Captured) -> None:
    def play(stage: Stage) -> None:
        stage.finish("failed", 5, message="Slow down.", usage={"input_tokens": 2})

    with FakeDaemon(lone_home, play):
        assert ask(quiet=True, usage=True) == 5
    assert capfd.readouterr().err == "Slow down.\nTokens: 2 in, 0 out.\n"


def test_verbose_says_what_happens(lone_home: Path, capfd: Captured) -> None:
    with FakeDaemon(lone_home, answer("x"), results={"turn/start": {"position": 1}}):
        assert ask(verbose=True) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "ask: askd 0.1.0 (pid 4711)"
    assert lines[1].startswith("ask: turn turn-1 of conversation ")
    assert lines[2] == "Queued: 1 turn before this one."


@pytest.fixture
def stdout() -> Iterator[None]:
    """Put standard output back after the test."""
    before = os.dup(1)
    yield
    os.dup2(before, 1)
    os.close(before)


def test_a_closed_pipe_detaches(lone_home: Path, stdout: None) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)
    with FakeDaemon(lone_home, answer("unread")) as daemon:
        assert ask() == 141
    assert daemon.asked("turn/interrupt") == []


def test_a_full_disk_is_said(lone_home: Path, stdout: None) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 1)
    os.close(full)
    with (
        FakeDaemon(lone_home, answer("x")) as daemon,
        pytest.raises(Failed, match="No space left") as caught,
    ):
        ask()
    (conversation_id,) = daemon.events
    assert caught.value.code == 74
    assert caught.value.hint == f"The answer is kept: ask history show {conversation_id[:8]}"
    assert caught.value.data["reason"] == "output_failed"


def test_a_file_gets_the_answer_that_the_screen_could_not(
    lone_home: Path, tmp_path: Path, stdout: None
) -> None:
    """On a full disk, and when the reader has left; the code still tells."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 1)
    os.close(full)
    path = tmp_path / "out"
    with (
        FakeDaemon(lone_home, answer("one two", "one ", "two")),
        pytest.raises(Failed, match="No space left"),
    ):
        ask(output=str(path))
    assert path.read_text() == "one two\n"
    os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
    path.unlink()
    (lone_home.parent / "askd.sock").unlink(missing_ok=True)
    with FakeDaemon(lone_home, answer("three")):
        assert ask(output=str(path), as_json=True) == 141
    assert path.read_text() == "three\n"


def test_a_failed_turn_keeps_its_code_and_the_file(
    lone_home: Path, tmp_path: Path, stdout: None
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 1)
    os.close(full)
    path = tmp_path / "out"
    path.write_text("old")

    def play(stage: Stage) -> None:
        stage.delta("ne")
        stage.finish("failed", 5, message="Slow down.")

    with FakeDaemon(lone_home, play):
        assert ask(output=str(path)) == 5
    assert path.read_text() == "old"


def test_a_file_that_takes_nothing_is_said_with_where_the_answer_is(lone_home: Path) -> None:
    with (
        FakeDaemon(lone_home, answer("x")) as daemon,
        pytest.raises(Failed, match="/dev/full cannot be written: No space left") as caught,
    ):
        ask(output="/dev/full")
    (conversation_id,) = daemon.events
    assert caught.value.code == 74
    assert conversation_id[:8] in str(caught.value.hint)
    assert caught.value.data == {"reason": "output_failed", "conversation_id": conversation_id}


def test_what_is_not_kept_is_not_promised(lone_home: Path) -> None:
    with FakeDaemon(lone_home, answer("x")), pytest.raises(Failed, match="No space") as caught:
        ask(output="/dev/full", ephemeral=True)
    assert caught.value.hint is None


@pytest.mark.parametrize(("raw", "content"), [(False, "red\n"), (True, "\x1b[31mred\x1b[0m\n")])
def test_a_file_gets_what_a_pipe_gets(
    lone_home: Path, tmp_path: Path, raw: bool, content: str
) -> None:
    path = tmp_path / "out"
    with FakeDaemon(lone_home, answer("\x1b[31mred\x1b[0m")):
        ask(output=str(path), raw=raw)
    assert path.read_text() == content


# ---- what cannot be asked ----------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"key": ""}, "A key has 1 to 128 printable"),
        ({"key": " "}, "A key has 1 to 128 printable"),
        ({"key": "a\nb"}, "A key has 1 to 128 printable"),
        ({"key": "k" * 129}, "A key has 1 to 128 printable"),
        ({"session": "no\udcff"}, "The conversation's name is not valid UTF-8"),
        ({"model": "no\udcff"}, "The model's name is not valid UTF-8"),
        ({"system": "no\udcff"}, "The system prompt is not valid UTF-8"),
        ({"output": ""}, "-o needs a file"),
        ({"files": ("",)}, "-f needs a file"),
        ({"files": ("/no\udcff",)}, "/no\ufffd cannot be read: No such file"),
    ],
)
def test_nothing_is_sent_of_what_cannot_be_asked(
    lone_home: Path, wish: dict[str, Any], text: str
) -> None:
    with FakeDaemon(lone_home) as daemon, pytest.raises(Failed, match=text) as caught:
        ask(**wish)
    assert caught.value.code == 2
    assert caught.value.data["reason"] in ("usage", "bad_input", "bad_output")
    assert daemon.requests == []


def test_a_prompt_that_was_taken_back_is_said(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the line in which the terminal has shown ^C is ended."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
    carried = Carried("k")
    carried.answer = Answer({"conversation_id": "c" * 36, "turn_id": "t", "seq": 2})
    carried.answer.ended = {"outcome": "withdrawn", "code": 1}
    carried.interrupted = True
    assert ask(carried) == 130
    assert capfd.readouterr() == ("", f"\nThe prompt was taken back.\n{'c' * 8}\n")


def test_the_line_is_ended_when_the_time_is_up(
    lone_home: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ask.follow.STOP_LIMIT_S", 0.02)
    monkeypatch.setattr("ask.follow.STOP_AFTER_S", 0.02)

    def play(stage: Stage) -> None:
        stage.start()
        stage.delta("so far")
        stage.wait_for("turn/interrupt")

    with FakeDaemon(lone_home, play), pytest.raises(Failed) as caught:
        ask(timeout_s=0.2)
    assert caught.value.code == 124
    assert capfd.readouterr().out == "so far\n"


# ---- what the short way has done ---------------------------------------------------


def test_a_broken_output_is_said() -> None:
    carried = Carried("k")
    carried.broken = "No space left on device"
    with pytest.raises(Failed, match="No space left"):
        ask(carried)


def test_a_refusal_is_not_asked_for_again(lone_home: Path) -> None:
    carried = Carried("k")
    carried.refusal = Refusal(2, "unknown_model", "No model 'x'.").error
    with FakeDaemon(lone_home) as daemon, pytest.raises(Failed, match="No model") as caught:
        ask(carried)
    assert caught.value.code == 2
    assert daemon.requests == []


@pytest.mark.parametrize("reason", ["secrets_needed", "draining"])
def test_a_refusal_that_can_be_helped_is_tried_again(lone_home: Path, reason: str) -> None:
    carried = Carried("k")
    carried.refusal = Refusal(4, reason, "No.").error
    with FakeDaemon(lone_home, answer("x")):
        assert ask(carried) == 0


def test_an_answer_that_was_begun_is_gone_on_with(lone_home: Path, capfd: Captured) -> None:
    """The same key and the same body, and what was read of stdin is part of it."""

    def lose(stage: Stage) -> None:
        stage.start()
        stage.delta("one ")
        stage.drop()

    def go_on(stage: Stage) -> None:
        stage.delta("two")
        stage.say_whole("one two")
        stage.finish()

    carried = Carried("k")
    carried.stdin = b"a log"
    with FakeDaemon(lone_home, lose, go_on) as daemon:
        assert ask(carried, quiet=True) == 0
        first, second = daemon.asked("turn/start")
        assert first == second
        assert first["parts"][1] == {"type": "text", "text": "a log", "name": "stdin"}
    assert capfd.readouterr().out == "one two\n"


def test_an_end_that_was_seen_is_only_told(lone_home: Path, capfd: Captured) -> None:
    carried = Carried("k")
    carried.answer = Answer({"conversation_id": "c" * 36, "turn_id": "t", "seq": 2})
    carried.answer.line_open = True
    carried.answer.ended = {"outcome": "failed", "code": 7, "message": "Too long: ask clear."}
    assert ask(carried) == 7
    assert capfd.readouterr() == ("\n", f"Too long: ask clear.\n{'c' * 8}\n")
