"""People at chats: a tmux of their own with a shell in each pane, at a world made for talking.

Nothing here waits for a time to pass: what is to come is waited for on the screen, and a key
is pressed only after the screen shows that it will be taken.
"""

import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.system.servers import write_config
from tests.system.world import ASK, LIMIT_S, World

ALLOW = "n REASON tells why)"
"""The end of the line in which a call is allowed."""
READY = "/help lists the commands"
RUNS = "Ctrl-C stops"
"""In the status while an answer comes."""
WINDOW_ROWS = 12
"""As many as the windows of a chat have at rest, and more."""
PAST_LINES = 3000
"""How much of what has scrolled away is looked at."""


def prepare(world: World, more: str = "") -> None:
    """Settings with a model of a small window, and one of a large, whose server wants no key.

    A key that a caller lends would die with the daemon, and some tests end it.
    """
    assert world.model is not None
    write_config(
        world,
        f'[providers.here]\ndialect = "openai-chat"\nbase_url = "{world.model.base_url}"\n'
        '[models."here/fake"]\ncontext_window = 30000\n'
        f'[models."here/fake-large"]\ncontext_window = 3000000\n{more}',
    )
    world.env["ASK_MODEL"] = "here/fake"
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ASK_TERMINAL"):
        world.env.pop(name, None)


class Panes:
    """A tmux of its own, with a shell in each pane; `%0` is the first."""

    def __init__(
        self, world: World, *, columns: int = 80, rows: int = 30, cwd: Path | None = None
    ) -> None:
        self._socket = str(world.home / "tmux")
        self._cwd = str(cwd or world.home)
        self.world = world
        self._env = {**world.env, "TERM": "xterm", "SHELL": "/bin/sh", "ENV": "", "PS1": "$ "}
        size = ("-x", str(columns), "-y", str(rows))
        self._run("new-session", "-d", *size, "-c", self._cwd, "sh", env=self._env)
        self.wait_until(lambda shown: shown.startswith("$"))

    def _run(self, *words: str, env: dict[str, str] | None = None) -> str:
        line = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(
            line, env=env, check=True, capture_output=True, text=True, timeout=LIMIT_S
        ).stdout

    def open(self) -> str:
        """One more window; what to call its pane."""
        pane = self._run("new-window", "-P", "-F", "#{pane_id}", "-c", self._cwd, "sh")[:-1]
        self.wait_until(lambda shown: shown.startswith("$"), pane)
        return pane

    # ---- a person's hands ----------------------------------------------------------

    def keys(self, text: str, pane: str = "%0") -> None:
        """Type, and do not press Enter."""
        self._run("send-keys", "-t", pane, "-l", text)

    def type(self, text: str, pane: str = "%0") -> None:
        """Type a line and press Enter."""
        self.keys(text, pane)
        self.press("Enter", pane=pane)

    def press(self, *keys: str, pane: str = "%0") -> None:
        """Press keys by their names."""
        self._run("send-keys", "-t", pane, *keys)

    def paste(self, text: str, pane: str = "%0") -> None:
        """Paste as a terminal does: in brackets, if the program asked for them."""
        path = self.world.home / "pasted"
        path.write_text(text)
        self._run("load-buffer", str(path))
        self._run("paste-buffer", "-p", "-t", pane)

    def choose(self, key: str, pane: str = "%0") -> None:
        """Answer the question whose line is shown by one key.

        Pressed at once after the question came it would be taken for a letter of the line;
        then it is taken back and pressed again, as a person would.
        """
        label = find_line(self.wait_until(lambda shown: "? (1-" in find_line(shown), pane))
        typed = f"\n{label} {key}\n"

        def below(shown: str) -> list[str]:
            _, found, rest = shown.rpartition(typed)
            return [row for row in rest.split("\n") if found and row]

        def taken(shown: str) -> bool:
            # What was taken stands above, and has another line below it beside the status.
            is_away = label not in shown and "here/" in shown.rstrip().rpartition("\n")[2]
            return is_away or len(below(shown)) > 1

        until = time.monotonic() + LIMIT_S
        while True:
            self.press(key, pane=pane)
            if taken(self.wait_until(lambda now: taken(now) or bool(below(now)), pane)):
                return
            self.press("BSpace", pane=pane)  # does nothing if only a part was drawn just now
            if taken(self.wait_until(lambda now: taken(now) or typed not in now, pane)):
                return
            assert time.monotonic() < until, self.screen(pane)

    def resize(self, columns: int, rows: int, pane: str = "%0") -> None:
        """The window becomes wider or narrower."""
        self._run("resize-window", "-t", pane, "-x", str(columns), "-y", str(rows))

    # ---- a person's eyes -----------------------------------------------------------

    def screen(self, pane: str = "%0", *, past: bool = False, coloured: bool = False) -> str:
        """What is to be seen; `past`: and what has scrolled away."""
        words = ("-S", f"-{PAST_LINES}") if past else ()
        colours = ("-e",) if coloured else ()
        return self._run("capture-pane", "-p", "-J", "-t", pane, *words, *colours)

    def wait_until(
        self, holds: Callable[[str], bool], pane: str = "%0", *, past: bool = False
    ) -> str:
        """Wait until the screen is as it should; all of it."""
        until = time.monotonic() + LIMIT_S
        while not holds(shown := self.screen(pane, past=past)):
            assert time.monotonic() < until, shown
            time.sleep(0.02)
        return shown

    def wait_for(self, text: str, pane: str = "%0", *, past: bool = False) -> str:
        """Wait until it is shown; all of the screen."""
        return self.wait_until(lambda shown: text in shown, pane, past=past)

    def wait_gone(self, text: str, pane: str = "%0") -> str:
        """Wait until it is not shown any more; of use only after it was seen."""
        return self.wait_until(lambda shown: text not in shown, pane)

    def wait_line(self, line: str, pane: str = "%0") -> str:
        """Wait until the line that is typed reads so, with what stands before it."""

        return self.wait_until(lambda shown: find_line(shown) == line, pane)

    def wait_idle(self, answer: str, pane: str = "%0") -> str:
        """Wait until an answer stands there and no turn runs: all of the screen and its past.

        What comes back has all its windows: a screen may be read while it is drawn.
        """

        def at_rest(shown: str) -> bool:
            *above, status = shown.rstrip().split("\n")[-WINDOW_ROWS:]
            is_idle = RUNS not in status and "lost" not in status and "here/" in status
            return is_idle and any(row.startswith(">") for row in above) and answer in shown

        return self.wait_until(at_rest, pane, past=True)

    def record(self, pane: str = "%0") -> Path:
        """From now on keep every byte that is written to the terminal; the file of them."""
        path = self.world.home / f"written{pane}"
        self._run("pipe-pane", "-t", pane, f"exec cat > {shlex.quote(str(path))}")
        return path

    # ---- chats ---------------------------------------------------------------------

    def chat(self, *words: str, pane: str = "%0", env: str = "") -> None:
        """Begin a chat in a pane, which is emptied before; `env`: `NAME=value `, in front."""
        self._run("send-keys", "-R", "-t", pane)
        self._run("clear-history", "-t", pane)
        self.type(f"{env}{shlex.join([ASK, 'chat', *words])}", pane)
        self.wait_for(READY, pane)
        self.wait_for("\n>", pane)

    def leave(self, pane: str = "%0") -> None:
        """Press Ctrl-D, and see that it ends well and the terminal is as before."""
        self.press("C-d", pane=pane)
        self.wait_code(0, pane)

    def wait_shell(self, pane: str = "%0") -> None:
        """Wait until the shell takes the next line: what comes before may be thrown away."""
        self.wait_until(lambda shown: f"\n{shown.rstrip()}".endswith("\n$"), pane)

    def wait_code(self, code: int, pane: str = "%0") -> None:
        """Wait until the shell is back, and see what the program ended with."""
        self.wait_shell(pane)
        self.type("echo code $?", pane)
        shown = self.wait_until(lambda shown: "\ncode " in shown, pane)
        assert f"\ncode {code}\n" in shown, shown

    def close(self) -> None:
        """End it, and what runs in it."""
        self._run("kill-server")
        wait_left(self.world)


