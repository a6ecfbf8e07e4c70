"""Files and directories that begin with what was typed, for where a shell cannot list them.

Behind an `@` in a quoted prompt bash would take all of the quoted words for the path. It reads
directories' names and follows no pattern.
"""

import os

from ask.completion.sources import is_plain

LIMIT = 500
"""Names that are shown of one directory."""


def list_paths(
    typed: str, *, directories_only: bool = False, descend: bool = False
) -> list[tuple[str, bool]]:
    """Paths as they would be typed, each with whether it is a directory (and ends with `/`).

    Hidden ones only if the dot was typed. `descend`: of a directory that alone fits, what is in
    it is listed too, so that what is typed does not end there.
    """
    head, name = os.path.split(typed)
    head = typed[: len(typed) - len(name)]
    place = os.path.expanduser(head) or "."
    found = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not name.startswith(".")
                if hidden or not entry.name.startswith(name) or not is_plain(entry.name):
                    continue
                is_directory = entry.is_dir()
                if is_directory or not directories_only:
                    found.append((f"{head}{entry.name}{'/' * is_directory}", is_directory))
    except OSError:
        return []
    found.sort()
    if descend and len(found) == 1 and found[0][1]:
        inside = list_paths(found[0][0], directories_only=directories_only)
        return [*found, *inside][:LIMIT]
    return found[:LIMIT]
