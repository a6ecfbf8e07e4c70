"""Options of how a model is to answer: for whoever asks now, and for whoever has it asked later.

They read what was typed, and refuse what no model could take; the rest is the daemon's to say.
"""

import math
from collections.abc import Callable

import click

from ask.commands.completing import complete_model
from ask.wish import EFFORTS

OVERFLOWS = ("compact", "reset", "continue", "ask")


class Number(click.ParamType[float]):
    """A finite number of which not every one is meant.

    Attributes:
        name: what the help calls it.
        what: which ones are meant, for whoever typed another.
        is_meant: whether a number is one of these.
    """

    def __init__(self, name: str, what: str, is_meant: Callable[[float], bool]) -> None:
        self.name = name
        self.what = what
        self.is_meant = is_meant

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read what was typed."""
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and self.is_meant(number)):
            self.fail(f"{value!r} is not {self.what}.", param, ctx)
        return number


SECONDS = Number("seconds", "a number of seconds above zero", lambda number: number > 0)
TEMPERATURE = Number("number", "a number from zero on", lambda number: number >= 0)
"""How high it may be is for the provider to say."""

model_option = click.option(
    "-m",
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="provider/model, or an alias.",
)
system_option = click.option("-S", "--system", metavar="TEXT", help="A system prompt.")
temperature_option = click.option(
    "--temperature", type=TEMPERATURE, metavar="N", help="How freely to choose words."
)
max_output_tokens_option = click.option(
    "--max-output-tokens", type=click.IntRange(min=1), metavar="N", help="The longest answer."
)
stop_option = click.option(
    "--stop", multiple=True, metavar="TEXT", help="Where to stop; may be repeated."
)
effort_option = click.option(
    "--effort", type=click.Choice(EFFORTS), help="How much to think before answering."
)
overflow_option = click.option(
    "--overflow",
    type=click.Choice(OVERFLOWS),
    help="What to do when the history does not fit any more.",
)
timeout_option = click.option(
    "--timeout", "timeout_s", type=SECONDS, metavar="S", help="Stop after S seconds."
)
