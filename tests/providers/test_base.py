"""What a model's value says of itself."""

import tomllib

from hypothesis import example, given
from hypothesis import strategies as st

from askd.providers.base import Limits, Model


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example('say "hi" \\ \x1b[31m\x7f\n')
def test_the_table_of_a_model_is_toml_whatever_its_name(bare: str) -> None:
    model = Model(
        name=f"work/{bare}",
        provider="work",
        dialect="openai-chat",
        limits=Limits(context_window=1000, reserved_output=100),
    )
    assert tomllib.loads(model.table) == {"models": {model.name: {}}}
    assert model.table.isprintable()
    assert model.bare_name == bare
