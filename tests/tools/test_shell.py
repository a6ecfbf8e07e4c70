"""`run_command` with real processes, and nothing that confines them."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from askd.core.approval_questions import BODY_CHARACTERS
from askd.core.items import ToolCall, ToolOutput, join_text
from askd.tools import gitdirs, shell
from askd.tools.base import CannotRun, Preview, Site
from askd.tools.registry import Registry
from askd.tools.shell import COMMAND_BYTES, COMMANDS_AT_ONCE, SHELLS, CommandRules, make_run_command
from tests.fakes.sandboxes import Bare
from tests.fakes.tools import SITE
from tests.processes.test_launcher import is_running


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A caller who stands in an empty directory, with a home elsewhere and a key."""
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "OPENAI_API_KEY": "k"}
    return replace(SITE, cwd=str(tmp_path), env=env)


async def run(site: Site, command: str, **more: object) -> tuple[str, bool]:
    """What the model is told, and whether as an error."""
    return await run_by(CommandRules(timeout_s=20), site, command, **more)


async def run_by(rules: CommandRules, site: Site, command: str, **more: object) -> tuple[str, bool]:
    tool = make_run_command(sandbox=Bare, rules=lambda: rules)
    result = await tool.run({"command": command, **more}, site)
    return join_text(result.parts), result.is_error


async def preview(site: Site, command: str, sandbox: Bare | None = None) -> Preview:
    tool = make_run_command(sandbox=lambda: sandbox or Bare())
    return await tool.preview({"command": command}, site)


async def test_all_of_the_longest_command_is_shown(site: Site) -> None:
    """What is cut out of its middle would run unseen."""
    command = "#".ljust(COMMAND_BYTES, "x")
    shown = await preview(site, command)
    longest = shown.body + "d" * 4096  # a directory's name as long as there can be
    assert len(longest) <= BODY_CHARACTERS


# ---- what it answers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said", "is_error"),
    [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n[exit code 0]", False),
        ("exit 3", "[exit code 3]", True),
        ("printf 'no end of line'; exit 1", "no end of line\n[exit code 1]", True),
        ("kill -KILL $$", "[ended by SIGKILL]", True),
        ("sh -c 'kill -TERM $$'; exit $?", "Terminated\n[exit code 143, as after SIGTERM]", True),
        ("exit 254", "[exit code 254]", True),
        ("cat", "[exit code 0]", False),
        ("-x", None, True),
        ("printf '\\033]52;c;c2VjcmV0\\007\\033[31mred\\033[0m\\n'", "red\n[exit code 0]", False),
        ("printf '1%%\\r100%%\\n'", "100%\n[exit code 0]", False),
        ("printf '\\377\\000\\001ok'", "\ufffdok\n[exit code 0]", False),
        ("echo out; exec >&- 2>&-; exit 4", "out\n[exit code 4]", True),
    ],
)
async def test_output_and_then_how_it_ended(
    site: Site, command: str, said: str | None, is_error: bool
) -> None:
    text, was_error = await run(site, command)
    assert was_error == is_error
    if said is not None:
        assert text == said


async def test_a_command_that_is_not_there(site: Site) -> None:
    text, is_error = await run(site, "no-such-command-here")
    assert "not found" in text
    assert text.endswith("[exit code 127]")
    assert is_error


async def test_it_runs_where_the_caller_stands_with_what_was_picked(site: Site) -> None:
    assert (await run(site, "pwd"))[0] == f"{site.cwd}\n[exit code 0]"
    text, _ = await run(site, "env")
    assert "LC_ALL=C.UTF-8" in text
    assert "OPENAI_API_KEY" not in text


async def test_of_a_gigabyte_the_ends_are_kept_and_it_ends(site: Site) -> None:
    count = 64 << 20
    text, is_error = await run(
        site, f"echo first; head -c {count} /dev/zero | tr '\\0' x; echo; echo last"
    )
    assert not is_error
    assert text.startswith("first\nxxx")
    assert text.endswith("xxx\nlast\n[exit code 0]")
    left_out = count + len("first\n\nlast\n") - (1 << 20)
    assert f"[... {left_out:,} bytes left out ...]" in text
    assert len(text) < (1 << 20) + 100


