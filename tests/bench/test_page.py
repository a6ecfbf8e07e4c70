"""The page of performance is what was recorded; nothing measured is lost on the way."""

import dataclasses

import pytest

from tests.bench.__main__ import judge, read_parts
from tests.bench.page import PAGE, TITLES, read_record, render_page
from tests.bench.parts import EXPLAINED, PARTS
from tests.bench.record import Section, decode_sections, encode_sections
from tests.bench.rows import Row

ROW = Row("a against b", "2.00×", "≤ 1×", False, must=True, ratio=2.0)
SECTION = Section(
    rounds=3,
    machine="2 cores",
    versions={"trio": "1.0"},
    load=[0.1, 0.2],
    pass_ms=11,
    rows=[ROW, Row("c", "not measured: x is not there", "≥ 2×", None)],
)


def test_the_page_is_what_was_recorded() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(read_record())


def test_every_part_has_its_place_on_the_page() -> None:
    assert set(PARTS) == set(TITLES)


def test_a_record_comes_back_as_it_was() -> None:
    assert decode_sections(encode_sections({"client": SECTION})) == {"client": SECTION}


def test_a_part_that_was_never_measured_says_so_and_how() -> None:
    page = render_page({})
    assert page.count("Not measured yet") == len(TITLES)
    assert "--only fan-out" in page


def test_a_section_says_of_which_run_it_is() -> None:
    page = render_page({"client": SECTION})
    for said in ("--rounds 3", "2 cores", "trio 1.0", "load 0.1", "0.2 at the end", "11 ms"):
        assert said in page
    assert ROW.render() in page.splitlines()


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (Row("n", "f", "t", True), "| n | f | t | yes |"),
        (Row("n", "f", "t", False), "| n | f | t | **no** |"),
        (Row("n", "f", "t", None), "| n | f | t | - |"),
        (Row("n", "f", "t", True, must=True), "| n | f | **t** | yes |"),
    ],
)
def test_a_row_says_whether_it_holds(row: Row, shown: str) -> None:
    assert row.render() == shown


def test_a_part_that_misses_a_target_says_why_below_its_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EXPLAINED["requests"], "WHY", "It checks more.", raising=False)
    holds = dataclasses.replace(SECTION, rows=[dataclasses.replace(ROW, holds=True)])
    missed = render_page({"requests": SECTION}).splitlines()
    assert missed.index("It checks more.") > missed.index(ROW.render())
    assert "It checks more." not in render_page({"requests": holds})
    assert "It checks more." not in render_page({"client": SECTION})


def test_the_parts_are_measured_in_their_order() -> None:
    assert read_parts("cold,client") == ["client", "cold"]
    assert read_parts("") == list(PARTS)
    with pytest.raises(SystemExit, match="unknown: speed"):
        read_parts("client,speed")


def test_parts_of_other_runs_stand_beside_each_other() -> None:
    other = dataclasses.replace(SECTION, rounds=9)
    page = render_page({"client": SECTION, "cold": other})
    assert "--only client --rounds 3" in page
    assert "--only cold --rounds 9" in page


def test_a_run_fails_by_what_must_hold_and_by_what_is_void(
    capsys: pytest.CaptureFixture[str],
) -> None:
    may_fail = dataclasses.replace(SECTION, rows=[dataclasses.replace(ROW, must=False)])
    assert judge({"client": may_fail}, []) == 0
    assert judge({"client": SECTION}, []) == 1
    assert "does not hold: a against b" in capsys.readouterr().err
    assert judge({}, ["cold"]) == 1
    assert "void: cold" in capsys.readouterr().err
