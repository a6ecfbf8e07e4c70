"""Loops of tools through the real daemon: a scripted model calls, the built-in tools work.

Every vendor's server refuses what breaks its vendor's rules, and none of them may have had
to. The embedded model's loop is in `test_local_tools`.
"""

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_answers import Hold, Json, chunk
from tests.fakes.chat_server import open_chat_server
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.vendor import Call, Said
from tests.fakes.vendor_copilot import SIGN_IN, Copilot
from tests.fakes.vendors import VENDORS, open_vendor
from tests.system.servers import serve, start_daemon, write_config, write_secret
from tests.system.world import LIMIT_S, Result, Running, World, open_world

DIALECTS = ["openai-chat", *VENDORS]
POEM = "the sea is grey\nand wide\n"
CONFIG = """
default_model = "work/fake"

[providers.work]
dialect = "{dialect}"
base_url = "{base_url}"

[models."work/fake"]
context_window = {window}

[tools]
max_completions = 7
"""


class Loop:
    """A project directory, and a model that says what a test wants."""

    def __init__(self, world: World, server: ScriptedServer, dialect: str) -> None:
        self.world = world
        self.server = server
        self.speak = VENDORS.get(dialect, Copilot)().speak
        self.project = world.home / "project"
        self.project.mkdir()
        (self.project / "poem.txt").write_text(POEM)

    def script(self, *said: Said) -> None:
        """What the model says next."""
        self.server.script(*(list(self.speak(each)) for each in said))

    def start(self, tools: str = "all") -> Running:
        """Send a prompt from the project's directory, whose tools need nobody."""
        told = ("-T", tools, "--approve", "auto", "-s", "work", "go")
        return self.world.start(*told, cwd=self.project)

    def prompt(self, tools: str = "all") -> Result:
        """The same, to its end."""
        return self.start(tools).finish()

    def release(self) -> None:
        """Let a held answer go on."""
        url = f"{self.server.base_url}/control/release"
        with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=LIMIT_S):
            pass

    def outputs(self) -> list[dict[str, Any]]:
        """Every output in the log, each of them once for its call."""
        items = [e["item"] for e in self.world.events("work") if e["type"] == "item_added"]
        called = [call["call_id"] for item in items for call in item.get("calls", ())]
        outputs = [item for item in items if item["type"] == "tool_output"]
        assert sorted(item["call_id"] for item in outputs) == sorted(called)
        return outputs

    def texts(self) -> list[str]:
        """What each output says, in the order of the log."""
        return [
            "".join(str(part.get("text", "")) for part in item["parts"]) for item in self.outputs()
        ]

    def ends(self) -> list[tuple[str, int]]:
        """How the turns ended."""
        return [
            (event["outcome"], event["code"])
            for event in self.world.events("work")
            if event["type"] == "turn_finished"
        ]

    def last(self) -> str:
        """All of the last request's text."""
        return json.dumps(self.server.requests[-1], ensure_ascii=False)


@contextmanager
def open_loop(home: Path, dialect: str, *, window: int = 60_000) -> Iterator[Loop]:
    """A world with this vendor's server and a project."""
    opened: AbstractAsyncContextManager[ScriptedServer]
    opened = open_vendor(dialect) if dialect in VENDORS else open_chat_server()
    with ExitStack() as stack:
        server = stack.enter_context(serve(opened))
        world = stack.enter_context(open_world(home, model=False))
        if dialect == "copilot":
            write_config(world, 'default_model = "copilot/fake"\n')
            signed_in = json.dumps({"oauth_token": SIGN_IN, "user": "me"})
            write_secret(world.ask_home / "data" / "copilot.json", signed_in)
            start_daemon(world, {"ASK_GITHUB_API_URL": server.base_url})
        else:
            config = CONFIG.format(dialect=dialect, base_url=server.base_url, window=window)
            write_config(world, config)
        yield Loop(world, server, dialect)
        assert server.violations == []


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with open_loop(tmp_path, "openai-chat") as opened:
        yield opened


def call(name: str, call_id: str = "call_1", **arguments: Any) -> Call:
    return (call_id, name, json.dumps(arguments))


def asks(*calls: Call, text: str = "") -> Said:
    """An answer that calls."""
    return Said(texts=(text,) if text else (), call=calls[0], more=calls[1:], stop="calls")


def says(text: str) -> Said:
    """A last answer."""
    return Said(texts=(text,))


