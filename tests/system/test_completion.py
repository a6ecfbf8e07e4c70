"""Tab in the real shells: what they make of it with a daemon, without one, with a stuck one."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.system.shells import SHELLS, open_shell
from tests.system.world import ASK, World

in_each_shell = pytest.mark.parametrize("kind", SHELLS)
BACK_S = 3.0
"""Until a prompt is back whose daemon says nothing: a tenth of a second, and a busy machine."""

NAMES = (
    "plain",
    "two words",
    'it\'s "quoted"',
    "dollar $HOME $(touch owned)",
    "eval `touch owned`",
    "key:value:more",
    "name,with,commas",
    "back\\slash \\n",
    "star * ? [a] {b,c}",
    "hash #x ~y",
    "loud!x !! !$",
    "more < in > out | cat & ; (x)",
    "equals=x@y%z^",
    "\u00fcber k\u00fcche \U0001f469\u200d\U0001f680",
    "\u65e5\u672c\u8a9e \u540d",
)
"""Each begins with letters that no other begins with."""


def make_place(world: World) -> Path:
    """A directory with some files."""
    place = world.home / "place"
    (place / "src" / "deep er").mkdir(parents=True)
    for name in ("src/one.py", "src/a b.py", "read me.txt", "it's $x.txt"):
        (place / name).touch()
    return place


@in_each_shell
def test_commands_options_and_fixed_words(world: World, kind: str) -> None:
    with open_shell(kind, world) as shell:
        assert shell.complete("ask hist") == ["ask", "history"]
        assert shell.complete("ask history sc") == ["ask", "history", "scrub"]
        assert shell.complete("ask mcp add-") == ["ask", "mcp", "add-json"]
        assert shell.complete("ask --appr") == ["ask", "--approve"]
        assert shell.complete("ask --approve de") == ["ask", "--approve", "deny"]
        assert shell.complete("ask --approve=de") == ["ask", "--approve=deny"]
        assert shell.complete("ask jobs list --state sch")[-1] == "scheduled"
        assert shell.complete("ask completion fi")[-1] == "fish"
        assert shell.complete("ask -q --ephe") == ["ask", "-q", "--ephemeral"]
        listed = shell.list_words("ask jobs ")
        assert all(each in listed for each in ("cancel", "list", "logs", "retry", "show", "wait"))
        listed = shell.list_words("ask history export --")
        if kind != "bash":
            assert "Write to this file" in listed
        assert "--format" in listed
    assert world.owner() is None, "a daemon was started"


@in_each_shell
def test_nothing_is_offered_where_a_prompts_words_stand(world: World, kind: str) -> None:
    place = make_place(world)
    with open_shell(kind, world, place) as shell:
        for line in ("ask hello re", "ask -- re", "ask -- @sr", "ask -- --app", "ask -q his"):
            assert shell.complete(line) == line.split(), "nothing begins so that is meant there"
        assert shell.complete("ask list re") == ["ask", "list", "re"]
        assert shell.complete("ask -S re") == ["ask", "-S", "re"]


@in_each_shell
def test_files_where_files_are_meant(world: World, kind: str) -> None:
    place = make_place(world)
    with open_shell(kind, world, place) as shell:
        for line, last in {
            "ask -f rea": "read me.txt",
            "ask -a src/o": "src/one.py",
            "ask hello -f src/a": "src/a b.py",
            "ask -o it": "it's $x.txt",
            "ask --file=src/o": "--file=src/one.py",
            "ask -fsrc/a": "-fsrc/a b.py",
            "ask history import rea": "read me.txt",
            "ask @src/o": "@src/one.py",
            "ask what is @src/a": "@src/a b.py",
            "ask @rea": "@read me.txt",
            'ask "what is in @src/o': "what is in @src/one.py",
            "ask 'what is in @rea": "what is in @read me.txt",
            "ask @~/pla": "@~/place/",
            "ask -f ~/pla": f"{world.home}/place/",
        }.items():
            assert shell.complete(line)[-1].removesuffix("/") == last.removesuffix("/"), line
        assert shell.complete("ask @sr", more="on") in (["ask", "@src/on"], ["ask", "@srcon"])
        drawn = shell.list_words("ask mcp add x --cwd ")
        assert "read me" not in drawn


@in_each_shell
def test_conversations_by_name_and_id(world: World, kind: str) -> None:
    ids = {name: world.ok("new", name).out.strip() for name in NAMES}
    with open_shell(kind, world) as shell:
        for name in NAMES:
            shell.expect(f"ask history show {name[:2]}", ["ask", "history", "show", name])
        shell.expect("ask -s 'tw", ["ask", "-s", "two words"])
        shell.expect('ask -s "two w', ["ask", "-s", "two words"])
        shell.expect("ask -s two\\ w", ["ask", "-s", "two words"])
        shell.expect("ask -s 'it", ["ask", "-s", 'it\'s "quoted"'])
        shell.expect('ask -s "do', ["ask", "-s", "dollar $HOME $(touch owned)"])
        shell.expect("ask -s key:va", ["ask", "-s", "key:value:more"])
        shell.expect("ask -s equals=x@", ["ask", "-s", "equals=x@y%z^"])
        shell.expect("ask --session=pl", ["ask", "--session=plain"])
        shell.expect("ask -spl", ["ask", "-splain"])
        shell.expect(f"ask resume {ids['plain'][:9]}", ["ask", "resume", ids["plain"]])
        shell.expect_listed("ask resume ", "plain", "hash", "name,with,commas")
        assert shell.complete("ask -s nope") == ["ask", "-s", "nope"]
    assert not list(world.home.rglob("owned")), "a name was run"


@in_each_shell
def test_a_title_stands_beside_a_name_and_obeys_nobody(world: World, kind: str) -> None:
    world.ok("-s", "work", "ECHO:x What \x1b]0;seized\x07 is \u202ethis about?")
    world.ok("new", "other")
    with open_shell(kind, world) as shell:
        listed = shell.expect_listed("ask resume ", "other", "work")
        assert ("What" in listed) is (kind != "bash"), "bash lists words alone"
        assert "\u202e" not in shell.screen
        assert "\x1b]0;seized" not in shell.screen
        shell.expect("ask history show wo", ["ask", "history", "show", "work"])


@in_each_shell
def test_messages_and_pins_by_their_numbers(world: World, kind: str) -> None:
    world.ok("-s", "work", "ECHO:one")
    world.ok("pin", "work", "2")
    with open_shell(kind, world) as shell:
        shell.expect("ask unpin work ", ["ask", "unpin", "work", "2"])
        shell.expect("ask pin work ", ["ask", "pin", "work", "1"])
        assert shell.complete("ask unpin work 1") == ["ask", "unpin", "work", "1"]


@in_each_shell
def test_models_tools_servers_jobs_and_templates(world: World, kind: str) -> None:
    config = world.ask_home / "config"
    (config / "templates").mkdir(parents=True)
    (config / "templates" / "translate it.md").write_text("Say $input in $language.")
    config.joinpath("config.toml").write_text(
        '[aliases]\nquick = "openai/gpt-5:free"\n'
        '[mcpServers.docs]\ncommand = "docs"\nenabled = false\n'
    )
    world.ok("models", "list")
    job = world.ok("--detach", "ECHO:hi").out.strip()
    with open_shell(kind, world) as shell:
        shell.expect("ask -m qui", ["ask", "-m", "quick"])
        shell.expect("ask -m openai/gpt-5:f", ["ask", "-m", "openai/gpt-5:free"])
        shell.expect("ask --model=openai/gpt-5:f", ["ask", "--model=openai/gpt-5:free"])
        shell.expect("ask models default qui", ["ask", "models", "default", "quick"])
        shell.expect("ask -T read_file,write_f", ["ask", "-T", "read_file,write_file"])
        shell.expect("ask mcp test do", ["ask", "mcp", "test", "docs"])
        shell.expect("ask auth logout opena", ["ask", "auth", "logout", "openai"])
        shell.expect(f"ask jobs show {job[:6]}", ["ask", "jobs", "show", job])
        shell.expect("ask -t tr", ["ask", "-t", "translate it"])


@pytest.mark.parametrize("trouble", ["none", "stopped"])
@in_each_shell
def test_without_a_daemon_that_answers_the_prompt_is_back_at_once(
    world: World, kind: str, trouble: str
) -> None:
    if trouble == "stopped":
        world.ok("new", "work")
        os.kill(world.daemon_pid(), signal.SIGSTOP)
    try:
        with open_shell(kind, world) as shell:
            shell.complete("ask hist")  # the shell has loaded what it needs
            began = time.monotonic()
            assert shell.complete("ask -s wo") == ["ask", "-s", "wo"]
            assert time.monotonic() - began < BACK_S
            drawn = shell.list_words("ask -s wo")
            assert "Traceback" not in drawn
            assert shell.complete("ask hist") == ["ask", "history"]
    finally:
        if trouble == "stopped":
            os.kill(world.daemon_pid(), signal.SIGCONT)
    if trouble == "none":
        assert world.owner() is None


@in_each_shell
def test_the_scripts_begin_without_a_word(world: World, kind: str) -> None:
    """Also with options that make shells strict, and twice."""
    strict = {"bash": "set -u; ", "zsh": "setopt no_unset ksh_arrays; ", "fish": ""}[kind]
    with open_shell(kind, world) as shell:
        shell.type(f"{strict}echo str''ict\n")
        shell.read_until(lambda: "strict" in shell.screen)
        assert shell.complete("ask hist") == ["ask", "history"]


def test_fish_says_the_same_where_nobody_sits_at_it(world: World) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    done = subprocess.run(
        ["fish", "--no-config", "-c", "ask completion fish | source; complete -C 'ask history s'"],
        env={**world.env, "PATH": f"{Path(ASK).parent}:{world.env['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["scrub", "search", "show"]
    assert done.stderr == ""


def test_zsh_finds_it_as_a_file_on_its_path(world: World) -> None:
    functions = world.home / "functions"
    functions.mkdir()
    (functions / "_ask").write_text(world.ok("completion", "zsh").out)
    with open_shell("zsh", world) as shell:
        shell.type(
            f"fpath=({functions} $fpath); unset '_comps[ask]'; unfunction _ask; echo go''ne\n"
        )
        shell.read_until(lambda: "\ngone" in shell.screen.replace("\r", ""))
        assert shell.complete("ask hist") == ["ask", "hist"]
        shell.type("compinit -D; echo re''ad\n")
        shell.read_until(lambda: "\nread" in shell.screen.replace("\r", ""))
        assert shell.complete("ask hist") == ["ask", "history"]
        assert shell.complete("ask jobs ca") == ["ask", "jobs", "cancel"]
