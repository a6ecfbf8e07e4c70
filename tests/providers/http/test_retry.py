"""Whether to ask again, and when: pure answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.errors import (
    BadAnswer,
    Overflowed,
    ProviderError,
    RateLimited,
    Refused,
    Unavailable,
    UnknownModel,
)
from askd.providers.http.retry import (
    RetryRules,
    is_retryable,
    plan_wait,
    read_retry_after,
    read_retry_words,
    write_seconds,
)

RULES = RetryRules()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_statuses_that_may_pass(status: int) -> None:
    assert is_retryable(Unavailable("x"), {}, status)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_statuses_that_will_not(status: int) -> None:
    assert not is_retryable(Refused("x"), {}, status)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(Unavailable("x"), True), (RateLimited("x"), True), (BadAnswer("x"), False),
     (Overflowed("x"), False)],
)  # fmt: skip
@pytest.mark.parametrize("status", [None, 200])
def test_without_an_error_status_the_error_decides(
    error: ProviderError, expected: bool, status: int | None
) -> None:
    assert is_retryable(error, {}, status) is expected


def test_server_has_the_last_word_but_for_what_is_final() -> None:
    assert is_retryable(Refused("x"), {"x-should-retry": "true"}, 400)
    assert not is_retryable(Unavailable("x"), {"x-should-retry": "false"}, 503)
    assert not is_retryable(RateLimited("x", data={"final": True}), {"x-should-retry": "true"}, 429)
    assert not is_retryable(Overflowed("x"), {"x-should-retry": "true"}, 500)


@pytest.mark.parametrize("error", [Refused("x"), UnknownModel("x"), BadAnswer("x")])
def test_refusal_with_any_status_is_one(error: ProviderError) -> None:
    assert not is_retryable(error, {}, 500)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Rate limit reached. Please try again in 2.5s. Visit", 2.5),
        ("Please try again in 20ms.", 0.02),
        ("please TRY AGAIN IN 6m0s.", 360),
        ("Please try again in 7m12.48s.", 432.48),
        ("try again in 1h2m3s", 3723),
        ("Please try again in 1 second", 1),
        ("Please try again in 35 seconds.", 35),
        ("Please retry in 26.387904543s.", 26.387904543),
        ("retry after 5 minutes", 300),
        ("try again in 2 days.", 172_800),
        ("Try again in 2 hours, please", 7200),
        ("Please try again later.", None),
        ("Please try again in a moment.", None),
        ("try again in 5 sessions", None),
        ("try again in 3 models", None),
        ("Limit 10000, Requested 12000.", None),
        ("", None),
    ],
)
def test_sentence_says_when(words: str, expected: float | None) -> None:
    assert read_retry_words(words) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.1 s"),
        (0.25, "0.2 s"),
        (1.0, "1 s"),
        (9.94, "9.9 s"),
        (10, "10 s"),
        (59.2, "60 s"),
        (90, "90 s"),
        (119, "119 s"),
        (120, "2 minutes"),
        (3601, "61 minutes"),
        (7200, "2 hours"),
        (100_000, "28 hours"),
        (200_000, "3 days"),
    ],
)
def test_waits_in_words(seconds: float, words: str) -> None:
    assert write_seconds(seconds) == words


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_what_the_server_asks_for(headers: dict[str, str], expected: float | None) -> None:
    assert read_retry_after(headers, now=10.0) == expected


@given(st.floats(0, 1), st.integers(1, 3))
def test_jitter_is_full_and_doubles(chance: float, tried: int) -> None:
    wait_s = plan_wait(RULES, tried=tried, retry_after=None, chance=chance)
    assert wait_s is not None
    assert 0 <= wait_s <= 0.25 * 2 ** (tried - 1)


def test_last_try_is_the_last() -> None:
    assert plan_wait(RULES, tried=3, retry_after=None, chance=1.0) == 1.0
    assert plan_wait(RULES, tried=4, retry_after=0.0, chance=1.0) is None


def test_server_is_obeyed_up_to_a_limit() -> None:
    assert plan_wait(RULES, tried=1, retry_after=60.0, chance=0.5) == 60.0
    assert plan_wait(RULES, tried=1, retry_after=60.5, chance=0.5) is None
