"""Which askd wrote a database, by the migrations that it has been through."""

from pathlib import Path

from askd.errors import NewerSchema
from askd.store.migrations import MIGRATIONS

SCHEMA = max(each.number for each in MIGRATIONS)
"""The schema of this version."""


def refuse_newer(numbers: list[object], path: Path) -> None:
    """Raise `NewerSchema` if one of these migrations is not known here."""
    schema = max((number for number in numbers if isinstance(number, int)), default=0)
    if schema > SCHEMA:
        raise NewerSchema(
            f"{path} was written by a newer askd (schema {schema}, this one knows {SCHEMA}). "
            "Install that version again; nothing was changed.",
            data={"schema": schema, "known": SCHEMA},
        )
