"""Commands of a shell, as far as a rule about their first words needs to read them.

Pure. A rule that allows counts only for a line of which every command is read for certain
and is allowed; a rule that forbids, or has a person asked, is looked for wherever a command
may stand. Rules say what a person wants to be asked about; they are no fence: a command can
do more than its words say, and what keeps it from that is its confinement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from askd.core.carriers import CHANGERS, find_carrier, find_name, has_running_option
from askd.core.prefixes import find_prefix as find_prefix
from askd.core.shell_words import LINE_CHARACTERS, MAX_DEPTH, Word, read_line

Approval = Literal["deny", "ask", "auto"]
"""`deny`: it does not run; `ask`: a person decides; `auto`: it runs."""

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+:@%,=-]+")
_WINDOW = 8
"""Words beyond a rule's own that are looked at where options may stand between them."""


def find_command_rule(line: str, rules: Mapping[str, Approval]) -> Approval | None:
    """What the rules say of a line: `deny` before `ask` before `auto`; None: nothing.

    Of the rules that a command begins with the one of the most words counts. `auto` needs one
    for each of the line's commands, all of them read for certain.
    """
    words = {tuple(rule.split()): approval for rule, approval in rules.items() if rule.split()}
    if not words:
        return None
    if len(line) > LINE_CHARACTERS:
        return _find_unread(line, words)
    read = read_line(line)
    longest = max(map(len, words))
    found = {
        words.get(_find_longest(candidate, words, longest))
        for command in read.commands
        for candidate in _find_candidates(command, longest + _WINDOW)
    }
    if "deny" in found:
        return "deny"
    if "ask" in found:
        return "ask"
    is_allowed = read.certain and all(_is_allowed(each, words, longest) for each in read.commands)
    return "auto" if is_allowed and read.commands else None


def is_rule(text: str) -> bool:
    """Whether a rule of these words could ever be found: one command's, as they are written."""
    read = read_line(text)
    if not read.certain or len(read.commands) != 1:
        return False
    return [word.text for word in read.commands[0] if word.literal and not word.quoted] == (
        text.split()
    )


def _find_unread(line: str, rules: Mapping[tuple[str, ...], Approval]) -> Approval | None:
    for approval in ("deny", "ask"):
        if any(rule[0] in line for rule, each in rules.items() if each == approval):
            return approval
    return None


def _find_longest(
    words: Sequence[str], rules: Mapping[tuple[str, ...], Approval], longest: int
) -> tuple[str, ...]:
    """The rule of the most words that these begin with; empty, which is no rule: there is none."""
    beginnings = (tuple(words[:length]) for length in range(min(len(words), longest), 0, -1))
    return next((each for each in beginnings if each in rules), ())


def _is_allowed(
    command: Sequence[Word], rules: Mapping[tuple[str, ...], Approval], longest: int
) -> bool:
    words = [word.text for word in command]
    if words[0] in CHANGERS or has_running_option(words):
        return False
    carried = find_carrier(words)
    if carried:
        # The rule has to reach the command that is carried: `timeout 60 make`.
        carried = next(
            (at for at, word in enumerate(words) if at >= carried and word[:1].isalpha()),
            len(words),
        )
    rule = _find_longest(words, rules, longest)
    is_literal = all(word.literal for word in command[: len(rule)])
    return rules.get(rule) == "auto" and is_literal and len(rule) > carried


def _find_candidates(
    command: Sequence[Word], window: int, depth: int = 0
) -> Iterator[Sequence[str]]:
    """Every beginning of a command that may be in this one, of at most `window` words."""
    words = [word.text for word in command if word.text or word.literal]
    if not words:
        return
    yield from _find_spellings(words[:window])
    carried = find_carrier(words)
    if not carried and not has_running_option(words):
        return
    for place in range(max(carried, 1), len(words)):
        yield from _find_spellings(words[place : place + window])
        if depth < MAX_DEPTH and not _PLAIN_WORD.fullmatch(words[place]):
            for inner in read_line(words[place], depth + 1).commands:
                yield from _find_candidates(inner, window, depth + 1)


def _find_spellings(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The same command; without its path; without the options before its own command."""
    named = [find_name(words[0]), *words[1:]]
    yield words
    yield named
    bare = 1
    while bare < len(words) and words[bare].startswith("-"):
        bare += 1
    if bare > 1:
        yield [named[0], *words[bare:]]
        yield [named[0], *words[bare + 1 :]]  # an option's argument: `git -C there push`
