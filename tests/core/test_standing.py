"""What stands for a conversation's turns, and what one of them says otherwise."""

import pytest

from askd.core.events import SettingsChanged, TurnOptions
from askd.core.standing import Settings, change_settings, find_system, wants_instructions

ALL = Settings("p/m", "Be brief.", ("read",), True)


def test_what_a_change_does_not_name_stays() -> None:
    assert change_settings(ALL, SettingsChanged()) == ALL
    named = SettingsChanged("p/n", "At length.", (), False)
    assert change_settings(ALL, named) == Settings("p/n", "At length.", (), False)
    assert change_settings(Settings(), SettingsChanged(system="Be brief.")) == Settings(
        system="Be brief."
    )


def test_a_turn_has_its_own_system_prompt_or_the_conversations() -> None:
    assert find_system(ALL, TurnOptions()) == "Be brief."
    assert find_system(ALL, TurnOptions(system="At length.")) == "At length."
    assert find_system(Settings(), TurnOptions()) is None


@pytest.mark.parametrize("has", [True, False, None])
@pytest.mark.parametrize("says", [True, False])
def test_a_turn_says_whether_it_wants_instructions(has: bool | None, says: bool) -> None:
    settings = Settings(instructions=has)
    assert wants_instructions(settings, TurnOptions(instructions=says)) is says
    assert wants_instructions(settings, TurnOptions()) is has
