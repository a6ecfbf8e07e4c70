"""Who is calling: what they bring along, where their daemon listens, and one request to it.

The tables are those of `ask.protocol.names`, and `first_socket` is the head of
`ask.paths.socket_candidates`; tests hold both equal. It starts no daemon.
"""

import _socket
import os
import sys
import time

import ask
from ask.fast import codec

PROTOCOL = 1
"""As `ask.protocol.PROTOCOL`."""
HELLO_ID, START_ID = 1, 2
CALLER_ENVIRONMENT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR"),
    *("TZ", "USER", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "CODEX_HOME"),
)
SECRET_NAMES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "TOGETHER_API_KEY"),
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
    *("NO_PROXY", "no_proxy"),
)
CONNECT_LIMIT_S = 2.0
"""A listener that takes longer is the long way's concern."""
QUIET_S = 30.0
"""After this long without a byte the long way asks whether the daemon still lives."""
SOCKET_PATH_LIMIT_BYTES = 107
"""As in `ask.paths`: what fits `sun_path`."""
INPUT_NAME = "stdin"
"""What the part of a prompt is called that came on standard input."""
DENIED = "Denied: "
"""So begins what everybody is told of a tool that was not allowed to run."""
INPUT_LIMIT_BYTES = 256 * 1024
"""A larger input travels as a blob, the long way."""
_CLOSED = (5, 9, 32)  # EIO (a terminal that is gone), EBADF, EPIPE; `errno` is a module more

TYPE_CHECKING = False  # what mypy believes of the name; importing `typing` would cost 2 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ask.fast.argv import Words


class StdoutClosed(Exception):
    """Nobody reads the answer any more; the turn goes on without us."""


class StdoutFailed(Exception):
    """The answer cannot be written where it should go: why, in the system's words."""


def first_socket(environ: "Mapping[str, str]") -> str | None:
    """The path of the best socket; None: it takes more than the environment to tell."""
    path = environ.get("ASK_SOCKET")
    if not path and environ.get("ASK_HOME"):
        path = f"{environ['ASK_HOME']}/run/askd.sock"
    if not path:
        uid = os.getuid()
        path = f"/tmp/ask-{uid}/askd.sock"
        for directory in (environ.get("XDG_RUNTIME_DIR"), f"/run/user/{uid}"):
            if directory and _is_own_directory(directory, uid):
                path = f"{directory}/ask/askd.sock"
                break
    if path[0] != "/":
        path = f"{find_directory()}/{path}"
    return path if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES else None


def find_data(environ: "Mapping[str, str]") -> str | None:
    """The data directory that is meant, as `ask.paths` finds it; None: any, or hard to tell."""
    home = environ.get("ASK_HOME")
    if environ.get("ASK_SOCKET") or environ.get("ASK_HOST"):
        return None  # the daemon there is meant, whatever it serves
    if home:
        path = f"{home}/data" if home[0] == "/" else f"{find_directory()}/{home}/data"
    elif environ.get("XDG_DATA_HOME"):
        path = f"{environ['XDG_DATA_HOME']}/ask"
    else:
        path = f"{environ.get('HOME') or '?'}/.local/share/ask"
    return path if path[0] == "/" and path.isprintable() else None


def introduce(environ: "Mapping[str, str]") -> dict[str, object]:
    """The parameters of `hello`, for both ways."""
    data = find_data(environ)
    meant = {} if data is None else {"data": data}
    return {"client": "ask", "version": ask.__version__, "protocol": PROTOCOL, **meant}


def _is_own_directory(path: str, uid: int) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return path[0] == "/" and status.st_uid == uid and status.st_mode & 0o170000 == 0o040000


