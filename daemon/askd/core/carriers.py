"""Programs that run what their arguments say: their first words are not the whole of a command.

Tables and two questions to them. They hold what is in common use and cannot be complete: a
program that is not in them is taken to do what its own name says.
"""

from collections.abc import Sequence


def split_table(table: str) -> frozenset[tuple[str, ...]]:
    """A table of commands, between commas, as tuples of words."""
    return frozenset(tuple(each.split()) for each in table.split(","))


_WRAPPERS = """
    ., ash, at, bash, batch, builtin, bunx, busybox, bwrap, chroot, chrt, command, coproc,
    cpulimit, dash, doas, entr, env, eval, exec, faketime, fakeroot, firejail, fish, flock, ionice,
    ksh, ltrace, mksh, nice, nix-shell, nohup, npx, nsenter, numactl, parallel, pkexec, pnpx,
    prlimit, proxychains, rlwrap, runuser, screen, script, setpriv, setsid, sh, source, ssh,
    start-stop-daemon, stdbuf, strace, su, sudo, systemd-run, taskset, time, timeout, tmux,
    torsocks, toybox, trap, unbuffer, unshare, uvx, valgrind, watch, xargs, yash, zsh
"""
_WRAPPING_COMMANDS = """
    bun x, bundle exec, conda run, deno run, direnv exec, docker compose exec, docker compose run,
    docker exec, docker run, git bisect run, git filter-branch, git submodule foreach, hatch run,
    kubectl debug, kubectl exec, kubectl run, mamba run, nix develop, nix run, nix shell,
    npm exec, npm x, pdm run, pipenv run, pipx run, pnpm dlx, pnpm exec, podman exec, podman run,
    poetry run, rye run, uv run, uv tool run, yarn dlx, yarn exec
"""
CARRIERS = split_table(_WRAPPERS) | split_table(_WRAPPING_COMMANDS)
"""They run the words behind them, or a line that one of these is, in another way or place."""

_BUILTINS = """
    alias, bind, declare, enable, export, hash, local, readonly, set, shopt, typeset, unalias, unset
"""
CHANGERS = frozenset(name for (name,) in split_table(_BUILTINS))
"""They change what the next words of a shell mean."""

RUNNING_OPTIONS = {
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    "git": ("--exec", "--ext-diff", "--receive-pack", "--upload-pack"),
    "git difftool": ("-x", "--extcmd"),
    "git grep": ("-O", "--open-files-in-pager"),
    "git rebase": ("-x",),
    "man": ("-H", "-P", "--html", "--pager"),
    "rg": ("--hostname-bin", "--pre"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "sort": ("--compress-program",),
    "tar": (
        "-F",
        "-I",
        "--checkpoint-action",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
        "--to-command",
        "--use-compress-program",
    ),
    "zip": ("-TT", "--unzip-command"),
}
"""Options with which these run another program."""

_LONGEST = max(map(len, CARRIERS))


def find_carrier(words: Sequence[str]) -> int:
    """How many of the first words say that those behind them are run; 0: they do not."""
    named = [find_name(word) if place == 0 else word for place, word in enumerate(words[:_LONGEST])]
    for length in range(len(named), 0, -1):
        if tuple(named[:length]) in CARRIERS:
            return length
    return 0


def has_running_option(words: Sequence[str]) -> bool:
    """Whether an option is there that runs another program; a shortened one counts."""
    name = find_name(words[0]) if words else ""
    if name == "git" and words[1:2] and words[1].startswith("-"):
        return True  # options before git's own command set anything, aliases too
    options = [*RUNNING_OPTIONS.get(name, ()), *RUNNING_OPTIONS.get(" ".join(words[:2]), ())]
    return any(_is_option(word, option) for word in words[1:] for option in options)


def find_name(word: str) -> str:
    """The name of a program, also if its whole path is said."""
    return word.rpartition("/")[2]


def _is_option(word: str, option: str) -> bool:
    name = word.partition("=")[0]
    if option.startswith("--"):
        # getopt_long takes any beginning that is not ambiguous.
        return len(name) > 2 and name.startswith("--") and option.startswith(name)
    if len(option) > 2:
        return word == option
    # One letter: others may stand before it, and its argument may follow at once.
    return word.startswith("-") and not word.startswith("--") and option[1] in word
