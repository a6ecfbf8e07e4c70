"""What every table keeps to."""

import pytest
from pydantic import ValidationError

from askd.settings import Settings


def test_a_name_is_not_blank() -> None:
    with pytest.raises(ValidationError, match="is empty"):
        Settings(default_model=" ")


def test_what_is_unknown_is_refused_and_nothing_is_taken_for_something_else() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Settings.model_validate({"colour": "red"})
    with pytest.raises(ValidationError, match="valid boolean"):
        Settings.model_validate({"local_only": "yes"})
