"""The page of the library names all that is public, and each name says what it is."""

import dataclasses
import inspect
import typing

import pytest

import ask
from tests.house import library_page

PUBLIC = [name for name in ask.__all__ if not name.startswith("_")]


def test_page_is_current() -> None:
    written = library_page.PATH.read_text(encoding="utf-8")
    assert written == library_page.render(), "run: python -m tests.house.library_page"


def test_every_public_name_stands_in_one_chapter() -> None:
    listed = [name for names in library_page.CHAPTERS.values() for name in names]
    assert sorted(listed) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_and_member_says_what_it_is(name: str) -> None:
    value = getattr(ask, name)
    if typing.get_origin(value) is not None:
        return  # a type that others are written with
    text = inspect.getdoc(value) or ""
    assert text, name
    assert not text.startswith(f"{name}("), "that is what dataclasses say of themselves"
    if inspect.isclass(value) and not dataclasses.is_dataclass(value):
        for member_name, member in vars(value).items():
            if member_name.startswith("_") or typing.is_typeddict(value):
                continue
            if inspect.isfunction(member) or isinstance(member, property):
                assert inspect.getdoc(member), f"{name}.{member_name}"


def test_options_are_told_with_their_sentences() -> None:
    page = library_page.render()
    for name in ask.Options.__annotations__:
        assert page.count(f"\n| `{name}` | ") >= 1, name


def test_signatures_are_told_as_they_are_written() -> None:
    page = library_page.render()
    assert "#### `Client.ask(prompt: str, **options) -> str`" in page
    assert "### `connect(environ: Mapping[str, str] | None = None, *, start: bool = True, " in page
    assert "ask.library" not in page
    assert "typing." not in page
