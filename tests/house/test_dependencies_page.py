"""The page of dependencies has the packages and programs there are, with bounds and licences."""

import pytest

from tests.house import dependencies_page as page

PROJECT = """\
[build-system]
requires = ["maker>=1"]
[project]
dependencies = ["one>=1.2", "two>=3"]
[project.optional-dependencies]
more = ["three>=2026.5; platform_system == 'Linux'", "four[x,y]>=0.1rc1"]
all = ["askd[more]"]
"""

TEXT = """\
# Dependencies

## Build

| package | at least | licence | side | for | why that version | to replace it |
| --- | --- | --- | --- | --- | --- | --- |
| `maker` | 1 | MIT | build | a | b | c |

## Base

| `one` | 1.2 | MIT | daemon | a | b | c |
| `two` | 3 | MIT | both | a | b | c |

## Extra `more`

| `three` | 2026.5 | MIT | client | a | b | c |
| `four` | 0.1rc1 | MIT | client | a | b | c |

## Programs

| `tool` | tool | MIT | client, tests | a | b |
"""

NEEDED = page.read_project(page.PROJECT.read_text(encoding="utf-8"))
TOLD = page.read_page(page.PATH.read_text(encoding="utf-8"))
ROWS = {name: row for section in TOLD.values() for name, row in section.items()}
ASIDE = {"Extra `test`": "tests", page.BUILD: "build"}


def test_packages_bounds_and_licences_are_those_there_are() -> None:
    found = page.find_differences(TOLD, NEEDED, page.read_licence)
    assert found == [], "\n".join(found)
    assert len(ROWS) >= 30


@pytest.mark.parametrize("section", NEEDED)
def test_sides_are_those_that_import_them(section: str) -> None:
    told = {name: row.side for name, row in TOLD[section].items()}
    assert told == {name: ASIDE.get(section) or page.find_side(name) for name in NEEDED[section]}


def test_programs_are_those_that_are_looked_for() -> None:
    sources = page.read_sources()
    wanted = page.find_wanted_programs(sources.values())
    assert {"git", "bwrap", "rg", "ssh", "strace"} <= wanted
    told = page.read_programs(page.PATH.read_text(encoding="utf-8"))
    found = page.find_program_differences(told, wanted, sources)
    assert found == [], "\n".join(found)


def find(text: str, project: str = PROJECT, licence: str | None = "MIT") -> list[str]:
    return page.find_differences(
        page.read_page(text), page.read_project(project), lambda name: licence
    )


def test_what_is_the_same_has_no_differences() -> None:
    assert find(TEXT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `one` | 1.2 |", "| `one` | 1.3 |"),
        ("| `one` | 1.2 | MIT |", "| `one` | 1.2 | BSD |"),
        ("| `one` | 1.2 | MIT |", "| `one` | 1.2 | |"),
        ("| `two` |", "| `too` |"),
        ("| `four` | 0.1rc1 | MIT | client | a | b | c |\n", ""),
        ("| `four` | 0.1rc1 | MIT | client | a | b | c |", "| `four` | 0.1rc1 | MIT | x | | b | |"),
        ("## Extra `more`", "## Extra `less`"),
        ("| `maker` | 1 |", "| `maker` | 2 |"),
    ],
)
def test_planted_difference_on_the_page_is_found(old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert find(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"one>=1.2", ', ""), ('"two>=3"', '"two>=3", "five>=1"'), ("two>=3", "two>=4")],
)
def test_planted_difference_in_the_project_is_found(old: str, new: str) -> None:
    assert find(TEXT, PROJECT.replace(old, new))


def test_planted_difference_in_the_metadata_is_found() -> None:
    assert len(find(TEXT, licence="GPL")) == 5


def test_what_is_not_installed_is_found_where_it_has_to_be() -> None:
    assert find(TEXT, licence=None) == [
        "Base: one is not installed",
        "Base: two is not installed",
        "Extra `more`: four is not installed",
        "Extra `more`: three is not installed",
    ]


@pytest.mark.parametrize("need", ["one", "one<2", "one>=1,<2", "one==1"])
def test_another_kind_of_bound_is_refused(need: str) -> None:
    with pytest.raises(ValueError, match="lower bound"):
        page.read_project(PROJECT.replace("one>=1.2", need))


def test_planted_program_is_found() -> None:
    told = page.read_programs(TEXT)
    assert told == {"tool": ["client", "tests"]}
    sources = {"client": 'which("tool")', "daemon": "", "tests": "command -v tool >/dev/null"}
    wanted = page.find_wanted_programs(sources.values())
    assert wanted == {"tool"}
    assert page.find_program_differences(told, wanted, sources) == []
    assert page.find_program_differences(told, {"tool", "other"}, sources) == ["other is not told"]
    without = {**sources, "tests": "toolbox"}
    assert page.find_program_differences(told, wanted, without) == ["tool is not in tests"]


def test_licences_are_read_from_what_is_installed() -> None:
    assert page.read_licence("pytest") == "MIT"
    assert page.read_licence("no-such-package-anywhere") is None


def test_sides_are_read_from_imports() -> None:
    assert page.find_side("trio") == "daemon"
    assert page.find_side("click") == "client"
    assert page.find_side("platformdirs") == "both", "the daemon finds its places with it"
    assert page.find_side("xllamacpp") == "daemon", "by its name, when it is needed"
    assert page.find_side("nothing") == ""
