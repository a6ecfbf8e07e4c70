"""What `--schema` takes, and the fence that an answer may have around it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask import schemas
from ask.exits import Failed
from ask.protocol import frames
from ask.schemas import read_fields, read_schema, strip_fence
from askd.sessions import schemas as daemon

NAME = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name", closed(name=NAME)),
        ("name, age int", closed(name=NAME, age={"type": "integer"})),
        (
            "a str,b float , c bool,",
            closed(a=NAME, b={"type": "number"}, c={"type": "boolean"}),
        ),
        (
            "bio: a sentence about it, age int: in years",
            closed(
                bio={"type": "string", "description": "a sentence about it"},
                age={"type": "integer", "description": "in years"},
            ),
        ),
        (
            "bio: short, and kind\n\nage int",
            closed(
                bio={"type": "string", "description": "short, and kind"}, age={"type": "integer"}
            ),
        ),
        ("at: 10:30 or so", closed(at={"type": "string", "description": "10:30 or so"})),
        ("größe float, last-name, x_1", None),
    ],
)
def test_fields(text: str, expected: dict[str, Any] | None) -> None:
    schema = read_schema(text)
    assert expected is None or schema == expected
    daemon.check_schema(schema)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
        st.sampled_from(["", " str", " int", " float", " bool"]),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([", ", ",", "\n", " ,\t"]),
)
def test_any_fields_make_a_closed_schema(fields: dict[str, str], separator: str) -> None:
    text = separator.join(f"{name}{kind}" for name, kind in fields.items())
    schema = read_fields(text)
    assert schema["required"] == list(schema["properties"]) == list(fields)
    daemon.check_schema(schema)
    assert daemon.find_objection("{}", schema) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The schema is empty."),
        (" , ", "The schema is empty."),
        ("name, name int", "The schema has two fields 'name'."),
        ("age integer", "'age integer' is no field of a schema: its type is one of str, int, "),
        ("age int years", "'age int years' is no field of a schema"),
        ("bio: short, and kind", "'and kind' is no field of a schema"),
        (": what", "': what' is no field of a schema, and no file"),
        ("1st", "'1st' is no field of a schema"),
        ("person.json", "'person.json' is no field of a schema, and no file of that name is there"),
        ("[name]", "The schema is not valid JSON"),
        ('["name"]', "The schema is not a JSON object"),
        ('{"type": }', "The schema is not valid JSON: Expecting value"),
        ('{"maximum": NaN}', "The schema is not valid JSON: NaN is no JSON"),
        ('{"maximum": 9223372036854775808}', "9223372036854775808 is too large"),
        ('{"maximum": -1e400}', "The schema is not valid JSON: -1e400 is too large"),
        (f'{{"enum": {[*range(1025)]}}}', "has more than 1024 fields or values in one place."),
        (",".join(f"f{n}" for n in range(1025)), "has more than 1024 fields or values in one"),
        ('{"title": "\ud800"}', "The schema is not valid JSON"),
        ('{"a":' * 21 + "1" + "}" * 21, "The schema is nested too deep."),
        ("[" * 100_000, "The schema is not valid JSON"),
        ("x" * 5000 + "/y", "is no field of a schema"),
        ("a\0b", "is no field of a schema"),
    ],
)
def test_what_is_no_schema(text: str, message: str) -> None:
    with pytest.raises(Failed) as caught:
        read_schema(text)
    assert message in caught.value.message
    assert (caught.value.code, caught.value.data["reason"]) == (2, "bad_schema")
    assert caught.value.hint is not None


def test_the_largest_schema_fits_a_request() -> None:
    schema = read_schema(f'{{"enum": {[*range(schemas.MEMBER_LIMIT)]}}}')
    frame = frames.encode_request(1, "turn/start", {"options": {"answer_schema": schema}})
    reader = frames.FrameReader(member_limit=frames.REQUEST_MEMBER_LIMIT)
    assert len(reader.feed(frame)) == 1


def test_json_is_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"maximum": 3.5, "minimum": -(2**62)}}}
    assert read_schema(f"\n {json.dumps(schema)}") == schema


def test_a_file_goes_before_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_schema("name") == closed(name=NAME)
    Path("name").write_text('\ufeff{"type": "null"}', encoding="utf-8")
    assert read_schema("name") == {"type": "null"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name, age int", "s.json is not valid JSON"),
        (b"[]", "s.json is not a JSON object, as a schema is."),
        (b"\xff\xfe", "s.json is not valid UTF-8 text."),
        (b" " * (1024 * 1024 + 1), "s.json is too large for a schema."),
    ],
)
def test_files_that_hold_no_schema(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(content)
    with pytest.raises(Failed) as caught:
        read_schema(str(path))
    assert message in caught.value.message


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.json"
    path.write_text("{}")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(Failed, match=r"s\.json cannot be read: Permission denied\."):
        read_schema(str(path))


FENCES = ["```\n{}\n```", "```json\n{}```", " {} ", "````\n```\n````", "so:\n```\n{}\n```", "```"]


@pytest.mark.parametrize("text", FENCES)
def test_the_fence_is_the_daemons(text: str) -> None:
    assert strip_fence(text) == daemon.strip_fence(text)


@given(st.text(st.sampled_from("`\n {}ajson")))
def test_any_fence_is_the_daemons(text: str) -> None:
    assert strip_fence(text) == daemon.strip_fence(text)
