"""Commands that try to write outside, to read what is hidden, and to change what is kept."""

import os
from collections.abc import Callable

from tests.faults.escapes import CONTENT, ESCAPED, SECRET, Case, Look, World

IS_ROOT = os.geteuid() == 0

RENAMEAT2 = {"x86_64": 316, "aarch64": 276}[os.uname().machine]

CALL = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
E = os.environ
def call(*arguments):
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(*whole)
    return -ctypes.get_errno() if result < 0 else result
ESCAPED = {ESCAPED!r}
"""
"""The beginning of a script in Python: a system call by its number."""


def changed(find: Callable[[World], str]) -> Look:
    """Whether a file is not as it was."""

    def look(world: World) -> bool:
        path = world.home / find(world)
        return not path.is_file() or path.read_text() not in (CONTENT, SECRET)

    return look


def _is_new(world: World) -> bool:
    return (world.outside / "new").exists()


_changed = changed(lambda _: "outside/file")
_config = changed(lambda _: "work/.git/config")


_linked = changed(lambda _: "work/gitdir/config")


def _relinked(world: World) -> bool:
    return not (world.workspace / "other/.git").is_symlink()


def _hook(world: World) -> bool:
    return any(world.git.glob("hooks/*"))


def _mode(world: World) -> bool:
    return (world.outside / "file").stat().st_mode & 0o777 == 0o777


def _set_id(world: World) -> bool:
    return any(path.lstat().st_mode & 0o6000 for path in world.workspace.rglob("mine"))


def _time(world: World) -> bool:
    return (world.outside / "file").stat().st_mtime < 10**9


def _take_away(path: str) -> bool:
    """Whether it was there; it is not any more."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


WRITES = (
    Case("dot dot", "echo x > ../outside/new", look=_is_new),
    Case("absolute path", 'echo x > "$OUT/new"', look=_is_new),
    Case("overwrite", 'echo x > "$OUT/file"', look=_changed),
    Case("append", 'echo x >> "$OUT/file"', look=_changed),
    Case("truncate by path", python=CALL + "os.truncate(E['OUT'] + '/file', 0)", look=_changed),
    Case("remove", 'rm -f "$OUT/file"', look=_changed),
    Case("rename out", 'mv file "$OUT/new"', look=_is_new),
    Case("rename in", 'mv "$OUT/file" plain/', look=_changed),
    Case("rename the workspace", 'mv "$WS" "$WS-moved"', look=lambda w: not w.workspace.exists()),
    Case("hard link of what is outside", 'ln "$OUT/file" h; echo x > h', look=_changed),
    Case("hard link to the outside", 'ln file "$OUT/new"', look=_is_new),
    Case("link made", 'ln -s "$OUT/file" plain/s; echo x > plain/s', look=_changed),
    Case("link to a directory", 'ln -s "$OUT" plain/d; echo x > plain/d/new', look=_is_new),
    Case("link that was there", "echo x > link/new", look=_is_new),
    Case("dangling link", "echo x > dangling", look=_is_new),
    Case("link up", "ln -s ../.. plain/up; echo x > plain/up/outside/new", look=_is_new),
    Case("root of itself", 'echo x > "/proc/self/root$OUT/new"', look=_is_new),
    Case("root of init", 'echo x > "/proc/1/root$OUT/new"', look=_is_new, control=False),
    Case("root of another", 'echo x > "/proc/$VICTIM/root$OUT/new"', look=_is_new),
    Case("directory of another", 'echo x > "/proc/$VICTIM/cwd/new"', look=_is_new),
    Case(
        "descriptor of another",
        'echo x > "/proc/$VICTIM/fd/1"',
        look=lambda w: (w.outside / "held").stat().st_size > 0,
    ),
    Case("directory outside", 'mkdir "$OUT/new"', look=_is_new),
    Case("socket file outside", python=CALL + "os.mkfifo(E['OUT'] + '/new')", look=_is_new),
    Case(
        "memory without a limit",
        "echo x > /dev/askd-test && rm /dev/askd-test && echo ESCAPED",
        control=IS_ROOT,
    ),
    Case("device", "mknod plain/null c 1 3 && echo ESCAPED", control=IS_ROOT),
    Case("disk", "mknod plain/disk b 254 0 && echo ESCAPED", control=IS_ROOT),
    Case(
        "shared memory",
        'echo x > "/dev/shm/$MARK"',
        look=lambda w: _take_away(f"/dev/shm/{w.home.name}"),
    ),
    Case(
        "everybody's /tmp",
        'echo x > "/tmp/$MARK"',
        look=lambda w: _take_away(f"/tmp/{w.home.name}"),
    ),
    Case(
        "everybody's /var/tmp",
        'echo x > "/var/tmp/$MARK"',
        look=lambda w: _take_away(f"/var/tmp/{w.home.name}"),
    ),
    Case("mode", 'chmod 777 "$OUT/file"', look=_mode),
    Case("mode through a link", "chmod 777 link/file", look=_mode),
    Case(
        "mode by a descriptor",
        python=CALL + "os.fchmod(os.open(E['OUT'] + '/file', 0), 0o777)",
        look=_mode,
    ),
    Case(
        "mode by the descriptor's name",
        python=CALL + "os.chmod('/proc/self/fd/%d' % os.open(E['OUT'] + '/file', 0), 0o777)",
        look=_mode,
    ),
    Case("times", 'touch -d 1999-01-01 "$OUT/file"', look=_time),
    Case(
        "times by a descriptor",
        python=CALL + "os.utime(os.open(E['OUT'] + '/file', 0), (5, 5))",
        look=_time,
    ),
    Case(
        "owner",
        'chown 65534 "$OUT/file"',
        look=lambda w: (w.outside / "file").stat().st_uid == 65534,
        control=IS_ROOT,
    ),
    Case(
        "attribute",
        python=CALL + "os.setxattr(E['OUT'] + '/file', 'user.x', b'x')",
        look=lambda w: bool(os.listxattr(w.outside / "file")),
    ),
    Case("set-user-ID", "cp /bin/sh plain/mine; chmod 4755 plain/mine", look=_set_id),
    Case(
        "set-user-ID from the start",
        python=CALL + "os.open('plain/mine', os.O_CREAT | os.O_WRONLY, 0o4755)",
        look=_set_id,
    ),
    Case("set-group-ID", "cp /bin/sh plain/mine; chmod g+s plain/mine", look=_set_id),
)

