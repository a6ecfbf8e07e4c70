"""The page of settings says what `askd.settings` names, all of it."""

import re
from typing import Literal

from pydantic import BaseModel, Field

from askd.settings import Settings
from tests.house import settings_page
from tests.house.floors import CLIENT, DAEMON, modules

# A variable of ours is spelt out as a string wherever it is read or handed on. `ASK_COMPLETE` is
# click's own, for shell completion.
VARIABLE = re.compile(r"[\"'](ASK_[A-Z_]+)[\"']")
NOT_FOR_PEOPLE = {"ASK_COMPLETE", "ASK_CHATGPT_ISSUER", "ASK_GITHUB_URL", "ASK_GITHUB_API_URL"}
"""A shell's script sets the first; the others are where tests put another server."""


def test_page_is_current() -> None:
    written = settings_page.PATH.read_text(encoding="utf-8")
    assert written == settings_page.render(), "run: python -m tests.house.settings_page"


def test_every_setting_has_a_sentence() -> None:
    fields = list(Settings.model_fields.items())
    fields += [(name, field) for _, name, field in settings_page.find_settings()]
    bare = [name for name, field in fields if not (field.description or "").endswith(".")]
    assert bare == []


def test_every_table_of_the_file_is_on_the_page() -> None:
    page = settings_page.render()
    tables = [
        name
        for name, field in Settings.model_fields.items()
        if settings_page.table_model(field) is not None
    ]
    assert tables
    assert [name for name in tables if f"## `[{name}" not in page] == []


def test_every_variable_in_the_code_is_on_the_page_and_no_other() -> None:
    sources = [source for root in (DAEMON, CLIENT) for _, source in modules(root)]
    used = {name for source in sources for name in VARIABLE.findall(source)}
    assert used - NOT_FOR_PEOPLE == set(settings_page.VARIABLES)


def test_types_and_defaults_are_said_in_words() -> None:
    class Sample(BaseModel):
        ratio: float | None = Field(None, gt=0)
        words: list[str] | None = None
        on: bool = True
        some: list[str] = ["a", "b"]
        either: bool | Literal["word"] | None = None
        needed: str

    fields = Sample.model_fields
    assert settings_page.describe_type(fields["ratio"]) == "number above 0"
    assert settings_page.describe_type(fields["words"]) == "list of text"
    assert settings_page.describe_type(fields["either"]) == '`true` or `false` or `"word"`'
    assert settings_page.describe_default(fields["on"]) == "`true`"
    assert settings_page.describe_default(fields["some"]) == '`["a", "b"]`'
    assert settings_page.describe_default(fields["words"]) == "not set"
    assert settings_page.describe_default(fields["needed"]) == "*needed*"
