"""Secrets that come in by every way, servers that repeat them, and a search of all that is left."""

import random
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.chat_answers import Answer, call, say
from tests.faults.programmes import Outcome
from tests.system.servers import DAEMON, tell, write_config
from tests.system.test_canaries import (
    MASK,
    Echo,
    Plan,
    Search,
    plant_all,
    read_rows,
    table,
    watch_processes,
)
from tests.system.world import Running, open_world

CLAIM = (
    "Keys that come in by environments, files, commands, sign-ins, headers and proxies, and that a "
    "server repeats in answers, errors and calls, or with `redact_keys` a tool prints, stand "
    "neither in what is said, nor in the log, the database, the rollouts, a command line, nor in "
    "any file but their own."
)
CONTROL = "The daemon hides nothing: every text goes through as it came."
UNIT = "turns"
CI = 10
FULL = 500

LAID_BARE = """
import sys
from askd.providers import redact
redact.KnownSecrets.hide = lambda self, text: text
redact.StreamRedactor.feed = lambda self, text: text
redact.StreamRedactor.flush = lambda self: ""
from askd.__main__ import main
sys.exit(main(["run"]))
"""
TURNS_OF_CONTROL = 4
TOOL = "TOOL"
"""The word for a turn in which a command prints the key that the turn is paid with."""
TOOL_SHARE = 10
"""One of so many is such a turn."""
AFTERWARDS = (
    ("auth", "status", "--json"),
    ("doctor",),
    ("daemon", "status", "--json"),
)
"""Questions about all that there is."""


@dataclass
class EchoWithTools(Echo):
    """Also has a command run that prints a file. `printed`: whether it did, for each time."""

    printed: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __call__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        said = body.decode("utf-8", "replace")
        if path.endswith("/chat/completions") and TOOL in said:
            self.repeated += 1
            if '"tool"' not in said:
                return call("call_1", "run_command", '{"command": "cat notes"}')
            self.printed.append("the key is" in said)
            return say("Done.")
        return super().__call__(method, path, headers, body)


def _choose(plan: Plan, size: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many turns, each way to come in as often as any other."""
    dice = random.Random(seed)
    providers: list[str] = []
    for _ in range(size):
        providers = providers or dice.sample([*plan], len(plan))
        provider = providers.pop()
        yield provider, dice.choice(plan[provider])


@contextmanager
def _started(
    search: Search, by_hand: dict[str, str], program: tuple[str, ...]
) -> Iterator[Running]:
    daemon = search.world.start(command=program, env={"ASK_LOG": "debug", **by_hand})
    daemon.wait_for("Ready", where="err")
    yield daemon
    search.world.kill_daemon()
    search.said += [daemon.out, daemon.err]


def run(size: int, seed: int, directory: Path, program: tuple[str, ...]) -> Outcome:
    """A whole scenario with a daemon, and what the search finds behind it."""
    echo = EchoWithTools()
    with ExitStack() as stack:
        world = stack.enter_context(open_world(directory, model=False))
        search = Search(world)
        here = echo.address = stack.enter_context(tell(echo)).base_url
        plan, tables, caller, by_hand = plant_all(search, here)
        plan.pop("kept")  # is signed in by a command, which the search in the suite does
        printed = search.hold(world.home / "keys" / "printed", search.plant("printed"))
        tables.append(table("tools", here, api_key_file=str(printed)))
        # The file of the key itself is hidden from tools; a careless copy of it is not.
        project = world.home / "project"
        search.hold(project / "notes", f"the key is {search.canaries['printed']}\n")
        # A call that is repeated fifty times, as these dialects' echo does it, says nothing new.
        plan = {
            name: tuple(each for each in modes if each != "CALL") for name, modes in plan.items()
        }
        settings = '[log]\nlevel = "debug"\n\n' + "\n".join(tables)
        # What tools say is stored as it is unless this is set; what models say is not, ever.
        write_config(world, f"[history]\nredact_keys = true\n{settings}")
        tools_turns = max(size // TOOL_SHARE, 1)
        masked = turns = 0
        with watch_processes(search.canaries) as seen, _started(search, by_hand, program):
            chosen = [("tools", TOOL)] * tools_turns + [*_choose(plan, size - tools_turns, seed)]
            for provider, mode in chosen:
                extra = ("-T", "all", "--approve", "auto") if mode == TOOL else ()
                where = project if mode == TOOL else None
                if turns == tools_turns:
                    write_config(world, settings)
                result = search.ask(
                    "--json", *extra, "-s", provider, "-m", f"{provider}/fake", mode,
                    env=caller.get(provider, {}), cwd=where,
                )  # fmt: skip
                masked += MASK in result.out + result.err
                turns += 1
            for command in AFTERWARDS:
                search.ask(*command, env=caller["caller"])
            search.said += [world.log(), read_rows(world)]
        harms = [*search.find(), *(f"{way} in a command line" for way in set(seen))]
        assert echo.repeated, "no server was sent a key"
        assert echo.printed, "no command was run"
        assert all(echo.printed), "no command has printed anything"
        # It was looked for well enough: what holds one is found.
        (directory / "planted").write_text(f"x{search.canaries['caller']}x")
        assert "caller in planted" in search.find()
    figures = {
        "secrets": f"{len(search.canaries)}, repeated by a server {echo.repeated:,} times",
        "keys that a command printed": f"{len(echo.printed)}",
        "turns whose output showed a mask": f"{masked:,}",
        "texts searched": f"{len(search.said):,}, and every file of the home",
    }
    return Outcome(turns, tuple(dict.fromkeys(map(_shorten, harms))), figures)


def _shorten(harm: str) -> str:
    return re.sub(r"\s+", " ", harm)[:200]


def prove(size: int, seed: int, directory: Path) -> Outcome:
    """The daemon as it is."""
    return run(size, seed, directory, DAEMON)


def control(size: int, seed: int, directory: Path) -> Outcome:
    """A daemon that hides nothing."""
    program = (sys.executable, "-P", "-c", LAID_BARE)
    return run(min(size, TURNS_OF_CONTROL), seed, directory, program)
