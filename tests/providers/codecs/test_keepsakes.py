"""What goes back to a vendor can be stored until then, and goes to that vendor alone."""

import json
from typing import Any

import pytest
from hypothesis import given

from askd.core.items import PART_LIMIT_BYTES
from askd.providers.codecs.keepsakes import DEPTH, copy_json, is_from, keep
from tests.fakes.codec_streams import any_json, assistant


@given(any_json(["a", "\ud800"]))
def test_any_copy_can_be_stored(value: Any) -> None:
    text = json.dumps(copy_json(value), ensure_ascii=False, allow_nan=False)
    text.encode()
    assert copy_json(json.loads(text)) == json.loads(text)


def test_ordinary_json_is_kept_as_it_is() -> None:
    item = {"id": "rs", "n": [1, 1.5, True, None, {"deep": ["ü"]}]}
    assert keep(item) == item


@pytest.mark.parametrize("value", [1 << 63, float("inf"), float("nan"), object()])
def test_what_no_format_holds_becomes_null(value: Any) -> None:
    assert copy_json([value]) == [None]
    assert copy_json([-(1 << 63)]) == [-(1 << 63)]


def test_depth_has_an_end() -> None:
    value: Any = "leaf"
    for _ in range(DEPTH + 1):
        value = [value]
    assert "leaf" not in str(copy_json(value))
    assert "leaf" in str(copy_json(value[0]))


def test_what_does_not_fit_an_event_is_not_kept() -> None:
    assert keep({"sealed": "x" * PART_LIMIT_BYTES}) is None
    assert keep({"sealed": "x" * (PART_LIMIT_BYTES - 20)}) is not None


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [("work", "m", True), ("work", "work/m", True), ("work", None, True), ("work", "n", False),
     ("other", "m", False), (None, None, False)],
)  # fmt: skip
def test_whose_answer_it_is(provider: str | None, model: str | None, expected: bool) -> None:
    message = assistant("A.", provider=provider, model=model)
    assert is_from(message, provider="work", model="m") is expected
