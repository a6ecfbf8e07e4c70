"""Searches files for a regular expression, where there is no ripgrep.

A program, run by path (`python -I -S walker.py SPEC`), standard library only: a pattern that
takes for ever is ended with its process, which no thread could be. SPEC is one JSON object,
`{pattern, path, glob, ignore_case}`; `path` is below the current directory. Each line that
matches becomes `PATH NUL NUMBER:OFFSET:LINE`, as ripgrep prints them, in the order of paths.
The status is 0 with hits, 1 without, 2 with a sentence on standard error.

No link is followed. Passed over: `.git`, files with a NUL in their beginning, files over
32 MiB, and in a repository what a `.gitignore` at or below the current directory leaves out,
as far as its lines are names and patterns, with `/` and `**`. What git excludes elsewhere is
not read.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

SIZE_LIMIT_BYTES = 32 << 20
FILES_LIMIT = 200_000
SNIFF_BYTES = 8192
"""A NUL among these: git and grep, too, take such a file for binary."""
IGNORE_LIMIT_BYTES = 64 * 1024


class Rule:
    """One line of a `.gitignore`: what it means, and whether it takes back what others said."""

    def __init__(self, line: str, base: str) -> None:
        self.is_kept = line.startswith("!")
        line = line.removeprefix("!")
        self.is_directory = line.endswith("/")
        line = line.rstrip("/")
        anchored = "/" in line
        beginning = "" if anchored else "(?:.*/)?"
        self.pattern = re.compile(
            re.escape(base) + beginning + translate(line.removeprefix("/")) + r"\Z", re.DOTALL
        )

    def fits(self, path: str, is_directory: bool) -> bool:
        """Whether it says something of that path."""
        return (is_directory or not self.is_directory) and self.pattern.match(path) is not None


def translate(glob: str) -> str:
    """A pattern of paths as a regular expression: `*` and `?` stay in one name, `**` does not."""
    made = []
    place = 0
    while place < len(glob):
        char = glob[place]
        end = glob.find("]", place + 2)
        if glob.startswith("**/", place):
            made.append("(?:.*/)?")
            place += 3
        elif glob.startswith("**", place):
            made.append(".*")
            place += 2
        elif char == "[" and end > 0:
            inner = glob[place + 1 : end].replace("\\", "\\\\")
            made.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]")
            place = end + 1
        else:
            made.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
            place += 1
    return "".join(made)


def read_rules(directory: str) -> list[Rule]:
    """The rules that stand in a directory; what cannot be read says nothing."""
    try:
        descriptor = os.open(
            os.path.join(directory, ".gitignore"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )
        with open(descriptor, "rb") as file:
            text = file.read(IGNORE_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return []
    base = "" if directory == "." else directory.removeprefix("./") + "/"
    rules = []
    for line in text.splitlines():
        line = line.rstrip()
        if line and not line.startswith("#") and line not in ("/", "!"):
            try:
                rules.append(Rule(line, base))
            except re.error:
                continue
    return rules


def is_ignored(rules: list[Rule], path: str, is_directory: bool) -> bool:
    """Whether the rules leave a path out; the last that says something counts."""
    return next(
        (not each.is_kept for each in reversed(rules) if each.fits(path, is_directory)), False
    )


def is_repository(directory: str) -> bool:
    """Whether git keeps that directory, or one above it; elsewhere `.gitignore` is just a file."""
    while not os.path.exists(os.path.join(directory, ".git")):
        if directory == "/":
            return False
        directory = os.path.dirname(directory)
    return True


def walk(directory: str, rules: list[Rule] | None) -> Iterator[str]:
    """Every file below a directory that nothing leaves out, in the order of names.

    `rules`: of the directories above it; None: none count.
    """
    if rules is not None:
        rules = [*rules, *read_rules(directory)]
    try:
        with os.scandir(directory) as listing:
            entries = sorted(listing, key=lambda each: each.name)
    except OSError:
        return
    for entry in entries:
        path = entry.path.removeprefix("./")
        try:
            is_directory = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if entry.name == ".git" or is_ignored(rules or [], path, is_directory):
            continue
        if is_directory:
            yield from walk(path, rules)
        elif is_file:
            yield path


def find_files(path: str, glob: re.Pattern[str] | None) -> Iterator[str]:
    """The files to be searched: one that is named itself, or what is below a directory."""
    if not os.path.isdir(path):
        yield path
        return
    rules: list[Rule] | None = [] if is_repository(os.getcwd()) else None
    parts = path.split("/")
    if rules is not None and path != ".":
        for length in range(len(parts)):
            rules += read_rules("/".join(parts[:length]) or ".")
    for each in walk(path, rules):
        if glob is None or glob.match(each):
            yield each


def search_file(path: str, pattern: re.Pattern[str], out: BinaryIO) -> int:
    """Print the lines of a file that match; answer how many."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > SIZE_LIMIT_BYTES:
            return 0
        content = file.read(SIZE_LIMIT_BYTES)
    if b"\0" in content[:SNIFF_BYTES]:
        return 0
    name = os.fsencode(path)
    offset = count = 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        if offset < len(content) and pattern.search(line.decode("utf-8", "surrogateescape")):
            out.write(b"%s\0%d:%d:%s\n" % (name, number, offset, line))
            count += 1
        offset += len(line) + 1
    out.flush()
    return count


def main(text: str) -> int:
    """Search as the spec says."""
    spec = json.loads(text)
    try:
        pattern = re.compile(spec["pattern"], re.IGNORECASE if spec["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        print(f"not a regular expression: {error}", file=sys.stderr)
        return 2
    glob = None
    if spec["glob"]:
        try:
            # As ripgrep has it: a pattern without a slash is for names, in any directory.
            beginning = "" if "/" in spec["glob"] else "(?:.*/)?"
            wanted = translate(spec["glob"].removeprefix("/"))
            glob = re.compile(beginning + wanted + r"\Z", re.DOTALL)
        except re.error as error:
            print(f"not a pattern of paths: {error}", file=sys.stderr)
            return 2
    count = 0
    for seen, path in enumerate(find_files(spec["path"], glob)):
        if seen == FILES_LIMIT:
            print(f"only the first {FILES_LIMIT:,} files were searched", file=sys.stderr)
            break
        count += search_file(path, pattern, sys.stdout.buffer)
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
