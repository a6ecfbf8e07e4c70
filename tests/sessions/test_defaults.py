"""What a conversation takes over from its first turn, and from no other."""

from askd.core.conversation import Conversation, fold
from askd.core.events import (
    Body,
    ConversationCreated,
    InstructionsChanged,
    SettingsChanged,
    TurnFinished,
    TurnOptions,
    TurnStarted,
)
from askd.core.instructions import InstructionFile
from askd.sessions.defaults import add_defaults
from tests.core.turn_world import accept, record

RULE = InstructionFile("/p/AGENTS.md", "Say hue.")
START = TurnStarted("t", 1, "p/m")
SAID = TurnOptions(system="Be brief.", tools=("read",))


def tell(*bodies: Body) -> Conversation:
    return fold("c", record([ConversationCreated("c"), *bodies, accept()]))


def test_the_first_turn_leaves_its_model_system_prompt_and_tools() -> None:
    change = SettingsChanged("p/m", "Be brief.", ("read",))
    assert add_defaults([START], tell(), SAID, model="p/m") == [change, START]


def test_no_tools_is_something_that_was_said() -> None:
    options = TurnOptions(tools=())
    assert add_defaults([START], tell(), options, model=None) == [
        SettingsChanged(tools=()),
        START,
    ]


def test_what_is_set_stays() -> None:
    settings = SettingsChanged("p/other", "At length.", ("all",))
    assert add_defaults([START], tell(settings), SAID, model="p/m") == [START]


def test_a_later_turn_leaves_only_the_model_that_nobody_found_before() -> None:
    earlier: list[Body] = [accept("s"), TurnStarted("s", 1), TurnFinished("s", "failed", 4)]
    later = add_defaults([START], tell(*earlier), SAID, model="p/m")
    assert later == [SettingsChanged("p/m"), START]


def test_whether_instructions_are_wanted_is_taken_over_too() -> None:
    options = TurnOptions(instructions=False)
    change = SettingsChanged(instructions=False)
    assert add_defaults([START], tell(), options, model=None) == [change, START]
    assert add_defaults([START], tell(SettingsChanged(instructions=True)), options, model=None) == [
        START
    ]
    earlier: list[Body] = [accept("s"), TurnStarted("s", 1), TurnFinished("s", "failed", 4)]
    assert add_defaults([START], tell(*earlier), options, model=None) == [START]


def test_instructions_stand_before_the_start_if_they_are_others() -> None:
    def add(*bodies: Body, instructions: tuple[InstructionFile, ...] | None) -> list[Body]:
        told = tell(*bodies)
        said = TurnOptions()
        return list(add_defaults([START], told, said, model=None, instructions=instructions))

    has = InstructionsChanged((RULE,))
    assert add(instructions=(RULE,)) == [has, START]
    assert add(instructions=()) == [START]
    assert add(has, instructions=(RULE,)) == [START]
    assert add(has, instructions=()) == [InstructionsChanged(), START]
    assert add(has, instructions=None) == [START]


def test_what_starts_no_turn_is_left_alone() -> None:
    end = TurnFinished("t", "completed", 0)
    assert add_defaults([end], tell(), SAID, model="p/m") == [end]
    assert add_defaults([START], tell(), TurnOptions(), model=None) == [START]
