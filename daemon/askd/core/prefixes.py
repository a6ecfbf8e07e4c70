"""Prefixes: the words that say which command a line is, so that "always" can be offered for it.

Pure. Where the first words do not say what a command does there is no prefix, and so
nothing that could be allowed for good; a person can still write a rule.
"""

import re
from collections.abc import Sequence

from askd.core.carriers import CHANGERS, find_carrier, has_running_option, split_table
from askd.core.shell_words import LINE_CHARACTERS, read_line

_OPAQUE = """
    R, Rscript, awk, bc, bun, chgrp, chmod, chown, curl, dc, dd, deno, ed, emacs, ex, expect, fdisk,
    gawk, gdb, ghci, groovy, ip, irb, java, julia, kill, killall, lua, m4, mawk, mysql, nawk, nc,
    ncat, netcat, nft, node, nvim, osascript, parted, perl, php, pkill, psql, pwsh, raku, rm, rmdir,
    rsync, ruby, scp, sed, sftp, shred, socat, sqlite, tclsh, tee, telnet, truncate, ts-node, tsx,
    vi, view, vim, wget
"""
_OPAQUE_COMMANDS = "gh api, git config, go run, npm create, npm init, yarn create, yarn node"
OPAQUE = split_table(_OPAQUE) | split_table(_OPAQUE_COMMANDS)
"""What they do is in their arguments: a program, files to destroy, an address."""

_MANY = """
    alembic, apt, apt-cache, apt-get, aws, az, brew, bundle, cabal, cargo, composer, conda, dart,
    dnf, docker, dotnet, flatpak, flutter, gcloud, gem, gh, git, glab, go, gradle, hatch, helm, hg,
    jj, just, kubectl, make, mamba, mix, mvn, nix, npm, openssl, pdm, pip, pip3, pipenv, pnpm,
    podman, poetry, ruff, rustup, rye, snap, stack, svn, systemctl, terraform, tofu, uv, yarn, yum,
    zypper
"""
WITH_COMMANDS = frozenset(name for (name,) in split_table(_MANY))
"""Programs of many commands, which the second word names."""

_MORE = """
    docker compose, docker container, docker image, docker network, docker volume, gh issue, gh pr,
    gh release, gh repo, gh run, git bisect, git notes, git remote, git stash, git submodule,
    git worktree, npm run, pip cache, pnpm run, uv cache, uv pip, uv python, uv tool, yarn run
"""
WITH_SUBCOMMANDS = split_table(_MORE)
"""Of these the third says which; without a third they are a command too."""

_RUNNERS = frozenset(["cProfile", "code", "pdb", "profile", "runpy", "timeit", "trace"])
"""Modules of Python that are told what to run."""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_.+@-]+")
_COMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]*")


def find_prefix(line: str) -> str | None:
    """What "always" would offer for a line: the words that say which command it is.

    The first word; with programs of many commands the second too, or the third. A command is
    covered by what was granted if its own prefix is the same. None: nothing is to be offered
    (`Preview.grant` is None then; a grant with an empty `only` would cover every command):

    - for what is not one simple command, read for certain;
    - for programs that run what their arguments say (`sudo`, `sh -c`, `xargs`, `find -exec`) or
      are told in a language of their own what to do (`python -c`, `awk`, `sed`): the first
      word says nothing of it;
    - where the arguments are all that matters: what is deleted (`rm`), where data goes (`curl`);
    - for programs named by their path: a file of the workspace can be another one tomorrow.
    """
    if len(line) > LINE_CHARACTERS:
        return None
    read = read_line(line)
    if not read.certain or len(read.commands) != 1:
        return None
    command = read.commands[0]
    words = [word.text for word in command]
    if not _PROGRAM.fullmatch(words[0]) or _is_opaque(words):
        return None
    length = _count_telling(words)
    telling = command[:length]
    if len(telling) < length or not all(word.literal for word in telling):
        return None
    if not all(_COMMAND.fullmatch(word) or word == "-m" for word in words[1:length]):
        return None
    return " ".join(words[:length])


def _is_opaque(words: Sequence[str]) -> bool:
    name = words[0]
    if find_carrier(words) or name in CHANGERS or has_running_option(words):
        return True
    if _PYTHON.fullmatch(name):
        return len(words) < 3 or words[1] != "-m" or words[2].partition(".")[0] in _RUNNERS
    unnumbered = name.rstrip("0123456789.-")  # perl5.36, sqlite3
    return not {(name,), (unnumbered,), tuple(words[:2])}.isdisjoint(OPAQUE)


def _count_telling(words: Sequence[str]) -> int:
    """How many words say which command it is."""
    if _PYTHON.fullmatch(words[0]):
        return 3
    if tuple(words[:2]) in WITH_SUBCOMMANDS:
        return min(len(words), 3)
    return 2 if words[0] in WITH_COMMANDS else 1
