"""What is meant to stand where Tab was pressed: pure, from the words before it and the tree.

It follows the command line's own rules: the first word that is no option is a command or
begins a prompt; behind `--`, and where a prompt's words stand, nothing is offered but the
path of an `@`.
"""

from ask.completion.line import BLANKS
from ask.completion.tree import FLAG, TEXT, Command, Option

COMMANDS, OPTIONS, MENTION = "commands", "options", "mention"
"""Kinds beside those of values: a command's name, an option's, a prompt's words."""

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Place:
    """Where Tab was pressed.

    Attributes:
        command: the one that the words belong to.
        kinds: what may stand there, as the tree says it; nothing: nobody can know.
        kept: what of the word stays as it is: `--model=`, `-f`, `read,`.
        typed: what follows it, which every offer begins with.
        arguments: the command's arguments before it.
        said: the names of all options before it, as they were said.
    """

    __slots__ = ("arguments", "command", "kept", "kinds", "said", "typed")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.kinds: tuple[str, ...] = ()
        self.kept = ""
        self.typed = ""
        self.arguments: list[str] = []
        self.said: dict[str, str] = {}


def find_place(tree: "Mapping[str, Command]", words: "Sequence[str]", current: str) -> Place:
    """Where a word is typed behind these words (the program's own name left out)."""
    place = Place(tree["ask"])
    place.typed = current
    is_prompt = False
    awaits: Option | None = None  # the option whose value comes next
    for word in words:
        command = place.command
        if awaits is not None:
            place.said[awaits.names[-1]] = word
            awaits = None
        elif word == "--":
            return place
        elif word.startswith("-") and word != "-":
            awaits = _read_option(place, word)
        elif is_prompt:
            continue
        elif word in command.children and not (command.path == "ask" and place.said):
            place.command = tree[f"{command.path} {word}"]
            place.said = {}
        elif command.path == "ask":
            is_prompt = True
        elif command.children:
            return place  # no such command: nothing follows it
        else:
            place.arguments.append(word)
    if awaits is not None:
        place.kinds = _split(awaits.kind)
    elif current.startswith("-") and current != "-" and _keep_name(place, current):
        pass
    elif current.startswith("-"):
        place.kinds = (OPTIONS,)
    elif is_prompt or _is_prompt(place, current):
        _keep_mention(place)
    elif place.command.children:
        place.kinds = (COMMANDS,)
    else:
        number = len(place.arguments)
        known = place.command.arguments
        place.kinds = _split(known[number] if number < len(known) else place.command.rest)
    if place.kinds and place.kinds[0] == "tool":
        place.kept += place.typed[: place.typed.rfind(",") + 1]
        place.typed = place.typed[place.typed.rfind(",") + 1 :]
    return place


def _split(kinds: str) -> tuple[str, ...]:
    return tuple(each for each in kinds.split("+") if each not in ("", TEXT))


def _read_option(place: Place, word: str) -> Option | None:
    """Note what a word of options says; the one of them whose value is the next word."""
    command = place.command
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        option = command.find_option(name)
        if option is None:
            place.said[name] = value
            return None
        place.said[option.names[-1]] = value
        return None if equals or option.kind == FLAG else option
    for at, letter in enumerate(word[1:], start=2):
        option = command.find_option(f"-{letter}")
        if option is None:
            return None
        place.said[option.names[-1]] = word[at:]
        if option.kind != FLAG:
            return None if word[at:] else option
    return None


def _keep_name(place: Place, current: str) -> bool:
    """Whether a word names an option and goes on with its value: `--model=op`, `-mop`, `-qmop`."""
    if current.startswith("--"):
        name, equals, value = current.partition("=")
        option = place.command.find_option(name) if equals else None
        if option is None or option.kind == FLAG:
            return False
        place.kinds, place.kept, place.typed = _split(option.kind), f"{name}=", value
        return True
    for at, letter in enumerate(current[1:], start=2):
        option = place.command.find_option(f"-{letter}")
        if option is None:
            return False
        if option.kind != FLAG:
            if at == len(current):
                return False
            place.kinds, place.kept, place.typed = _split(option.kind), current[:at], current[at:]
            return True
    return False


def _is_prompt(place: Place, current: str) -> bool:
    """Whether a first word can be no command: options stand before it, or it is no name."""
    if place.command.path != "ask":
        return False
    return bool(place.said) or current.startswith("@") or any(each in current for each in BLANKS)


def _keep_mention(place: Place) -> None:
    """In a prompt's words the path behind an @ that begins the last of them, else nothing."""
    at = max(place.typed.rfind(each) for each in BLANKS) + 1
    if place.typed[at : at + 1] == "@":
        place.kinds = (MENTION,)
        place.kept, place.typed = place.typed[: at + 1], place.typed[at + 1 :]
