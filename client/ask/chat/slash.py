"""The slash commands of a chat: one table, which the plain chat and the one with an editor read.

A line that begins with `/` and a word is a command and never a prompt; `//` or a blank before
it makes it one, and so does a second slash in its first word (`/etc/passwd is ...`). What a
command did and showed is kept as notices, which no model sees. It reads no line itself.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from ask.chat import looks, wishes
from ask.chat.desk import RESULT, STOPS, Desk
from ask.exits import USAGE, Failed
from ask.wish import APPROVALS

ENDS = ("exit", "/exit")
"""What leaves a chat; the first has no slash, for it is what fingers type."""
HOW_TO_LEAVE = "(/exit or Ctrl-D leaves)"


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command.

    Attributes:
        takes: its arguments, as its line of help shows them.
        text: what it does, in a line.
        run: does it with its arguments; the notice that is kept of what came of it, if any.
        least, most: how many words it takes; None: any number.
        words: those that it takes, if not any.
    """

    name: str
    takes: str
    text: str
    run: Callable[[Desk, str], str | None]
    least: int = 0
    most: int | None = 0
    words: tuple[str, ...] | None = None

    def fits(self, rest: str) -> bool:
        """Whether these can be its arguments."""
        said = rest.split()
        if len(said) < self.least or (self.most is not None and len(said) > self.most):
            return False
        return self.words is None or set(said) <= set(self.words)


def show_help(desk: Desk, rest: str) -> str:
    """Every command in a line."""
    desk.show(lay_out_help(desk.ctrl_c, desk.keys))
    return "User viewed help"


def leave(desk: Desk, rest: str) -> None:
    """Nothing: whoever reads the lines stops to."""


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("/help", "", "this list", show_help),
    SlashCommand(
        "/models", "", "the models that could answer", looks.show_models, most=1, words=("list",)
    ),
    SlashCommand(
        "/model", "[NAME]", "the model of further prompts: show it, or take NAME; - takes it back",
        wishes.choose_model, most=1,
    ),
    SlashCommand(
        "/system", "[TEXT]", "their system prompt: show it, or take TEXT; - takes it back",
        wishes.choose_system, most=None,
    ),
    SlashCommand(
        "/compact", "[--undo]",
        "let a summary stand for the older turns; /compact --undo takes it back",
        looks.compact_view, most=1, words=("--undo",),
    ),
    SlashCommand(
        "/prune", "", "take out of the model's sight what is old and too much", looks.prune_view
    ),
    SlashCommand(
        "/clear", "", "begin again: the model sees nothing of what was said before",
        looks.clear_view,
    ),
    SlashCommand("/history", "[N]", "the last N messages (10)", looks.show_history, most=1),
    SlashCommand(
        "/tools", "[WORDS]", "the tools: list them, or offer these; - takes it back",
        wishes.choose_tools, most=None,
    ),
    SlashCommand(
        "/approve", "[deny|ask|auto]", "what becomes of calls that need your word",
        wishes.choose_approval, most=1, words=(*APPROVALS, wishes.BACK),
    ),
    SlashCommand("/usage", "", "the tokens of this conversation, and their cost", looks.show_usage),
    SlashCommand(
        "/attach", "[FILE...]", "files and images for the next prompt; - takes them off",
        wishes.attach_files, most=None,
    ),
    SlashCommand(
        "/pin", "[N]", "keep the conversation from clean-ups, or message N in the model's sight",
        looks.pin, most=1,
    ),
    SlashCommand(
        "/save", "FILE", "write the conversation to a new file (.md or .json)", looks.save,
        least=1, most=None,
    ),
    SlashCommand(
        "/steer", "TEXT", "say this to what is being answered: it stops and answers this",
        wishes.steer, least=1, most=None,
    ),
    SlashCommand("/exit", "", "leave (also: exit, Ctrl-D)", leave),
)  # fmt: skip
"""In the order of their help."""
BY_NAME = {each.name: each for each in COMMANDS}
FOOT = """\
//WORDS sends a line that begins with a slash.
{keys}Any other line is a prompt; @FILE in it attaches that file. Ctrl-C {ctrl_c}."""


def is_command(line: str) -> bool:
    """Whether a line, as it was typed, is a command; `/*` begins a program that was pasted."""
    word, _, _ = line.partition(" ")
    return line.startswith("/") and not set("/*") & set(word[1:].partition("\n")[0])


def read_prompt(line: str) -> str:
    """The prompt that a line is which is no command: a slash before a slash is taken off.

    Several lines are sent as they are: their blanks may be a program's, and so may its `//`.
    """
    if "\n" in line.strip():
        return line
    return line[1:] if line.startswith("//") else line.strip()


HEAD_COLUMNS = 14
"""A longer head of a line of help has a line of its own."""


def is_long(line: str) -> bool:
    """Whether a command takes as long as a model: what is typed after it does not wait for it."""
    return line == "/compact" or line.startswith("/steer ")


def lay_out_help(ctrl_c: str = STOPS, keys: str = "") -> str:
    """The list of the commands; `ctrl_c`: what that key does, `keys`: what others do."""
    lines = []
    for command in COMMANDS:
        head = f"{command.name} {command.takes}".strip()
        if len(head) >= HEAD_COLUMNS:
            lines.append(head)
            head = ""
        lines.append(f"{head:<{HEAD_COLUMNS}}{command.text}")
    return "\n".join([*lines, FOOT.format(ctrl_c=ctrl_c, keys=keys and f"{keys}\n")])


def run_line(desk: Desk, line: str) -> bool:
    """Carry out a line that is a command; false: leave the chat.

    Raises:
        Failed: there is no such command, it does not take that, or it failed.
    """
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    command = BY_NAME.get(name)
    if command is None or not command.fits(rest):
        raise Failed(USAGE, refuse(line.strip(), command))
    if command.run is leave:
        note_exit(desk, line.strip())
        return False
    desk.note(f"User executed command: {line.strip()}")
    said = command.run(desk, rest)
    if said is not None:
        desk.note(said, level=RESULT)
    return True


def note_exit(desk: Desk, line: str) -> None:
    """Keep that a chat was left, if it was one about something."""
    if desk.conversation_id is not None:
        desk.note(f"User executed command: {line}")


def refuse(line: str, command: SlashCommand | None) -> str:
    """Why a line is no command, or which one may have been meant."""
    name = line.split()[0]
    if command is not None:
        usage = f"{command.name} {command.takes}" if command.takes else f"{name}, and nothing else"
        return f"Usage: {usage} (/help lists the commands)"
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    return f"Unknown command: {line} ({meant}/help lists them)"
