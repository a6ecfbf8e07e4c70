"""What is known of servers over restarts: whole or nothing, and no secret in it."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from askd.tools.mcp.base import describe_tool
from askd.tools.mcp.configs import ServerConfig
from askd.tools.mcp.known import FILE_BYTES, MOST_SERVERS, Known, KnownServers, digest_config

CONFIG = ServerConfig(
    name="time", command="mcp-server-time", args=("--x",), env={"TOKEN": "hunter2-secret"}
)
TOOL = describe_tool("time", "now", "Say the time.", {"type": "object"})
KNOWN = Known(at=12.5, version="1.0", rooted=True, resources=True, prompts=False, tools=[TOOL])


async def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state" / "known.json"
    store = KnownServers(path)
    assert store.find(CONFIG) is None
    await store.keep(CONFIG, KNOWN)
    assert store.find(CONFIG) == KNOWN
    assert KnownServers(path).find(CONFIG) == KNOWN
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["known.json"]


async def test_no_secret_is_in_it_nor_can_be_guessed_from_it(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    web = ServerConfig(name="web", url="https://x/mcp", headers={"X-Key": "hunter2-secret"})
    store = KnownServers(path)
    await store.keep(CONFIG, KNOWN)
    await store.keep(web, KNOWN)
    assert b"hunter2" not in path.read_bytes()
    assert digest_config(CONFIG) == digest_config(replace(CONFIG, env={"TOKEN": "another"}))
    assert digest_config(web) == digest_config(replace(web, headers={"X-Key": "another"}))


@pytest.mark.parametrize(
    "other",
    [
        replace(CONFIG, command="other"),
        replace(CONFIG, args=("--y",)),
        replace(CONFIG, env={"OTHER": "hunter2-secret"}),
        replace(CONFIG, cwd="/elsewhere"),
        ServerConfig(name="time", url="https://x/mcp"),
    ],
)
async def test_another_configuration_is_another_server(tmp_path: Path, other: ServerConfig) -> None:
    store = KnownServers(tmp_path / "known.json")
    await store.keep(CONFIG, KNOWN)
    assert store.find(other) is None


async def test_a_server_by_another_name_is_the_same(tmp_path: Path) -> None:
    store = KnownServers(tmp_path / "known.json")
    await store.keep(CONFIG, KNOWN)
    found = store.find(replace(CONFIG, name="clock"))
    assert found is not None
    assert [each.server for each in found.tools] == ["clock"]
    assert [each.digest for each in found.tools] == [TOOL.digest]


GOOD = {
    "at": 1, "version": None, "rooted": False, "resources": False, "prompts": False,
    "tools": [{"name": "now", "description": "", "schema": {}}],
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"version": 2, "servers": {}}',
        '{"version": 1, "servers": []}',
        "\x00",
        "\N{SNOWMAN}",
    ],
)
async def test_a_file_of_something_else_is_nothing_known(tmp_path: Path, content: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(content, encoding="utf-16" if content == "\N{SNOWMAN}" else "utf-8")
    store = KnownServers(path)
    assert store.find(CONFIG) is None
    await store.keep(CONFIG, KNOWN)
    assert KnownServers(path).find(CONFIG) == KNOWN


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {},
        {**GOOD, "at": "soon"},
        {**GOOD, "version": 3},
        {**GOOD, "tools": [{"name": 3, "description": "", "schema": {}}]},
        {**GOOD, "tools": [{"name": "now", "description": "", "schema": []}]},
        {**GOOD, "tools": "abc"},
    ],
)
def test_a_bad_entry_costs_itself_alone(tmp_path: Path, bad: object) -> None:
    path = tmp_path / "known.json"
    other = replace(CONFIG, command="other")
    servers = {digest_config(CONFIG): bad, digest_config(other): GOOD}
    path.write_text(json.dumps({"version": 1, "servers": servers}))
    store = KnownServers(path)
    assert store.find(CONFIG) is None
    assert store.find(other) is not None


async def test_only_so_many_are_remembered(tmp_path: Path) -> None:
    store = KnownServers(tmp_path / "known.json")
    configs = [replace(CONFIG, args=(str(k),)) for k in range(MOST_SERVERS + 1)]
    for at, config in enumerate(configs):
        await store.keep(config, replace(KNOWN, at=at))
    assert store.find(configs[0]) is None
    assert store.find(configs[-1]) is not None


async def test_what_was_written_can_be_read_again_however_much_there_is(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    store = KnownServers(path)
    long = describe_tool("time", "now", "x" * (FILE_BYTES // 3), {})
    for at in range(5):
        config = replace(CONFIG, args=(str(at),))
        await store.keep(config, replace(KNOWN, at=at, tools=[long]))
    assert path.stat().st_size <= FILE_BYTES
    again = KnownServers(path)
    found = [again.find(replace(CONFIG, args=(str(at),))) is not None for at in range(5)]
    assert found == [False, False, False, True, True]


async def test_a_directory_that_cannot_be_written_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    store = KnownServers(tmp_path / "file" / "known.json")
    await store.keep(CONFIG, KNOWN)
    assert "not kept" in caplog.text
    assert store.find(CONFIG) == KNOWN


async def test_a_pipe_is_not_waited_for_and_a_link_is_not_followed(tmp_path: Path) -> None:
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    assert KnownServers(pipe).find(CONFIG) is None
    target.write_text("mine")
    link.symlink_to(target)
    await KnownServers(link).keep(CONFIG, Known(at=1.0))
    assert target.read_text() == "mine"
    assert not link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
