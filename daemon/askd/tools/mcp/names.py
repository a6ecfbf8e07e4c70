"""The names that models are told of the tools of servers, and which servers a word means.

Pure. A tool keeps its name for as long as its server calls it so, whatever else the server
offers: rules and what was allowed for good go by it. It looks at no list of tools.
"""

import hashlib
import re
from fnmatch import fnmatchcase

from askd.core.approval import OF_SERVERS
from askd.core.pairs import NAME_LIMIT, NAMES

DIGEST_CHARACTERS = 8
"""Of a name that had to be changed: two different ones become the same in one case of 2^32."""
PATTERN = frozenset("*?[")
GROUPS = frozenset({"all", "read", "none"})
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LIKE_CHANGED = re.compile(rf".*_[0-9a-f]{{{DIGEST_CHARACTERS}}}", re.DOTALL)


def name_tool(server: str, tool: str) -> str:
    """`server__tool`, in letters that every provider takes and no longer than it takes.

    What does not fit, or looks as if it had been changed already, gets a digest at its end, so
    that two tools never have one name.
    """
    whole = f"{server}{OF_SERVERS}{tool}"
    if NAMES.fullmatch(whole) and tool and not _LIKE_CHANGED.fullmatch(tool):
        return whole
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()
    fitting = _NOT_IN_NAMES.sub("_", whole)[: NAME_LIMIT - DIGEST_CHARACTERS - 1]
    return f"{fitting}_{digest[:DIGEST_CHARACTERS]}"


def is_pattern(word: str) -> bool:
    """Whether a word may mean several tools."""
    return not PATTERN.isdisjoint(word)


def names_outright(word: str, server: str) -> bool:
    """Whether a word of `-T` can mean tools of this server and of no other: `time__*`."""
    head, separator, _ = word.partition(OF_SERVERS)
    return bool(separator) and head == server


def may_mean(word: str, server: str) -> bool:
    """Whether a word of `-T` can mean a tool of this server, whatever it offers."""
    if word in GROUPS:
        return word == "all"
    head, separator, _ = word.partition(OF_SERVERS)
    if separator:
        return fnmatchcase(server, head)
    return is_pattern(word) and fnmatchcase(f"{server}{OF_SERVERS}", word)
