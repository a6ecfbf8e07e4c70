"""Runs the blocks of a page as a reader would: in one home, in order, on a real daemon.

A block is run as it stands, without a terminal, where the project of `pages_home` is, and has to
end with 0. It refuses to guess: what has to be otherwise for a block stands in `pages_table`.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cronsim import CronSim

from tests.fakes.scripted_server import open_server
from tests.fakes.vendor_anthropic import Anthropic
from tests.fakes.vendor_ollama import Ollama
from tests.fakes.vendors import VendorServer
from tests.house.prose import FENCE
from tests.system.pages_home import CONFIG, Model, lay_out
from tests.system.servers import serve, write_config
from tests.system.world import World

SHELLS = {"sh": ("sh", "-eu"), "bash": ("bash", "-eu"), "zsh": ("zsh", "-f", "-e")}
RUN = frozenset((*SHELLS, "python"))
"""Languages whose blocks are run."""
WAIT_S = 30.0
"""How long a block may take, or say nothing at a terminal; hardly one takes a second."""
WISHED = ("jq", "git", "zcat", "zsh")
"""Programs that not every machine has; blocks that call one which is missing are passed over."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a block is run that is not run as it stands, or why it is not run.

    Attributes:
        before: shell that makes what the page takes for granted; it has to end with 0.
        swap: words of the page that stand for the reader's own, each with shell that prints what
            is right here.
        keys: it is run at a terminal, and this is typed there: each as soon as the words before
            it have been shown.
        shows: a part of what it prints, on either output.
        without: lines that are left out, each by its beginning, with what it would need.
        unless: all of it is left out; what it would need.
    """

    before: str = ""
    swap: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[tuple[str, str]] = ()
    shows: str = ""
    without: Mapping[str, str] = field(default_factory=dict)
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shell ended, and all that it said."""

    code: int
    said: str


def read_blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [Block(*each) for each in FENCE.findall(page.read_text(encoding="utf-8"))]


def find_missing(text: str) -> list[str]:
    """Programs that a block calls and this machine has not."""
    wanted = [each for each in WISHED if re.search(rf"\b{each}\b", text)]
    return [each for each in wanted if shutil.which(each) is None]


