"""What a conversation takes over from its first turn: its model, system prompt, tools and more.

A later prompt that says otherwise says it for its own turn only. Nothing that the
conversation has already is replaced, and nothing is stored here.
"""

from collections.abc import Sequence

from askd.core.conversation import Conversation
from askd.core.events import (
    Body,
    InstructionsChanged,
    SettingsChanged,
    TurnOptions,
    TurnStarted,
)
from askd.core.instructions import InstructionFile


def add_defaults(
    bodies: Sequence[Body],
    conversation: Conversation,
    options: TurnOptions,
    *,
    model: str | None,
    instructions: Sequence[InstructionFile] | None = None,
) -> Sequence[Body]:
    """The bodies, with the settings in front if they start a turn that brings some.

    Args:
        model: what the turn resolved to; None: nothing. A conversation that has none takes it
            from whichever turn finds one.
        instructions: what there is in the turn's project; None: what the conversation has stays.
    """
    if not any(isinstance(body, TurnStarted) for body in bodies):
        return bodies
    settings = conversation.settings
    said = TurnOptions() if conversation.started else options
    change = SettingsChanged(
        model=model if settings.model is None else None,
        system=said.system if settings.system is None else None,
        tools=said.tools if settings.tools is None else None,
        instructions=said.instructions if settings.instructions is None else None,
    )
    changes: list[Body] = [] if change == SettingsChanged() else [change]
    if instructions is not None and tuple(instructions) != conversation.instructions:
        changes.append(InstructionsChanged(tuple(instructions)))
    return [*changes, *bodies] if changes else bodies
