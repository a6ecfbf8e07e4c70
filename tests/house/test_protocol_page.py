"""The page of the protocol says what the contract says, all of it."""

import dataclasses
from typing import Annotated, Any, Literal

from ask.protocol.messages import METHODS, NOTIFICATIONS
from tests.house import protocol_page


def test_page_is_current() -> None:
    written = protocol_page.PATH.read_text(encoding="utf-8")
    assert written == protocol_page.render(), "run: python -m tests.house.protocol_page"


def test_every_method_notification_and_shape_has_its_place() -> None:
    page = protocol_page.render()
    names = [*METHODS, *NOTIFICATIONS, *(s.__name__ for s in protocol_page.find_shapes())]
    assert [name for name in names if page.count(f"\n### `{name}`\n") != 1] == []
    assert {m.result for m in METHODS.values()} <= set(protocol_page.find_shapes())


def test_every_sentence_is_one() -> None:
    texts = [method.text for method in METHODS.values()]
    texts += [notification.text for notification in NOTIFICATIONS.values()]
    assert [text for text in texts if not text.endswith(".")] == []


def test_types_and_defaults_are_said_in_words() -> None:
    @dataclasses.dataclass
    class Sample:
        needed: str
        flag: bool = True
        count: int = 3
        nothing: str | None = None

    fields = dataclasses.fields(Sample)
    assert [protocol_page.describe_default(field) for field in fields] == [
        "*needed*",
        "true",
        "`3`",
        "null",
    ]
    hints: list[tuple[Any, str]] = [
        (Annotated[str | None, "why"], "text or null"),
        (Literal["a", "b"], "`a` or `b`"),
        (dict[str, Any], "map"),
        (dict[str, str] | None, "map of text or null"),
        (list[dict[str, Any]], "list of map"),
        (bytes, "bytes"),
    ]
    assert [protocol_page.describe_type(hint) for hint, _ in hints] == [words for _, words in hints]
