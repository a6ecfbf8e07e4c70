"""What was learnt, in a file: read again as it was, or not at all; never a key in it."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askd.providers.base import Endpoint, Price
from askd.providers.models.listings import Listed
from askd.providers.models.stock import (
    FILE_LIMIT_BYTES,
    MOST_PLACES,
    Stock,
    find_key,
    read_file,
    write_file,
)

ENDPOINT = Endpoint(provider="work", base_url="http://10.0.0.1/v1", api_key="sk-own-secret")
SIZES = st.none() | st.integers(1, 10**9)
ANSWERS = st.none() | st.booleans()
PRICES = st.none() | st.builds(
    Price,
    input=st.floats(0, 100),
    output=st.floats(0, 100),
    cached=st.none() | st.floats(0, 100),
)
MODELS = st.builds(
    Listed,
    name=st.text(min_size=1, max_size=8),
    context_window=SIZES,
    max_output_tokens=SIZES,
    images=ANSWERS,
    tools=ANSWERS,
    price=PRICES,
    is_remote=st.booleans(),
    is_fixed=st.booleans(),
)
STOCKS = st.builds(
    lambda models, at: Stock(models={each.name: each for each in models}, listed_at=at),
    st.lists(MODELS, max_size=4),
    st.floats(0, 2e9),
)


@given(stocks=st.dictionaries(st.text(max_size=8), STOCKS, max_size=3))
def test_what_is_written_is_read_again(
    stocks: dict[str, Stock], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("stock") / "models.json"
    write_file(path, stocks)
    assert read_file(path) == stocks
    assert path.stat().st_mode & 0o077 == 0


def test_a_key_stands_for_provider_address_and_credential() -> None:
    other = Endpoint(provider="work", base_url="http://10.0.0.2/v1")
    keys = [find_key(ENDPOINT, None), find_key(ENDPOINT, "sk-theirs"), find_key(other, None)]
    assert len(set(keys)) == 3
    # The daemon's own credential is its user's, whichever it is today.
    assert find_key(ENDPOINT, None) == find_key(
        Endpoint(provider="work", base_url="http://10.0.0.1/v1", api_key="sk-renewed"), None
    )


def test_the_file_names_no_address_and_no_credential(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    key = find_key(ENDPOINT, "sk-theirs-secret")
    write_file(path, {key: Stock(models={"m": Listed(name="m")})})
    text = path.read_text()
    for secret in ("sk-", "10.0.0.1", "work"):
        assert secret not in text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version": 1}',
        b'{"version": 1, "places": {"k": {}}}',
        b'{"version": 1, "places": {"k": {"listed_at": 1, "tried_at": 1, "models": [7]}}}',
        b'{"version": 1, "places": {"k": {"listed_at": 1, "tried_at": 1, "models": [{"name": "m",'
        b' "context_window": "many"}]}}}',
        b'{"version": 1, "places": {"k": {"listed_at": 1, "tried_at": 1, "models": [{"name": "m",'
        b' "unheard_of": 1}]}}}',
        b" " * (FILE_LIMIT_BYTES + 1),
    ],
    ids=range(11),
)
def test_a_file_that_is_none_is_ignored_with_a_line_in_the_log(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "models.json"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert read_file(path) == {}
    assert f"{path} is ignored" in caplog.text


def test_no_file_and_another_versions_are_not_worth_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "models.json"
    assert read_file(path) == {}
    path.write_text(json.dumps({"version": 99, "shelves": []}))
    assert read_file(path) == {}
    assert caplog.text == ""


def test_a_full_file_keeps_who_was_asked_last(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    stocks = {str(at): Stock(models={}, tried_at=float(at)) for at in range(MOST_PLACES + 5)}
    write_file(path, stocks)
    kept = {int(key) for key in read_file(path)}
    assert kept == set(range(5, MOST_PLACES + 5))


def test_a_file_is_bounded_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    models = {f"{'m' * 240}{number}": Listed(name=f"{'m' * 240}{number}") for number in range(2000)}
    stocks = {str(at): Stock(models=models, tried_at=float(at)) for at in range(12)}
    write_file(path, stocks)
    assert path.stat().st_size <= FILE_LIMIT_BYTES
    kept = read_file(path)
    assert "11" in kept
    assert 0 < len(kept) < 12


def test_a_disk_that_says_no_is_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    places: dict[str, Any] = {"k": Stock(models={})}
    with caplog.at_level(logging.WARNING):
        write_file(tmp_path / "file" / "models.json", places)
    assert "cannot be written" in caplog.text
