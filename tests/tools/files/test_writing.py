"""A file is written whole, shown before, and only where and over what was shown."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from askd.core.approval import Grant
from askd.core.items import join_text
from askd.tools.files import make_file_tools, writing
from askd.tools.registry import Registry
from tests.fakes.workspaces import look, read_tree, refuse, run, say, stand_in

NAME = "write_file"


@pytest.fixture
def tools() -> Registry:
    return Registry(make_file_tools())


async def test_a_new_file_is_shown_and_then_made(tools: Registry, tmp_path: Path) -> None:
    site = stand_in(tmp_path)
    preview = await look(tools, site, NAME, path="a/b/new.txt", content="eins\nzwei\n")
    assert preview is not None
    assert preview.title == "Write a/b/new.txt (2 lines)"
    assert preview.body == "--- /dev/null\n+++ b/a/b/new.txt\n@@ -0,0 +1,2 @@\n+eins\n+zwei\n"
    assert preview.needs == "ask"
    assert preview.grant == Grant(tool="write_file", cwd=str(tmp_path), label="writing files here")
    assert preview.writes == ("a/b/new.txt",)
    assert os.listdir(tmp_path) == []
    said = await say(tools, site, NAME, path="a/b/new.txt", content="eins\nzwei\n")
    assert said == "Made a/b/new.txt: 2 lines, 10 bytes."
    assert (tmp_path / "a" / "b" / "new.txt").read_text() == "eins\nzwei\n"


async def test_a_file_that_is_there_is_replaced_with_its_mode_kept(
    tools: Registry, tmp_path: Path
) -> None:
    place = tmp_path / "run.sh"
    place.write_text("old\n")
    place.chmod(0o751)
    site = stand_in(tmp_path)
    preview = await look(tools, site, NAME, path="./run.sh", content="new\n")
    assert preview is not None
    assert preview.body == "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-old\n+new\n"
    assert await say(tools, site, NAME, path="./run.sh", content="new\n") == (
        "Replaced run.sh: 1 line, 4 bytes."
    )
    assert read_tree(tmp_path) == {"run.sh": "100751 new\n"}


@pytest.mark.parametrize(
    ("mode", "inner", "content"),
    [(0o755, 0o755, 0o644), (0o777, 0o755, 0o644), (0o700,) * 2 + (0o600,)],
)
async def test_what_is_new_is_as_open_as_its_directory(
    mode: int, inner: int, content: int, tools: Registry, tmp_path: Path
) -> None:
    os.chmod(tmp_path, mode)
    mask = os.umask(0o077)  # the daemon's
    try:
        await say(tools, stand_in(tmp_path), NAME, path="a/f", content="x")
    finally:
        os.umask(mask)
    modes = [each.partition(" ")[0][-4:] for each in read_tree(tmp_path).values()]
    assert modes == [f"{inner:04o}", f"{content:04o}"]


async def test_a_link_is_written_through_and_said(tools: Registry, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "real").write_text("old")
    (tmp_path / "link").symlink_to("a/real")
    site = stand_in(tmp_path)
    preview = await look(tools, site, NAME, path="link", content="new")
    assert preview is not None
    assert preview.title == "Write a/real (through link) (1 line)"
    assert preview.writes == ("a/real",)
    await say(tools, site, NAME, path="link", content="new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a" / "real").read_text() == "new"
    inside = await look(tools, site, NAME, path=f"{tmp_path}/a/real", content="x")
    assert inside is not None
    assert inside.title == "Write a/real (1 line)"


async def test_a_file_that_changed_since_it_was_shown_is_left(
    tools: Registry, tmp_path: Path
) -> None:
    place = tmp_path / "notes.md"
    site = stand_in(tmp_path)
    for change in (lambda: place.write_text("meanwhile"), place.unlink):
        assert await look(tools, site, NAME, path="notes.md", content="new") is not None
        change()
        # A second look, as after a restart, does not count as having been shown.
        assert await look(tools, site, NAME, path="notes.md", content="new") is not None
        before = read_tree(tmp_path)
        output = await run(tools, site, NAME, path="notes.md", content="new")
        assert output.is_error
        assert join_text(output.parts) == (
            "notes.md has changed since that was decided; read it again."
        )
        assert read_tree(tmp_path) == before
    assert (await say(tools, site, NAME, path="notes.md", content="new")).startswith("Made")


@pytest.mark.parametrize("path", ["link/f", "link/new"])
async def test_a_link_that_leads_elsewhere_since_it_was_shown_is_not_followed(
    path: str, tools: Registry, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("old")
    (tmp_path / "link").symlink_to("a")
    site = stand_in(tmp_path)
    calls: list[tuple[str, dict[str, object]]] = [(NAME, {"path": path, "content": "new"})]
    if path == "link/f":
        calls.append(("edit_file", {"path": path, "old": "old", "new": "new"}))
    for name, arguments in calls:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("a")
        assert await look(tools, site, name, **arguments) is not None
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("b")
        before = read_tree(tmp_path)
        output = await run(tools, site, name, **arguments)
        assert "has changed since that was decided" in join_text(output.parts)
        assert read_tree(tmp_path) == before


async def test_what_was_shown_of_another_call_does_not_count(
    tools: Registry, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("old")
    await look(tools, stand_in(tmp_path), NAME, path="f", content="new")
    (tmp_path / "f").write_text("meanwhile")
    other = stand_in(tmp_path, call_id="call_2")
    await say(tools, other, NAME, path="f", content="new")
    await say(tools, replace(stand_in(tmp_path), turn_id="t2"), NAME, path="f", content="new")


async def test_calls_at_the_same_time_do_not_undo_each_other(
    tools: Registry, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("".join(f"<{number}>\n" for number in range(8)))
    sites = [stand_in(tmp_path, call_id=f"call_{number}") for number in range(8)]

    async def edit(number: int) -> None:
        arguments = {"path": "f", "old": f"<{number}>", "new": f"[{number}]"}
        await say(tools, sites[number], "edit_file", **arguments)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(edit, number)
    assert (tmp_path / "f").read_text() == "".join(f"[{number}]\n" for number in range(8))


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "fchmod"])
@pytest.mark.parametrize("path", ["notes.md", "a/new.md"])
async def test_a_disk_that_fails_leaves_the_old_file_and_nothing_else(
    call: str, path: str, tools: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("old")
    (tmp_path / "a").mkdir()
    before = read_tree(tmp_path)

    def fail(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "write":
        real = os.fdopen

        def open_full(descriptor: int, mode: str) -> object:
            stream = real(descriptor, mode)
            if mode == "wb":
                stream.close()
                fail()
            return stream

        monkeypatch.setattr(os, "fdopen", open_full)
    else:
        monkeypatch.setattr(os, call, fail)
    output = await run(tools, stand_in(tmp_path), NAME, path=path, content="new")
    assert output.is_error
    assert join_text(output.parts) == f"{path}: No space left on device."
    assert read_tree(tmp_path) == before


@pytest.mark.parametrize(
    ("path", "closed", "said"),
    [
        ("a/f", "a/f", "a/f is read-only."),
        ("a/f", "a", "a/f: Permission denied."),
        ("a/new", "a", "a/new: Permission denied."),
        ("a/b/new", "a", "a/b/new: Permission denied."),
    ],
)
async def test_where_the_system_says_no_nobody_is_asked(
    path: str,
    closed: str,
    said: str,
    tools: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_text("old")
    real = os.access

    def refuse_closed(place: str, mode: int, **more: bool) -> bool:
        # Whoever runs the tests may be one to whom nothing is refused.
        return os.readlink(place) != str(tmp_path / closed) and real(place, mode, **more)

    monkeypatch.setattr(os, "access", refuse_closed)
    before = read_tree(tmp_path)
    assert await refuse(tools, stand_in(tmp_path), NAME, path=path, content="new") == said
    assert read_tree(tmp_path) == before


async def test_what_cannot_be_compared_is_said(
    tools: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = stand_in(tmp_path)
    (tmp_path / "f").write_bytes(b"\x7fELF\x00")
    preview = await look(tools, site, NAME, path="f", content="new\n")
    assert preview is not None
    assert preview.body.startswith("In place of 5 bytes that are no text (a program):\n\n---")
    assert preview.body.endswith("+new\n")
    monkeypatch.setattr(writing, "TEXT_BYTES", 4)
    preview = await look(tools, site, NAME, path="f", content="new\n")
    assert preview is not None
    assert preview.body.startswith("In place of 5 bytes, too many to be compared:\n\n---")
    (tmp_path / "g").write_text("new")
    preview = await look(tools, site, NAME, path="g", content="new")
    assert preview is not None
    assert preview.body == "It holds exactly that already."


async def test_in_a_home_nothing_is_allowed_for_good(tools: Registry, tmp_path: Path) -> None:
    site = stand_in(tmp_path, home=str(tmp_path))
    preview = await look(tools, site, NAME, path="f", content="x")
    assert preview is not None
    assert (preview.needs, preview.grant) == ("ask", None)


async def test_a_title_is_one_line_whatever_the_name(tools: Registry, tmp_path: Path) -> None:
    name = "a\nWrite b\x1b[2J"
    preview = await look(tools, stand_in(tmp_path), NAME, path=name, content="x")
    assert preview is not None
    assert preview.title == "Write a\\nWrite b\\x1b[2J (1 line)"
    assert "+++ b/a\\nWrite b\\x1b[2J\n" in preview.body


async def test_content_that_is_too_large_or_cannot_be_written_is_refused(
    tools: Registry, tmp_path: Path
) -> None:
    site = stand_in(tmp_path)
    large = "ü" * (writing.CONTENT_BYTES // 2)
    await say(tools, site, NAME, path="f", content=large)
    assert "more than can be written" in await refuse(
        tools, site, NAME, path="f", content=large + "x"
    )
    assert "lone surrogate" in await refuse(tools, site, NAME, path="f", content="\udc80")
    assert (tmp_path / "f").read_text() == large