# ---- time ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "echo begun; exec sleep 1000",
        "echo begun; exec >&- 2>&-; sleep 1000",
        "echo begun; trap '' TERM; while :; do sleep 0.02; done & wait; sleep 1000",
    ],
)
async def test_beyond_its_time_it_is_stopped_and_what_it_said_is_told(
    site: Site, command: str
) -> None:
    with trio.fail_after(10):
        text, is_error = await run_by(CommandRules(timeout_s=0.4), site, command)
    assert text == "begun\n[stopped after 0.4 s]"
    assert is_error


async def test_the_model_may_ask_for_less_time_and_not_for_more(site: Site) -> None:
    text, _ = await run(site, "sleep 1000", timeout_s=0.2)
    assert text == "[stopped after 0.2 s]"
    text, _ = await run_by(CommandRules(timeout_s=0.2), site, "sleep 1000", timeout_s=1e9)
    assert text == "[stopped after 0.2 s]"


async def test_what_it_leaves_running_is_ended_with_it(site: Site, tmp_path: Path) -> None:
    with trio.fail_after(8):
        text, _ = await run(site, "sleep 1000 & echo $! > pid; echo done")
    assert text == "done\n[exit code 0]"
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_who_waits_long_hears_that_it_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "REPORT_S", 0.1)
    said: list[str] = []
    site = replace(site, report=said.append)
    text, _ = await run_by(CommandRules(timeout_s=0.5), site, "echo on and on; sleep 1000")
    assert text == "on and on\n[stopped after 0.5 s]"
    assert len(said) >= 2
    assert said[-1] == "Run: echo on and on; sleep 1000: 0 s, 10 bytes of output"


async def test_a_stopped_call_leaves_nothing_behind(site: Site, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    begun = trio.Event()
    lines: list[str] = []

    def hear(sentence: str) -> None:
        lines.append(sentence)
        begun.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "REPORT_S", 0.3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, replace(site, report=hear), "sleep 1000 & echo $! > pid; wait")
            await begun.wait()
            nursery.cancel_scope.cancel()
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert len(os.listdir("/proc/self/fd")) == before


# ---- what cannot run -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"command": "echo \\u0000"}', "NUL"),
        ('{"command": "echo \\ud800"}', "unicode"),
        ('{"command": ""}', "at least 1 character"),
        ('{"command": "x", "timeout_s": -1}', "greater than 0"),
        ('{"command": "x", "timeout_s": NaN}', "finite number"),
        ('{"command": "x", "cwd": "/"}', "Extra inputs"),
        ("{}", "Field required"),
        ('{"command": "' + "x" * 1_000_000 + '"}', "1,000,000 bytes are more"),
    ],
)
async def test_arguments_that_are_none(site: Site, arguments: str, said: str) -> None:
    output = await call(site, arguments)
    assert output.is_error
    assert said in join_text(output.parts)
    assert len(join_text(output.parts)) < 1000


async def test_the_longest_command_runs(site: Site) -> None:
    command = "echo ok #".ljust(COMMAND_BYTES, "x")
    assert (await run(site, command))[0] == "ok\n[exit code 0]"


