"""Instructions of projects as this daemon reads them: by the settings of now, keys hidden.

What is to be hidden from the log is hidden from what is read: else a turn would get another
text than the log says, and the file would look changed at every prompt. It opens no file
itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from askd.core.instructions import InstructionFile
from askd.sessions.rules import InstructionRules
from askd.store.scrub.redacting import Hide
from askd.tools.base import Site
from askd.tools.instructions import Found, InstructionReader, Own


class ProjectInstructions:
    """Made once for a daemon.

    Args:
        rules: of `[instructions]`, as they are now.
        own: what nothing is read from.
        find_hide: as the log's.
    """

    def __init__(
        self,
        rules: Callable[[], InstructionRules],
        *,
        own: Own,
        find_hide: Callable[[], Hide | None],
    ) -> None:
        self._rules = rules
        self._find_hide = find_hide
        self._reader = InstructionReader(own)

    def find_rules(self) -> InstructionRules:
        """`[instructions]` as it is now."""
        return self._rules()

    async def read(self, site: Site, names: Sequence[str]) -> Found:
        """What there is of these files in a caller's project."""
        found = await self._reader.read(site, names)
        hide = self._find_hide()
        if hide is None or not found.files:
            return found
        return replace(found, files=tuple(_hide_in(each, hide) for each in found.files))


def _hide_in(file: InstructionFile, hide: Hide) -> InstructionFile:
    return replace(file, path=hide(file.path), text=hide(file.text))