def open_socket(
    environ: "Mapping[str, str]", *, quiet_s: float = QUIET_S
) -> "_socket.socket | None":
    """Connect to this user's daemon; None: there is none at the first place, or it is another's.

    A read from it that gets nothing for `quiet_s` raises `OSError`.
    """
    path = first_socket(environ)
    if path is None:
        return None
    stream = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        _limit(stream, _socket.SO_SNDTIMEO, CONNECT_LIMIT_S)
        _limit(stream, _socket.SO_RCVTIMEO, quiet_s)
        stream.connect(path)
        peer = stream.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    except OSError:
        stream.close()
        return None
    if memoryview(peer).cast("I")[1] != os.getuid():
        stream.close()
        return None
    return stream


def _limit(stream: "_socket.socket", option: int, limit_s: float) -> None:
    """Let the kernel limit a wait (`OSError` after it): `settimeout` would poll at every call."""
    seconds = int(limit_s)
    microseconds = int((limit_s - seconds) * 1e6)
    timeval = b"".join([n.to_bytes(8, sys.byteorder) for n in (seconds, microseconds)])
    stream.setsockopt(_socket.SOL_SOCKET, option, timeval)


def ask_once(
    environ: "Mapping[str, str]", method: str, params: "Mapping[str, object]", *, quiet_s: float
) -> "dict[str, Any] | None":
    """What the running daemon answers to one request; None: the long way finds out what is wrong.

    It may be silent for `quiet_s` at a time.
    """
    try:
        request = codec.encode([0, 1, "hello", [introduce(environ)]])
        request += codec.encode([0, 2, method, [params]])
    except UnicodeError:
        return None  # bytes that are no text
    stream = open_socket(environ, quiet_s=quiet_s)
    if stream is None:
        return None
    decoder = codec.Decoder()
    answers: list[Any] = []
    try:
        stream.sendall(request)
        while len(answers) < 2:
            data = stream.recv(64 * 1024)
            if not data:
                return None
            answers += decoder.feed(data)
        (_, _, _, greeting), (_, _, error, result) = answers
        if error is not None or greeting["protocol"] != PROTOCOL:
            return None
    except (OSError, LookupError, TypeError, ValueError):
        return None
    finally:
        stream.close()
    return result if isinstance(result, dict) else None


def take(environ: "Mapping[str, str]", names: tuple[str, ...]) -> dict[str, str]:
    """The variables of these names that are set to something."""
    return {name: environ[name] for name in names if environ.get(name)}


def describe(environ: "Mapping[str, str]") -> dict[str, object]:
    """What the daemon is told of the caller: `cwd`, `env`, `secrets`; nothing else leaks.

    `cwd_id` goes with `cwd`: `DEVICE:INODE`, for a name may come to mean another directory.
    """
    described: dict[str, object] = {}
    try:
        directory, status = os.getcwd(), os.stat(".")
    except OSError:
        pass  # it has been removed, or must not be entered: no place for anything
    else:
        described["cwd"] = directory
        described["cwd_id"] = f"{status.st_dev}:{status.st_ino}"
    described["env"] = take(environ, CALLER_ENVIRONMENT)
    secrets = take(environ, SECRET_NAMES)
    if secrets:
        described["secrets"] = secrets
    return described


def find_directory() -> str | None:
    """The working directory; None if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def has_input() -> bool:
    """Whether standard input is a pipe, a socket or a file, and not a terminal or /dev/null."""
    try:
        kind = os.fstat(0).st_mode & 0o170000
    except OSError:
        return False  # closed
    return kind in (0o010000, 0o140000, 0o100000)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; raise `StdoutClosed` or `StdoutFailed`."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            time.sleep(0.01)  # a pipe that someone else has made non-blocking
        except OSError as error:
            if error.errno in _CLOSED:
                raise StdoutClosed from None
            raise StdoutFailed(error.strerror) from None


def say(text: str) -> None:
    """A line for people; a closed stderr is nobody's concern."""
    try:
        write_all(2, text.encode(errors="replace"))
    except (StdoutClosed, StdoutFailed):
        return


def queued(position: int) -> str:
    """What a person is told who has to wait."""
    return f"Queued: {position} turn{'s' if position > 1 else ''} before this one.\n"