async def test_a_directory_that_is_gone_or_another_one(site: Site, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    status = place.stat()
    there = replace(site, cwd=str(place), cwd_id=f"{status.st_dev}:{status.st_ino}")
    assert (await run(there, "echo ok"))[0] == "ok\n[exit code 0]"
    place.rename(tmp_path / "elsewhere")
    with pytest.raises(CannotRun, match="is gone"):
        await run(there, "echo ok")
    place.mkdir()
    with pytest.raises(CannotRun, match="is another one now"):
        await run(there, "echo ok")


async def test_a_directory_that_goes_away_meanwhile_is_the_commands_own_trouble(
    site: Site, tmp_path: Path
) -> None:
    text, _ = await run(site, f"rmdir {tmp_path} && echo gone; ls; echo still here")
    assert text == "gone\nstill here\n[exit code 0]"


async def call(site: Site, arguments: str) -> ToolOutput:
    registry = Registry([make_run_command(sandbox=Bare)])
    return await registry.run(
        ToolCall("call_1", "run_command", arguments), item_id="t.1.1", site=site
    )


# ---- what it says it would do, and what it is kept to --------------------------------


async def test_a_preview_holds_the_whole_command_and_where_it_runs(site: Site) -> None:
    found = await preview(site, "make test\nrm -rf build", Bare("landlock"))
    assert found.title == "Run: make test ..."
    assert found.body == f"make test\nrm -rf build\n\nIn {site.cwd}, for 120 s at the most."
    assert (found.needs, found.writes, found.confined) == ("ask", (), True)
    assert found.command == "make test\nrm -rf build"
    assert found.confinement == "landlock, network False, writes to the working directory"
    assert not (await preview(site, "ls", Bare("none"))).confined


async def test_always_covers_what_the_command_begins_with_here(site: Site) -> None:
    found = (await preview(site, "git status --short")).grant
    assert found is not None
    assert (found.tool, found.only, found.cwd) == ("run_command", "git status", site.cwd)
    assert (await preview(site, "ls; rm -rf .")).grant is None


@pytest.mark.parametrize("is_home", [False, True])
async def test_nothing_is_writable_but_the_directory_unless_it_is_the_home(
    site: Site, tmp_path: Path, is_home: bool
) -> None:
    (tmp_path / ".git").mkdir()
    ours = tmp_path / "ours"
    ours.mkdir()
    if is_home:
        site = replace(site, env={**site.env, "HOME": str(tmp_path)})
    bare = Bare()
    rules = CommandRules(network=True, writable=("/var/cache/x",))
    tool = make_run_command(sandbox=lambda: bare, rules=lambda: rules, own=[str(ours)])
    await tool.run({"command": "true"}, site)
    (asked,) = bare.asked
    assert asked["writable"] == [*([] if is_home else [str(tmp_path)]), "/var/cache/x"]
    kept = [str(tmp_path)] if is_home else []
    assert sorted(asked["read_only"]) == [*kept, str(tmp_path / ".git"), str(ours)]
    assert asked["network"] is True
    shown = await tool.preview({"command": "true"}, site)
    said = "/var/cache/x" if is_home else "the working directory, /var/cache/x"
    assert shown.confinement == f"none, network True, writes to {said}"


async def test_a_repository_is_kept_wherever_a_command_may_write(
    site: Site, tmp_path: Path
) -> None:
    bare, more = Bare(), tmp_path / "more"
    (more / "project/.git").mkdir(parents=True)
    (tmp_path / "w").mkdir()
    rules = CommandRules(writable=(str(more), str(tmp_path / "gone")))
    tool = make_run_command(sandbox=lambda: bare, rules=lambda: rules)
    await tool.run({"command": "true"}, replace(site, cwd=str(tmp_path / "w")))
    assert bare.asked[0]["read_only"] == [str(more / "project/.git")]


async def test_what_was_protected_stays_so_in_a_tree_that_grew_too_large(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command may make more directories than are looked through, and try again."""
    (tmp_path / "lib/sub/.git").mkdir(parents=True)
    kept = str(tmp_path / "lib/sub/.git")
    bare = Bare()
    tool = make_run_command(sandbox=lambda: bare)
    monkeypatch.setattr(gitdirs, "SCAN_DIRECTORIES", 10)
    await tool.run({"command": "mkdir $(seq 20)"}, site)
    await tool.run({"command": "true"}, site)
    assert [kept in each["read_only"] for each in bare.asked] == [True, True]
    shutil.rmtree(kept)
    await tool.run({"command": "true"}, site)
    assert kept not in bare.asked[-1]["read_only"]


async def test_no_more_than_a_few_run_at_once(site: Site, tmp_path: Path) -> None:
    """Each counts those that are there while it is; none is passed over."""
    command = "touch on.$$; ls on.* | wc -l; sleep 0.1; rm on.$$"
    tool = make_run_command(sandbox=Bare)
    counts: list[int] = []

    async def one() -> None:
        text = join_text((await tool.run({"command": command}, site)).parts)
        counts.append(int(text.split()[0]))

    async with trio.open_nursery() as nursery:
        for _ in range(COMMANDS_AT_ONCE + 4):
            nursery.start_soon(one)
    assert len(counts) == COMMANDS_AT_ONCE + 4
    assert max(counts) <= COMMANDS_AT_ONCE


async def test_where_there_is_no_bash_it_is_sh(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def access(path: str, mode: int) -> bool:
        return path != SHELLS[0]

    monkeypatch.setattr(os, "access", access)
    text, _ = await run(site, "echo $0; echo -- -n")
    assert text.startswith("/bin/sh\n")
