"""The texts of a prompt: what is taken, what is refused, how it travels."""

import hashlib
import os
from pathlib import Path

import pytest

from ask.commands.root import main
from ask.connection import connect
from ask.exits import Failed
from ask.fast.codec import Answer
from ask.fast.run import Carried
from ask.inputs import FILES_LIMIT, INLINE_LIMIT_BYTES, Input, read_inputs, send_parts
from ask.protocol.messages import BLOB_LIMIT_BYTES
from tests.fakes.daemon import FakeDaemon


@pytest.fixture
def carried() -> Carried:
    """The short way has done nothing yet."""
    return Carried("k")


def read(
    text: str, *files: str, carried: Carried, images: tuple[str, ...] = (), stdin: bool = True
) -> list[Input]:
    return read_inputs(text, files, carried, images=images, stdin=stdin, quiet=True)


def test_words_then_files_then_stdin(tmp_path: Path, stdin: int, carried: Carried) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a note")
    os.write(stdin, b"a log")
    os.close(stdin)
    assert read("why?", str(path), carried=carried) == [
        Input(b"why?"),
        Input(b"a note", str(path)),
        Input(b"a log", "stdin"),
    ]
    assert carried.stdin == b"a log"


def test_a_prompt_has_so_many_files_and_no_more(
    lone_home: Path, tmp_path: Path, carried: Carried, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a note")
    many = [str(path)] * FILES_LIMIT
    assert len(read("why?", *many, carried=carried, stdin=False)) == FILES_LIMIT + 1
    with FakeDaemon(lone_home) as daemon:
        words = [word for each in [*many, "/nowhere"] for word in ("-f", each)]
        assert main(["--no-stdin", "why?", *words]) == 2
    assert capfd.readouterr().err == "A prompt takes at most 1000 files, not 1001.\n"
    assert daemon.requests == []


def test_what_the_short_way_has_read_is_not_read_again(stdin: int, carried: Carried) -> None:
    carried.stdin, carried.more = b"begun ", True
    os.write(stdin, b"and ended")
    os.close(stdin)
    assert read("", carried=carried) == [Input(b"begun and ended")]
    assert read("", carried=carried) == [Input(b"begun and ended")]


def test_an_accepted_prompt_reads_no_more(stdin: int, carried: Carried) -> None:
    carried.answer = Answer({"conversation_id": "c", "turn_id": "t", "seq": 1})
    assert read("hi", carried=carried) == [Input(b"hi")]  # or it would wait for the pipe
    os.close(stdin)


def test_without_stdin_it_is_not_looked_at(stdin: int, carried: Carried) -> None:
    assert read("hi", carried=carried, stdin=False) == [Input(b"hi")]
    os.close(stdin)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x7fELF\0\0", "is a binary file"),
        (b"caf\xe9", r"not valid UTF-8 text \(at byte 3\)"),
        (b"x" * (BLOB_LIMIT_BYTES + 1), "is larger than 32 MiB"),
    ],
)
def test_files_that_are_no_text(
    tmp_path: Path, carried: Carried, content: bytes, text: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(Failed, match=text) as caught:
        read("hi", str(path), carried=carried)
    assert caught.value.code == 2
    assert str(path) in caught.value.message


@pytest.mark.parametrize("path", ["/no/such/file", "/"])
def test_files_that_cannot_be_read(carried: Carried, path: str) -> None:
    with pytest.raises(Failed, match=f"{path} cannot be read"):
        read("hi", path, carried=carried)


def test_words_that_are_no_text(carried: Carried) -> None:
    with pytest.raises(Failed, match="not valid UTF-8"):
        read("caf\udce9", carried=carried)


def test_stdin_that_is_no_text(carried: Carried) -> None:
    carried.stdin = b"\xff"
    with pytest.raises(Failed, match="Standard input is not valid UTF-8"):
        read("hi", carried=carried)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_to_ask(carried: Carried, text: str) -> None:
    with pytest.raises(Failed, match="The prompt is empty") as caught:
        read(text, carried=carried)
    assert (caught.value.code, caught.value.data["reason"]) == (2, "empty_prompt")


def test_stdin_of_exactly_the_limit_and_a_byte_more(tmp_path: Path, carried: Carried) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * BLOB_LIMIT_BYTES)
    before = os.dup(0)
    for more, taken in ((b"", True), (b"y", False)):
        with path.open("ab") as stream:
            stream.write(more)
        handle = os.open(path, os.O_RDONLY)
        os.dup2(handle, 0)
        os.close(handle)
        carried = Carried("k")
        if taken:
            (found,) = read("", carried=carried)
            assert len(found.content) == BLOB_LIMIT_BYTES
        else:
            with pytest.raises(Failed, match="larger than 32 MiB") as caught:
                read("", carried=carried)
            assert caught.value.code == 2
    os.dup2(before, 0)
    os.close(before)


def test_large_texts_travel_in_chunks(lone_home: Path) -> None:
    large = "é".encode() * INLINE_LIMIT_BYTES
    with FakeDaemon(lone_home) as daemon, connect() as client:
        parts = send_parts(client, [Input(b"why?"), Input(large, "log.txt")])
    digest = hashlib.sha256(large).hexdigest()
    described = {"sha256": digest, "bytes": len(large), "media_type": "text/plain"}
    assert parts == [
        {"type": "text", "text": "why?"},
        {"type": "blob", **described, "name": "log.txt"},
    ]
    chunks = daemon.asked("blob/put")
    assert b"".join(chunk["bytes"] for chunk in chunks) == large
    assert [chunk["offset"] for chunk in chunks] == [0, 256 * 1024]
    assert {chunk["sha256"] for chunk in chunks} == {digest}


