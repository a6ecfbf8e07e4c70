"""Files with a secret: whose they must be, and what is refused."""

import os
from pathlib import Path

import pytest

from askd.errors import NotConfigured
from askd.providers.credentials.key_file import (
    JSON_LIMIT_BYTES,
    KEY_LIMIT_BYTES,
    read_private_file,
    read_private_json,
    read_service_file,
)
from tests.fakes.credentials import write_private

CANARY = "sk-canary-in-the-file"


def test_file_that_is_mine_alone(tmp_path: Path) -> None:
    assert read_private_file(write_private(tmp_path / "key", CANARY)) == CANARY.encode()
    assert read_private_file(write_private(tmp_path / "locked", CANARY, 0o400)) == CANARY.encode()


def test_no_file(tmp_path: Path) -> None:
    assert read_private_file(tmp_path / "none") is None
    assert read_private_file(write_private(tmp_path / "file", "x") / "below") is None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o602, 0o601])
def test_file_that_others_can_use_is_refused_with_the_command(tmp_path: Path, mode: int) -> None:
    path = write_private(tmp_path / "a key", CANARY, mode)
    with pytest.raises(NotConfigured) as caught:
        read_private_file(path)
    assert caught.value.message.endswith(f"chmod 600 '{path}'")
    assert CANARY not in caught.value.message
    path.chmod(0o600)
    assert read_private_file(path) is not None


def test_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_private(tmp_path / "key", CANARY)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(NotConfigured, match="belongs to another user") as caught:
        read_private_file(path)
    assert f"chmod 600 {path}" in caught.value.message


def test_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    path = write_private(tmp_path / "key", CANARY)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert read_private_file(link) == CANARY.encode()
    path.chmod(0o644)
    with pytest.raises(NotConfigured, match="chmod 600"):
        read_private_file(link)


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(NotConfigured, match="no regular file"):
        read_private_file(tmp_path / "pipe")
    with pytest.raises(NotConfigured, match="no regular file"):
        read_private_file(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(NotConfigured, match="cannot be read"):
        read_private_file(tmp_path / "loop")


def test_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="larger than"):
        read_private_file(write_private(tmp_path / "key", "x" * (KEY_LIMIT_BYTES + 1)))
    with pytest.raises(NotConfigured, match="larger than"):
        read_private_json(write_private(tmp_path / "json", " " * (JSON_LIMIT_BYTES + 1)))


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "[" * 100_000])
def test_json_that_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotConfigured, match="does not hold a JSON object"):
        read_private_json(write_private(tmp_path / "file", text))


def test_json(tmp_path: Path) -> None:
    assert read_private_json(write_private(tmp_path / "file", {"a": 1})) == {"a": 1}
    assert read_private_json(tmp_path / "none") is None


def test_what_systemd_passes(tmp_path: Path) -> None:
    write_private(tmp_path / "OPENAI_API_KEY", CANARY, 0o440)  # an access list looks like a group
    assert read_service_file(tmp_path, "OPENAI_API_KEY") == CANARY.encode()
    assert read_service_file(tmp_path, "openai") is None
    for name in ("", "../OPENAI_API_KEY", ".hidden", "a/b"):
        assert read_service_file(tmp_path, name) is None
    write_private(tmp_path / "open", CANARY, 0o444)
    with pytest.raises(NotConfigured, match="chmod 600"):
        read_service_file(tmp_path, "open")
