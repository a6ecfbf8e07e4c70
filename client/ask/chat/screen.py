"""The windows of a chat below its text: what still grows, what waits, the line, the status.

Bounded in height, whatever they hold: what is above them is the terminal's own and is never
drawn again. It asks for what it shows each time it is drawn, and changes nothing.
"""

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.containers import AnyContainer
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from ask.chat.present import Present
from ask.chat.tail import find_last_rows
from ask.reveal import shorten_line

MENU_ROWS = 6
QUEUE_ROWS = 3
"""Prompts that wait and are shown; how many there are in all is in the status."""
LEAST_ROWS = 2
STYLE = Style.from_dict(
    {
        "doing": "italic",
        "thought": "italic ansibrightblack",
        "queue": "ansibrightblack",
        "mark": "bold",
        "status": "ansibrightblack",
        "status.lost": "ansired",
    }
)
PLAIN_STYLE = Style.from_dict({"mark": "bold"})
"""Without colours; a terminal has other means."""


def find_rows(rows: int) -> tuple[int, int]:
    """How many rows the tail and the line may take of a terminal's."""
    return max(rows // 2 - QUEUE_ROWS, LEAST_ROWS), max(rows // 4, LEAST_ROWS)


def build_layout(
    buffer: Buffer | None, shown: Present, size: Callable[[], tuple[int, int]]
) -> Layout:
    """The windows.

    Args:
        buffer: what is typed; None: nothing can be.
        size: columns and rows of the terminal.
    """

    def lay_out_tail() -> StyleAndTextTuples:
        columns, rows = size()
        limit, _ = find_rows(rows)
        found: StyleAndTextTuples = [
            ("", f"{row}\n") for row in find_last_rows(shown.tail, columns - 1, limit)
        ]
        if shown.thought and not shown.tail:
            rows_of_thought = find_last_rows(shown.thought, columns - 1, LEAST_ROWS)
            found += [("class:thought", f"{row}\n") for row in rows_of_thought]
        if shown.doing:
            found.append(("class:doing", f"{shorten_line(shown.doing, columns - 1)}\n"))
        waiting = shown.waiting
        for place, words in enumerate(waiting[:QUEUE_ROWS], start=1):
            line = shorten_line(f"queued {place}: {words}", columns - 1)
            found.append(("class:queue", f"{line}\n"))
        return _without_last_end(found)

    def lay_out_status() -> StyleAndTextTuples:
        style = "class:status.lost" if shown.lost else "class:status"
        return [(style, shown.word_status(size()[0] - 1))]

    def lay_out_label() -> StyleAndTextTuples:
        return [("class:mark", shown.label)]

    above = Window(FormattedTextControl(lay_out_tail), dont_extend_height=True, wrap_lines=False)
    status = Window(FormattedTextControl(lay_out_status), height=1, dont_extend_height=True)
    busy = Condition(lambda: bool(shown.tail or shown.doing or shown.thought or shown.waiting))
    rows: list[AnyContainer] = [
        Window(height=1, dont_extend_height=True),  # sets it apart from the text above
        ConditionalContainer(above, filter=busy),
    ]
    if buffer is None:
        return Layout(HSplit([*rows, status], align=VerticalAlign.TOP), focused_element=status)
    search = SearchToolbar()
    line = Window(
        BufferControl(
            buffer,
            input_processors=[BeforeInput(lay_out_label)],
            search_buffer_control=search.control,
            preview_search=True,  # what is found is shown while it is looked for
        ),
        height=lambda: Dimension(min=1, max=find_rows(size()[1])[1]),
        wrap_lines=True,
        dont_extend_height=True,
    )
    menu = CompletionsMenu(max_height=MENU_ROWS, scroll_offset=1)
    rows += [line, search, menu, status]
    return Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=line)


def _without_last_end(found: StyleAndTextTuples) -> StyleAndTextTuples:
    if found:
        style, text, *_ = found[-1]
        found[-1] = (style, text.removesuffix("\n"))
    return found