def test_many_texts_together_do_not_burst_a_message(lone_home: Path) -> None:
    texts = [Input(b"x" * INLINE_LIMIT_BYTES, str(n)) for n in range(4)]
    with FakeDaemon(lone_home), connect() as client:
        parts = send_parts(client, texts)
    assert [part["type"] for part in parts] == ["text", "text", "blob", "blob"]


def test_a_binary_input_is_refused_like_a_file(stdin: int, carried: Carried) -> None:
    os.write(stdin, b"a\0b")
    os.close(stdin)
    with pytest.raises(Failed, match="Standard input is binary") as caught:
        read("hi", carried=carried)
    assert (caught.value.code, caught.value.data["reason"]) == (2, "bad_input")


def test_an_input_that_is_late(stdin: int, carried: Carried) -> None:
    os.write(stdin, b"begun")
    carried.deadline = 0.0
    with pytest.raises(Failed, match="while standard input was read") as caught:
        read("hi", carried=carried)
    os.close(stdin)
    assert caught.value.code == 124


# ---- images --------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n and \0 so on"
GIF = b"GIF89a and so on"


def test_images_are_told_by_their_content(tmp_path: Path, carried: Carried) -> None:
    path = tmp_path / "cat.txt"
    path.write_bytes(PNG)
    other = tmp_path / "dog.png"
    other.write_bytes(GIF)
    inputs = read("what?", carried=carried, images=(str(path), str(other)), stdin=False)
    assert inputs[1:] == [
        Input(PNG, str(path), "image/png"),
        Input(GIF, str(other), "image/gif"),
    ]


def test_an_image_needs_no_words(tmp_path: Path, carried: Carried) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(PNG)
    assert len(read("", carried=carried, images=(str(path),), stdin=False)) == 1


def test_an_image_on_standard_input(stdin: int, carried: Carried) -> None:
    os.write(stdin, PNG)
    os.close(stdin)
    assert read("what?", carried=carried, images=("-",)) == [
        Input(b"what?"),
        Input(PNG, "stdin", "image/png"),
    ]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (("",), "-a needs an image, and its name is empty."),
        (("/nowhere",), "/nowhere cannot be read: No such file or directory."),
        (("-",), "-a - takes an image from standard input, and there is none."),
        (("x",) * (FILES_LIMIT + 1), "A prompt takes at most 1000 files, not 1001."),
    ],
)
def test_images_that_cannot_be_had(carried: Carried, images: tuple[str, ...], message: str) -> None:
    with pytest.raises(Failed) as caught:
        read("what?", carried=carried, images=images, stdin=False)
    assert (caught.value.message, caught.value.code) == (message, 2)


@pytest.mark.parametrize(
    ("content", "hint"), [(b"a note", "Attach text with -f."), (b"%PDF\0", None), (b"<svg/>", "")]
)
def test_what_is_no_image(
    tmp_path: Path, carried: Carried, content: bytes, hint: str | None
) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(
        Failed, match="is no image of the kinds that models take: PNG, JPEG,"
    ) as caught:
        read("what?", carried=carried, images=(str(path),), stdin=False)
    assert caught.value.data["reason"] == "bad_input"
    assert hint == "" or caught.value.hint == hint


def test_standard_input_is_one_image(stdin: int, carried: Carried) -> None:
    os.close(stdin)
    with pytest.raises(Failed, match="-a - can be given once"):
        read("what?", carried=carried, images=("-", "-"))


def test_standard_input_that_is_no_image(stdin: int, carried: Carried) -> None:
    os.write(stdin, b"text")
    os.close(stdin)
    with pytest.raises(Failed, match="Standard input is no image"):
        read("what?", carried=carried, images=("-",))


def test_images_that_are_too_large(
    tmp_path: Path, stdin: int, carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ask.inputs.BLOB_LIMIT_BYTES", 10)
    path = tmp_path / "cat.png"
    path.write_bytes(PNG)
    with pytest.raises(Failed, match=r"cat\.png is larger than"):
        read("what?", carried=carried, images=(str(path),), stdin=False)
    os.write(stdin, PNG)
    os.close(stdin)
    with pytest.raises(Failed, match="Standard input is larger than"):
        read("what?", carried=carried, images=("-",))


def test_an_image_for_f_is_told_where_it_belongs(tmp_path: Path, carried: Carried) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(PNG)
    with pytest.raises(Failed, match="is a binary file") as caught:
        read("what?", str(path), carried=carried, stdin=False)
    assert caught.value.hint == "Attach an image with -a."


def test_an_image_travels_as_a_blob_however_small(lone_home: Path) -> None:
    with FakeDaemon(lone_home) as daemon, connect() as client:
        (part,) = send_parts(client, [Input(GIF, "cat.gif", "image/gif")])
    digest = hashlib.sha256(GIF).hexdigest()
    described = {"sha256": digest, "bytes": len(GIF), "media_type": "image/gif"}
    assert part == {"type": "blob", **described, "name": "cat.gif"}
    (put,) = daemon.asked("blob/put")
    assert put["bytes"] == GIF
