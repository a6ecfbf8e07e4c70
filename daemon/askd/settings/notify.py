"""`[notify]`: how a person hears of turns while looking elsewhere.

Shapes and nothing else.
"""

from pydantic import Field, field_validator

from askd.settings.section import Section

MOST_WORDS = 64
WORD_LENGTH = 4096


class NotifySettings(Section):
    """`[notify]`: how you hear of turns that end, or ask, while you look elsewhere."""

    command: list[str] | None = Field(
        default=None,
        max_length=MOST_WORDS,
        description="The program to run and its arguments; no shell reads them. `{title}`, "
        "`{body}`, `{conversation}`, `{outcome}` and `{code}` are filled in, and its standard "
        "input is all of it as JSON. `[]`: nothing is run. If not set, `notify-send` where there "
        "is a desktop.",
    )
    detached: bool = Field(
        default=False,
        description="Notify of every detached turn, as if it had `--notify`.",
    )

    @field_validator("command")
    @classmethod
    def _check_command(cls, command: list[str] | None) -> list[str] | None:
        for each in command or ():
            if "\0" in each or len(each) > WORD_LENGTH:
                raise ValueError(f"a word has no NUL and up to {WORD_LENGTH} characters")
        if command and not command[0].strip():
            raise ValueError("names no program")
        return command
