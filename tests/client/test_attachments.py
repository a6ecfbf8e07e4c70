"""What is mentioned, read from a disk: contents, names, and what is refused."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ask import attachments
from ask.attachments import look, read_mentions
from ask.exits import Failed
from ask.fast.run import Carried
from ask.inputs import Input, attach_mentions, read_inputs
from ask.protocol.messages import BLOB_LIMIT_BYTES

PNG = b"\x89PNG\r\n\x1a\n and \0 so on"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def write(name: str, content: bytes | str = "one\ntwo\nthree\n") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(text: str, *beside: str) -> list[Input]:
    return read_mentions(text, beside=beside, quiet=True)[1]


def refuse(text: str) -> Failed:
    with pytest.raises(Failed) as caught:
        read(text)
    assert (caught.value.code, caught.value.data["reason"]) == (2, "bad_input")
    return caught.value


def test_a_file_is_named_as_it_was_written(here: Path) -> None:
    write("src/x.py", "pass\n")
    write("home/n.txt", "note")
    write("a b/ü.md", "ü")
    text, inputs = read_mentions('@src/x.py, @~/n.txt and @"a b/ü.md"')
    assert text == 'src/x.py, ~/n.txt and "a b/ü.md"'
    assert inputs == [
        Input(b"pass\n", "src/x.py"),
        Input(b"note", "~/n.txt"),
        Input("ü".encode(), "a b/ü.md"),
    ]


def test_each_is_attached_once(here: Path) -> None:
    write("x.py")
    Path("link.py").symlink_to("x.py")
    names = [each.name for each in read("@x.py @./x.py @link.py @x.py#L1 @./x.py#L1 @x.py#L2")]
    assert names == ["x.py", "x.py#L1", "x.py#L2"]
    assert read("@link.py", "x.py", "-", "/nowhere") == []


@pytest.mark.parametrize(
    ("lines", "content", "name"),
    [
        ("#L1", b"one\n", "x#L1"),
        ("#L2-3", b"two\nthree\n", "x#L2-3"),
        ("#L2-L9", b"two\nthree\n", "x#L2-3"),
        ("#L3-9", b"three\n", "x#L3"),
    ],
)
def test_lines_of_a_file(lines: str, content: bytes, name: str) -> None:
    write("x")
    assert read(f"@x{lines}") == [Input(content, name)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("#L4", "x has 3 lines, and no line 4."),
        ("#L0", "x has no lines 0 to 0; the first one is 1."),
        ("#L3-2", "x has no lines 3 to 2; the first one is 1."),
    ],
)
def test_lines_that_are_not_there(lines: str, words: str) -> None:
    write("x")
    assert refuse(f"@x{lines}").message == words


def test_lines_are_those_of_an_editor() -> None:
    write("x", "a\u2028b\r\nc\x0cd\n\nlast")
    assert [each.content.decode() for each in read("@x#L1 @x#L2 @x#L3 @x#L4")] == [
        "a\u2028b\r\n",
        "c\x0cd\n",
        "\n",
        "last\n",
    ]
    write("empty", "")
    assert refuse("@empty#L1").message == "empty has 0 lines, and no line 1."
    assert read("@empty") == [Input(b"", "empty")]


def test_lines_that_cannot_be_read_never_become_the_whole_file() -> None:
    write("x.py", "a\nb\n")
    for written in ("@x.py#L2-", "@x.py#L1O-2", '@"x.py"#Lx'):
        error = refuse(f"why {written}")
        assert error.code == 2
        assert "names no lines of x.py" in error.message
        assert "#L10-25" in str(error.hint)
    write("x.py#L2-", "c\n")
    assert read("@x.py#L2-") == [Input(b"c\n", "x.py#L2-")]


def test_an_image_goes_as_an_image() -> None:
    write("cat.txt", PNG)
    assert read("@cat.txt") == [Input(PNG, "cat.txt", "image/png")]
    assert refuse("@cat.txt#L1").message == "cat.txt is an image and has no lines."


def test_what_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write("elf.py", b"\x7fELF\0")
    write("latin.py", b"caf\xe9")
    assert refuse("@elf.py").message == "elf.py is a binary file; a mention takes text or an image."
    assert "latin.py is not valid UTF-8 text (at byte 3)" in refuse("@latin.py").message
    write("huge.py", b"x" * (BLOB_LIMIT_BYTES + 1))
    assert refuse("@huge.py").message == "huge.py is larger than 32 MiB."


def test_a_device_or_a_pipe_is_not_even_opened() -> None:
    os.mkfifo("pipe.txt")  # to open it would wait for a writer
    for name in ("pipe.txt", "/dev/null", "/dev/zero"):
        assert f"{name} is no regular file" in refuse(f"@{name}").message


def test_a_missing_one_is_named_and_how_to_mean_no_file() -> None:
    error = refuse("@nope.py")
    assert error.message == "There is no file nope.py to attach."
    assert error.hint == r"Not meant as a file? Write \@nope.py, or say --no-mentions."
    for written in ('@"no such"', '@"no such"#L3'):
        assert rf"Write \{written}, or" in str(refuse(f"see {written}").hint)
    many = refuse("@nope.py @nope.py @src/a.py#L3").message
    assert many == "There are no files nope.py, src/a.py#L3 to attach."
    Path("gone.py").symlink_to("nowhere")
    assert "no file gone.py" in refuse("@gone.py").message


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything; for a while it is somebody who may not."""
    Path().chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_one_that_may_not_be_read_is_said() -> None:
    write("locked/x.py").chmod(0)
    with as_nobody():
        assert refuse("@locked/x.py").message == "locked/x.py cannot be read: Permission denied."
    Path("locked").chmod(0)
    try:
        with as_nobody():
            assert "Permission denied" in refuse("@locked/x.py").message
            assert "Permission denied" in refuse("@locked/").message
    finally:
        Path("locked").chmod(0o700)


