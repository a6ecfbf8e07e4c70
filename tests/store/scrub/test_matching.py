"""Expressions run in a process that can be ended; they only find."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from askd.errors import RequestError
from askd.store.scrub import matching
from askd.store.scrub.matching import check_expression, find_matched


async def pages(*given: Sequence[str]) -> AsyncGenerator[Sequence[str], None]:
    for page in given:
        yield page


async def find(pattern: str, *given: Sequence[str], allow_short: bool = False) -> list[str]:
    async with aclosing(pages(*given)) as each:
        return await find_matched(pattern, each, allow_short=allow_short)


async def test_what_is_matched_in_many_pages() -> None:
    many = [f"key-{number:05d} " * 200 for number in range(300)]
    found = await find(r"key-\d{5}", many, ["none"], ["key-99999"])
    assert found == [f"key-{number:05d}" for number in (*range(300), 99999)]
    assert await find(r"nothing like it", many) == []


async def test_texts_that_are_too_short_or_too_many() -> None:
    with pytest.raises(RequestError, match="fewer than 4"):
        await find(r"a\w*", ["abc abcd"])
    assert await find(r"a\w*", ["abc abcd"], allow_short=True) == ["abc", "abcd"]
    with pytest.raises(RequestError, match="more than 1000 different"):
        await find(r"\d{4}", [f"{number}" for number in range(1000, 3000)])


async def test_an_expression_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "TEXT_S", 0.2)
    with pytest.raises(RequestError, match=r"takes longer than 0\.2 s") as caught:
        await find(r"(a+)+$", ["a" * 40 + "b"], ["more"] * 100_000)
    assert "a+" not in caught.value.message


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        ("a*", "empty text"),
        ("", "empty text"),
        ("a" * 1001, "1000 characters"),
        ("x{99999999999}", "no regular expression"),
    ],
)
def test_what_is_refused_before_it_runs(pattern: str, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        check_expression(pattern)
    check_expression(r"sk-[A-Za-z0-9]{20,}")
