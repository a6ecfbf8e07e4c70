"""The page of the face of HTTP says what its table says."""

from ask.protocol.messages import METHODS
from tests.house import http_page


def test_page_is_current() -> None:
    written = http_page.PATH.read_text(encoding="utf-8")
    assert written == http_page.render(), "run: python -m tests.house.http_page"


def test_every_method_has_one_line() -> None:
    page = http_page.render()
    assert [name for name in METHODS if page.count(f"\n| `{name}` | ") != 1] == []
