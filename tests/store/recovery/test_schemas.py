"""A database of a newer askd is known by its migrations."""

from pathlib import Path

import pytest

from askd.errors import NewerSchema
from askd.store.recovery.schemas import SCHEMA, refuse_newer


def test_this_version_and_older_ones_pass() -> None:
    refuse_newer([1, 2, SCHEMA], Path("x"))
    refuse_newer([], Path("x"))
    refuse_newer(["damaged", None], Path("x"))


def test_a_newer_one_is_refused_with_both_numbers() -> None:
    with pytest.raises(NewerSchema) as caught:
        refuse_newer([1, SCHEMA + 1], Path("x"))
    assert caught.value.data == {"schema": SCHEMA + 1, "known": SCHEMA}
