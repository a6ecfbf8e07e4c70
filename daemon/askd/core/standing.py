"""What stands for a conversation's turns, unless one of them says otherwise.

Pure: values, and which of two counts. What the daemon's own settings say is not known here.
"""

from dataclasses import dataclass, fields, replace

from askd.core.events import SettingsChanged, TurnOptions


@dataclass(frozen=True, slots=True)
class Settings:
    """What the conversation has; None: nothing was said, and a default decides."""

    model: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    instructions: bool | None = None


def change_settings(settings: Settings, change: SettingsChanged) -> Settings:
    """The settings after a change; what it does not name stays."""
    named = {field.name: getattr(change, field.name) for field in fields(Settings)}
    return replace(settings, **{name: value for name, value in named.items() if value is not None})


def find_system(settings: Settings, options: TurnOptions) -> str | None:
    """The system prompt that holds for a turn."""
    return options.system or settings.system


def wants_instructions(settings: Settings, options: TurnOptions) -> bool | None:
    """Whether a turn is to get its project's instructions; None: nobody said."""
    return settings.instructions if options.instructions is None else options.instructions