def wait_left(world: World) -> None:
    """Wait until nobody is left at a terminal of this home.

    A closed window takes its program a moment to notice; in that moment it would start a daemon
    anew that the end of the test has just stopped.
    """
    until = time.monotonic() + LIMIT_S
    while left := [pid for pid in Path("/proc").glob("[0-9]*") if _is_client(pid, world)]:
        assert time.monotonic() < until, [(pid / "cmdline").read_bytes() for pid in left]
        time.sleep(0.02)


def _is_client(process: Path, world: World) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it is over, or somebody else's
        return False
    return ASK.encode() in words and f"ASK_HOME={world.ask_home}".encode() in variables


def find_line(shown: str) -> str:
    """The last row of the line that is typed: it stands above the status."""
    return shown.rstrip().rpartition("\n")[0].rpartition("\n")[2].rstrip()


def prompts(world: World, conversation: str = "work") -> list[str]:
    """Every prompt that was accepted, in order."""
    return [
        event["items"][0]["parts"][0]["text"]
        for event in world.events(conversation)
        if event["type"] == "prompt_accepted"
    ]


def outcomes(world: World, conversation: str = "work") -> list[str]:
    """How every turn ended, in order."""
    return [e["outcome"] for e in world.events(conversation) if e["type"] == "turn_finished"]


def heard(world: World) -> str:
    """What the model was asked last, as it came."""
    assert world.model is not None
    asked = [each for each in world.model.requests()[-1]["messages"] if each["role"] == "user"]
    content = asked[-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
