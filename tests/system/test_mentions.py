"""Mentions, from the command line and a terminal to the bytes that reach the model."""

import json
from typing import Any

from tests.system.test_bad_input import assert_sentence
from tests.system.test_prompt_options import PNG, images_in
from tests.system.test_terminal import Terminal
from tests.system.world import World


def contents(world: World) -> list[Any]:
    """What each request said last."""
    assert world.model is not None
    return [request["messages"][-1]["content"] for request in world.model.requests()]


def test_what_is_mentioned_reaches_the_model_once(world: World) -> None:
    source = world.home / "src" / "x.py"
    source.parent.mkdir()
    source.write_text("one\ntwo\nthree\n")
    (world.home / "my notes.md").write_text("note\n")
    result = world.ok(
        "-s", "work", "ECHO:why (@src/x.py#L2-9)?", '@"my notes.md", @./src/x.py#L2-9'
    )
    assert result.out == 'why (src/x.py#L2-9)? "my notes.md", ./src/x.py#L2-9\n'
    (content,) = contents(world)
    assert content == (
        '<file path="src/x.py#L2-3">\ntwo\nthree\n</file>\n\n'
        '<file path="my notes.md">\nnote\n</file>\n\n'
        'ECHO:why (src/x.py#L2-9)? "my notes.md", ./src/x.py#L2-9'
    )
    (accepted,) = [e for e in world.events("work") if e["type"] == "prompt_accepted"]
    assert "@" not in json.dumps(accepted["items"])


def test_a_directory_and_an_image(world: World) -> None:
    for name, content in (("a.txt", b"a\n"), ("b/c.txt", b"c\n"), ("d.png", PNG), (".env", b"k")):
        path = world.home / "top" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    result = world.ok("ECHO:see @top/")
    assert "top/: 2 files attached, 1 left out (binary, or unreadable).\n" in result.err
    world.ok("what is @top/d.png?")
    first, second = contents(world)
    assert first == (
        '<file path="top/a.txt">\na\n</file>\n\n'
        '<file path="top/b/c.txt">\nc\n</file>\n\nECHO:see top/'
    )
    assert images_in({"content": second}) == [PNG]


def test_what_cannot_be_attached_is_refused_and_nothing_asked(world: World) -> None:
    (world.home / "elf.py").write_bytes(b"\x7fELF\0")
    (world.home / "x.py").write_text("one\n")
    for words, said in (
        ("see @nope.py", "There is no file nope.py to attach."),
        ("see @elf.py", "elf.py is a binary file"),
        ("see @x.py#L3", "x.py has 1 line, and no line 3."),
        ("see @/dev/zero", "/dev/zero is no regular file"),
    ):
        assert_sentence(world.ask(words), 2, said)
    result = world.ask("--json", "see @nope.py")
    assert json.loads(result.out)["data"]["reason"] == "bad_input"
    assert contents(world) == []


def test_what_is_no_mention_stays(world: World) -> None:
    (world.home / "x.py").write_text("one\n")
    for words in ("me@x.py @user", "`@x.py` @app.get @scope/pkg"):
        assert world.ok(f"ECHO:{words}").out == f"{words}\n"
    assert world.ok("ECHO:see", r"\@nope.py").out == "see @nope.py\n"
    assert world.ok("--no-mentions", "ECHO:see @x.py").out == "see @x.py\n"
    assert world.ok(stdin=b"ECHO:see @x.py @nope.py").out == "see @x.py @nope.py\n"
    assert world.ok("chat", stdin=b"ECHO:see @x.py\n").out == "see @x.py\n"


def test_a_mention_that_is_typed_in_a_chat_and_an_attachment(world: World) -> None:
    (world.home / "x.py").write_text("one\n")
    chat = Terminal(world, "chat", "-s", "talk", env={"TERM": "dumb"})
    chat.wait_for("> ")
    chat.type("ECHO:chat @x.py\n")
    chat.wait_for("chat x.py")
    chat.type("@nope.py\n")
    chat.wait_for("There is no file nope.py to attach.")
    chat.type("/exit\n")
    assert chat.finish() == 0
    watcher = Terminal(world, "attach", "talk", env={"TERM": "dumb"})
    watcher.wait_for("chat x.py")
    watcher.type("ECHO:attached @x.py\n")
    watcher.wait_for("attached x.py")
    watcher.type("\x04")
    assert watcher.finish() == 0
    framed = '<file path="x.py">\none\n</file>\n\n'
    assert contents(world) == [f"{framed}ECHO:chat x.py", f"{framed}ECHO:attached x.py"]
