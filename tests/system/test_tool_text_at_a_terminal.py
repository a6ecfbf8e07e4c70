"""Whatever tools and their calls say, wherever a terminal shows it: it obeys none of it.

Hundreds of sequences, each in a call's arguments, in a command's output, in the name of a file,
in a refusal's reason; cut wherever a title, a line or a body is cut. The terminal gets no
escape, no C1, no lone carriage return, and nothing that turns its text around.
"""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.servers import write_config
from tests.system.test_approvals import leave, wait_asked
from tests.system.test_detached import wait
from tests.system.test_terminal import Terminal
from tests.system.test_tools_at_a_terminal import calls
from tests.system.world import LIMIT_S, World

STARTS = (
    "\x1b[", "\x9b", "\x1b]", "\x9d", "\x1bP", "\x90", "\x1bX", "\x98", "\x1b^", "\x9e", "\x1b_",
    "\x9f", "\x1b(", "\x1b#", "\x1b%", "\x1b", "\x1b\x1b[", "\x1b[\x1b]", "\x1b]\x1b[",
)  # fmt: skip
BODIES = (
    "2J", "31m", "?1049h", "6n", "52;c;cm0gLXJmIH4=", "0;mine", "8;;http://127.0.0.1/", "1;1H",
    "$q\"p", "c", "Gi=1,a=q;AAAA", "", "31", "99999999999C",
)  # fmt: skip
ENDS = ("\x07", "\x1b\\", "\x9c", "\x18", "\n", "")
ALONE = (
    *(chr(code) for code in (*range(1, 9), *range(11, 32), *range(127, 160))),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029",
    "x\ry", "\x1b7\x1b8", "\b\b\brm",
)  # fmt: skip
CORPUS = [
    *(f"{start}{body}{end}" for start, body, end in itertools.product(STARTS, BODIES, ENDS)),
    *ALONE,
]
PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}
MARKS = "\u200e\u200f\u061c\u2028\u2029"
"""Turn nothing around by themselves; no terminal obeys them."""
STEP = "\r\x1b[K"
"""All that we send such a terminal ourselves: the spinner's step."""
CALLS_AT_ONCE = 12
SHORT = [each for each in CORPUS if len(each) < 5][::4]
"""So short that how a call for it ended has its place on the line."""
LONG_S = 10.5
"""A little longer than a command may run without a word about it."""


@pytest.fixture
def project(world: World) -> Path:
    assert world.model is not None
    provider = f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
    write_config(world, f'{provider}[models."here/fake"]\ncontext_window = 900000\n')
    world.env["ASK_MODEL"] = "here/fake"
    del world.env["OPENAI_API_KEY"], world.env["OPENAI_BASE_URL"]
    found = world.home / "project"
    found.mkdir()
    return found


def portions() -> Iterator[str]:
    """The whole corpus in so many texts, of which whoever cuts them cuts each elsewhere."""
    shuffled = random.Random(6).sample(CORPUS, len(CORPUS))
    for number in range(CALLS_AT_ONCE):
        yield f"true {'x' * number * 7}" + " ".join(shuffled[number::CALLS_AT_ONCE])


def check(screen: str, *, allowed: str = "") -> None:
    """Nothing in it but characters that are shown."""
    # What a command or a path says could be our own step; none of the corpus is.
    shown = screen.replace(STEP, "\n").replace("\r\n", "\n").replace("\t", " ")
    bad = {char for char in shown if char not in f"\n{allowed}" and not char.isprintable()}
    at = min((shown.index(char) for char in bad), default=0)
    assert not bad, shown[max(at - 60, 0) : at + 60]


def see(world: World, *words: str) -> str:
    """All that a command of ours shows there; whole texts keep what Arabic is written with."""
    terminal = Terminal(world, *words, env=PLAIN)
    assert terminal.finish() == 0, terminal.screen
    check(terminal.screen, allowed=MARKS)
    return terminal.screen


def test_the_corpus_is_long_enough() -> None:
    assert len(set(CORPUS)) >= 300
    assert not any(STEP in each for each in CORPUS)
    with pytest.raises(AssertionError):
        check("".join(portions()))


