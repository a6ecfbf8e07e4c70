"""What all sign-ins share: when a token is renewed, when it is over, what is said then."""

import pytest

from askd.providers.credentials.sign_in import (
    CLOCK_DOUBT_S,
    RENEW_EARLY_S,
    Grant,
    explain_over,
    fail_login,
    is_ending,
    is_over,
)

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("left_s", "ending", "over"),
    [
        (RENEW_EARLY_S + 1, False, False),
        (RENEW_EARLY_S - 1, True, False),
        (0, True, False),
        (1 - CLOCK_DOUBT_S, True, False),  # a clock may be that wrong
        (-1 - CLOCK_DOUBT_S, True, True),
    ],
)
def test_when_a_token_is_renewed_and_when_it_is_over(
    left_s: float, ending: bool, over: bool
) -> None:
    assert is_ending(NOW + left_s, NOW) is ending
    assert is_over(NOW + left_s, NOW) is over


def test_token_without_an_end_is_never_either() -> None:
    assert not is_ending(None, NOW)
    assert not is_over(None, NOW)


def test_the_clock_is_named() -> None:
    error = explain_over("work: the sign-in", NOW - 3600, NOW, remedy="sign in.")
    assert error.message == (
        "work: the sign-in ended at 2027-01-15 07:00 UTC (this machine's clock says "
        "2027-01-15 08:00 UTC): sign in."
    )
    assert "unknown time" in explain_over("x", 1e300, NOW, remedy="y").message


def test_failed_login() -> None:
    assert fail_login("No.").reason == "login_failed"


def test_token_is_not_shown() -> None:
    assert "secret" not in repr(Grant(token="secret", headers={"x": "secret"}))
