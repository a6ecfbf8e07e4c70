"""Secrets in how a program is started: its variables, and the words of its command line.

Pure. Nobody says which of them are secret; their names do, as people choose them. A value whose
name says that it is a file or a choice is none. It finds, and hides nothing by itself.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from askd.providers.redact import MASK, SECRET_NAMES, KnownSecrets

_SECRET = re.compile(
    rf"{'|'.join(SECRET_NAMES)}|(?:^|[_-]|[a-z0-9])pass(?:w|p)|(?:^|[_-])pass(?:$|[_-])|credential|(?:^|[_-])(?:pat|pwd|pw)(?:$|[_-])",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:^|[_-])(?:file|path|dir|directory|url|uri|host|env|mode|type|method|limit|timeout|name)$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<name>-{0,2}[A-Za-z][\w.-]*)(?P<between>=|:[ \t]*)(?P<value>.+)", re.DOTALL
)
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")


def names_secret(name: str) -> bool:
    """Whether what is called so is likely to be one: `GITHUB_TOKEN`, `--api-key`, `PGPASSWORD`."""
    return _SECRET.search(name) is not None and _NONE.search(name) is None


def learn_program(secrets: KnownSecrets, *, env: Mapping[str, str], args: Sequence[str]) -> None:
    """Hide from now on what is secret in these variables and words."""
    for name, value in env.items():
        secrets.add_url(value)
        if names_secret(name):
            _learn(secrets, value)
    for word, start in zip(args, _find_starts(args), strict=True):
        secrets.add_url(word)
        if start is not None:
            _learn(secrets, word[start:])


def hide_words(args: Sequence[str]) -> list[str]:
    """The words of a command line with `***` where a secret stands."""
    shown = []
    for word, start in zip(args, _find_starts(args), strict=True):
        shown.append(_hide_address(word) if start is None else word[:start] + MASK)
    return shown


def _learn(secrets: KnownSecrets, value: str) -> None:
    secrets.add(value)
    secrets.add(value.partition(" ")[2])  # what follows `Bearer`


def _find_starts(args: Sequence[str]) -> list[int | None]:
    """Where in each word a secret begins; None: there is none."""
    starts: list[int | None] = []
    is_next = False
    for word in args:
        named = _NAMED.fullmatch(word)
        if is_next and not _OPTION.fullmatch(word):
            starts.append(0)
        elif named is not None and names_secret(named["name"]):
            starts.append(named.start("value"))
        else:
            starts.append(None)
        is_next = _OPTION.fullmatch(word) is not None and names_secret(word)
    return starts


def _hide_address(word: str) -> str:
    """A word that is an address without its password and without what is asked for there."""
    if "://" not in word:
        return word
    try:
        parts = urlsplit(word)
    except ValueError:
        return word
    user, _, host = parts.netloc.rpartition("@")
    netloc = f"{MASK}@{host}" if user else parts.netloc
    if netloc == parts.netloc and not parts.query:
        return word
    return parts._replace(netloc=netloc, query=MASK if parts.query else "").geturl()
