"""`[instructions]`: what of a project's files every prompt from it brings along.

Shapes and nothing else.
"""

from pydantic import Field, field_validator

from askd.settings.section import Name, Section

MOST_FILES = 8
"""Each is looked for in every directory of a project, at every prompt."""
NAME_LENGTH = 255


class InstructionSettings(Section):
    """`[instructions]`: what a project tells every model that works in it."""

    enabled: bool = Field(
        default=True,
        description="Send the instructions of the project that a prompt comes from, where neither "
        "the prompt nor its conversation says otherwise.",
    )
    files: list[Name] = Field(
        default=["AGENTS.md"],
        max_length=MOST_FILES,
        description="Their names; of each directory the first that there is counts.",
    )

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: list[str]) -> list[str]:
        for each in files:
            if each.startswith("/") or set(each.split("/")) & {"", ".", ".."}:
                raise ValueError(f"{each!r} is no path below a directory")
            if not each.isprintable() or len(each) > NAME_LENGTH:
                raise ValueError("a name has up to 255 printable characters")
        return files
