"""Writes `docs/reference/environment.md`: variables of others that are heeded, and files written.

Run `python -m tests.house.environment_page` to write it. What each is for is said here; a test
holds both tables against what the sources look for. Variables of our own and providers' keys
have their places on the page of settings.
"""

from tests.house.pages import REFERENCE, render_table, write_page

PATH = REFERENCE / "environment.md"

VARIABLES: dict[str, str] = {
    "HOME": "Where the home directory is, for `~`, and for the places below.",
    "PATH": "Where programs are looked for: the client's for tools, the daemon's for `git`, "
    "`notify-send` and commands of the settings.",
    "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME": "Where the directories below are, "
    "unless `ASK_HOME` is set.",
    "XDG_RUNTIME_DIR": "Where the socket is, and the person's desktop.",
    "XDG_CACHE_HOME": "Handed on to the daemon, for libraries.",
    "NO_COLOR": "Not empty: no colours, and answers as plain text.",
    "TERM": "`dumb` or unset: no colours, no editor in `ask chat`, and answers as plain text.",
    "VISUAL, EDITOR": "What `ask templates edit` and a chat open; the first that is set.",
    "TZ": "The time zone of a schedule that names none, and of times that are shown.",
    "TMUX, TMUX_PANE": "Which pane this is, for `-c`.",
    "DISPLAY, WAYLAND_DISPLAY": "There is a desktop: a sign-in opens a browser, and notifications "
    "have a place to be.",
    "DBUS_SESSION_BUS_ADDRESS, XAUTHORITY": "How `notify-send` finds the desktop.",
    "LANG, LC_ALL, LC_CTYPE, LOGNAME, USER, SHELL, TMPDIR": "Given to commands that tools run, as "
    "they are where `ask` was run.",
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": "The way to providers, in capitals or in "
    "small letters. They travel with the prompt as keys do, for they may hold a password.",
    "https_proxy, http_proxy, all_proxy, no_proxy": "The same.",
    "OPENAI_BASE_URL, ANTHROPIC_BASE_URL": "Where the key that is set beside it is good for.",
    "OLLAMA_HOST": "Where Ollama listens.",
    "CODEX_HOME": "Where Codex keeps its sign-in and its settings.",
    "CODEX_REFRESH_TOKEN_URL_OVERRIDE": "Where its sign-in is renewed, as Codex reads it.",
    "CLAUDE_CONFIG_DIR": "Where Claude Code keeps its sign-in and its settings.",
    "CREDENTIALS_DIRECTORY": "systemd's `LoadCredential=`: keys of providers, a file each.",
    "LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES": "systemd's: the socket that it holds for the daemon.",
    "NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID, JOURNAL_STREAM": "systemd's: where the daemon "
    "says that it is ready and well, and whether the journal keeps its log.",
}
"""By name, several of one use in one row."""

FILES: dict[str, dict[str, str]] = {
    "data": {
        "ask.db": "Every conversation, job and schedule. `ask.db-wal` and `ask.db-shm` belong to "
        "it. `ask.db.backup-…` are copies and what was put aside; copies go after seven days.",
        "rollouts": "Conversations as text, one [file](rollouts.md) each; `[rollouts] directory` "
        "moves it.",
        "archive": "Rollouts of conversations that grew too old to keep.",
        "reserve.bin": "8 MiB that are given up when the disk is full, so that deleting works.",
        "keys.json": "What `ask auth set-key` keeps.",
        "chatgpt.json": "The sign-in at ChatGPT.",
        "copilot.json": "The sign-in at GitHub.",
        "mcp-sign-ins": "Sign-ins at servers of tools, a file each.",
        "owner.json": "Which daemon runs: socket, pid, version.",
        "askd.lock": "Held by the daemon that runs. It stays when none does.",
    },
    "config": {
        "config.toml": "The [settings](settings.md). Yours; written by commands such as "
        "`ask models default` and `ask mcp add` alone, comments kept.",
        "templates": "Templates, a file each.",
    },
    "state": {
        "askd.log": "The [log](log.md), unless the journal has it; `.1` to `.3` are older.",
        "chat_history": "What was typed in chats.",
        "models.json": "What providers said of their models; asked for again when it is gone.",
        "mcp-tools.json": "What servers of tools offer; asked for again when it is gone.",
        "retention.json": "When old conversations were last looked for.",
        "start.lock": "Held by a client that starts a daemon. It stays.",
    },
    "run": {
        "askd.sock": "The socket.",
    },
}
"""Below each of the directories: what is written there."""

DIRECTORIES: dict[str, tuple[str, str]] = {
    "data": ("$XDG_DATA_HOME/ask", "~/.local/share/ask"),
    "config": ("$XDG_CONFIG_HOME/ask", "~/.config/ask"),
    "state": ("$XDG_STATE_HOME/ask", "~/.local/state/ask"),
    "run": ("$XDG_RUNTIME_DIR/ask", "/run/user/UID/ask, else /tmp/ask-UID"),
}
"""With what is set, and where nothing is."""

HEAD = """\
# Variables and files

## Variables of others

`ask` and `askd` heed these as other programs do. Their own, which begin with `ASK_`, and providers'
keys are with the [settings](settings.md#variables).

"""

FILES_HEAD = """
## Files

With `ASK_HOME` set, everything is below it, in `data`, `config`, `state` and `run`. Else:

"""

FOOT = """
Each is made for its owner alone (`0600`, directories `0700`). Copy the database with the
daemon stopped, or take a copy that the daemon made; a rollout may be copied at any time.

Elsewhere `ask` writes what it is told to (`-o`, exports, what tools do); below `refs/ask/` of a
project's repository it keeps [snapshots](../how-to/undo-what-a-tool-did.md), made in a directory
beside the data, `ask-scratch`; units are written to `~/.config/systemd/user` by
`ask daemon install`; and a sign-in of Codex that is renewed is written back into its `auth.json`.

This page is generated by `tests/house/environment_page.py`.
"""


def render() -> str:
    """The whole page."""
    page = HEAD + render_table(
        ("variable", "what it does"), [(_spell(names), text) for names, text in VARIABLES.items()]
    )
    page += FILES_HEAD + render_table(
        ("directory", "where", "where nothing is set"),
        [(f"`{name}`", f"`{said}`", f"`{usual}`") for name, (said, usual) in DIRECTORIES.items()],
    )
    for directory, files in FILES.items():
        page += f"\n### `{directory}`\n\n"
        page += render_table(
            ("file", "what it holds"), [(f"`{name}`", text) for name, text in files.items()]
        )
    return page + FOOT


def split_names(row: str) -> list[str]:
    """The variables of a row."""
    return row.split(", ")


def _spell(row: str) -> str:
    return ", ".join(f"`{name}`" for name in split_names(row))


if __name__ == "__main__":
    write_page(PATH, render())
