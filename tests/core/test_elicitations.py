"""What a server wants to know, as a question: who asks stands above it, and what is odd is none."""

from typing import Any

import pytest

from askd.core.elicitations import (
    MESSAGE_CHARACTERS,
    URL_CHARACTERS,
    CannotAsk,
    Elicitation,
    check_answer,
    describe_elicitation,
)
from askd.core.events import QuestionAsked
from askd.core.questions import describe_question

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 3}},
    "required": ["name"],
}


def describe(text: str = "Who are you?", **more: Any) -> Elicitation:
    return describe_elicitation(who="here", tool="here__ask", call_id="c1", text=text, **more)


def question(asked: Elicitation, kind: Any = "elicitation") -> QuestionAsked:
    detail = describe_question("t.1.1", asked.text, asked.choices, asked.more)
    return QuestionAsked("t", "t.q1", kind, "d", detail, 9.0)


def test_a_form_says_who_asks_what_and_each_field() -> None:
    asked = describe(schema=SCHEMA)
    assert asked.text == (
        "The server 'here' asks, in a call of here__ask:\n\n"
        "Who are you?\n\n"
        "name: text, required\n"
        "size: whole number, else 3"
    )
    assert [each.decision for each in asked.choices] == ["accept", "decline", "cancel"]
    assert asked.more == {
        "server": "here",
        "tool": "here__ask",
        "call_id": "c1",
        "message": "Who are you?",
        "mode": "form",
        "schema": SCHEMA,
    }


def test_without_fields_it_is_a_yes_or_a_no() -> None:
    for schema in (None, {}, {"type": "object", "properties": {}}):
        asked = describe(schema=schema)
        assert asked.more["mode"] == "confirm"
        assert "schema" not in asked.more
        assert asked.choices[0].label == "Yes"


def test_an_address_is_shown_whole_with_where_it_leads() -> None:
    url = "https://bank.example@evil.example:8443/sign?in=" + "x" * 3000
    asked = describe(url=url)
    assert (asked.more["mode"], asked.more["url"]) == ("url", url)
    assert asked.more["host"] == "evil.example:8443"
    assert asked.text.endswith(f"It wants you to visit evil.example:8443:\n\n{url}")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://localhost:80", "localhost:80"),
        ("HTTPS://Example.COM/", "example.com"),
        ("https://[::1]:8443/x", "[::1]:8443"),
        ("https://a@b@c.example?q=@d", "c.example"),
        ("https://a.example#@b.example/", "a.example"),
        ("https://a.example/@b.example", "a.example"),
    ],
)
def test_where_an_address_leads_is_what_a_browser_takes(url: str, host: str) -> None:
    assert describe(url=url).more["host"] == host


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:///nowhere",
        "https://user@/",
        "https://a:65536/",
        "https://a%2eb/",
        "https://[::1",
        "https://a:99999999/",
        "https://a/ b",
        "https://a/\x1b[2J",
        "https://a\\b/",
        "https://b\u0430nk.example/",
        "https://a/" + "x" * URL_CHARACTERS,
        "",
    ],
)
def test_what_is_no_plain_address_is_not_asked(url: str) -> None:
    with pytest.raises(CannotAsk, match="address"):
        describe(url=url)


def test_a_form_that_cannot_be_shown_is_not_asked() -> None:
    with pytest.raises(CannotAsk, match="its form cannot be shown: the field 'x'"):
        describe(schema={"properties": {"x": {"type": "object"}}})


def test_what_a_server_says_is_cut_and_can_be_written() -> None:
    asked = describe_elicitation(
        who="a\nb\ud800" * 50, tool="t", call_id="c", text="\ud800" + "x" * 100_000
    )
    assert len(asked.more["message"]) < MESSAGE_CHARACTERS + 100
    assert "are not shown" in asked.text
    assert "\n" not in asked.more["server"]
    asked.text.encode()


@pytest.mark.parametrize(
    ("decision", "content", "amiss"),
    [
        ("accept", {"name": "Ada"}, []),
        ("accept", {"name": "Ada", "size": 4}, []),
        ("accept", {"size": "4"}, ["name", "size"]),
        ("accept", None, ["name"]),
        ("decline", None, []),
        ("decline", {"name": "Ada"}, [""]),
        ("cancel", {}, [""]),
    ],
)
def test_content_goes_with_accept_and_fits(decision: str, content: Any, amiss: list[str]) -> None:
    assert sorted(check_answer(question(describe(schema=SCHEMA)), decision, content)) == amiss


def test_content_is_for_forms_alone() -> None:
    assert check_answer(question(describe()), "accept", None) == {}
    assert check_answer(question(describe()), "accept", {}) == {}
    assert list(check_answer(question(describe()), "accept", {"x": 1})) == [""]
    approval = question(describe(schema=SCHEMA), kind="approval")
    assert check_answer(approval, "yes", None) == {}
    assert list(check_answer(approval, "accept", {"name": "Ada"})) == [""]


def test_a_form_that_was_rewritten_takes_no_answer_but_a_no() -> None:
    asked = question(describe(schema=SCHEMA))
    odd = QuestionAsked("t", "q", "elicitation", "d", {"schema": {"properties": 3}}, 9.0)
    assert "cannot be read" in check_answer(odd, "accept", {})[""]
    assert check_answer(odd, "decline", None) == {}
    assert check_answer(asked, "accept", {"name": "Ada"}) == {}
