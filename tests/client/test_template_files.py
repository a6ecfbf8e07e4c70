"""Files of templates: only what is text of a fitting size is read, and nothing is waited for."""

import os
from pathlib import Path

import pytest

from ask.exits import Failed
from ask.template_files import FILE_LIMIT_BYTES, find_path, list_names, read_template, read_text


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home of its own, with a directory for templates."""
    (tmp_path / "config" / "templates").mkdir(parents=True)
    return {"ASK_HOME": str(tmp_path)}


def put(environ: dict[str, str], name: str, content: bytes = b"Say hi.\n") -> Path:
    path = find_path(name, environ)
    path.write_bytes(content)
    return path


def refuse(name: str, environ: dict[str, str], code: int = 2) -> Failed:
    with pytest.raises(Failed) as caught:
        read_template(name, environ)
    assert caught.value.code == code
    return caught.value


def test_a_template_is_a_file_of_its_name(environ: dict[str, str]) -> None:
    path = put(environ, "mit Wörtern")
    assert path == Path(environ["ASK_HOME"]) / "config" / "templates" / "mit Wörtern.md"
    assert read_text("mit Wörtern", environ) == "Say hi.\n"
    assert read_template("mit Wörtern", environ).body == "Say hi."


def test_a_link_is_followed(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("Here.")
    find_path("t", environ).symlink_to(tmp_path / "elsewhere")
    assert read_template("t", environ).body == "Here."


def test_names_are_those_of_files_that_templates_can_have(environ: dict[str, str]) -> None:
    directory = put(environ, "b").parent
    for name in ("a.md", ".hidden.md", "-x.md", "a:b.md", "notes.txt", "b.md~", ".md"):
        (directory / name).write_text("x")
    Path(os.fsdecode(os.fsencode(directory) + b"/\xff.md")).write_text("x")
    assert list_names(environ) == ["a", "b"]


def test_no_directory_is_no_templates(tmp_path: Path) -> None:
    environ = {"ASK_HOME": str(tmp_path / "none")}
    assert list_names(environ) == []
    error = refuse("t", environ, 3)
    assert (error.message, error.hint) == (
        "There is no template 't'.",
        "Write it: ask templates edit t",
    )


def test_a_directory_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "templates").write_text("")
    environ = {"ASK_HOME": str(tmp_path)}
    with pytest.raises(Failed, match="templates cannot be read"):
        list_names(environ)
    assert "cannot be read" in refuse("t", environ).message


def test_the_nearest_is_named(environ: dict[str, str]) -> None:
    put(environ, "review")
    error = refuse("reveiw", environ, 3)
    assert error.hint == "Did you mean 'review'?"
    assert error.data == {"reason": "template_not_found", "candidates": ["review"]}


@pytest.mark.parametrize("name", ["../t", "/etc/passwd", ".t", "-t", ""])
def test_no_name_leads_elsewhere(environ: dict[str, str], name: str) -> None:
    assert refuse(name, environ).data["reason"] == "bad_name"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x" * (FILE_LIMIT_BYTES + 1), "is larger than 256 KiB"),
        (b"a\0b", "is no text"),
        (b"one\ntw\xff", "is not valid UTF-8 (line 2, at byte 6)"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_text_of_a_fitting_size(
    environ: dict[str, str], content: bytes, said: str
) -> None:
    put(environ, "t", content)
    assert said in refuse("t", environ).message


def test_what_is_no_file(environ: dict[str, str], tmp_path: Path) -> None:
    directory = find_path("t", environ).parent
    (directory / "dir.md").mkdir()
    assert "is a directory" in refuse("dir", environ).message
    os.mkfifo(directory / "pipe.md")
    assert "is no file" in refuse("pipe", environ).message, "and it was not waited for"
    (directory / "loop.md").symlink_to(directory / "loop.md")
    assert "cannot be read (Too many levels of symbolic links)" in refuse("loop", environ).message
    (directory / "gone.md").symlink_to(tmp_path / "nowhere")
    assert "leads to a file that is not there" in refuse("gone", environ).message
    (directory / "null.md").symlink_to("/dev/null")
    assert "is no file" in refuse("null", environ).message
    assert list_names(environ) == ["dir", "gone", "loop", "null", "pipe"], "each is there to see"


def test_a_name_that_the_system_takes_no_more(environ: dict[str, str]) -> None:
    assert "File name too long" in refuse("😀" * 64, environ).message
