"""What may be named as a file of instructions."""

import json

import pytest

from askd.config import parse_settings
from askd.errors import BadConfig
from askd.settings.instructions import MOST_FILES


@pytest.mark.parametrize("files", ["[]", '["AGENTS.md"]', '["CLAUDE.md", ".github/rules.md"]'])
def test_names_and_paths_below_a_directory(files: str) -> None:
    found = parse_settings(f"[instructions]\nfiles = {files}\n", "c").instructions.files
    assert found == json.loads(files)


@pytest.mark.parametrize(
    "name", ["", " ", "/etc/passwd", "../AGENTS.md", "a/../b", "./AGENTS.md", "a//b", "a/"]
)
def test_what_may_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BadConfig):
        parse_settings(f'[instructions]\nfiles = ["{name}"]\n', "c")


@pytest.mark.parametrize("name", ["a\\nb", "a\\u001bb", "x" * 256])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(BadConfig, match="255 printable"):
        parse_settings(f'[instructions]\nfiles = ["{name}"]\n', "c")


def test_they_are_few() -> None:
    names = [f"{number}.md" for number in range(MOST_FILES + 1)]
    with pytest.raises(BadConfig):
        parse_settings(f"[instructions]\nfiles = {names}\n", "c")
    assert parse_settings(f"[instructions]\nfiles = {names[1:]}\n", "c").instructions.enabled
