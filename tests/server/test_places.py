"""Directories that are named from afar."""

from pathlib import Path

import pytest

from askd.errors import RequestError
from askd.server.places import check_place


async def test_a_directory_is_taken(tmp_path: Path) -> None:
    await check_place(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src", "an absolute directory"),
        ("", "an absolute directory"),
        ("/tmp\0", "an absolute directory"),
        ("/nowhere/at/all", "/nowhere/at/all cannot be entered: No such file or directory."),
        ("/etc/passwd", "/etc/passwd cannot be entered: Not a directory."),
    ],
)
async def test_what_is_none_is_said(path: str, said: str) -> None:
    with pytest.raises(RequestError, match="directory") as refused:
        await check_place(path)
    assert said in str(refused.value)
    assert refused.value.code == 2
