"""Instructions of a project: what its files tell every model that works in it.

Values, and how they stand in a request: after the system prompt, each in a frame that
names its file. They are no items: nothing prunes them and no summary takes their place.
It reads no file and decides nothing about which are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from askd.core.framing import frame_text

TAG = "instructions"
HEAD = (
    "The project that the user works in has these instructions for you. Where two files "
    "disagree, the later one counts; what the user says counts more than either."
)
CUT = "\n[cut here: {left_out:,} more bytes are in the file]"


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """A file of instructions as it was read. `path` is absolute.

    Attributes:
        left_out_bytes: of its end, for which there was no room.
    """

    path: str
    text: str
    left_out_bytes: int = 0

    @property
    def bytes(self) -> int:
        """How much of the file there is here, in UTF-8."""
        return len(self.text.encode())


def join_instructions(system: str | None, files: Sequence[InstructionFile]) -> str | None:
    """The system prompt with the files after it, in their order; without files as it was."""
    if not files:
        return system
    parts = [HEAD, *(frame_text(TAG, _lay_out(each), path=each.path) for each in files)]
    return "\n\n".join([system, *parts] if system else parts)


def _lay_out(file: InstructionFile) -> str:
    if not file.left_out_bytes:
        return file.text
    return file.text.removesuffix("\n") + CUT.format(left_out=file.left_out_bytes)
