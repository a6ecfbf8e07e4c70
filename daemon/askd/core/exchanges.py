"""Exchanges: the smallest pieces of a history that can leave it.

A call and its outputs leave together or stay together. It decides nothing about
what leaves.
"""

from collections.abc import Iterable, Sequence

from askd.core.items import AssistantMessage, Item, ToolOutput

Exchange = tuple[Item, ...]
"""A message with all that answers its calls; or any other item, alone."""


def split_exchanges(items: Iterable[Item]) -> list[Exchange]:
    """Healed items, in pieces and in their order; an output without a call stands alone."""
    pieces: list[list[Item]] = []
    open_calls: set[str] = set()
    for item in items:
        if isinstance(item, ToolOutput) and item.call_id in open_calls:
            pieces[-1].append(item)
            continue
        open_calls = set()
        if isinstance(item, AssistantMessage):
            open_calls = {call.call_id for call in item.calls}
        pieces.append([item])
    return [tuple(piece) for piece in pieces]


def drop_oldest(items: Sequence[Item]) -> tuple[list[Item], int]:
    """The items without the first of them and its partners; and how many went."""
    pieces = split_exchanges(items)
    if not pieces:
        return [], 0
    return [item for piece in pieces[1:] for item in piece], len(pieces[0])
