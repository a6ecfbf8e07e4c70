"""Which call a streamed piece of one belongs to, in "openai-chat".

OpenAI numbers the calls of an answer and says id and name with the first piece.
Its imitators do not number, or number every call 0, repeat ids and names, or
give none. What is told apart here is all that can be; it keeps no call.
"""

from dataclasses import dataclass, field

from askd.providers.codecs.lenient import parse_object

Number = tuple[int, int]
"""A call's number and that of the choice it came in: each choice counts for itself."""


@dataclass(slots=True)
class _Known:
    """What tells the pieces of one call from the next one's."""

    call_id: str | None = None
    has_name: bool = False
    pieces: list[str] = field(default_factory=list)

    def is_whole(self) -> bool:
        """Whether its arguments are an object already."""
        ends = bool(self.pieces) and self.pieces[-1].rstrip().endswith("}")
        return ends and parse_object("".join(self.pieces)) is not None


class CallPlaces:
    """The calls of one answer, by place: 0, 1, ... in order of arrival."""

    def __init__(self) -> None:
        self._known: list[_Known] = []
        self._numbered: dict[Number, int] = {}

    def place(
        self, number: Number | None, *, call_id: str | None, name: str | None, arguments: str
    ) -> int:
        """The place of the call that this piece belongs to; a new one for a new call."""
        place = self._find(number, call_id=call_id, name=name, arguments=arguments)
        if place is None:
            place = len(self._known)
            self._known.append(_Known())
            if number is not None:
                self._numbered[number] = place
        known = self._known[place]
        known.call_id = known.call_id or call_id
        known.has_name = known.has_name or name is not None
        known.pieces.append(arguments)
        return place

    def _find(
        self, number: Number | None, *, call_id: str | None, name: str | None, arguments: str
    ) -> int | None:
        if number is None:
            ids = [each.call_id for each in self._known]
            if call_id is not None and call_id in ids:
                return ids.index(call_id)
            return len(ids) - 1 if call_id is None and name is None and ids else None
        place = self._numbered.get(number)
        if place is None or _is_next(
            self._known[place], call_id=call_id, name=name, arguments=arguments
        ):
            return None
        return place


def _is_next(known: _Known, *, call_id: str | None, name: str | None, arguments: str) -> bool:
    """Whether a piece begins another call under the number of this one.

    A new id is a new call, and so is a name that comes again, with arguments,
    after an object that was whole.
    """
    if call_id is not None:
        return known.call_id is not None and known.call_id != call_id
    return name is not None and known.has_name and bool(arguments) and known.is_whole()
