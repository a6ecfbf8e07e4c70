"""The exception that carries an exit code."""

from ask.exits import USAGE, Failed


def test_a_hint_may_come_from_the_daemon() -> None:
    assert Failed(USAGE, "No.", data={"hint": "Do this."}).hint == "Do this."
    assert Failed(USAGE, "No.", hint="Do that.", data={"hint": "Do this."}).hint == "Do that."
    assert Failed(USAGE, "No.", data={"hint": 5}).hint is None
    assert str(Failed(USAGE, "No.")) == "No."
