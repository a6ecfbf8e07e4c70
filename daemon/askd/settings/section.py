"""What every table of `config.toml` has in common."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _check_name(name: str) -> str:
    if not name.strip():
        raise ValueError("is empty")
    return name


Name = Annotated[str, AfterValidator(_check_name)]
Share = Annotated[float, Field(gt=0, le=1)]
"""A part of a model's window."""


class Section(BaseModel):
    """A table of the file: nothing unknown, nothing coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
