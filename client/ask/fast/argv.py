"""A strict grammar for the command lines that scripts use; click reads all others.

It knows fewer forms than click and no errors: whatever it is not sure of it
declines, and what it accepts means the same to click (a property test).
"""

RESERVED = frozenset(
    (
        *("api", "attach", "auth", "chat", "clear", "compact", "completion", "config", "daemon"),
        *("dial-stdio", "doctor", "fork", "history", "install-launcher", "jobs", "list", "mcp"),
        *("models", "new", "pin", "prune", "ps", "rename", "resume", "schedule", "templates"),
        *("tools", "unpin", "usage"),
    )
)
"""The keys of `ask.commands.COMMANDS`, which would cost a module to import."""

BEFORE_MENTION = "([{<\"'“‘„«‹,;|—–\\"
"""What may stand before the `@` of a mention, beside white space; not what a name ends with."""
_FIRST_WIDE = "\u2e80"
"""Here the scripts begin that put no space between words: any of their letters may stand there."""

KEY_LENGTH = 128
"""The longest key of a prompt; the daemon takes no longer one."""

HITS, SEARCH_LIMIT = 20, 100
"""As `ask.hits.HITS` and `ask.hits.PAGE`."""

_FLAGS = {
    "-c": "again",
    "--continue": "again",
    "-q": "quiet",
    "--quiet": "quiet",
    "--raw": "raw",
    "--no-stdin": "no_stdin",
    "--no-mentions": "no_mentions",
    "--queue": "queue",
    "--steer": "steer",
    "--fail-busy": "fail_busy",
    "--ephemeral": "ephemeral",
}
_VALUES = {
    "-s": "session",
    "--session": "session",
    "-m": "model",
    "--model": "model",
    "-S": "system",
    "--system": "system",
    "--key": "key",
    "--timeout": "timeout",
}


TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping


class Words:
    """A prompt's command line as understood. Texts are never empty; None: not said."""

    __slots__ = (
        "again",
        "ephemeral",
        "fail_busy",
        "key",
        "model",
        "no_mentions",
        "no_stdin",
        "queue",
        "quiet",
        "raw",
        "session",
        "steer",
        "system",
        "text",
        "timeout",
    )

    def __init__(self) -> None:
        self.again = self.quiet = self.raw = self.no_stdin = False
        self.queue = self.steer = self.fail_busy = self.ephemeral = self.no_mentions = False
        self.session: str | None = None
        self.model: str | None = None
        self.system: str | None = None
        self.key: str | None = None
        self.timeout: str | None = None
        self.text = ""

    @property
    def busy(self) -> str | None:
        """What to do when the conversation is busy; None: to wait."""
        return "steer" if self.steer else "fail" if self.fail_busy else None

    def list_options(self, environ: "Mapping[str, str]") -> dict[str, object]:
        """What the command line, and else the caller's `ASK_*` variables, say about the turn."""
        options: dict[str, object] = {}
        model = self.model or environ.get("ASK_MODEL")
        system = self.system or environ.get("ASK_SYSTEM")
        if model:
            options["model"] = model
        if system:
            options["system"] = system
        if self.timeout is not None:
            options["timeout_s"] = float(self.timeout)
        return options


def read_prompt(arguments: list[str]) -> Words | None:
    """Understand a prompt's command line, or decline with None."""
    words = Words()
    text: list[str] = []
    rest = iter(arguments)
    for token in rest:
        if token == "--":
            text.extend(rest)
        elif token in _FLAGS:
            setattr(words, _FLAGS[token], True)
        elif token in _VALUES:
            value = next(rest, "")
            if not value or value[0] == "-":
                return None
            setattr(words, _VALUES[token], value)
        elif token[:1] == "-" or (not text and token in RESERVED):
            return None
        else:
            text.append(token)
    words.text = " ".join(text)
    if (words.again and words.session) or words.queue + words.steer + words.fail_busy > 1:
        return None
    if not words.no_mentions and may_mention(words.text):
        return None
    if words.key is not None and not is_key(words.key):
        return None
    if words.timeout is not None and not is_plain_number(words.timeout):
        return None
    return words


def read_status(arguments: list[str]) -> bool | None:
    """Whether `daemon status` shall answer with JSON; None: the words are something else."""
    if arguments == ["daemon", "status"]:
        return False
    if arguments == ["daemon", "status", "--json"]:
        return True
    return None


class Search:
    """What `history search` is to look for; `limit` fits one answer of the daemon."""

    __slots__ = ("limit", "rank", "text")

    def __init__(self, text: str, limit: int, rank: bool) -> None:
        self.text = text
        self.limit = limit
        self.rank = rank


def read_search(arguments: list[str]) -> Search | None:
    """Understand the plain forms of `history search`, or decline with None."""
    if arguments[:2] != ["history", "search"]:
        return None
    words: list[str] = []
    limit, rank = HITS, False
    rest = iter(arguments[2:])
    for token in rest:
        if token == "--":
            words.extend(rest)
        elif token == "--rank":
            rank = True
        elif token in ("-n", "--limit"):
            number = next(rest, "")
            if not is_plain_number(number) or "." in number or int(number) > SEARCH_LIMIT:
                return None
            limit = int(number)
        elif token[:1] == "-":
            return None
        else:
            words.append(token)
    text = " ".join(words)
    return Search(text, limit, rank) if text.strip() else None


def may_mention(text: str) -> bool:
    """Whether a text holds an `@` that a file's name could follow; `a@b.c` holds none."""
    place = text.find("@")
    while place >= 0:
        if can_begin(text, place):
            return True
        place = text.find("@", place + 1)
    return False


def can_begin(text: str, place: int) -> bool:
    """Whether the `@` at this place could be a mention's: nothing is looked up."""
    after = text[place + 1 : place + 2]
    if not after or after == "@" or after.isspace():
        return False
    before = text[place - 1] if place else " "
    return before.isspace() or before in BEFORE_MENTION or before >= _FIRST_WIDE


def is_key(text: str) -> bool:
    """Whether a prompt can have this key: printable characters, not only blanks, 128 at most."""
    return len(text) <= KEY_LENGTH and text.isprintable() and not text.isspace() and text != ""


def is_plain_number(text: str) -> bool:
    """Whether it is digits, maybe with one dot between, above zero, and not absurdly long."""
    whole, dot, part = text.partition(".")
    digits = whole + part
    return (
        digits.isascii()
        and digits.isdigit()
        and bool(whole)
        and bool(part) == bool(dot)
        and len(digits) < 10
        and bool(digits.strip("0"))
    )
