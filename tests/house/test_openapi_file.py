"""The OpenAPI file is valid, says what the contract says, and is what was written."""

import json
from typing import Any

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from ask.protocol.messages import METHODS
from tests.house import openapi_file
from tests.house.http_face import ROUTES
from tests.house.test_json_shapes import PROMPT


def test_file_is_current() -> None:
    written = openapi_file.PATH.read_text(encoding="utf-8")
    assert written == openapi_file.render(), "run: python -m tests.house.openapi_file"


def test_file_is_valid() -> None:
    OpenAPIV31SpecValidator(json.loads(openapi_file.render())).validate()


def test_planted_fault_is_found() -> None:
    face = openapi_file.describe_face()
    del face["paths"]["/jobs/{job_id}"]["get"]["parameters"]
    found = [error.message for error in OpenAPIV31SpecValidator(face).iter_errors()]
    assert any("job_id" in each for each in found)


def list_operations() -> list[Any]:
    paths = openapi_file.describe_face()["paths"]
    return [each for operations in paths.values() for each in operations.values()]


def test_every_route_is_an_operation_with_a_name_of_its_own() -> None:
    operations = list_operations()
    assert sorted(each for one in operations for each in one["x-ask-methods"]) == sorted(ROUTES)
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names))


def test_a_stream_and_a_page_share_a_path() -> None:
    events = openapi_file.describe_face()["paths"]["/conversations/{conversation_id}/events"]["get"]
    assert events["x-ask-methods"] == ["conversation/read", "conversation/subscribe"]
    assert set(events["responses"]["200"]["content"]) == {openapi_file.JSON, openapi_file.STREAM}
    names = [each["name"] for each in events["parameters"]]
    assert names == ["conversation_id", "after_seq", "limit", "interactive", "Last-Event-ID"]


def test_what_is_referred_to_is_there() -> None:
    face = openapi_file.describe_face()
    text = json.dumps(face)
    for name in face["components"]["schemas"]:
        assert f"#/components/schemas/{name}" in text, f"{name} is of no use"
    assert "Error" in face["components"]["schemas"]


def test_a_body_is_what_the_wire_takes_without_what_stays() -> None:
    face = openapi_file.describe_face()
    body = face["paths"]["/turns"]["post"]["requestBody"]["content"][openapi_file.JSON]["schema"]
    validator = Draft202012Validator({**body, "components": face["components"]})
    validator.validate({**PROMPT, "cwd": "/srv"})
    assert not validator.is_valid({**PROMPT, "secrets": {}})
    assert not validator.is_valid({**PROMPT, "follow": True})
    known = set(METHODS["turn/start"].params.__dataclass_fields__)  # type: ignore[attr-defined]
    assert set(body["properties"]) < known
