"""The design of a face of HTTP is whole: nothing of the wire is forgotten, and nothing invented."""

import re

import pytest

from ask.protocol.errors import EXIT_CODES
from ask.protocol.messages import METHODS, NOTIFICATIONS
from tests.house.http_face import (
    FACE,
    KEPT_BACK,
    NO_STATUS,
    NOT_TRAVELLING,
    ROUTES,
    STATUS,
    STREAMED,
    UNSTREAMED,
)
from tests.house.json_shapes import describe_fields

BRACES = re.compile(r"{(\w+)}")


def test_every_method_is_offered_or_kept_back() -> None:
    assert not set(ROUTES) & set(KEPT_BACK)
    assert {*ROUTES, *KEPT_BACK} == set(METHODS), "see tests/house/http_face.py"


def test_every_notification_is_streamed_or_not() -> None:
    assert not set(STREAMED) & set(UNSTREAMED)
    assert set(STREAMED) <= set(NOTIFICATIONS) <= {*STREAMED, *UNSTREAMED}


def test_every_code_is_a_status_or_none() -> None:
    assert not set(STATUS) & set(NO_STATUS)
    assert {*STATUS, *NO_STATUS} == set(EXIT_CODES)
    assert not set(FACE) & set(STATUS.values()), "who refuses must be clear from the status"


@pytest.mark.parametrize("name", ROUTES)
def test_a_route_has_the_parameters_of_its_method(name: str) -> None:
    route, fields = ROUTES[name], describe_fields(METHODS[name].params)
    in_path = BRACES.findall(route.path)
    assert set(in_path) <= set(fields)
    assert set(route.without) <= set(fields)
    gone = ({*NOT_TRAVELLING} & set(fields)) | set(route.without)
    for each in gone:
        needed = fields[each][1]
        assert not needed or each in route.without, f"{each} is needed and does not travel"
    if route.verb in ("get", "delete"):
        for each in set(fields) - gone:
            kind = fields[each][0].get("type")
            assert kind != "object", f"{each} does not go into a query"


def test_no_two_methods_are_one_request() -> None:
    seen: dict[tuple[str, str], list[str]] = {}
    for route in ROUTES.values():
        seen.setdefault((route.verb, route.path), []).append(route.answer)
    twice = {request: answers for request, answers in seen.items() if len(answers) > 1}
    assert all(sorted(answers) == ["json", "stream"] for answers in twice.values()), twice


def test_what_does_not_travel_is_known_to_the_wire() -> None:
    known = {field for method in METHODS.values() for field in describe_fields(method.params)}
    assert set(NOT_TRAVELLING) <= known
