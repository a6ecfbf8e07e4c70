"""One record of the log as it lies on a disk, wherever that is: its columns, its text unread."""

from dataclasses import dataclass

from askd.core.events import VERSION, Event
from askd.store.bodies import decode_event

LOST = "lost"
"""The type of what stands in the place of a record that nobody has any more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A record: `at` in unix seconds, 0 if nobody knows; `text`: its body as JSON, or its bytes."""

    seq: int
    at: float
    kind: str
    version: int
    text: str | bytes

    def read(self, conversation_id: str) -> Event:
        """The event; one that cannot be read comes as of an unknown type."""
        event, _ = decode_event(
            conversation_id, self.seq, self.at, self.kind, self.version, self.text
        )
        return event

    def is_readable(self) -> bool:
        """Whether the text is what its type demands."""
        return decode_event("", self.seq, self.at, self.kind, self.version, self.text)[1] is None


def merge_rows(first: dict[int, Row], second: dict[int, Row]) -> dict[int, Row]:
    """The first, with what the second has beyond it.

    Two that tell different stories (one was restored, and then went on) are not mixed: the
    longer one is taken.
    """
    shared = first.keys() & second.keys()
    if any(first[seq].at != second[seq].at for seq in shared if first[seq].at and second[seq].at):
        return first if max(first) >= max(second) else second
    merged = {**second, **first}
    for seq in shared:
        if not first[seq].is_readable() and second[seq].is_readable():
            merged[seq] = second[seq]
    return merged


def fill_gaps(rows: dict[int, Row]) -> tuple[list[Row], int]:
    """The rows from 1 on without a gap, and how many had to be made up.

    What is made up says of itself that it is lost; numbers stay what they were, for whoever has
    seen them.
    """
    whole: list[Row] = []
    lost = 0
    for seq in range(1, max(rows, default=0) + 1):
        row = rows.get(seq)
        if row is None:
            lost += 1
            at = whole[-1].at if whole else rows[min(rows)].at
            row = Row(seq, at, LOST, VERSION, f'{{"type":"{LOST}"}}')
        whole.append(row)
    return whole, lost
