"""Another machine whose daemon is meant: its address, and the `ssh` that leads there.

Pure, and light. An address is `ssh://[USER@]HOST[:PORT]`, and nothing of it can become
an option of `ssh` or a word of a shell: what is not surely a name is refused. It starts
nothing; `ask.links` does.
"""

from ask.exits import USAGE, Failed

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "ASK_HOST"
"""The address; unset or empty: this machine."""
DIRECTORY_VARIABLE = "ASK_REMOTE_CWD"
"""Where tools run over there; unset or empty: there are none."""
KEYS_VARIABLE = "ASK_SEND_KEYS"
"""Whether the keys of this environment may go there: `1`, or unset for no."""
COMMAND_VARIABLE = "ASK_REMOTE_COMMAND"
"""What `ask` is over there, as words; unset: `ask`, which the shell there must find."""

SCHEME = "ssh://"
CONNECT_LIMIT_S = 30
"""Until `ssh` has reached the other side and agreed on keys, at the most."""
OPTIONS = (
    "-T",  # no terminal over there: bytes as they are
    "-a",  # nobody there may use the keys of the agent here
    "-x",
    "-oPermitLocalCommand=no",
    "-oClearAllForwardings=yes",
    "-oRemoteCommand=none",
    f"-oConnectTimeout={CONNECT_LIMIT_S}",
)
"""What `scp` gives it too: a host's entry in the user's ssh_config may be made for a shell."""
HOST_LENGTH, USER_LENGTH = 253, 64
"""DNS allows no longer name; no system's user has a longer one."""
PORTS = 65535

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_HOST = _LETTERS | frozenset("._-")
_ADDRESS = frozenset("0123456789abcdefABCDEF:.%") | _LETTERS
"""Of IPv6 in brackets; behind a `%` stands the name of an interface."""
_USER = _LETTERS | frozenset("._-+@\\")
"""Of directories such as `DOMAIN\\name` and `name@domain`; ssh itself refuses a shell's signs."""
_WORD = _LETTERS | frozenset("_@%+=:,./-~ ")
"""Any shell reads these alike, between single quotes."""


class Host:
    """A machine that `ssh` can reach.

    Attributes:
        name: as `ssh` takes it, an alias of its configuration too.
        user, port: None: `ssh` knows.
    """

    __slots__ = ("name", "port", "user")

    def __init__(self, name: str, user: str | None = None, port: int | None = None) -> None:
        self.name = name
        self.user = user
        self.port = port

    def __str__(self) -> str:
        """As a person names it."""
        return self.name if self.user is None else f"{self.user}@{self.name}"

    @property
    def by_hand(self) -> str:
        """The command that a person would reach it with."""
        return f"ssh {self}" if self.port is None else f"ssh -p {self.port} {self}"


def find_host(environ: "Mapping[str, str]") -> Host | None:
    """The machine that is meant; None: this one.

    Raises:
        Failed: what is said is no address, code 2.
    """
    said = environ.get(VARIABLE)
    return read_host(said) if said else None


def read_host(text: str) -> Host:
    """Read an address.

    Raises:
        Failed: it is none, or might be something else to `ssh` or a shell, code 2.
    """
    if not text.startswith(SCHEME):
        raise _refuse(text, "an address begins with ssh://")
    rest = text[len(SCHEME) :]
    if rest.endswith("/"):
        rest = rest[:-1]
    if any(each in rest for each in "/?#"):
        raise _refuse(text, f"it names no path; where ask is over there says {COMMAND_VARIABLE}")
    user, at, place = rest.rpartition("@")
    if at and ":" in user:
        raise _refuse(text, "a password does not belong there: ssh asks for it, or has a key")
    if at and not _is_name(user, _USER, USER_LENGTH):
        raise _refuse(text, "no user is called that")
    name, port = _split_place(text, place)
    return Host(name, user if at else None, port)


def _split_place(text: str, place: str) -> tuple[str, int | None]:
    if place.startswith("["):
        name, bracket, port = place[1:].partition("]")
        if not bracket or not _is_name(name, _ADDRESS, HOST_LENGTH) or ":" not in name:
            raise _refuse(text, "no IPv6 address is between the brackets")
        if port and not port.startswith(":"):
            raise _refuse(text, "only a port can follow the brackets")
        said = bool(port)
        port = port[1:]
    else:
        name, colon, port = place.partition(":")
        said = bool(colon)
        if not _is_name(name, _HOST, HOST_LENGTH):
            raise _refuse(text, "no host is called that" if name else "it names no host")
    if not said:
        return name, None
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) <= PORTS):
        raise _refuse(text, f"a port is a number from 1 to {PORTS}")
    return name, int(port)


def _is_name(text: str, letters: frozenset[str], length: int) -> bool:
    """Whether it has such letters only, and is no option of anything."""
    return 0 < len(text) <= length and text[0] != "-" and letters.issuperset(text)


def _refuse(text: str, why: str) -> Failed:
    shown = text if text.isprintable() and len(text) <= HOST_LENGTH else "what is said"
    return Failed(
        USAGE,
        f"{shown} is no address of a machine: {why}.",
        hint="Such as ssh://user@host, ssh://host:2222, or ssh://NAME of your ssh_config.",
        data={"reason": "usage"},
    )


def build_command(
    host: Host, environ: "Mapping[str, str]", *, start: bool, batch: bool
) -> list[str]:
    """The words that `ssh` is started with.

    Args:
        start: a daemon is started there if there is none.
        batch: nobody can be asked for a password.

    Raises:
        Failed: `ASK_REMOTE_COMMAND` cannot be said to every shell, code 2.
    """
    command = ["ssh", *OPTIONS, *(["-oBatchMode=yes"] if batch else [])]
    if host.user is not None:
        command += ["-l", host.user]
    if host.port is not None:
        command += ["-p", str(host.port)]
    words = [*read_words(environ), "dial-stdio", *([] if start else ["--no-start"])]
    # `ssh` joins what follows the host with blanks, for the user's shell over there.
    return [*command, "--", host.name, " ".join(map(quote_word, words))]


def read_words(environ: "Mapping[str, str]") -> list[str]:
    """What `ask` is at the other end: its words."""
    said = environ.get(COMMAND_VARIABLE)
    if not said:
        return ["ask"]
    import shlex  # `re` with it: only for those who say it

    try:
        words = shlex.split(said)
    except ValueError:
        words = []
    if not words or not all(word and _WORD.issuperset(word) for word in words):
        raise Failed(
            USAGE,
            f"{COMMAND_VARIABLE} is no command of plain words: {said!r}.",
            hint="Such as /opt/ask/bin/ask, or: env ASK_HOME=/srv/ask ask",
            data={"reason": "usage"},
        )
    return words


def quote_word(word: str) -> str:
    """A word as any shell reads it; `~/` at its beginning stays the home over there."""
    if word.startswith("~/"):
        return f"~/{quote_word(word[2:])}" if len(word) > 2 else word
    return word if " " not in word and "~" not in word else f"'{word}'"