class Desk:
    """A reader's home, and shells in it.

    Attributes:
        project: where blocks are run.
        model: the one that answers them.
    """

    def __init__(self, world: World, model: Model) -> None:
        self.world = world
        self.model = model
        self.project = world.home / "project"

    def run(
        self,
        text: str,
        *,
        command: Sequence[str] = SHELLS["sh"],
        keys: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a block of shell; at a terminal if something is to be typed."""
        env = {**self.world.env, **(env or {})}
        if keys:  # by the shell that people type into: it outlives the Ctrl-C of its command
            words = [*SHELLS["bash"], "-c", text]
            return run_at_terminal(words, keys, env=env, cwd=self.project)
        return run_plain([*command, "-c", text], env=env, cwd=self.project)

    def run_block(self, block: Block, way: Way) -> str:
        """Run a block in its way; what is wrong, or nothing."""
        text = block.text
        made = self.run(way.before)
        if made.code:
            return f"before {text!r}: {made.said}"
        for line in way.without:
            if f"\n{line}" not in f"\n{text}":
                return f"{text!r}: no line begins with {line!r}"
            text = re.sub(f"^{re.escape(line)}.*\n", "", text, flags=re.MULTILINE)
        for placeholder, command in way.swap.items():
            real = self.run(command)
            if real.code or not real.said.strip() or placeholder not in text:
                return f"{text!r}: nothing for {placeholder!r}: {real.said}"
            text = text.replace(placeholder, real.said.strip())
        if block.language == "python":
            program = self.world.home / "program.py"
            program.write_text(text)
            ended = self.run(f'"{sys.executable}" "{program}"')
        else:
            ended = self.run(text, command=SHELLS[block.language], keys=way.keys)
        if ended.code or way.shows not in ended.said:
            return f"{text}-- ended with {ended.code}:\n{ended.said}"
        return ""

    def check_settings(self, text: str) -> str:
        """What `ask config check` says against a block of TOML, or nothing."""
        room = self.world.home / "settings"
        (room / "config").mkdir(parents=True, exist_ok=True)
        (room / "config" / "config.toml").write_text(text)
        ended = self.run("ask config check", env={"ASK_HOME": str(room)})
        return f"{text}-- {ended.said}" if ended.code else ""

    def run_crontab(self, text: str) -> str:
        """Run every line of a crontab as Debian's cron does; what is wrong, or nothing.

        That is: by `sh`, at home, without a terminal, with the variables that stand above the line
        and four of cron's own. Cron mails what a command prints.
        """
        home = str(self.world.home)
        env = {"HOME": home, "LOGNAME": "you", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
        for line in text.replace("/home/you", home).splitlines():
            if not line or line.startswith("#"):
                continue
            if variable := re.fullmatch(r"(\w+) *= *(.*)", line):
                env[variable[1]] = variable[2].strip('"')
                continue
            fields = 1 if line.startswith("@") else 5
            command = line.split(None, fields)[fields]
            if fields == 5:
                CronSim(" ".join(line.split()[:5]), datetime.now(UTC))  # it raises
            if re.search(r"(?<!\\)%", command):
                return f"{line}\n-- a % that is not written \\% ends the command"
            words = [env["SHELL"], "-c", command.replace("\\%", "%")]
            ended = run_plain(words, env=env, cwd=self.world.home)
            if ended.code or ended.said:
                return f"{line}\n-- ended with {ended.code} and would mail:\n{ended.said}"
        return ""


def run_plain(words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Ended:
    """Run a program without a terminal."""
    done = subprocess.run(
        words,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WAIT_S,
        check=False,
        start_new_session=True,
    )
    return Ended(done.returncode, done.stdout)


def run_at_terminal(
    words: Sequence[str], keys: Sequence[tuple[str, str]], *, env: Mapping[str, str], cwd: Path
) -> Ended:
    """Run a program at a terminal that can do little, and type as words are shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        words,
        env={**env, "TERM": "dumb"},
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    said, seen, left = "", 0, list(keys)
    try:
        with suppress(OSError):  # EIO: nobody has it open any more
            while chunk := read_soon(master):
                said += chunk
                while left and (place := said.find(left[0][0], seen)) >= 0:
                    seen = place + len(left[0][0])
                    os.write(master, left.pop(0)[1].encode())
        with suppress(subprocess.TimeoutExpired):
            process.wait(WAIT_S)
    finally:
        process.kill()
        process.wait(WAIT_S)
        os.close(master)
    said += "".join(f"\nnever shown: {word!r}" for word, _ in left)
    return Ended(process.returncode or len(left), said)


def read_soon(descriptor: int) -> str:
    """What comes next, or nothing when nothing does."""
    if not select.select([descriptor], [], [], WAIT_S)[0]:
        return ""
    return os.read(descriptor, 65536).decode(errors="replace")


@contextmanager
def open_desk(home: Path) -> Iterator[Desk]:
    """Lay out a home, with its servers, until the block ends."""
    model = Model()
    anthropic = VendorServer(Anthropic(), models=("claude-sonnet-4-5",))
    ollama = VendorServer(Ollama(), models=("qwen3:8b", "gemma3:4b"))
    servers = (model, anthropic, ollama)
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(serve(open_server(server)))
        world = World(home, None)
        stack.callback(world.close)
        desk = Desk(world, model)
        lay_out(world, desk.project)
        write_config(world, CONFIG.format(base_url=model.base_url))
        world.env |= {
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": anthropic.base_url,
            "OLLAMA_HOST": ollama.base_url,
        }
        yield desk
        assert [each for server in servers for each in server.violations] == []
