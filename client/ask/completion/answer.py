"""The process that a shell's script starts at a Tab: words in, one offer a line out.

    word TAB TEXT TAB ABOUT    a word; for bash it is what replaces what Tab was pressed on
    open TAB TEXT              the same, and no space follows it, for it goes on
    file TAB KEPT TAB TYPED    the shell's own completion of files, behind what is kept
    directory TAB KEPT TAB TYPED  the same of directories

It ends with 0 and says nothing on standard error, whatever happens: a prompt is being typed.
"""

import os

from ask.completion.daemon import ask_in_time
from ask.completion.line import quote_word, split_line
from ask.completion.paths import list_paths
from ask.completion.place import COMMANDS, MENTION, OPTIONS, Place, find_place
from ask.completion.sources import DIRECTORY, FILE, FUNCTION, Offer, list_offers, trim
from ask.completion.tree import load_text, load_tree
from ask.fast.caller import StdoutClosed, StdoutFailed, write_all

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE = "_ASK_COMPLETE"
"""Set by the scripts, as click's are: `SHELL_complete`; `SHELL_source` prints the script."""
SHELLS = ("bash", "zsh", "fish")
PATHS = (FILE, DIRECTORY, MENTION)


def answer_shell(environ: "Mapping[str, str]", arguments: "Sequence[str]") -> int:
    """Answer a script, and the exit code: 0, but for a shell that is not known."""
    shell, _, order = environ.get(VARIABLE, "").partition("_")
    if shell not in SHELLS:
        return 1
    if order == "source":
        text = load_script(shell)
    else:
        try:
            lines = list_lines(shell, list(arguments))
        except Exception:  # a shell has nowhere to show an error
            lines = []
        text = "".join(f"{line}\n" for line in lines)
    try:
        write_all(1, os.fsencode(text))
    except (StdoutClosed, StdoutFailed, UnicodeError):
        return 0
    return 0


def load_script(shell: str) -> str:
    """The script of a shell."""
    return load_text(f"ask.{shell}")


def list_lines(shell: str, arguments: "list[str]") -> list[str]:
    """The lines for a script.

    Args:
        arguments: of bash what Tab replaces and the line up to there, of fish that line, of zsh
            the words with the program's name, and the one that Tab was pressed in.
    """
    if shell == "bash":
        return _list_for_bash(*arguments)
    if shell == "fish":
        line = split_line(arguments[0], fish=True)
        words, current = _skip_assignments(line.words), line.current
    else:
        *words, current = arguments
    place, offers = complete(words[1:], current)
    lines = [f"word\t{place.kept}{word}\t{about}" for word, about in offers]
    return lines + [
        f"{DIRECTORY if kind == DIRECTORY else FILE}\t{place.kept}\t{place.typed}"
        for kind in place.kinds
        if kind in PATHS
    ]


def _list_for_bash(replaced: str, text: str) -> list[str]:
    """Bash replaces what follows the last of its COMP_WORDBREAKS, or an open quote."""
    line = split_line(text)
    if not line.raw.endswith(replaced):
        return []
    before = split_line(line.raw[: len(line.raw) - len(replaced)])
    if line.redirected:
        return [FILE]
    place, offers = complete(line.words[1:], line.current)

    def replace(word: str) -> str:
        return quote_word(f"{place.kept}{word}"[len(before.current) :], before.quote)

    lines = [f"word\t{replace(word)}" for word, _ in offers]
    for kind in place.kinds:
        if kind not in PATHS:
            continue
        if place.kept == before.current:
            lines.append(DIRECTORY if kind == DIRECTORY else FILE)
            continue
        found = list_paths(
            place.typed, directories_only=kind == DIRECTORY, descend=bool(before.quote)
        )
        lines += [f"{'open' if goes_on else 'word'}\t{replace(path)}" for path, goes_on in found]
    return lines


def complete(words: "Sequence[str]", current: str) -> "tuple[Place, list[Offer]]":
    """Where a word is typed behind these, and what it could be, paths left to who asks."""
    tree = load_tree()
    place = find_place(tree, words, current)
    offers: list[Offer] = []
    for kind in place.kinds:
        if kind == COMMANDS:
            offers += list(place.command.children.items())
        elif kind == OPTIONS:
            offers += [
                (name, option.about)
                for option in place.command.options
                if option.repeats or option.names[-1] not in place.said
                for name in option.names
            ]
        elif kind == FUNCTION:
            offers += _ask_click(words, current, len(place.kept))
        elif kind not in PATHS:
            offers += ask_in_time(list_offers, kind, place.typed, place.arguments) or []
    given = {*place.arguments, *place.kept.split(",")}
    return place, [
        (word, about)
        for word, about in dict(offers).items()
        if word.startswith(place.typed) and word not in given
    ]


def _ask_click(words: "Sequence[str]", current: str, kept: int) -> "list[Offer]":
    """What a command completes by a function of its own: all of click, for those few."""
    from click.shell_completion import ShellComplete

    from ask.commands.root import root

    asked = ShellComplete(root, {}, "ask", VARIABLE)
    found = asked.get_completions(list(words), current)
    return [(str(each.value), trim(each.help or "")) for each in found if each.type == "plain"]


def _skip_assignments(words: "list[str]") -> "list[str]":
    """Fish hands over `NAME=value ask`, too."""
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        words = words[1:]
    return words
