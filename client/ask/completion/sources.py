"""What each kind of word can be: fixed words, or what a running daemon knows.

An offer is the word itself and a few words about it. Names and titles are other people's and
models' words: one that a terminal may not see as it is is not offered, and what is said about
one is cut and holds no control characters.
"""

from ask.completion.daemon import ask_daemon, tell_caller

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

ABOUT_CHARACTERS = 72
"""As much as stands beside a word on a terminal of 100 columns; shells cut at their own edge."""
OFFERS = 200
"""What is asked for at once; a daemon sends as much in one page."""
JOINER = "\u200d"
"""As `ask.graphemes.JOINER`: it holds one emoji together, and only `isprintable` minds it."""
CHOICE, FILE, DIRECTORY, FUNCTION = "choice", "file", "directory", "function"
"""Kinds that are no daemon's: fixed words, paths, and what click asks a function for."""
GROUPS = ("all", "read", "none")
"""Words of `-T` beside the tools' names."""
PATTERN = "__*"
"""Behind a server's name: all of its tools."""

Offer = tuple[str, str]


def list_offers(kind: str, typed: str, arguments: "Sequence[str]") -> "list[Offer]":
    """Words of a kind that begin with what was typed; `arguments`: those before it."""
    name, colon, rest = kind.partition(":")
    if name == CHOICE and colon:
        return [(each, "") for each in rest.split(",") if each.startswith(typed)]
    ask = SOURCES.get(name)
    if ask is None:
        return []
    return [
        (str(word), trim(str(about or "")))
        for word, about in ask(typed, arguments)
        if word and is_plain(str(word)) and str(word).startswith(typed)
    ]


def is_plain(word: str) -> bool:
    """Whether a shell may show it as it is: no control, nothing that changes the order."""
    return word.replace(JOINER, "").isprintable()


def trim(text: str) -> str:
    """One short line of it, without anything that a terminal would obey."""
    plain = "".join(each if each.isprintable() or each == JOINER else " " for each in text)
    line = " ".join(plain.split())
    if len(line) <= ABOUT_CHARACTERS:
        return line
    return line[: ABOUT_CHARACTERS - 3].rstrip(f" {JOINER}") + "..."


def _list_conversations(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """Names, then ids: of those without a name, or of all once something was typed."""
    page = ask_daemon("conversation/list", {"begins": typed, "limit": OFFERS})
    rows = page.get("data", ())
    names = [(row["name"], row.get("title")) for row in rows if row.get("name")]
    ids = [
        (row["id"], row.get("name") or row.get("title"))
        for row in rows
        if typed or not is_plain(row.get("name") or "\0")
    ]
    return [*names, *ids]


def _list_models(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """Aliases, then what providers have listed before."""
    rows = ask_daemon("model/list", {"begins": typed, **tell_caller()}).get("data", ())
    aliases = [(each, row["name"]) for row in rows for each in row.get("aliases") or ()]
    names = [(row["name"], " ".join(row.get("aliases") or ())) for row in rows]
    return [*aliases, *names]


def _list_tools(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """The words of `-T`."""
    return [*((each, "") for each in GROUPS), *_list_rules(typed, ())]


def _list_rules(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """What a rule may be for, if it has not been said yet: a tool, or all of a server's."""
    if arguments:
        return []
    page = ask_daemon("tool/list", {})
    servers = [(f"{each}{PATTERN}", "") for each in page.get("servers", ())]
    return [*((row["name"], row.get("description")) for row in page.get("data", ())), *servers]


def _list_servers(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    settings = ask_daemon("config/read", {}).get("settings", {})
    return [(name, "") for name in settings.get("mcpServers") or ()]


def _list_providers(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    rows = ask_daemon("auth/status", tell_caller()).get("data", ())
    return [(row["provider"], row.get("state")) for row in rows]


def _list_jobs(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    rows = ask_daemon("job/list", {"limit": OFFERS}).get("data", ())
    return [(row["id"], f"{row['kind']}, {row['state']}") for row in rows]


def _list_schedules(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """Names, then ids: of those without a name, or of all once something was typed."""
    rows = ask_daemon("schedule/list", {}).get("data", ())
    names = [(row["name"], row["prompt"]) for row in rows if row.get("name")]
    ids = [(row["id"], row["prompt"]) for row in rows if typed or not row.get("name")]
    return [*names, *ids]


def _list_unpinned(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    """Numbers of a conversation's messages, as `ask history show` gives them, the last first."""
    return _number_messages(arguments, pinned=False)


def _list_pinned(typed: str, arguments: "Sequence[str]") -> "Iterable[tuple[Any, Any]]":
    return _number_messages(arguments, pinned=True)


def _number_messages(arguments: "Sequence[str]", *, pinned: bool) -> "list[tuple[str, str]]":
    if not arguments:
        return []
    target = {"kind": "session", "value": arguments[0], "create": False}
    found = ask_daemon("conversation/resolve", {"target": target})
    events: list[Any] = []
    after: int | None = 0 if found else None
    while after is not None:
        asked = {"conversation_id": found["id"], "after_seq": after, "limit": OFFERS}
        page = ask_daemon("conversation/read", asked)
        events += page.get("data", ())
        after = page.get("next_after_seq")
    from ask.transcript import read_messages

    offers = [
        (str(number), f"{each.role}: {_read_text(each.parts)}")
        for number, each in enumerate(read_messages(events), start=1)
        if each.pinned is pinned
    ]
    return offers[::-1]


def _read_text(parts: "Iterable[Any]") -> str:
    return " ".join(str(part.get("text") or "")[:ABOUT_CHARACTERS] for part in parts)


SOURCES: "dict[str, Callable[[str, Sequence[str]], Iterable[tuple[Any, Any]]]]" = {
    "conversation": _list_conversations,
    "job": _list_jobs,
    "model": _list_models,
    "pinned": _list_pinned,
    "provider": _list_providers,
    "rule": _list_rules,
    "schedule": _list_schedules,
    "server": _list_servers,
    "tool": _list_tools,
    "unpinned": _list_unpinned,
}
"""By the kind: what may be offered, whether it begins with what was typed or not."""