def test_questions_and_what_they_are_about(world: World, project: Path) -> None:
    asked = [("run_command", {"command": each}) for each in portions()]
    asked += [
        ("write_file", {"path": f"{n}", "content": each}) for n, each in enumerate(portions())
    ]
    prompt = world.home / "prompt"
    prompt.write_text(calls(*asked))
    with prompt.open() as stream:
        options = ("-T", "all", "-s", "work")
        terminal = Terminal(world, *options, stdin=stream.fileno(), cwd=project, env=PLAIN)
    for number in range(len(asked)):
        while terminal.screen.count("tells why) ") <= number:
            assert terminal._read(LIMIT_S), terminal.screen
        terminal.type("n because of \x1b[31mred\x9b2J\n")
    assert terminal.finish() == 0
    check(terminal.screen)
    assert terminal.screen.count("(not run)") == len(asked)
    see(world, "history", "show", "work")
    see(world, "attach", "work", "--until-idle", "--no-input")


def test_a_job_that_waits(world: World, project: Path) -> None:
    asked = [("run_command", {"command": each}) for each in list(portions())[:4]]
    job = leave(world, project, *asked)
    wait_asked(world, job, len(asked))
    assert "Run: true" in see(world, "jobs", "show", job)
    see(world, "list")
    world.ok("jobs", "cancel", job)
    assert wait(world, job).code != 0
    see(world, "jobs", "show", job)
    see(world, "jobs", "logs", job)


def test_what_runs_and_what_it_says(world: World, project: Path) -> None:
    """Activity while it runs, its end where it fails, its output in the history."""
    names = [each.replace("\n", " ") for each in portions()]
    for number, text in enumerate(portions()):
        (project / f"{number}").write_text(text)
    # The first is told of while it runs, too.
    asked = [
        ("run_command", {"command": f"sleep {LONG_S} # {''.join(ALONE)} \x1b[31m \x9b2J"}),
        *(("read_file", {"path": name}) for name in (*names, *SHORT)),
        *(("list_directory", {"path": name}) for name in names[:3]),
        *(("read_file", {"path": f"{n}"}) for n in range(CALLS_AT_ONCE)),
        *(("run_command", {"command": f"cat {n}; exit 3"}) for n in range(CALLS_AT_ONCE)),
        *(("fly", {"to": name}) for name in names[:3]),
        ("search_files", {"pattern": "true"}),
    ]
    prompt = world.home / "prompt"
    prompt.write_text(calls(*asked))
    with prompt.open() as stream:
        options = ("-T", "all", "--approve", "auto", "-s", "work")
        terminal = Terminal(world, *options, stdin=stream.fileno(), cwd=project, env=PLAIN)
    assert terminal.finish() == 0
    check(terminal.screen)
    assert terminal.screen.count("(exit code 3)") == CALLS_AT_ONCE
    assert terminal.screen.count("(no such tool)") == 3
    assert terminal.screen.count("(failed: ") >= len(SHORT) // 2
    assert "Run: sleep" in terminal.screen
    for words in (
        ("history", "show", "work"),
        ("history", "search", "true"),
        ("history", "list"),
        ("attach", "work", "--until-idle", "--no-input"),
    ):
        see(world, *words)


def test_chat(world: World, project: Path) -> None:
    chat = Terminal(world, "chat", "-s", "work", "-T", "all", env=PLAIN, cwd=project)
    for number in range(3):
        # A line that is typed has at most 4,096 bytes.
        command = f"true {'x' * number * 30}" + " ".join(CORPUS[number * 50 :][:50])
        chat.type(calls(("run_command", {"command": command})) + "\n")
        while chat.screen.count("tells why) ") <= number:
            assert chat._read(LIMIT_S), chat.screen
        chat.type("n\n")
        while chat.screen.count("\ndone\r\n") <= number:
            assert chat._read(LIMIT_S), chat.screen
    chat.type("/exit\n")
    assert chat.finish() == 0
    check(chat.screen)
    assert chat.screen.count("(not run)") == 3
