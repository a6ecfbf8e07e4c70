"""Paths that a model might give to get out of the workspace, or into what git keeps.

Each case says which tools may answer with content, and what a write may have changed on the
disk: nothing outside ever, inside only what is named here.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SECRET = "canary-5f1e0c"
"""Stands wherever no tool may look."""

WRITTEN = "written by the model\n"
OLD = "old"
"""A word that is in every file, for edits."""

READ, WRITE, EDIT, LIST = "read_file", "write_file", "edit_file", "list_directory"
TOOLS = (READ, WRITE, EDIT, LIST)
FILE = frozenset((READ, WRITE, EDIT))
NEW = frozenset((WRITE,))
LOOK = frozenset((READ,))
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ground:
    """A workspace with its neighbourhood.

    Attributes:
        inside: the workspace: `notes.md`, `sub/deep.txt`, a repository, our own `ours/`.
        outside: what nothing may touch.
        secret: a descriptor of a file outside, open in this process.
    """

    inside: Path
    outside: Path
    secret: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Escape:
    """One try.

    Attributes:
        path: `{ws}`, `{out}` and `{fd}` stand for the workspace, outside, and an open file.
        works: the tools that may answer with content.
        writes: what a write changes: by path, what it then holds.
        walking: as `works`, where no link is followed; None: the same.
        prepare: what is done to the ground before.
    """

    path: str
    works: frozenset[str] = NONE
    writes: Mapping[str, str] = field(default_factory=dict)
    walking: frozenset[str] | None = None
    prepare: Callable[[Ground], object] = lambda ground: None


def make_ground(top: Path, secret: int) -> Ground:
    """A fresh one; `secret` is a descriptor to put into it."""
    inside, outside, twin = top / "ws", top / "outside", top / "ws-twin"
    for directory in (inside / "sub", inside / "ours", outside / "dir", twin):
        directory.mkdir(parents=True)
    for repository in (inside / ".git", inside / "sub" / ".git", inside / "store"):
        for name in ("objects", "refs", "hooks"):
            (repository / name).mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/main\n")
        (repository / "config").write_text(f"[core] # {OLD}\n")
    (inside / "notes.md").write_text(f"{OLD} notes\n")
    (inside / "sub" / "deep.txt").write_text(f"{OLD} depth\n")
    for place in (inside / "ours", outside, outside / "dir", twin):
        (place / "secret.txt").write_text(f"{OLD} {SECRET}\n")
    (outside / "plain.txt").write_text(f"{OLD} and shared\n")
    return Ground(inside, outside, secret)


def _link(name: str, target: str) -> Callable[[Ground], object]:
    return lambda ground: (ground.inside / name).symlink_to(
        target.format(ws=ground.inside, out=ground.outside, fd=ground.secret)
    )


def _links(**links: str) -> Callable[[Ground], object]:
    return lambda ground: [_link(name, target)(ground) for name, target in links.items()]


def _share(ground: Ground) -> None:
    os.link(ground.outside / "plain.txt", ground.inside / "shared.txt")


def _listen(ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        # The path of a socket is short; that of a temporary directory may not be.
        directory = os.open(ground.inside, os.O_PATH)
        try:
            listener.bind(f"/proc/self/fd/{directory}/socket")
        finally:
            os.close(directory)


def _worktree(ground: Ground) -> None:
    (ground.inside / "sub" / "wt").mkdir()
    (ground.inside / "sub" / "wt" / ".git").write_text(f"gitdir: {ground.inside}/store # {OLD}\n")


def _new(path: str) -> Escape:
    """A path that looks like a way out and is but a strange name."""
    return Escape(path=path, works=NEW, writes={path: WRITTEN})


def _kept(path: str) -> Escape:
    """A path into what git keeps: it may be read and never written."""
    return Escape(path=path, works=LOOK)


ESCAPES: dict[str, Escape] = {
    "up": Escape(path="../outside/secret.txt"),
    "up to what is not there": Escape(path="../outside/new.txt"),
    "up from below": Escape(path="sub/../../outside/secret.txt"),
    "up from what is not there": Escape(path="none/../../outside/secret.txt"),
    "many times up": Escape(path="../" * 64 + "etc/passwd"),
    "up and back": Escape(path="../ws/notes.md"),
    "absolute": Escape(path="{out}/secret.txt"),
    "absolute, the system's": Escape(path="/etc/passwd"),
    "absolute, the root": Escape(path="/"),
    "absolute and inside": Escape(path="{ws}/notes.md", works=FILE, writes={"notes.md": WRITTEN}),
    "absolute and up": Escape(path="{ws}/../outside/secret.txt"),
    "absolute, with slashes in it": Escape(path="{ws}//../outside/secret.txt"),
    "a neighbour whose name begins alike": Escape(path="{ws}-twin/secret.txt"),
    "relative link": Escape(path="a", prepare=_link("a", "../outside/secret.txt")),
    "absolute link": Escape(path="a", prepare=_link("a", "{out}/secret.txt")),
    "absolute link that stays inside": Escape(path="a", prepare=_link("a", "{ws}/notes.md")),
    "dangling link": Escape(path="a", prepare=_link("a", "../outside/new.txt")),
    "dangling absolute link": Escape(path="a", prepare=_link("a", "{out}/new.txt")),
    "dangling link inside": Escape(path="a", prepare=_link("a", "none.txt")),
    "below a dangling link": Escape(path="a/b/c", prepare=_link("a", "../outside/none")),
    "linked parent": Escape(path="a/secret.txt", prepare=_link("a", "../outside")),
    "linked parent, absolute": Escape(path="a/secret.txt", prepare=_link("a", "{out}")),
    "new file in a linked parent": Escape(path="a/new.txt", prepare=_link("a", "../outside")),
    "new directory in a linked parent": Escape(path="a/b/c", prepare=_link("a", "../outside")),
    "linked directory": Escape(path="a", prepare=_link("a", "../outside")),
    "linked directory, as one": Escape(path="a/", prepare=_link("a", "../outside")),
    "link to a link": Escape(path="a", prepare=_links(a="b", b="../outside/secret.txt")),
    "link that turns around": Escape(path="a/../../outside/secret.txt", prepare=_link("a", "sub")),
    "link to itself": Escape(path="a", prepare=_link("a", "a")),
    "link inside": Escape(
        path="a",
        works=FILE,
        writes={"notes.md": WRITTEN},
        walking=NONE,
        prepare=_link("a", "notes.md"),
    ),
    "linked parent inside": Escape(
        path="a/deep.txt",
        works=FILE,
        writes={"sub/deep.txt": WRITTEN},
        walking=NONE,
        prepare=_link("a", "sub"),
    ),
    # A hard link is a file of the workspace; but what it shares stays as it is elsewhere.
    "hard link": Escape(
        path="shared.txt", works=FILE, writes={"shared.txt": WRITTEN}, prepare=_share
    ),
    "the root of a process": Escape(path="/proc/self/root{out}/secret.txt"),
    "its directory": Escape(path="/proc/self/cwd/secret.txt"),
    "its descriptors": Escape(path="/dev/fd/{fd}"),
    "its memory": Escape(path="/proc/self/environ"),
    "link to the root of a process": Escape(
        path="a{out}/secret.txt", prepare=_link("a", "/proc/self/root")
    ),
    "link to its directory": Escape(path="a/secret.txt", prepare=_link("a", "/proc/self/cwd")),
    "link to its descriptors": Escape(path="a", prepare=_link("a", "/proc/self/fd/{fd}")),
    "NUL": Escape(path="notes.md\0.txt"),
    "NUL behind a way out": Escape(path="../outside/secret.txt\0notes.md"),
    "too long": Escape(path="a/" * 2_500 + "b"),
    "too long and out": Escape(path="../" * 2_000 + "etc/passwd"),
    "a name that is too long": Escape(path="a" * 256),
    "longer than any argument": Escape(path="a" * 1_000_000),
    "empty": Escape(path=""),
    "itself": Escape(path=".", works=frozenset((LIST,))),
    "itself, the long way": Escape(path="sub/..", works=frozenset((LIST,)), walking=NONE),
    "a directory": Escape(path="sub", works=frozenset((LIST,))),
    "a file as a directory": Escape(path="notes.md/"),
    "a file as a directory, with a dot": Escape(path="notes.md/."),
    "below a file": Escape(path="notes.md/x"),
    "new file as a directory": Escape(path="new/"),
    "the home": Escape(path="~/secret.txt"),
    "the home itself": Escape(path="~"),
    "somebody's home": _new("~root/x"),
    "backslashes": _new("..\\..\\outside\\secret.txt"),
    "a share": _new("\\\\server\\share\\secret.txt"),
    "a drive": _new("C:\\outside\\secret.txt"),
    "a URL": _new("file:/outside/secret.txt"),
    "percent": _new("%2e%2e/outside/secret.txt"),
    "wide dots": _new("\uff0e\uff0e/outside/secret.txt"),
    "a two-dot leader": _new("\u2025/outside/secret.txt"),
    "dots with nothing between": _new(".\u200b./outside/secret.txt"),
    "a slash that is none": _new("..\u2215outside\u2215secret.txt"),
    "three dots": _new(".../outside/secret.txt"),
    "a variable": _new("$HOME/secret.txt"),
    "a blank behind": _new(".. /outside/secret.txt"),
    "another case": _new("NOTES.md"),
    "control characters": _new("a\x1b]0;x\x07\nb"),
    "half a character": Escape(path="\ud800.txt"),
    "half a byte": Escape(path="\udcff.txt"),
    "what git keeps": Escape(path=".git", works=frozenset((LIST,))),
    "a hook": Escape(path=".git/hooks/pre-commit"),
    "a setting of git": _kept(".git/config"),
    "a setting of git, around": Escape(path="sub/../.git/config", works=LOOK, walking=NONE),
    "a setting of git, by its full path": _kept("{ws}/.git/config"),
    "git in capitals": Escape(path=".GIT/config"),
    "git in both cases": Escape(path="sub/new/.gIt/hooks/pre-commit"),
    "git with a dot behind": Escape(path=".git./config"),
    "git with a blank behind": Escape(path=".git /config"),
    "git by a short name": Escape(path="GIT~1/config"),
    "git by a stream": Escape(path=".git::$INDEX_ALLOCATION/config"),
    "git with nothing between": Escape(path=".g\u200cit/config"),
    "git further down": _kept("sub/.git/config"),
    "new git further down": Escape(path="sub/new/.git/config"),
    "git through a link": Escape(
        path="a/config", works=LOOK, walking=NONE, prepare=_link("a", ".git")
    ),
    "git through a link to a file": Escape(
        path="a", works=LOOK, walking=NONE, prepare=_link("a", "sub/.git/config")
    ),
    "a file named git": Escape(path="sub/wt/.git", works=LOOK, prepare=_worktree),
    "a repository by another name": _kept("store/config"),
    "a hook of it": Escape(path="store/hooks/pre-commit"),
    "what is not git": _new(".gitignore"),
    "what is ours": Escape(path="ours/secret.txt"),
    "new in what is ours": Escape(path="ours/new.txt"),
    "ours, listed": Escape(path="ours"),
    "ours through a link": Escape(path="a/secret.txt", prepare=_link("a", "ours")),
    "a named pipe": Escape(path="pipe", prepare=lambda ground: os.mkfifo(ground.inside / "pipe")),
    "a socket": Escape(path="socket", prepare=_listen),
    "a device": Escape(path="/dev/zero"),
    "link to a device": Escape(path="a", prepare=_link("a", "/dev/zero")),
    "link to a terminal": Escape(path="a", prepare=_link("a", "/dev/tty")),
}