def test_what_is_denied_is_there_if_it_is_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: str) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "stat", deny)
    assert look("a/b") == "file"
    assert look("user") is None


@pytest.mark.parametrize("path", ["a\0b", "a" * 5000, "\ud800", "x/" * 3000])
def test_what_can_be_no_path_is_none(path: str) -> None:
    assert look(path) is None


# ---- directories ---------------------------------------------------------------------


def test_a_directory_is_its_text_files(capfd: Captured) -> None:
    write("src/b.py", "b")
    write("src/a/c.py", "c")
    write("src/cat.png", PNG)
    write("src/x.o", b"\0")
    write("src/late", b"x" * 9000 + b"\0")
    write("src/latin", b"\xe9")
    write("src/.env", "KEY=1")
    os.mkfifo("src/pipe")
    text, inputs = read_mentions("what does @src/ do? see @src/b.py")
    assert text == "what does src/ do? see src/b.py"
    assert inputs == [Input(b"c", "src/a/c.py"), Input(b"b", "src/b.py")]
    said = "src/: 2 files attached, 4 left out (binary, or unreadable).\n"
    assert capfd.readouterr() == ("", said)


def test_it_is_said_in_fewer_words_or_not_at_all(capfd: Captured) -> None:
    write("src/b.py", "b")
    read_mentions("@./src/ @src")
    assert capfd.readouterr().err == (
        "./src/: 1 file attached.\nsrc is a directory; to attach what it holds: @src/\n"
    )
    read_mentions("@./src/ @src", quiet=True)
    assert capfd.readouterr().err == ""


def test_a_directory_without_text_is_refused() -> None:
    write("src/x.o", b"\0")
    assert refuse("@src/").message == "src/ holds no text file."
    assert refuse("@src/#L3").message == "src/ is a directory and has no lines."


def test_a_directory_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        write(f"src/{name}", "é" * 50)
    monkeypatch.setattr(attachments, "DIRECTORY_LIMIT_BYTES", 300)
    assert len(read("@src/")) == 3
    for limit in (299, 298, 201, 1):
        monkeypatch.setattr(attachments, "DIRECTORY_LIMIT_BYTES", limit)
        error = refuse("@src/")
        assert "src/ holds more than" in error.message
        assert error.hint == "Mention the part that matters."
    monkeypatch.undo()


def test_a_directory_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write("src/a", "x")

    def deny(directory: str) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(attachments, "list_files", deny)
    assert refuse("@src/").message == "src/ cannot be read: Permission denied."


def test_a_file_that_went_meanwhile_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    write("src/a", "x")
    monkeypatch.setattr(attachments, "list_files", lambda directory: ["a", "gone"])
    assert [each.name for each in read_mentions("@src/")[1]] == ["src/a"]
    assert capfd.readouterr().err == "src/: 1 file attached, 1 left out (binary, or unreadable).\n"


def test_a_directory_of_too_many_files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        write(f"src/{name}", "x")
    with monkeypatch.context() as patch:
        patch.setattr("ask.folders.ENTRIES_LIMIT", 2)
        assert "src/ has more than" in refuse("@src/").message
    with monkeypatch.context() as patch:
        patch.setattr(attachments, "FILES_LIMIT", 2)
        assert refuse("@src/").message == "A prompt takes at most 2 files, and more are mentioned."


# ---- in a prompt ---------------------------------------------------------------------


def test_the_mentioned_stand_behind_the_files() -> None:
    write("x.py", "x")
    write("y.py", "y")
    text, mentioned = attach_mentions("see @x.py", quiet=True)
    carried = Carried("k")
    inputs = read_inputs(text, ["y.py"], carried, mentioned=mentioned, stdin=False, quiet=True)
    assert inputs == [Input(b"see x.py"), Input(b"y", "y.py"), Input(b"x", "x.py")]


def test_a_text_without_one_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "read_mentions", None)
    assert attach_mentions("mail a@b.c") == ("mail a@b.c", [])
