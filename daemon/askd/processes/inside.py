"""Runs inside of a sandbox that bubblewrap has made: adds a filter, and becomes the command.

A program, run by path (`python -I -S inside.py JSON ARGV...`), standard library and this
room only. JSON is `{writable, foreign}`: where may be written to, and which variables the
command was not given, but were set on the way: they are taken away. If the command is not
there it says so on standard error and ends with 127, as a shell does.
"""

import json
import os
import sys


def main(said: str, argv: list[str]) -> int:
    """Never returns if all is well."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from askd.processes import enclosure

    plan = json.loads(said)
    enclosure.add_to_namespaces(plan["writable"])
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for name in plan["foreign"]:
        os.unsetenv(name)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
