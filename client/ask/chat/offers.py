"""What Tab offers in the line of a chat: commands and what they take, and `@` files and servers.

Who is asked for models and tools is the daemon; one that says nothing offers nothing. It
completes the word before the cursor and looks at no other.
"""

from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ask.chat.slash import BY_NAME, COMMANDS, is_command
from ask.completion.paths import list_paths
from ask.completion.sources import is_plain, trim
from ask.exits import Failed

FROM_DAEMON = ("/model", "/tools")
"""Commands whose words are names that the daemon knows."""
AT, MARK = "@", '"'
TO_QUOTE = frozenset(" '\"\\")
"""What has a meaning of its own in the words of `/attach`."""


class Offers(Completer):
    """Completes a line.

    Args:
        names: for a command, or `AT` for servers, what the daemon knows.
    """

    def __init__(self, names: Callable[[str], Sequence[tuple[str, str]]]) -> None:
        self._names = names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """What could stand in the place of the word before the cursor."""
        text = document.text_before_cursor
        for word, offer, about in find_offers(text, self._ask):
            if is_plain(offer):
                yield Completion(offer, start_position=-len(word), display_meta=trim(about))

    def _ask(self, what: str) -> Sequence[tuple[str, str]]:
        try:
            return self._names(what)
        except Failed:
            return []


def find_offers(
    text: str, names: Callable[[str], Sequence[tuple[str, str]]]
) -> list[tuple[str, str, str]]:
    """The word before the cursor, what it could be, and a few words about that."""
    if is_command(text):
        name, blank, rest = text.partition(" ")
        if not blank:
            return [(name, each.name, each.text) for each in COMMANDS if each.name.startswith(name)]
        command = BY_NAME.get(name)
        if command is None:
            return []
        if name == "/save":  # all that follows is one name
            return [(rest, path, "") for path, _ in list_paths(rest)]
        if name == "/attach":
            return [(word, path, "") for word, path in _find_attachments(rest)]
        word = rest[rest.rfind(" ") + 1 :]
        fixed = [(each, "") for each in command.words or ()]
        offered = [*fixed, *(names(name) if name in FROM_DAEMON else ())]
        return [(word, each, about) for each, about in offered if each.startswith(word)]
    return _find_mentions(text, names)


def _find_mentions(
    text: str, names: Callable[[str], Sequence[tuple[str, str]]]
) -> list[tuple[str, str, str]]:
    opened = text.rfind(f"{AT}{MARK}")
    if opened >= 0 and not {MARK, "\n"} & set(text[opened + 2 :]):
        paths = [_quote(path, MARK) for path, _ in list_paths(text[opened + 2 :])]
        return [(text[opened:], f"{AT}{path}", "") for path in paths if path]
    word = text[max(text.rfind(" "), text.rfind("\n")) + 1 :]
    if not word.startswith(AT):
        return []
    typed = word[len(AT) :]
    servers = [(f"{each}:", about) for each, about in names(AT) if f"{each}:".startswith(typed)]
    if ":" in typed:
        # Such a mention ends at a blank: what has one in its name cannot be said so.
        servers = [e for e in names(word) if e[0].startswith(typed) and " " not in e[0]]
    listed = [path for path, _ in list_paths(typed)]
    paths = [path if path.split() == [path] else _quote(path, MARK) for path in listed]
    found = [*servers, *((path, "") for path in paths if path)]
    return [(word, f"{AT}{each}", about) for each, about in found]


def _find_attachments(rest: str) -> list[tuple[str, str]]:
    """The last of several words, and each path that it could be; both as they are quoted."""
    start, mark = 0, ""
    for place, sign in enumerate(rest):
        if mark:
            mark = "" if sign == mark else mark
        elif sign in ("'", MARK):
            mark = sign
        elif sign == " ":
            start = place + 1
    word = rest[start:]
    found = []
    for path, _ in list_paths(word[1:] if mark and word[0] == mark else word):
        if mark or TO_QUOTE & set(path):
            found.append(_quote(path, mark or (MARK if "'" in path else "'")))
        else:
            found.append(path)
    return [(word, path) for path in found if path]


def _quote(path: str, mark: str) -> str:
    """A path between two marks; a directory has no second one, so that it can be gone on with.

    Empty if it cannot stand between these.
    """
    if {mark, "\\"} & set(path):
        return ""
    return f"{mark}{path}" if path.endswith("/") else f"{mark}{path}{mark}"
