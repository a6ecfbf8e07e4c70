"""How a turn ended, as a code and a sentence."""

import pytest

from ask.endings import End, end_unsaved, judge_end

USAGE = {"input_tokens": 3}


@pytest.mark.parametrize(
    ("ended", "interrupted", "late", "code", "message"),
    [
        ({"outcome": "completed", "code": 0}, False, False, 0, None),
        ({"outcome": "completed", "code": 0}, True, True, 0, None),
        (
            {"outcome": "completed", "code": 9},
            False,
            False,
            9,
            "The answer was cut by a length limit.",
        ),
        ({"outcome": "failed", "code": 7, "message": "Too large."}, False, False, 7, "Too large."),
        ({"outcome": "failed", "code": 0}, False, False, 1, "The turn was failed by someone else."),
        ({"outcome": "interrupted", "code": 1}, True, False, 130, None),
        ({"outcome": "withdrawn", "code": 1}, True, False, 130, "The prompt was taken back."),
        ({"outcome": "interrupted", "code": 1}, False, True, 124, "The time limit was reached."),
        (
            {"outcome": "withdrawn", "code": 1},
            False,
            False,
            1,
            "The turn was withdrawn by someone else.",
        ),
    ],
)
def test_an_end(
    ended: dict[str, object], interrupted: bool, late: bool, code: int, message: str | None
) -> None:
    found = judge_end({**ended, "usage": USAGE}, "said", interrupted=interrupted, late=late)
    assert found == End(code, message, "said", USAGE)


def test_an_end_that_could_not_be_stored() -> None:
    assert end_unsaved({"reason": "full"}, "said") == End(74, "Failed to save turn: full", "said")