def offered(body: Json) -> set[str]:
    """The names of the tools of a request, in any dialect."""
    found = [each.get("function", each) for each in body.get("tools", ())]
    return {each["name"] for each in found}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_read_edit_run_answer(dialect: str, tmp_path: Path) -> None:
    with open_loop(tmp_path, dialect) as loop:
        loop.script(
            asks(
                call("read_file", "call_a", path="poem.txt"),
                call("list_directory", "call_b"),
                text="I look.",
            ),
            asks(call("edit_file", "call_c", path="poem.txt", old="grey", new="blue")),
            # An id that was there before, as servers give that count from one each time.
            asks(call("run_command", "call_a", command="wc -l < poem.txt; pwd; exit 3")),
            says("The sea is blue."),
        )
        result = loop.prompt()
        assert result.code == 0, result
        assert result.out.endswith("The sea is blue.\n")
        assert (loop.project / "poem.txt").read_text() == POEM.replace("grey", "blue")
        sent = loop.server.requests
        assert len(sent) == 4
        assert {"read_file", "edit_file", "run_command", "search_history"} <= offered(sent[0])
        # Both of the first answer's outputs came back at once, and everything stays.
        assert "the sea is grey" in json.dumps(sent[1])
        assert "poem.txt" in json.dumps(sent[1])
        for words in ("I look.", "the sea is grey", str(loop.project), "exit code 3"):
            assert words in loop.last(), words
        names = sorted(item["name"] for item in loop.outputs())
        assert names == ["edit_file", "list_directory", "read_file", "run_command"]
        assert [item for item in loop.outputs() if item.get("synthetic")] == []
        assert loop.ends() == [("completed", 0)]
        # The next prompt's history holds the whole of it, paired.
        loop.script(says("Yes."))
        assert loop.prompt().out == "Yes.\n"
        assert "exit code 3" in loop.last()


def test_parallel_calls_run_in_parallel_and_are_answered_together(loop: Loop) -> None:
    # Each waits for the other: one after the other they would never end.
    waits = "i=0; touch {0}; while [ ! -e {1} ] && [ $i -lt 300 ]; do i=$((i+1)); sleep .1; done; "
    loop.script(
        asks(
            call("run_command", "call_a", command=waits.format("a", "b") + "echo $i first"),
            call("run_command", "call_b", command=waits.format("b", "a") + "echo $i second"),
            call("read_file", "call_c", path="poem.txt"),
        ),
        says("Both."),
    )
    assert loop.prompt().out.endswith("Both.\n")
    assert len(loop.server.requests) == 2
    told = [each for each in loop.server.requests[-1]["messages"] if each["role"] == "tool"]
    by_id = {each["tool_call_id"]: each["content"] for each in told}
    assert sorted(by_id) == ["call_a", "call_b", "call_c"]
    assert "300" not in by_id["call_a"] + by_id["call_b"]
    assert "first" in by_id["call_a"]
    assert "second" in by_id["call_b"]


def test_errors_are_results_that_a_model_corrects(loop: Loop) -> None:
    loop.script(
        asks(call("edit_file", "call_a", path="poem.txt", old="green", new="blue")),
        asks(call("edit_file", "call_b", path="poem.txt", old="grey", new="blue")),
        asks(("call_c", "read_file", '{"path": '), call("read_file", "call_d", where="poem.txt")),
        asks(call("read_fil", "call_e", path="poem.txt"), call("read_file", "call_f", path="..")),
        asks(call("run_command", "call_g", command="exit 7")),
        says("Well."),
    )
    assert loop.prompt().code == 0
    by_id = {item["call_id"]: item for item in loop.outputs()}
    is_error = {call_id: bool(item.get("is_error")) for call_id, item in by_id.items()}
    assert is_error == {
        "call_a": True, "call_b": False, "call_c": True, "call_d": True, "call_e": True,
        "call_f": True, "call_g": True,
    }  # fmt: skip
    assert by_id["call_e"]["synthetic"] == "unknown_tool"
    for words in ("not JSON", "do not fit", "There is no tool named 'read_fil'", "exit code 7"):
        assert words in loop.last(), words
    assert "sea is blue" in (loop.project / "poem.txt").read_text()


def test_a_tool_that_is_not_offered_is_an_unknown_one(loop: Loop) -> None:
    loop.script(asks(call("write_file", path="new.txt", content="x")), says("So not."))
    assert loop.prompt(tools="read").code == 0
    assert "write_file" not in offered(loop.server.requests[0])
    (item,) = loop.outputs()
    assert item["synthetic"] == "unknown_tool"
    assert not (loop.project / "new.txt").exists()


def test_without_tools_none_is_offered(loop: Loop) -> None:
    loop.script(says("Hello."))
    assert loop.world.ask("-s", "work", "go", cwd=loop.project).code == 0
    assert offered(loop.server.requests[0]) == set()


def test_a_model_that_never_ends_is_ended(loop: Loop) -> None:
    loop.script(*(asks(call("run_command", f"call_{n}", command=f"echo {n}")) for n in range(60)))
    result = loop.prompt()
    assert result.code == 1, result
    assert "7 requests to the model" in result.err
    assert len(loop.server.requests) == 7
    assert loop.ends() == [("failed", 1)]
    assert len(loop.outputs()) == 7


def test_the_same_call_for_ever_is_refused_and_the_turn_ends(loop: Loop) -> None:
    loop.script(*(asks(call("run_command", command="echo x >> count")) for _ in range(60)))
    result = loop.prompt()
    assert result.code == 1, result
    assert (loop.project / "count").read_text() == "x\n" * 3
    assert loop.ends() == [("failed", 1)]
    assert len(loop.server.requests) <= 7


