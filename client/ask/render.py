"""What a person sees of a turn: the answer on stdout, everything else on stderr.

It writes and decides nothing: what is shown, and when, is said by `ask.follow`.
Model text never reaches a terminal with its control sequences.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ask.fast.caller import StdoutClosed, StdoutFailed, write_all
from ask.fast.caller import say as say_raw
from ask.terminal import ControlFilter, strip_controls
from ask.thoughts import Thoughts

if TYPE_CHECKING:
    from ask.markdown.live import Live

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.1
"""One step of the spinner."""
LEAST_USD = 0.0001
"""The smallest cost that is shown as a number."""
_CLEAR_LINE = "\r\x1b[K"


class Screen:
    """The two outputs of one turn.

    Args:
        raw: leave the answer as it is, if stdout is no terminal.
        quiet: nothing on stderr but errors.
        answer_filter: the state of the control sequences that were begun elsewhere.
        outlive: go on without stdout when it fails, for the answer is wanted elsewhere too.
        live: what shows the answer painted; None: it is written as it comes.

    Attributes:
        failure: why stdout has failed.
    """

    def __init__(
        self,
        *,
        raw: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        answer_filter: ControlFilter | None = None,
        outlive: bool = False,
        live: "Live | None" = None,
    ) -> None:
        self.failure: StdoutClosed | StdoutFailed | None = None
        self._outlive = outlive
        self._live = live
        self.quiet = quiet
        self.verbose = verbose
        self._styled = os.isatty(2)
        self._filter = None if raw and not os.isatty(1) else answer_filter or ControlFilter()
        self._thoughts = Thoughts(quiet=quiet)
        self._waiting: str | None = None
        self._next_frame = 0.0
        self._frame = 0

    def show(self, text: str) -> None:
        """A piece of the answer; raises `StdoutClosed`, `StdoutFailed`."""
        if not text:
            return
        self.end_side()
        shown = text if self._filter is None else self._filter.feed(text)
        self._write(shown, self._live)

    def close(self) -> None:
        """The answer is over, and its last line has its end."""
        if self._live is not None:
            self._shield(self._live.finish)

    def show_record(self, record: Mapping[str, Any]) -> None:
        """One line of JSON on stdout."""
        self.end_side()
        self._write(f"{encode_record(record)}\n")

    def _write(self, text: str, live: "Live | None" = None) -> None:
        if live is not None:
            self._shield(lambda: live.feed(text))
        else:
            self._shield(lambda: write_all(1, text.encode(errors="replace")))

    def _shield(self, show: Callable[[], None]) -> None:
        """Write to stdout, if that has not failed."""
        if self.failure is not None:
            return
        try:
            show()
        except (StdoutClosed, StdoutFailed) as failure:
            if not self._outlive:
                raise
            self.failure = failure

    def show_reasoning(self, text: str, *, line_open: bool = False) -> bool:
        """What the model thinks aloud: dimmed, on a terminal only.

        `line_open`: the answer so far ends in the middle of a line. Answer whether that line
        was ended, since the same terminal shows both.
        """
        if not self._thoughts.shown or not text:
            return False
        self._clear_waiting()
        ended = line_open and not self._thoughts.running and os.isatty(1)
        if not self._thoughts.running and self._live is not None:
            self._shield(self._live.pause)
        elif ended:
            self._write("\n")
        self._thoughts.show(text)
        return ended

    def say(self, text: str) -> None:
        """A line on stderr, unless quiet."""
        if not self.quiet:
            self.make_room()
            say_raw(f"{strip_controls(text)}\n")

    def tell(self, text: str) -> None:
        """News for whoever sits at the terminal; where stderr is none, it is not written."""
        if os.isatty(2):
            self.say(text)

    def break_answer(self) -> bool:
        """End the answer's line before something is told; whether one had to be ended."""
        if self.quiet or not (os.isatty(1) and os.isatty(2)):
            return False
        self.make_room()
        if self._live is None:
            self._write("\n")
        return True

    def part_answers(self) -> bool:
        """What comes next is another answer, painted by itself; whether a line was ended."""
        if self._live is None:
            return False
        self.end_side()
        self._shield(self._live.finish)
        return True

    def say_verbosely(self, text: str) -> None:
        """A line for `-v`."""
        if self.verbose:
            self.make_room()
            say_raw(f"ask: {strip_controls(text)}\n")

    def wait(self, text: str) -> None:
        """Something takes its time: a spinner on a terminal, one line elsewhere."""
        if self._styled and not self.quiet:
            self.make_room()
            self._waiting = strip_controls(text).replace("\n", " ")
            self.tick()
        else:
            self.say(text)

    def tick(self) -> float | None:
        """Draw what is due: seconds until more is; None: nothing will be."""
        if self._waiting is None:
            return self._tick_answer()
        left = self._next_frame - time.monotonic()
        if left > 0:
            return left
        say_raw(f"{_CLEAR_LINE}{SPINNER[self._frame % len(SPINNER)]} {self._waiting}")
        self._frame += 1
        self._next_frame = time.monotonic() + FRAME_S
        return FRAME_S

    def _tick_answer(self) -> float | None:
        """The same of the answer."""
        live, left = self._live, list[float | None]()
        if live is not None:
            self._shield(lambda: left.append(live.tick()))
        return left[0] if left else None

    def make_room(self) -> None:
        """End all that stands unfinished on the terminal: something else comes below."""
        self.end_side()
        if self._live is not None and self._styled:
            self._shield(self._live.pause)

    def end_side(self) -> None:
        """End what stands unfinished on stderr: the spinner's line, the reasoning."""
        self._clear_waiting()
        self._thoughts.end()

    def break_line(self) -> None:
        """Leave the line in which the terminal has shown `^C`."""
        self.make_room()
        if self._styled:
            say_raw("\n")

    def _clear_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting = None
            say_raw(_CLEAR_LINE)


def encode_record(record: Mapping[str, Any]) -> str:
    """One line of JSON; for a terminal in ASCII, for JSON itself escapes no C1 control."""
    return json.dumps(record, ensure_ascii=os.isatty(1))


def show_usage(usage: Mapping[str, Any] | None) -> str:
    """A line of tokens, as the provider counted them, and of what they cost if that is known."""
    if not usage:
        return "Tokens: not known."
    line = f"Tokens: {usage.get('input_tokens', 0):,} in, {usage.get('output_tokens', 0):,} out"
    extra = [
        f"{usage[f'{kind}_tokens']:,} {kind}"
        for kind in ("cached", "reasoning")
        if usage.get(f"{kind}_tokens")
    ]
    line += f" ({', '.join(extra)})." if extra else "."
    cost = usage.get("cost_usd")
    return line if cost is None else f"{line} Cost: {show_cost(cost)}."


def show_cost(dollars: float) -> str:
    """US dollars to a hundredth of a cent; what is less, and not nothing, says that it is less."""
    return f"${dollars:,.4f}" if dollars >= LEAST_USD or not dollars else f"<${LEAST_USD}"