KEPT = (
    Case("hook", "echo x > .git/hooks/post-checkout", look=_hook),
    Case("hook by rename", "echo x > plain/h; mv plain/h .git/hooks/post-checkout", look=_hook),
    Case("hook through a link", "ln -s ../.git plain/g; echo x > plain/g/hooks/x", look=_hook),
    Case("config", "echo x > .git/config", look=_config),
    Case("config by an absolute path", 'echo x > "$WS/.git/config"', look=_config),
    Case("config by its link", "ln .git/config plain/c; echo x > plain/c", look=_config),
    Case("config by its root", 'echo x > "/proc/self/root$WS/.git/config"', look=_config),
    Case(
        "config by the parent's directory",
        'echo x > "/proc/$PPID/cwd/.git/config"',
        look=_config,
        control=False,
    ),
    Case(
        "config in other letters", "mkdir .GIT; echo x > .GIT/config", look=_config, control=False
    ),
    Case("deeper", "echo x > sub/.git/config", look=changed(lambda _: "work/sub/.git/config")),
    Case(
        "another .git in its place",
        "mv .git plain/old; mkdir .git; echo x > .git/config",
        look=_config,
    ),
    Case(
        "its parent in its place",
        "mv sub plain/old; mkdir -p sub/.git; echo x > sub/.git/config",
        look=changed(lambda _: "work/sub/.git/config"),
    ),
    Case("removed", "rm -rf .git", look=_config),
    Case("through its link", "echo x > other/.git/config", look=_linked),
    Case("its link replaced", "rm other/.git; cp -r gitdir other/.git", look=_relinked),
    Case(
        "its link's parent replaced",
        "mv other plain/; mkdir -p other/.git",
        look=_relinked,
    ),
    Case(
        "exchanged",
        python=CALL
        + f"os.mkdir('plain/.git'); call({RENAMEAT2}, -100, b'.git', -100, b'plain/.git', 2)",
        look=_config,
    ),
    Case(
        "mode of config",
        "chmod 777 .git/config",
        look=lambda w: (w.git / "config").stat().st_mode & 0o777 == 0o777,
    ),
)

HIDDEN = (
    Case(
        "own config written",
        'echo x >> "$OWN/config.toml"',
        look=changed(lambda _: "own/config.toml"),
    ),
    Case("own config read", 'cat "$OWN/config.toml"'),
    Case("hidden inside", "cat deep/own/auth.json"),
    Case(
        "hidden inside, replaced",
        "mv deep plain/; mkdir -p deep/own; echo x > deep/own/auth.json",
        look=changed(lambda _: "work/deep/own/auth.json"),
    ),
    Case("hidden inside, moved", "mv deep/own plain/; cat plain/own/auth.json"),
    Case("conversations read", 'cat "$OWN/askd.db"'),
    Case("keys read", 'cat "$OWN/auth.json"'),
    Case("keys read through a link", 'ln -s "$OWN" plain/o; cat plain/o/auth.json'),
    Case("keys read by a hard link", 'ln "$OWN/auth.json" plain/k; cat plain/k'),
    Case("keys read by root", 'cat "/proc/self/root$OWN/auth.json"'),
    Case("keys read by another's directory", 'cat "/proc/$VICTIM/cwd/../own/auth.json"'),
    Case("keys moved", 'mv "$OWN/auth.json" plain/; cat plain/auth.json'),
    Case("directory of keys moved", 'mv "$OWN" plain/; cat plain/own/auth.json'),
    Case(
        "keys made readable",
        'chmod 777 "$OWN" "$OWN/auth.json"',
        look=lambda w: (w.own / "auth.json").stat().st_mode & 0o777 == 0o777,
    ),
    Case("key executed", 'cp /bin/true "$OWN/x" && "$OWN/x" && echo ESCAPED'),
)


CASES = (*WRITES, *KEPT, *HIDDEN)
