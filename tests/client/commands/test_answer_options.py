"""How a model is to answer is said in the same words now and for later, and numbers make sense."""

import click
import pytest

from ask.commands import answer_options
from ask.commands.answer_options import SECONDS, TEMPERATURE
from ask.commands.prompt import prompt_command
from ask.commands.schedule_add import add_command

NAMES = [name for name in vars(answer_options) if name.endswith("_option")]


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_and_a_schedule_take_each_alike(name: str) -> None:
    def find(command: click.Command) -> dict[str, object]:
        (found,) = (
            each
            for each in command.params
            if f"{each.name}_option" == name.replace("timeout", "timeout_s")
        )
        return found.to_info_dict()

    assert find(prompt_command) == find(add_command)


@pytest.mark.parametrize("said", ["0", "-1", "nan", "inf", "soon", ""])
def test_a_time_is_above_zero(said: str) -> None:
    with pytest.raises(click.BadParameter, match="number of seconds above zero"):
        SECONDS.convert(said, None, None)
    assert SECONDS.convert("0.5", None, None) == 0.5


@pytest.mark.parametrize("said", ["-0.1", "nan", "inf", "warm"])
def test_a_temperature_is_from_zero_on(said: str) -> None:
    with pytest.raises(click.BadParameter, match="number from zero on"):
        TEMPERATURE.convert(said, None, None)
    assert TEMPERATURE.convert("0", None, None) == 0
