"""Every command with its options, from a table that is made of the commands themselves.

`words.txt` is written by `python -m tests.house.completion_words`, and a test holds the two
equal. Its lines, with tabs between the fields:

    [ask history show]  what the command is for
    -n --limit          text*           what the option is for
    =                   conversation    an argument; =* takes all that follow

The second field is what the value is: a kind of `ask.completion.sources`, `choice:a,b` for
fixed words, several with a + between them, `text` for what only its writer knows, `flag` for
an option without one. A * behind it: may be said again.
"""

import os

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from typing import Any

NAME = "words.txt"
FLAG, TEXT = "flag", "text"


class Option:
    """One option: all of its names, what its value is, and what it is for."""

    __slots__ = ("about", "kind", "names", "repeats")

    def __init__(self, names: list[str], kind: str, about: str) -> None:
        self.names = names
        self.kind = kind.removesuffix("*")
        self.repeats = kind.endswith("*")
        self.about = about


class Command:
    """One command.

    Attributes:
        path: its words, as in `ask history show`.
        about: what it is for.
        children: what its own commands are for, by their names.
        arguments: what each of them is; `rest`: what all further ones are, or nothing.
    """

    __slots__ = ("about", "arguments", "children", "options", "path", "rest")

    def __init__(self, path: str, about: str) -> None:
        self.path = path
        self.about = about
        self.children: dict[str, str] = {}
        self.options: list[Option] = []
        self.arguments: list[str] = []
        self.rest = ""

    def find_option(self, name: str) -> Option | None:
        """The option of this name."""
        return next((each for each in self.options if name in each.names), None)


def read_tree(text: str) -> dict[str, Command]:
    """Every command of a table, by its path."""
    tree: dict[str, Command] = {}
    command = Command("", "")
    for line in text.splitlines():
        first, _, rest = line.partition("\t")
        if first.startswith("["):
            command = tree[first[1:-1]] = Command(first[1:-1], rest)
            parent, _, name = command.path.rpartition(" ")
            if parent in tree:
                tree[parent].children[name] = rest
            continue
        kind, _, about = rest.partition("\t")
        if first == "=*":
            command.rest = kind
        elif first == "=":
            command.arguments.append(kind)
        elif first:
            command.options.append(Option(first.split(" "), kind, about))
    return tree


def load_tree() -> dict[str, Command]:
    """The table of this version."""
    return read_tree(load_text(NAME))


def load_text(name: str) -> str:
    """A file that lies beside this one, in a directory or an archive."""
    loader: Any = __spec__.loader
    text: str = loader.get_data(f"{os.path.dirname(__file__)}/{name}").decode()
    return text
