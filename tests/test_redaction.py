"""The setting decides, at once, whether anything is hidden or learned."""

from askd.providers.redact import KnownSecrets
from askd.redaction import Redaction

FIRST, SECOND = "sk-first-1234567", "sk-second-1234567"


def test_off_hides_nothing_and_learns_nothing() -> None:
    secrets = KnownSecrets([FIRST])
    redaction = Redaction(secrets, is_on=lambda: False)
    redaction.learn(SECOND)
    assert redaction.find_hide() is None
    assert secrets.hide(SECOND) == SECOND


def test_on_hides_what_is_known_and_what_a_caller_lends() -> None:
    redaction = Redaction(KnownSecrets([FIRST]), is_on=lambda: True)
    redaction.learn(SECOND)
    hide = redaction.find_hide()
    assert hide is not None
    assert hide(f"{FIRST}, {SECOND}, none") == "***, ***, none"