def is_interactive() -> bool:
    """Whether a person is there who could answer a question: on standard input, or beside it."""
    if not os.isatty(2):
        return False
    if os.isatty(0):
        return True
    from ask.fast.beside import has_terminal  # only where something is piped in

    return has_terminal()


def needs_person(event: "Mapping[str, object]") -> bool:
    """Whether an event asks something, and there is somebody to be asked."""
    return event["type"] == "question_asked" and is_interactive()


def make_key() -> str:
    """A random UUID (version 4), as `uuid.uuid4` makes them."""
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def find_terminal(environ: "Mapping[str, str]") -> str | None:
    """Who this terminal is: said, a tmux pane, or a tty and its session's leader; else None.

    A tty alone is no name: its number is given to the next window. The leader's
    pid and start time make it one.
    """
    if environ.get("ASK_TERMINAL"):
        return f"name:{environ['ASK_TERMINAL']}"
    if environ.get("TMUX") and environ.get("TMUX_PANE"):
        # $TMUX is socket,pid,session: the session may change, the pane stays.
        server = ",".join(environ["TMUX"].split(",")[:2])
        return f"tmux:{server}:{environ['TMUX_PANE']}"
    for descriptor in (0, 1, 2):
        try:
            name = os.ttyname(descriptor)
            leader = os.getsid(0)
            return f"tty:{name}:{leader}:{_find_start(leader, descriptor)}"
        except OSError:
            continue
    return None


def _find_start(leader: int, descriptor: int) -> str:
    """When the session of a tty began, as a word that no later session has.

    A leader outside of our PID namespace (`docker exec -t`) is 0, and one under
    `hidepid` cannot be read; the age of the tty's device says the same then.
    """
    try:
        with open(f"/proc/{leader}/stat", "rb") as stream:
            status = stream.read()
    except OSError:
        return str(os.fstat(descriptor).st_ctime_ns)
    # Field 22, counted behind the command's name, which may hold spaces and brackets.
    return status[status.rindex(b")") + 2 :].split()[19].decode()


def build_request(
    words: "Words", key: str, stdin: bytes | None, environ: "Mapping[str, str]"
) -> bytes | None:
    """The bytes of `hello` and `turn/start`; None: the long way knows better what to say."""
    terminal = find_terminal(environ)
    target: dict[str, object] = {"kind": "new"}
    if words.again:
        target = {"kind": "terminal", "value": terminal}
    elif words.session:
        target = {"kind": "session", "value": words.session, "create": True}
    try:
        parts = list_parts(words.text, (stdin or b"").decode())
        params: dict[str, object] = {"target": target, "key": key, "parts": parts}
        options = words.list_options(environ)
        if options:
            params["options"] = options
        if words.busy is not None:
            params["busy"] = words.busy
        if words.ephemeral:
            params["ephemeral"] = True
        params.update(describe(environ))
        if terminal is not None and not words.ephemeral:
            params["terminal"] = terminal
        params["follow"] = True
        if is_interactive():
            params["interactive"] = True
        frame = codec.encode([0, START_ID, "turn/start", [params]])
    except UnicodeError:
        return None  # bytes that are no text, in a prompt or in a directory's name
    if stdin is not None and b"\0" in stdin:
        return None  # no text
    if not parts or (words.again and terminal is None) or len(frame) > codec.MESSAGE_LIMIT_BYTES:
        return None
    if len(words.text.encode()) > INPUT_LIMIT_BYTES:
        return None
    return codec.encode([0, HELLO_ID, "hello", [introduce(environ)]]) + frame


def list_parts(text: str, stdin: str) -> list[object]:
    """The prompt's parts: its words, then what came on standard input, or that alone."""
    parts: list[object] = []
    if text.strip():
        parts.append({"type": "text", "text": text})
    if stdin.strip():
        named = {"name": INPUT_NAME} if parts else {}
        parts.append({"type": "text", "text": stdin, **named})
    return parts