def test_a_large_output_is_shortened_and_read_on(loop: Loop) -> None:
    whole = "".join(f"line {number:06d}\n" for number in range(42_000))
    assert len(whole) > 500_000
    (loop.project / "large.txt").write_text(whole)
    on = {"call_id": "call_big", "offset": 12 * 20_000, "limit": 24}
    loop.script(
        asks(call("run_command", "call_big", command="cat large.txt")),
        asks(("call_on", "read_output", json.dumps(on))),
        says("Read."),
    )
    assert loop.prompt().out.endswith("Read.\n")
    second, third = loop.server.requests[1:]
    assert "read_output" in offered(second)
    assert "read_output" not in offered(loop.server.requests[0])
    shown = json.dumps(second)
    assert len(shown) < 60_000
    assert "line 000000" in shown
    assert "line 041999" in shown
    assert "line 020000" not in shown
    told = third["messages"][-1]["content"]
    assert told == (
        "[Characters 240000 to 240024 of 504013; go on with offset 240024.]\n"
        "line 020000\nline 020001\n"
    )


def test_a_provider_that_fails_in_the_middle_leaves_a_sound_log(loop: Loop) -> None:
    loop.script(asks(call("read_file", path="poem.txt")))
    loop.server.script([chunk({"content": "It says"})])  # and is cut
    result = loop.prompt()
    assert result.code == 1, result
    assert loop.ends() == [("failed", 1)]
    assert loop.texts()[0].find("grey") >= 0
    loop.script(says("Now."))
    assert loop.prompt().out == "Now.\n"
    assert "the sea is grey" in loop.last()


def test_an_interruption_in_the_middle_answers_every_call(loop: Loop) -> None:
    loop.script(
        asks(
            call("run_command", "call_a", command="echo > begun; sleep 1000"),
            call("read_file", "call_b", path="poem.txt"),
        )
    )
    os.mkfifo(loop.project / "begun")
    running = loop.start()
    (loop.project / "begun").read_text()  # a pipe: it opens when the command does
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    assert [outcome for outcome, _ in loop.ends()] == ["interrupted"]
    by_id = {item["call_id"]: item for item in loop.outputs()}
    assert by_id["call_a"]["synthetic"] == "interrupted"
    assert "grey" in json.dumps(by_id["call_b"])
    loop.script(says("Again."))
    assert loop.prompt().out == "Again.\n"


def test_an_interruption_while_the_model_speaks_keeps_what_was_done(loop: Loop) -> None:
    loop.script(asks(call("read_file", path="poem.txt")))
    loop.server.script([chunk({"content": "It says "}), Hold()])
    running = loop.start()
    running.wait_for("It says")
    running.signal(signal.SIGINT)
    assert running.finish().code == 130
    assert len(loop.outputs()) == 1
    loop.script(says("Again."))
    assert loop.prompt().out == "Again.\n"
    assert "It says" in loop.last()


@pytest.mark.parametrize("is_another", [False, True])
def test_a_directory_that_goes_is_a_sentence_for_the_model(loop: Loop, is_another: bool) -> None:
    events = loop.speak(
        asks(call("read_file", "call_a", path="poem.txt"),
             call("run_command", "call_b", command="echo > new"), text="I look.")
    )  # fmt: skip
    loop.server.script([*events[:2], Hold(), *events[2:]])
    loop.script(says("Gone."))
    running = loop.start()
    running.wait_for("I look.")
    loop.project.rename(loop.world.home / "away")
    if is_another:
        loop.project.mkdir()
        (loop.project / "poem.txt").write_text("forged\n")
    loop.release()
    result = running.finish()
    assert result.code == 0, result
    assert len(loop.texts()) == 2
    for text in loop.texts():
        assert str(loop.project) in text
        assert ("another" if is_another else "gone") in text
        assert "forged" not in text
    assert not (loop.world.home / "away" / "new").exists()
    assert not (loop.project / "new").exists()


def test_history_is_searched_without_the_running_conversation(loop: Loop) -> None:
    loop.script(says("Lighthouses blink."))
    assert loop.world.ask("-s", "past", "What do lighthouses do?", cwd=loop.project).code == 0
    loop.script(asks(call("search_history", query="lighthouses")), says("They blink."))
    assert loop.prompt().code == 0
    (text,) = loop.texts()
    assert "(past)" in text
    assert "Lighthouses blink." in text
    assert "(work)" not in text


def test_nothing_is_fetched_from_this_machine(loop: Loop) -> None:
    url = loop.server.base_url
    loop.script(
        asks(
            call("fetch_url", "call_a", url=url), call("fetch_url", "call_b", url="http://[::1]/")
        ),
        says("So not."),
    )
    before = len(loop.server.requests)
    assert loop.prompt().code == 0
    assert len(loop.server.requests) == before + 2
    assert all(item["is_error"] for item in loop.outputs())
